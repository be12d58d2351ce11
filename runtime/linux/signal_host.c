/* The host's side of the guest's signals: its mask and actions mirror the guest's, and its handler queues what comes. */
#include "base/lock.h"
#include "base/observe.h"
#include "linux/abi.h"
#include "linux/host_call.h"
#include "linux/signal_parts.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

bool mr_signal_host_needs(int host_signal)
{
    return host_signal == SIGSEGV || host_signal == SIGBUS || host_signal == SIGFPE || host_signal == SIGILL ||
           host_signal == SIGTRAP || host_signal == MR_CARRIER_SIGNAL ||
           (host_signal == MR_SAMPLE_SIGNAL && mr_sampling);
}

uint64_t mr_signals_set_host_mask(uint64_t host_set)
{
    uint64_t old = 0;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &host_set, &old, MR_HOST_SET_BYTES);
    return old;
}

/* ---- signals that come ---- */

/* Signals of the host that this thread blocks though the guest does not, until what waits is delivered. */
static _Thread_local volatile uint64_t held;
static _Thread_local volatile bool holds_none;

/* A timer of a microsecond comes again before its handler returns, so that the interrupted code never goes on, and never
 * delivers what waits. A signal that came in vain is therefore blocked where the host goes on. Not for signals 64 and up,
 * which the host cannot block one by one. */
static void hold(int host_signal, void *context)
{
    sigset_t *set = &((ucontext_t *)context)->uc_sigmask;
    uint64_t mask, bit = (uint64_t)1 << (host_signal - 1);
    memcpy(&mask, set, sizeof mask); /* the kernel's set; sigaddset refuses 32 and 33 */
    if (mask & bit || holds_none)
        return;
    mask |= bit;
    memcpy(set, &mask, sizeof mask);
    held |= bit;
}

void mr_signals_let_in_held(void)
{
    if (held == 0)
        return;
    uint64_t mine = __atomic_exchange_n(&held, 0, __ATOMIC_RELAXED); /* the handler may set more at any time */
    mine &= ~mr_signal_set_to_host(&mr_thread_signals.blocked);
    syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &mine, NULL, MR_HOST_SET_BYTES);
}

void mr_signals_hold_none(bool none)
{
    holds_none = none; /* first: whatever comes after it is not held any more */
    mr_signals_let_in_held();
}

/* A signal that the guest has a handler for: remembered; the system call it interrupts ends with EINTR. */
static void on_host_signal(int host_signal, siginfo_t *host_info, void *context)
{
    int saved_errno = errno;
    struct mr_signal_info info;
    mr_signal_info_from_host(host_info, &info);
    if (mr_debugging && !mr_observe.debug_ask_in_call(&info, context)) {
        errno = saved_errno;
        return;
    }
    if (!mr_signal_append(&info))
        hold(host_signal, context);
    mr_wait_call_interrupt(context);
    errno = saved_errno;
}

/* The kernel's struct sigaction of 64-bit machines. The libc refuses signals 32 and 33, which it needs to cancel threads and to
 * give all of them a user. The host does neither, and the guest's libc does it for itself. */
struct host_action {
    union {
        void (*taker)(int, siginfo_t *, void *);
        void (*handler)(int);
    };
    unsigned long flags;
    void (*restorer)(void);
    uint64_t mask;
};
#define HAS_RESTORER 0x04000000ul /* SA_RESTORER */

static struct host_action host_action_of(int host_signal)
{
    struct host_action action = {0};
    syscall(SYS_rt_sigaction, host_signal, NULL, &action, MR_HOST_SET_BYTES);
    return action;
}

/* The way back from a handler is the one that the libc made for the handlers of faults. */
static void install(int host_signal, struct host_action *action)
{
    struct host_action of_faults = host_action_of(SIGSEGV);
    action->flags |= of_faults.flags & HAS_RESTORER;
    action->restorer = of_faults.restorer;
    syscall(SYS_rt_sigaction, host_signal, action, NULL, MR_HOST_SET_BYTES);
}

void mr_signal_host_default(int host_signal)
{
    struct host_action action = {.flags = 0};
    action.handler = SIG_DFL;
    install(host_signal, &action);
}

void mr_signal_mirror(int mips_signal, const struct mr_signal_action *action)
{
    int host_signal = mr_signal_to_host(mips_signal);
    if (!host_signal || mr_signal_host_needs(host_signal) || host_signal == SIGKILL || host_signal == SIGSTOP)
        return;
    struct host_action host = {.flags = SA_SIGINFO | SA_ONSTACK, .mask = ~(uint64_t)0};
    host.taker = on_host_signal;
    if ((action->handler == MR_SIG_DEFAULT || action->handler == MR_SIG_IGNORE) && !mr_debug_takes(mips_signal)) {
        host.flags = 0;
        host.handler = action->handler == MR_SIG_IGNORE ? SIG_IGN : SIG_DFL;
    }
    if (action->handler == MR_SIG_DEFAULT && mr_observe.sample_takes_end != NULL &&
        mr_observe.sample_takes_end(host_signal)) {
        host.flags = SA_SIGINFO | SA_ONSTACK;
        host.taker = mr_observe.sample_on_end;
    }
    if (mips_signal == MIPS_SIGCHLD && action->handler == MR_SIG_IGNORE)
        host.flags |= SA_NOCLDWAIT; /* though the debugger wants to see it */
    host.flags |= (action->flags & MR_SA_NOCLDWAIT ? (unsigned long)SA_NOCLDWAIT : 0) |
                  (action->flags & MR_SA_NOCLDSTOP ? (unsigned long)SA_NOCLDSTOP : 0);
    install(host_signal, &host);
}

/* ---- the signals that the host's libc keeps for itself ---- */

enum { MOST_RESERVED = 64 };
#define RESERVED_BITS ((uint64_t)3 << (MR_FIRST_RESERVED - 1))

static bool reserved_owned; /* under mr_lock */

static void *end_at_once(void *unused)
{
    return unused;
}

/* glibc's first pthread_create installs its handler of signal 33, and unblocks both. */
static void let_libc_install(void)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, end_at_once, NULL) == 0)
        pthread_join(thread, NULL);
}

void mr_signals_keep_reserved(void)
{
    for (int number = MR_FIRST_RESERVED; number <= MR_LAST_RESERVED; number++)
        mr_signal_mirror(number, &mr_signal_actions[number]);
}

void mr_signals_mirror_all(void)
{
    mr_lock();
    for (int mips = 1; mips <= MR_CARRIER_SIGNAL; mips++)
        if (reserved_owned || !mr_signal_is_reserved(mips))
            mr_signal_mirror(mips, &mr_signal_actions[mips]);
    mr_unlock();
}

/* Those that wait because the guest blocks them would go to the libc's handler: they are taken and sent again. */
void mr_signals_own_reserved(void)
{
    const uint64_t reserved = RESERVED_BITS;
    const struct timespec at_once = {0, 0};
    siginfo_t taken[MOST_RESERVED];
    int count = 0;
    mr_lock();
    if (!reserved_owned) {
        uint64_t mask = mr_signals_set_host_mask(MR_ALL_SIGNALS);
        while (count < MOST_RESERVED &&
               syscall(SYS_rt_sigtimedwait, &reserved, &taken[count], &at_once, MR_HOST_SET_BYTES) > 0)
            count++;
        let_libc_install();
        mr_signals_set_host_mask(MR_ALL_SIGNALS);
        mr_signals_keep_reserved();
        for (int i = 0; i < count; i++)
            syscall(SYS_rt_sigqueueinfo, getpid(), taken[i].si_signo, &taken[i]);
        mr_signals_set_host_mask(mask);
        reserved_owned = true;
    }
    mr_unlock();
}

/* ---- the start ---- */

/* What a process inherits: ignored signals and its mask. */
__attribute__((constructor)) static void inherit_from_host(void)
{
    uint64_t blocked = 0;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, NULL, &blocked, MR_HOST_SET_BYTES);
    mr_thread_signals.blocked = mr_signal_set_from_host(blocked);
    mr_thread_signals.stack.flags = MR_SS_DISABLE;
    for (int mips = 1; mips <= 64; mips++) {
        int host_signal = mr_signal_to_host(mips);
        if (host_signal && host_action_of(host_signal).handler == SIG_IGN)
            mr_signal_actions[mips].handler = MR_SIG_IGNORE;
    }
    /* Those that the host needs stay blocked until their handlers are there (mr_faults_install). */
}
