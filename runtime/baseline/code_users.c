/* Which threads execute translated code, so that memory of code can be used again.
 *
 * A clock counts how often code was retired, that is, lost all its entries. A thread notes the time before it looks for an
 * entry, and 0 when it has come back. So what was retired at a time is in use only where a thread's note is of before it.
 * The clock and the notes are read and written in one order by all threads: a thread whose note is not seen finds no entry.
 */
#if defined(__x86_64__)

#include "../control.h"
#include "parts.h"

#include <stdatomic.h>

/* A guest thread. All under mr_lock but `since`. */
struct user {
    _Atomic uint32_t since; /* the time when it entered translated code, or 0 */
    struct mr_state *s;
    struct user *next;
};

static _Thread_local struct user this_user;
static struct user *users;
static _Atomic uint32_t clock_time = 1;

void mr_baseline_thread_begins(struct mr_state *s)
{
    this_user.s = s;
    mr_lock();
    this_user.next = users;
    users = &this_user;
    mr_unlock();
}

void mr_baseline_thread_ends(void)
{
    mr_lock();
    struct user **link = &users;
    while (*link != NULL && *link != &this_user)
        link = &(*link)->next;
    if (*link != NULL)
        *link = this_user.next;
    mr_unlock();
}

void mr_baseline_forked(void)
{
    this_user.next = NULL;
    users = &this_user;
}

void mr_baseline_abandoned(void)
{
    atomic_store(&this_user.since, 0);
}

uint32_t mr_code_enter(void)
{
    uint32_t before = atomic_load_explicit(&this_user.since, memory_order_relaxed);
    if (before == 0)
        atomic_store(&this_user.since, atomic_load(&clock_time));
    return before;
}

void mr_code_leave(uint32_t before)
{
    atomic_store_explicit(&this_user.since, before, memory_order_release);
}

void mr_code_send_out(void)
{
    for (struct user *user = users; user != NULL; user = user->next)
        if (atomic_load(&user->since) != 0)
            __atomic_store_n(&user->s->signalled.value, 1, __ATOMIC_RELAXED);
}

uint32_t mr_code_retire(void)
{
    uint32_t time = atomic_fetch_add(&clock_time, 1) + 1;
    mr_code_send_out();
    return time;
}

bool mr_code_retired(uint32_t time)
{
    for (const struct user *user = users; user != NULL; user = user->next) {
        uint32_t since = atomic_load(&user->since);
        if (since != 0 && (int32_t)(since - time) < 0)
            return false;
    }
    return true;
}

#endif
