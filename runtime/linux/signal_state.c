/* What signals the guest has: actions of the process, masks and queues of its threads, and the host's mirror of them.
 *
 * Not done here: the calls (sys_signal.c) and the frames of handlers (signal_frame.c). Simplification: a thread's queue
 * holds QUEUE_LENGTH signals; a real-time signal beyond that is lost, as it is on a kernel at RLIMIT_SIGPENDING.
 */
#include "base/lock.h"
#include "base/observe.h"
#include "base/options.h"
#include "linux/abi.h"
#include "linux/host_call.h"
#include "linux/signals.h"
#include "linux/upcalls.h"
#include "memory/values.h"
#include "run/upcalls.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define QUEUE_LENGTH 1024
#define HOST_SET_BYTES 8 /* of the kernel's sigset_t */
#define FIRST_REALTIME 32

struct mr_signal_action mr_signal_actions[129];
_Thread_local struct mr_thread_signals mr_thread_signals;
_Thread_local volatile uint32_t mr_signals_queued;
static _Thread_local struct mr_signal_info queue[QUEUE_LENGTH]; /* in order of arrival; changed with host signals blocked */

bool mr_signal_host_needs(int host_signal)
{
    return host_signal == SIGSEGV || host_signal == SIGBUS || host_signal == SIGFPE || host_signal == SIGILL ||
           host_signal == SIGTRAP || host_signal == MR_CARRIER_SIGNAL ||
           (host_signal == MR_SAMPLE_SIGNAL && mr_sampling);
}

/* ---- sets ---- */

uint64_t mr_signal_set_to_host(const struct mr_signal_set *set)
{
    uint64_t host = 0;
    for (int mips = 1; mips <= 64; mips++) {
        int number = mr_signal_to_host(mips);
        if (mr_signal_in(set, mips) && number && !mr_signal_host_needs(number))
            host |= (uint64_t)1 << (number - 1);
    }
    return host;
}

static struct mr_signal_set set_from_host(uint64_t host)
{
    struct mr_signal_set set = {{0, 0}};
    for (int number = 1; number <= 64; number++) {
        int mips = mr_signal_to_mips(number);
        if (host >> (number - 1) & 1 && mips)
            set.bits[(mips - 1) / 64] |= (uint64_t)1 << ((mips - 1) % 64);
    }
    return set;
}

int mr_get_signal_set(uint32_t guest, struct mr_signal_set *set)
{
    const uint8_t *from = mr_guest_bytes(guest, MR_SIGNAL_SET_BYTES, MR_READ);
    if (!from)
        return -EFAULT;
    for (int half = 0; half < 2; half++) /* an array of 32-bit words, in both byte orders */
        set->bits[half] = mr_get32(from + 8 * half) | (uint64_t)mr_get32(from + 8 * half + 4) << 32;
    return 0;
}

int mr_put_signal_set(uint32_t guest, const struct mr_signal_set *set)
{
    uint8_t *to = mr_guest_bytes(guest, MR_SIGNAL_SET_BYTES, MR_WRITE);
    if (!to)
        return -EFAULT;
    for (int half = 0; half < 2; half++) {
        mr_put32(to + 8 * half, (uint32_t)set->bits[half]);
        mr_put32(to + 8 * half + 4, (uint32_t)(set->bits[half] >> 32));
    }
    return 0;
}

/* ---- the queue ---- */

uint64_t mr_signals_set_host_mask(uint64_t host_set)
{
    uint64_t old = 0;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &host_set, &old, HOST_SET_BYTES);
    return old;
}

#define ALL_SIGNALS (~(uint64_t)0)

static bool is_queued(int mips_signal)
{
    for (uint32_t i = 0; i < mr_signals_queued; i++)
        if (queue[i].signal == mips_signal)
            return true;
    return false;
}

bool mr_signal_joins(struct mr_signal_info *waiting, const struct mr_signal_info *info)
{
    if (info->code != MIPS_SI_TIMER || waiting->code != MIPS_SI_TIMER || waiting->signal != info->signal ||
        waiting->words[0] != info->words[0])
        return false;
    waiting->words[1] += 1 + info->words[1];
    return true;
}

static bool joins_queued(const struct mr_signal_info *info)
{
    for (uint32_t i = 0; info->code == MIPS_SI_TIMER && i < mr_signals_queued; i++)
        if (mr_signal_joins(&queue[i], info))
            return true;
    return false;
}

/* Called with host signals blocked. A signal that is no real-time one waits once. Returns whether it is one more that waits. */
static bool append(const struct mr_signal_info *info)
{
    if (joins_queued(info))
        return false;
    if (mr_signals_queued == QUEUE_LENGTH || (info->signal < FIRST_REALTIME && is_queued(info->signal)))
        return false;
    queue[mr_signals_queued] = *info;
    mr_signals_queued++;
    if (mr_current != NULL)
        mr_current->signalled.value = 1;
    return true;
}

void mr_signal_queue(const struct mr_signal_info *info)
{
    uint64_t old = mr_signals_set_host_mask(ALL_SIGNALS);
    append(info);
    mr_signals_set_host_mask(old);
}

/* Returns the position of the lowest signal that is wanted, or -1. */
static int find_wanted(const struct mr_signal_set *wanted)
{
    int found = -1;
    for (int i = 0; i < (int)mr_signals_queued; i++)
        if (mr_signal_in(wanted, queue[i].signal) && (found < 0 || queue[i].signal < queue[found].signal))
            found = i;
    return found;
}

bool mr_signal_dequeue(struct mr_signal_set wanted, struct mr_signal_info *info)
{
    uint64_t old = mr_signals_set_host_mask(ALL_SIGNALS);
    int found = find_wanted(&wanted);
    if (found >= 0) {
        *info = queue[found];
        mr_signals_queued--;
        memmove(&queue[found], &queue[found + 1], (mr_signals_queued - (uint32_t)found) * sizeof *queue);
    }
    mr_signals_set_host_mask(old);
    return found >= 0;
}

int mr_signal_lowest_queued(const struct mr_signal_set *wanted)
{
    uint64_t old = mr_signals_set_host_mask(ALL_SIGNALS);
    int found = find_wanted(wanted), lowest = found < 0 ? 0 : queue[found].signal;
    mr_signals_set_host_mask(old);
    return lowest;
}

static struct mr_signal_set unblocked(void)
{
    const struct mr_signal_set *blocked = &mr_thread_signals.blocked;
    return (struct mr_signal_set){{~blocked->bits[0], ~blocked->bits[1]}};
}

struct mr_signal_set mr_signals_pending(void)
{
    uint64_t host = 0;
    syscall(SYS_rt_sigpending, &host, HOST_SET_BYTES);
    struct mr_signal_set set = set_from_host(host);
    for (uint32_t i = 0; i < mr_signals_queued; i++)
        set.bits[(queue[i].signal - 1) / 64] |= (uint64_t)1 << ((queue[i].signal - 1) % 64);
    mr_signals_add_waiting(&set);
    set.bits[0] &= mr_thread_signals.blocked.bits[0];
    set.bits[1] &= mr_thread_signals.blocked.bits[1];
    return set;
}

/* ---- the host's side ---- */

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
    syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &mine, NULL, HOST_SET_BYTES);
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
    if (!append(&info))
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
    syscall(SYS_rt_sigaction, host_signal, NULL, &action, HOST_SET_BYTES);
    return action;
}

/* The way back from a handler is the one that the libc made for the handlers of faults. */
static void install(int host_signal, struct host_action *action)
{
    struct host_action of_faults = host_action_of(SIGSEGV);
    action->flags |= of_faults.flags & HAS_RESTORER;
    action->restorer = of_faults.restorer;
    syscall(SYS_rt_sigaction, host_signal, action, NULL, HOST_SET_BYTES);
}

void mr_signal_host_default(int host_signal)
{
    struct host_action action = {.flags = 0};
    action.handler = SIG_DFL;
    install(host_signal, &action);
}

static bool ignored_by_default(int mips_signal)
{
    return mips_signal == MIPS_SIGCHLD || mips_signal == MIPS_SIGCONT || mips_signal == MIPS_SIGURG ||
           mips_signal == MIPS_SIGWINCH;
}

bool mr_signal_is_ignored(int mips_signal)
{
    uint32_t handler = mr_signal_actions[mips_signal].handler;
    return handler == MR_SIG_IGNORE || (handler == MR_SIG_DEFAULT && ignored_by_default(mips_signal));
}

static void mirror_action(int mips_signal, const struct mr_signal_action *action)
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

enum { FIRST_RESERVED = 32, LAST_RESERVED = 33, MOST_RESERVED = 64 };
#define RESERVED_BITS ((uint64_t)3 << (FIRST_RESERVED - 1))

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
    for (int number = FIRST_RESERVED; number <= LAST_RESERVED; number++)
        mirror_action(number, &mr_signal_actions[number]);
}

void mr_signals_mirror_all(void)
{
    mr_lock();
    for (int mips = 1; mips <= MR_CARRIER_SIGNAL; mips++)
        if (reserved_owned || (mips != FIRST_RESERVED && mips != LAST_RESERVED))
            mirror_action(mips, &mr_signal_actions[mips]);
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
        uint64_t mask = mr_signals_set_host_mask(ALL_SIGNALS);
        while (count < MOST_RESERVED &&
               syscall(SYS_rt_sigtimedwait, &reserved, &taken[count], &at_once, HOST_SET_BYTES) > 0)
            count++;
        let_libc_install();
        mr_signals_set_host_mask(ALL_SIGNALS);
        mr_signals_keep_reserved();
        for (int i = 0; i < count; i++)
            syscall(SYS_rt_sigqueueinfo, getpid(), taken[i].si_signo, &taken[i]);
        mr_signals_set_host_mask(mask);
        reserved_owned = true;
    }
    mr_unlock();
}

/* ---- actions ---- */

static bool stops_by_default(int mips_signal)
{
    return mips_signal == MIPS_SIGSTOP || mips_signal == MIPS_SIGTSTP || mips_signal == MIPS_SIGTTIN ||
           mips_signal == MIPS_SIGTTOU;
}

void mr_signal_set_action(int mips_signal, const struct mr_signal_action *action)
{
    if (mips_signal == FIRST_RESERVED || mips_signal == LAST_RESERVED)
        mr_signals_own_reserved();
    mr_lock();
    mr_signal_actions[mips_signal] = *action;
    mr_signal_actions[mips_signal].mask.bits[0] &=
        ~((uint64_t)1 << (MIPS_SIGKILL - 1) | (uint64_t)1 << (MIPS_SIGSTOP - 1));
    mirror_action(mips_signal, action);
    mr_unlock();
    struct mr_signal_info dropped;
    struct mr_signal_set this_one = {{0, 0}};
    this_one.bits[(mips_signal - 1) / 64] = (uint64_t)1 << ((mips_signal - 1) % 64);
    if (mr_signal_is_ignored(mips_signal)) {
        while (mr_signals_waiting() && mr_signal_dequeue(this_one, &dropped)) /* POSIX: a pending one is discarded */
            ;
        mr_signals_drop_waiting(mips_signal);
        mr_signals_let_in_held(); /* nothing may wait any more whose delivery would */
    }
}

struct mr_signal_action mr_signal_get_action(int mips_signal)
{
    mr_lock();
    struct mr_signal_action action = mr_signal_actions[mips_signal];
    mr_unlock();
    return action;
}

void mr_signal_block(struct mr_signal_set blocked)
{
    blocked.bits[0] &= ~((uint64_t)1 << (MIPS_SIGKILL - 1) | (uint64_t)1 << (MIPS_SIGSTOP - 1));
    if (memcmp(&blocked, &mr_thread_signals.blocked, sizeof blocked) == 0)
        return;
    mr_thread_signals.blocked = blocked;
    mr_signals_set_host_mask(mr_signal_set_to_host(&blocked));
    mr_signals_take_waiting();
}

/* What a process inherits: ignored signals and its mask. */
__attribute__((constructor)) static void inherit_from_host(void)
{
    uint64_t blocked = 0;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, NULL, &blocked, HOST_SET_BYTES);
    mr_thread_signals.blocked = set_from_host(blocked);
    mr_thread_signals.stack.flags = MR_SS_DISABLE;
    for (int mips = 1; mips <= 64; mips++) {
        int host_signal = mr_signal_to_host(mips);
        if (host_signal && host_action_of(host_signal).handler == SIG_IGN)
            mr_signal_actions[mips].handler = MR_SIG_IGNORE;
    }
    /* Those that the host needs stay blocked until their handlers are there (mr_faults_install). */
}

/* ---- calls with a mask of their own ---- */

int mr_signal_mask_for_wait(uint32_t guest_set, uint32_t set_bytes, struct mr_signal_mask *mask)
{
    struct mr_signal_set set;
    if (set_bytes != MR_SIGNAL_SET_BYTES)
        return -EINVAL;
    if (mr_get_signal_set(guest_set, &set))
        return -EFAULT;
    set.bits[0] &= ~((uint64_t)1 << (MIPS_SIGKILL - 1) | (uint64_t)1 << (MIPS_SIGSTOP - 1));
    mr_thread_signals.saved = mr_thread_signals.blocked;
    mr_thread_signals.saved_valid = true;
    mr_thread_signals.blocked = set;
    mr_signals_take_waiting();
    mask->host = mr_signal_set_to_host(&set) | mr_samples_hold_bit();
    struct mr_signal_set now = unblocked();
    return find_wanted(&now) >= 0 ? (int)mr_signal_wait_done(mask, -EINTR) : 0;
}

int64_t mr_signal_wait_done(const struct mr_signal_mask *mask, int64_t result)
{
    struct mr_signal_set wanted = unblocked();
    if (mask && (result != -EINTR || find_wanted(&wanted) < 0)) {
        mr_thread_signals.blocked = mr_thread_signals.saved;
        mr_thread_signals.saved_valid = false;
    }
    return result; /* otherwise mr_signals_take puts the mask back */
}

void mr_signal_wait_abandoned(void)
{
    if (mr_thread_signals.saved_valid)
        mr_thread_signals.blocked = mr_thread_signals.saved;
    mr_thread_signals.saved_valid = false;
}

/* ---- delivery ---- */

bool mr_signals_restart(void)
{
    struct mr_signal_set wanted = unblocked();
    int found = find_wanted(&wanted);
    if (found < 0)
        return true;
    const struct mr_signal_action action = mr_signal_get_action(queue[found].signal);
    return action.handler <= MR_SIG_IGNORE || action.flags & MR_SA_RESTART;
}

/* Enters the handler of a signal, or takes the default action. Returns the pc to go on at. */
static uint32_t deliver(struct mr_state *s, const struct mr_signal_info *info, uint32_t pc)
{
    struct mr_signal_action action = mr_signal_get_action(info->signal);
    struct mr_thread_signals *thread = &mr_thread_signals;
    if (action.handler == MR_SIG_IGNORE || (action.handler == MR_SIG_DEFAULT && ignored_by_default(info->signal)))
        return pc;
    if (action.handler == MR_SIG_DEFAULT && stops_by_default(info->signal)) {
        raise(mr_debug_takes(info->signal) ? SIGSTOP : mr_signal_to_host(info->signal));
        return pc;
    }
    if (action.handler == MR_SIG_DEFAULT)
        mr_die_by_signal(s, info->signal, pc, 0);
    if (mr_options.strace)
        mr_observe.trace_signal(info, pc);
    struct mr_signal_set before = thread->saved_valid ? thread->saved : thread->blocked;
    uint32_t handler_pc = mr_signal_frame(s, &action, info, pc, &before);
    if (!handler_pc) { /* no stack to run it on: the kernel's force_sigsegv */
        if (info->signal == MIPS_SIGSEGV || mr_signal_actions[MIPS_SIGSEGV].handler <= MR_SIG_IGNORE ||
            !mr_signal_deliver(s, MIPS_SIGSEGV, 0x80, pc, 0, &handler_pc))
            mr_die_by_signal(s, MIPS_SIGSEGV, pc, GPR(s, MR_REG_SP));
        return handler_pc;
    }
    thread->saved_valid = false;
    struct mr_signal_set blocked = thread->blocked;
    blocked.bits[0] |= action.mask.bits[0];
    blocked.bits[1] |= action.mask.bits[1];
    if (!(action.flags & MR_SA_NODEFER))
        blocked.bits[(info->signal - 1) / 64] |= (uint64_t)1 << ((info->signal - 1) % 64);
    thread->blocked = before; /* what the host has */
    mr_signal_block(blocked);
    if (action.flags & MR_SA_RESETHAND) {
        action.handler = MR_SIG_DEFAULT;
        mr_signal_set_action(info->signal, &action);
    }
    return handler_pc;
}

/* The same, after the debugger was asked. */
static uint32_t ask_and_deliver(struct mr_state *s, struct mr_signal_info *info, uint32_t pc)
{
    if (mr_debugging)
        mr_observe.debug_ask_signal(s, info, &pc);
    return info->signal == 0 ? pc : deliver(s, info, pc);
}

static uint32_t deliver_waiting(struct mr_state *s, uint32_t pc)
{
    struct mr_signal_info info;
    *(volatile uint32_t *)&s->signalled.value = 0; /* before the queue is looked at: more may come meanwhile */
    while (mr_signals_waiting() && mr_signal_dequeue(unblocked(), &info))
        pc = ask_and_deliver(s, &info, pc);
    mr_signal_wait_abandoned();
    mr_signals_let_in_held();
    if (atomic_load_explicit(&mr_growth_due, memory_order_relaxed))
        mr_observe.growth_step();
    return pc;
}

uint32_t mr_signals_take(struct mr_state *s, uint32_t pc)
{
    if (!mr_verifying)
        return deliver_waiting(s, pc);
    mr_observe.begin_once(s, (struct mr_point){MR_AT_PLACE, pc, MR_FOR_SIGNAL});
    return mr_observe.end_once(s, deliver_waiting(s, pc));
}

bool mr_signal_deliver(struct mr_state *s, int mips_signal, int code, uint32_t pc, uint32_t address, uint32_t *new_pc)
{
    struct mr_signal_info info = {mips_signal, code, 0, {address}, false};
    if (mr_debugging)
        mr_observe.debug_ask_signal(s, &info, &pc);
    if (info.signal != mips_signal) { /* the debugger's choice, or none */
        *new_pc = info.signal == 0 ? pc : deliver(s, &info, pc);
        return true;
    }
    if (mr_signal_actions[mips_signal].handler <= MR_SIG_IGNORE ||
        mr_signal_in(&mr_thread_signals.blocked, mips_signal))
        return false; /* the kernel kills, too, rather than run into the fault again (force_sig) */
    *new_pc = deliver(s, &info, pc);
    return true;
}
