/* The list of guest threads, their counters, and what others wait for when one ends.
 *
 * A guest thread is a detached host thread, and its number is the host's; the first one is the process's main thread.
 * Not done here: making threads (calls/sys_thread.c), and running them (run/dispatch.c).
 */
#include "linux/threads.h"

#include "base/lock.h"
#include "base/options.h"
#include "baseline/baseline.h"
#include "lifted/code_files.h"
#include "linux/signals.h"
#include "memory/values.h"

#include <errno.h>
#include <linux/futex.h>
#include <setjmp.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- all threads ---- */

struct thread {
    pid_t number;         /* once it is enlisted */
    uint32_t clear_tid;   /* guest address of the word that is cleared at the end, or 0 */
    uint32_t robust_list; /* guest address of the head of the list of robust futexes, or 0 */
    struct mr_counters *counters;
    struct thread *next;
};

static _Thread_local struct thread this_thread;

/* Under mr_lock. */
static struct thread *threads; /* NULL until there is a second one */
static struct mr_counters of_the_ended;

static void add_counters(struct mr_counters *sum, const struct mr_counters *more)
{
    sum->interpreted += more->interpreted;
    sum->interpreter_runs += more->interpreter_runs;
    sum->syscalls += more->syscalls;
    sum->unknown_syscalls += more->unknown_syscalls;
    sum->unknown_ioctls += more->unknown_ioctls;
    sum->dispatches += more->dispatches;
    sum->baseline_entries += more->baseline_entries;
}

void mr_thread_enlist(void)
{
    this_thread.number = gettid();
    this_thread.counters = &mr_counters;
    this_thread.next = threads;
    threads = &this_thread;
    mr_carrier_thread_begins();
}

void mr_thread_delist(void)
{
    mr_carrier_thread_ends();
    struct thread **link = &threads;
    while (*link != &this_thread)
        link = &(*link)->next;
    *link = this_thread.next;
    add_counters(&of_the_ended, &mr_counters);
}

bool mr_thread_is_last(void)
{
    return threads == NULL || (threads == &this_thread && this_thread.next == NULL);
}

bool mr_threads_several(void)
{
    mr_lock();
    bool several = !mr_thread_is_last();
    mr_unlock();
    return several;
}

int mr_threads_numbers(pid_t *numbers, int most)
{
    int count = 0;
    mr_lock();
    if (threads == NULL)
        numbers[count++] = gettid();
    for (const struct thread *thread = threads; thread != NULL && count < most; thread = thread->next)
        numbers[count++] = thread->number;
    mr_unlock();
    return count;
}

struct mr_counters mr_threads_counters(void)
{
    mr_lock();
    struct mr_counters sum = of_the_ended;
    if (threads == NULL)
        add_counters(&sum, &mr_counters);
    for (const struct thread *thread = threads; thread != NULL; thread = thread->next)
        add_counters(&sum, thread->counters); /* of one that runs, as far as can be seen */
    mr_unlock();
    return sum;
}

void mr_threads_forked(uint32_t clear_tid)
{
    threads = NULL;
    mr_baseline_forked();
    this_thread.clear_tid = clear_tid;
    this_thread.robust_list = 0;
    of_the_ended = mr_counters = (struct mr_counters){0};
    if (mr_options.stats)
        mr_code_files_forked();
}

bool mr_threads_are_listed(void)
{
    return threads != NULL;
}

/* ---- what a thread tells the kernel once ---- */

uint32_t mr_thread_clear_tid(void)
{
    return this_thread.clear_tid;
}

void mr_thread_set_clear_tid(uint32_t guest)
{
    this_thread.clear_tid = guest;
}

void mr_thread_set_robust_list(uint32_t head)
{
    this_thread.robust_list = head;
}

/* Of another process's thread the host knows nothing: as if it might not be asked. */
int64_t mr_thread_find_robust_list(int32_t number, uint32_t *head)
{
    int64_t error = -EPERM;
    *head = this_thread.robust_list;
    if (number == 0 || number == gettid())
        return 0;
    mr_lock();
    for (const struct thread *thread = threads; thread != NULL; thread = thread->next)
        if (thread->number == number) {
            *head = thread->robust_list;
            error = 0;
        }
    mr_unlock();
    return error && syscall(SYS_tkill, number, 0) && errno == ESRCH ? -ESRCH : error;
}

/* ---- robust futexes (exit_robust_list of kernel/futex/core.c) ---- */

#define ROBUST_ENTRIES_MAX 2048u
#define PRIORITY_INHERITANCE 1u /* bit of an entry's address */

static void wake_one(uint32_t guest)
{
    syscall(SYS_futex, mr_user(guest, 4), FUTEX_WAKE, 1, NULL, NULL, 0);
}

static void tell_owner_died(uint32_t guest, pid_t owner)
{
    uint32_t *word = mr_guest_bytes(guest, 4, MR_WRITE);
    if (word == NULL || (guest & 3) != 0)
        return;
    uint32_t old = __atomic_load_n(word, __ATOMIC_SEQ_CST), value;
    do {
        value = mr_swap32(old);
        if ((value & FUTEX_TID_MASK) != (uint32_t)owner)
            return;
    } while (!__atomic_compare_exchange_n(word, &old, mr_swap32((value & FUTEX_WAITERS) | FUTEX_OWNER_DIED), false,
                                          __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST));
    if ((value & FUTEX_WAITERS) != 0)
        wake_one(guest);
}

static void leave_robust_list(uint32_t head, pid_t owner)
{
    uint32_t entry, next, offset, changing;
    if (head == 0 || mr_read32(head, &entry) || mr_read32(head + 4, &offset) || mr_read32(head + 8, &changing))
        return;
    changing &= ~PRIORITY_INHERITANCE;
    for (uint32_t count = 0; (entry & ~PRIORITY_INHERITANCE) != head && count < ROBUST_ENTRIES_MAX; count++) {
        entry &= ~PRIORITY_INHERITANCE;
        bool more = mr_read32(entry, &next) == 0; /* before a thread that wakes frees the entry */
        if (entry != changing)
            tell_owner_died(entry + offset, owner);
        if (!more)
            return;
        entry = next;
    }
    if (changing != 0)
        tell_owner_died(changing + offset, owner);
}

void mr_thread_release(void)
{
    leave_robust_list(this_thread.robust_list, gettid());
    if (this_thread.clear_tid != 0 && mr_write32(this_thread.clear_tid, 0) == 0)
        wake_one(this_thread.clear_tid);
}

/* Without mr_lock, since guest memory may fault: threads that begin or end meanwhile may be missed. */
void mr_threads_leave_robust_lists(void)
{
    enum { MOST = 1024 };
    struct thread all[MOST];
    int count = 0;
    mr_lock();
    for (const struct thread *thread = threads; thread != NULL && count < MOST; thread = thread->next)
        if (thread != &this_thread)
            all[count++] = *thread;
    mr_unlock();
    jmp_buf *outer = mr_host_thread.recovery, faulted;
    if (setjmp(faulted) == 0) {
        mr_host_thread.recovery = &faulted;
        leave_robust_list(this_thread.robust_list, gettid());
        for (int i = 0; i < count; i++)
            leave_robust_list(all[i].robust_list, all[i].number);
    }
    mr_host_thread.recovery = outer;
}
