/* Which threads execute translated code, so that memory of code can be used again.
 *
 * A clock counts how often code was retired, that is, lost all its entries. A thread notes the time before it looks for an
 * entry, and 0 when it has come back. So what was retired at a time is in use only where a thread's note is of before it.
 * The clock and the notes are read and written in one order by all threads: a thread whose note is not seen finds no entry.
 * A process's only thread needs no such order.
 */
#include "base/lock.h"
#include "baseline/baseline.h"
#include "baseline/parts.h"

_Thread_local struct mr_code_user mr_code_user;
_Atomic uint32_t mr_code_time = 1;
bool mr_code_shared;
static struct mr_code_user *users;

void mr_baseline_thread_begins(struct mr_state *s)
{
    mr_code_user.s = s;
    mr_lock();
    mr_code_user.next = users;
    users = &mr_code_user;
    mr_unlock();
}

void mr_baseline_thread_ends(void)
{
    mr_lock();
    struct mr_code_user **link = &users;
    while (*link != NULL && *link != &mr_code_user)
        link = &(*link)->next;
    if (*link != NULL)
        *link = mr_code_user.next;
    mr_unlock();
}

void mr_baseline_several_threads(void)
{
    mr_code_shared = true;
}

/* A fork server makes processes outside of any run: then this thread is no user. */
void mr_baseline_forked(void)
{
    const struct mr_code_user *user = users;
    while (user != NULL && user != &mr_code_user)
        user = user->next;
    mr_code_shared = false;
    mr_code_user.next = NULL;
    users = user != NULL ? &mr_code_user : NULL;
}

void mr_baseline_abandoned(void)
{
    atomic_store(&mr_code_user.since, 0);
}

void mr_code_send_out(void)
{
    for (struct mr_code_user *user = users; user != NULL; user = user->next)
        if (atomic_load(&user->since) != 0)
            __atomic_store_n(&user->s->signalled.value, 1, __ATOMIC_RELAXED);
}

uint32_t mr_code_retire(void)
{
    uint32_t time = atomic_fetch_add(&mr_code_time, 1) + 1;
    mr_code_send_out();
    return time;
}

bool mr_code_retired(uint32_t time)
{
    for (const struct mr_code_user *user = users; user != NULL; user = user->next) {
        uint32_t since = atomic_load(&user->since);
        if (since != 0 && (int32_t)(since - time) < 0)
            return false;
    }
    return true;
}
