/* Guest threads: making them, what each tells the kernel once, and how one of several ends.
 *
 * A guest thread is a detached host thread, and its number is the host's; the first one is the process's main thread. What a
 * kernel does when a thread ends is done here, as the host's kernel does it for the host's libc. Simplification: signals
 * that wait in the queue of a thread that ends are lost, also when they were meant for the whole process.
 * Not done here: the run of a thread (dispatch.c), and fork and vfork (sys_fork.c).
 */
#include "linux/thread.h"

#include "baseline/baseline.h"
#include "run/control.h"
#include "cpu/fpu.h"
#include "gdb/gdb.h"
#include "linux/signals.h"
#include "verify/verify.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A thread begins and ends on it, and runs on one of its own (host_stack.c) but for AddressSanitizer, which mistrusts
 * stacks of more than 64 MiB. */
#define PTHREAD_STACK_BYTES ((size_t)(MR_ADDRESS_SANITIZER ? 32 : 1) << 20)
#define STATE_ALIGNMENT 64u
#define SEPARABLE_FLAGS ((uint64_t)(CLONE_FS | CLONE_FILES))
#define NEW_NAMESPACES                                                                                          \
    ((uint64_t)(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWCGROUP))

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
}

static void enlist(void)
{
    this_thread.number = gettid();
    this_thread.counters = &mr_counters;
    this_thread.next = threads;
    threads = &this_thread;
    mr_carrier_thread_begins();
}

static void delist(void)
{
    mr_carrier_thread_ends();
    struct thread **link = &threads;
    while (*link != &this_thread)
        link = &(*link)->next;
    *link = this_thread.next;
    add_counters(&of_the_ended, &mr_counters);
}

static bool is_last(void)
{
    return threads == NULL || (threads == &this_thread && this_thread.next == NULL);
}

bool mr_threads_several(void)
{
    mr_lock();
    bool several = !is_last();
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

/* ---- robust futexes (exit_robust_list of kernel/futex/core.c) ---- */

#define ROBUST_HEAD_BYTES 12u /* the first entry, the futex's place in each entry, the entry that is being changed */
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
        bool more = mr_read32(entry, &next) == 0; /* before whoever wakes frees the entry */
        if (entry != changing)
            tell_owner_died(entry + offset, owner);
        if (!more)
            return;
        entry = next;
    }
    if (changing != 0)
        tell_owner_died(changing + offset, owner);
}

/* What others wait for at the end of a thread (mm_release of kernel/fork.c). Its guest stack may be gone afterwards. */
static void release(void)
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

/* ---- making ---- */

struct start {
    struct mr_state *state;
    const struct mr_clone *clone;
    struct mr_signal_set blocked;
    uintptr_t signal_stack_low;
    struct mr_host_stack host_stack;
    pid_t number;
    sem_t running;
};

static void take_over(struct start *start)
{
    mr_current = start->state;
    mr_host_thread.signal_stack_low = start->signal_stack_low;
    mr_thread_signals.blocked = start->blocked;
    mr_thread_signals.stack.flags = MR_SS_DISABLE;
    start->number = gettid();
    if ((start->clone->flags & CLONE_CHILD_CLEARTID) != 0)
        this_thread.clear_tid = start->clone->child_tid;
    if ((start->clone->flags & CLONE_PARENT_SETTID) != 0)
        mr_write32(start->clone->parent_tid, (uint32_t)start->number);
    if ((start->clone->flags & CLONE_CHILD_SETTID) != 0)
        mr_write32(start->clone->child_tid, (uint32_t)start->number);
    unshare((int)(SEPARABLE_FLAGS & ~start->clone->flags)); /* the libc's threads share them */
    mr_lock();
    enlist();
    mr_unlock();
    if (mr_debugging)
        mr_debug_thread_begins(start->state);
}

static void run_thread(void *state)
{
    struct mr_state *s = state;
    mr_run_thread(s, s->pc);
}

/* A host thread: begins and ends with all signals blocked. */
static void *thread_body(void *argument)
{
    struct start *start = argument;
    struct mr_state *s = start->state;
    struct mr_host_stack stack = start->host_stack;
    mr_signals_set_host_mask(~(uint64_t)0); /* the libc lets signal 32 in */
    take_over(start);
    sem_post(&start->running); /* *start is the maker's, and gone from now on */
    mr_signals_set_host_mask(mr_signal_set_to_host(&mr_thread_signals.blocked));
    if (MR_ADDRESS_SANITIZER) {
        run_thread(s);
    } else {
        mr_on_host_stack(stack, run_thread, s);
        mr_stack_free(stack.low, stack.size_bytes);
    }
    release();
    free(s);
    return NULL;
}

/* Returns whether there is address space for both. */
static bool make_stacks(struct start *start)
{
    start->signal_stack_low = mr_signal_stack_make();
    if (!MR_ADDRESS_SANITIZER)
        start->host_stack = mr_host_stack_make(GPR(start->state, MR_REG_SP));
    return start->signal_stack_low != 0 && (MR_ADDRESS_SANITIZER || start->host_stack.low != 0);
}

static void free_stacks(const struct start *start)
{
    if (start->signal_stack_low != 0)
        mr_signal_stack_free(start->signal_stack_low);
    if (start->host_stack.low != 0)
        mr_stack_free(start->host_stack.low, start->host_stack.size_bytes);
}

/* Returns 0 or an errno; then the thread is running. */
static int run_host_thread(struct start *start)
{
    pthread_attr_t attributes;
    pthread_t thread;
    mr_signals_own_reserved();
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, PTHREAD_STACK_BYTES);
    pthread_attr_setguardsize(&attributes, MR_HOST_GUARD_BYTES);
    mr_lock(); /* memory.c may have holes in the window while it has the lock */
    if (threads == NULL)
        enlist();
    mr_baseline_several_threads();
    int error = make_stacks(start) ? pthread_create(&thread, &attributes, thread_body, start) : EAGAIN;
    mr_signals_keep_reserved();
    mr_unlock();
    pthread_attr_destroy(&attributes);
    if (error != 0)
        free_stacks(start);
    while (error == 0 && sem_wait(&start->running) != 0)
        ;
    return error;
}

/* The child's registers are the caller's, but for those that copy_thread of arch/mips/kernel/process.c sets. */
static struct mr_state *copy_state(struct mr_call *c, const struct mr_clone *clone)
{
    struct mr_state *s = aligned_alloc(STATE_ALIGNMENT, (sizeof *s + STATE_ALIGNMENT - 1) & ~(size_t)(STATE_ALIGNMENT - 1));
    if (s == NULL)
        return NULL;
    mr_fpu_collect(c->s);
    *s = *c->s;
    s->pc = c->pc + 4;
    s->ll_valid = 0;
    s->signalled.value = 0;
    GPR(s, MR_REG_V0) = 0;
    GPR(s, MR_REG_A3) = 0;
    if (clone->stack != 0)
        GPR(s, MR_REG_SP) = clone->stack;
    if ((clone->flags & CLONE_SETTLS) != 0)
        s->tls = clone->tls;
    return s;
}

int64_t mr_thread_make(struct mr_call *c, const struct mr_clone *clone)
{
    struct start start = {.clone = clone, .blocked = mr_thread_signals.blocked};
    if ((clone->flags & CLONE_SIGHAND) == 0 || (clone->flags & CLONE_VM) == 0 ||
        (clone->flags & (CLONE_PIDFD | CLONE_NEWUSER | CLONE_NEWPID)) != 0)
        return -EINVAL; /* copy_process of kernel/fork.c */
    if ((clone->flags & (CLONE_VFORK | NEW_NAMESPACES | MR_CLONE_INTO_CGROUP)) != 0 || clone->set_tid_count != 0)
        return -ENOSYS; /* the libc makes the thread */
    if (mr_verifying)
        mr_fail("verify follows one thread, and the program makes another: it can be run, not verified");
    start.state = copy_state(c, clone);
    if (start.state == NULL)
        return -ENOMEM;
    sem_init(&start.running, 0, 0);
    uint64_t mask = mr_signals_set_host_mask(~(uint64_t)0); /* the new thread begins with it */
    int error = run_host_thread(&start);
    mr_signals_set_host_mask(mask);
    sem_destroy(&start.running);
    if (error != 0)
        free(start.state);
    return error != 0 ? -error : start.number;
}

/* ---- the end ---- */

/* The host's main thread stays, unseen: without it the host's kernel would hide what /proc/self tells. */
static _Noreturn void wait_for_the_end(void)
{
    release();
    for (;;)
        pause();
}

/* The process's status is that of its last thread, as since Linux 6.0. */
SYSCALL(4001, exit, "!d")
{
    bool is_main = gettid() == getpid();
    uint64_t mask = mr_signals_set_host_mask(~(uint64_t)0);
    mr_lock();
    bool last = is_last();
    if (!last)
        delist();
    mr_unlock();
    if (!last && mr_debugging)
        mr_debug_thread_ends();
    if (!last && is_main)
        wait_for_the_end();
    if (!last)
        mr_end_thread(c->s);
    mr_signals_set_host_mask(mask);
    mr_threads_leave_robust_lists();
    mr_vfork_child_exits();
    mr_exit_guest(c->s, INT(0) & 0xff);
}

/* ---- what a thread tells the kernel once ---- */

SYSCALL(4222, gettid, "") { return gettid(); }

uint32_t mr_thread_clear_tid(void)
{
    return this_thread.clear_tid;
}

SYSCALL(4252, set_tid_address, "p")
{
    this_thread.clear_tid = U32(0);
    return gettid();
}

/* Of another process's thread the host knows nothing: as if it might not be asked. */
static int64_t find_robust_list(pid_t number, uint32_t *head)
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

SYSCALL(4310, get_robust_list, "dpp")
{
    uint32_t head;
    int64_t error = find_robust_list(INT(0), &head);
    if (error)
        return error;
    return mr_write32(U32(2), ROBUST_HEAD_BYTES) || mr_write32(U32(1), head) ? -EFAULT : 0;
}

SYSCALL(4309, set_robust_list, "pu")
{
    if (U32(1) != ROBUST_HEAD_BYTES)
        return -EINVAL;
    this_thread.robust_list = U32(0);
    return 0;
}
