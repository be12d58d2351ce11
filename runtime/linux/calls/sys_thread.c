/* System calls that make guest threads, and how one of several ends.
 *
 * Simplification: signals that wait in the queue of a thread that ends are lost, also when they were meant for the whole
 * process. Not done here: the list of threads (threads.c), the run of a thread (dispatch.c), and fork and vfork (sys_fork.c).
 */
#include "base/instructions.h"
#include "base/lock.h"
#include "base/messages.h"
#include "base/observe.h"
#include "base/sanitizer.h"
#include "baseline/baseline.h"
#include "cpu/fpu.h"
#include "linux/calls/clone.h"
#include "linux/signals.h"
#include "linux/threads.h"
#include "linux/upcalls.h"
#include "memory/values.h"
#include "run/host_stack.h"
#include "run/run.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

/* A thread begins and ends on it, and runs on one of its own (host_stack.c) but for AddressSanitizer, which mistrusts
 * stacks of more than 64 MiB. */
#define PTHREAD_STACK_BYTES ((size_t)(MR_ADDRESS_SANITIZER ? 32 : 1) << 20)
#define STATE_ALIGNMENT 64u
#define SEPARABLE_FLAGS ((uint64_t)(CLONE_FS | CLONE_FILES))
#define NEW_NAMESPACES                                                                                          \
    ((uint64_t)(CLONE_NEWNS | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWCGROUP))

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
        mr_thread_set_clear_tid(start->clone->child_tid);
    if ((start->clone->flags & CLONE_PARENT_SETTID) != 0)
        mr_write32(start->clone->parent_tid, (uint32_t)start->number);
    if ((start->clone->flags & CLONE_CHILD_SETTID) != 0)
        mr_write32(start->clone->child_tid, (uint32_t)start->number);
    unshare((int)(SEPARABLE_FLAGS & ~start->clone->flags)); /* the libc's threads share them */
    mr_lock();
    mr_thread_enlist();
    mr_unlock();
    if (mr_debugging)
        mr_observe.debug_thread_begins(start->state);
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
    mr_thread_release();
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
    mr_lock(); /* mapping.c may have holes in the window while it has the lock */
    if (!mr_threads_are_listed())
        mr_thread_enlist();
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
    s->pc = mr_next_pc(c->pc);
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
    mr_thread_release();
    for (;;)
        pause();
}

/* The process's status is that of its last thread, as since Linux 6.0. */
SYSCALL(4001, exit, "!d")
{
    bool is_main = gettid() == getpid();
    uint64_t mask = mr_signals_set_host_mask(~(uint64_t)0);
    mr_lock();
    bool last = mr_thread_is_last();
    if (!last)
        mr_thread_delist();
    mr_unlock();
    if (!last && mr_debugging)
        mr_observe.debug_thread_ends();
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

SYSCALL(4252, set_tid_address, "p")
{
    mr_thread_set_clear_tid(U32(0));
    return gettid();
}

#define ROBUST_HEAD_BYTES 12u /* the first entry, the futex's place in each entry, the entry that is being changed */

SYSCALL(4310, get_robust_list, "dpp")
{
    uint32_t head;
    int64_t error = mr_thread_find_robust_list(INT(0), &head);
    if (error)
        return error;
    return mr_write32(U32(2), ROBUST_HEAD_BYTES) || mr_write32(U32(1), head) ? -EFAULT : 0;
}

SYSCALL(4309, set_robust_list, "pu")
{
    if (U32(1) != ROBUST_HEAD_BYTES)
        return -EINVAL;
    mr_thread_set_robust_list(U32(0));
    return 0;
}
