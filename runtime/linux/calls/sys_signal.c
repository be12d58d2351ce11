/* System calls on signals: actions, masks, sending, waiting, returning from handlers. */
#include "linux/abi.h"
#include "linux/calls/layout.h"
#include "linux/calls/syscall.h"
#include "linux/fault.h"
#include "linux/host_call.h"
#include "linux/signals.h"
#include "linux/threads.h"
#include "memory/values.h"
#include "run/upcalls.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define LAST_SIGNAL 128
#define ACTION_BYTES 24u /* flags, handler, mask */
#define LEAST_ALTERNATE_STACK 2048u
enum { HOW_BLOCK = 1, HOW_UNBLOCK = 2, HOW_SET = 3 };

/* ---- the oldest calls on the mask, which know the first 32 signals ---- */

SYSCALL(4068, sgetmask, "") { return (uint32_t)mr_thread_signals.blocked.bits[0]; }

SYSCALL(4069, ssetmask, "x")
{
    uint32_t old = (uint32_t)mr_thread_signals.blocked.bits[0];
    mr_signal_block((struct mr_signal_set){{U32(0), 0}});
    return old;
}

/* ---- actions ---- */

static int64_t get_action(uint32_t guest, struct mr_signal_action *action)
{
    const uint8_t *from = mr_guest_bytes(guest, ACTION_BYTES, MR_READ);
    if (!from || mr_get_signal_set(guest + 8, &action->mask))
        return -EFAULT;
    action->flags = mr_get32(from);
    action->handler = mr_get32(from + 4);
    return 0;
}

static int64_t put_action(uint32_t guest, const struct mr_signal_action *action)
{
    uint8_t *to = mr_guest_bytes(guest, ACTION_BYTES, MR_WRITE);
    if (!to)
        return -EFAULT;
    mr_put32(to, action->flags);
    mr_put32(to + 4, action->handler);
    return mr_put_signal_set(guest + 8, &action->mask);
}

static int64_t change_action(int number, uint32_t from, uint32_t to, bool old_mask)
{
    struct mr_signal_action new = {0};
    if (number < 1 || number > LAST_SIGNAL || (from && (number == MIPS_SIGKILL || number == MIPS_SIGSTOP)))
        return -EINVAL;
    if (from && get_action(from, &new))
        return -EFAULT;
    if (old_mask) /* the old call knows the first 32 signals */
        new.mask = (struct mr_signal_set){{(uint32_t)new.mask.bits[0], 0}};
    struct mr_signal_action old = mr_signal_get_action(number);
    if (from)
        mr_signal_set_action(number, &new);
    return to ? put_action(to, &old) : 0;
}

SYSCALL(4067, sigaction, "ipp") { return change_action(INT(0), U32(1), U32(2), true); }

SYSCALL(4194, rt_sigaction, "ippu")
{
    return U32(3) == MR_SIGNAL_SET_BYTES ? change_action(INT(0), U32(1), U32(2), false) : -EINVAL;
}

SYSCALL(4048, signal, "ix")
{
    int number = INT(0);
    const struct mr_signal_action action = {MR_SA_RESETHAND | MR_SA_NODEFER, U32(1), {{0, 0}}};
    if (number < 1 || number > LAST_SIGNAL || number == MIPS_SIGKILL || number == MIPS_SIGSTOP)
        return -EINVAL;
    uint32_t old = mr_signal_actions[number].handler;
    mr_signal_set_action(number, &action);
    return old;
}

/* ---- masks ---- */

static int64_t change_mask(int how, const struct mr_signal_set *set)
{
    struct mr_signal_set blocked = mr_thread_signals.blocked;
    for (int half = 0; half < 2; half++)
        switch (how) {
        case HOW_BLOCK: blocked.bits[half] |= set->bits[half]; break;
        case HOW_UNBLOCK: blocked.bits[half] &= ~set->bits[half]; break;
        case HOW_SET: blocked.bits[half] = set->bits[half]; break;
        default: return -EINVAL;
        }
    mr_signal_block(blocked);
    return 0;
}

SYSCALL(4195, rt_sigprocmask, "dppu")
{
    struct mr_signal_set old = mr_thread_signals.blocked, set;
    int64_t error = 0;
    if (U32(3) != MR_SIGNAL_SET_BYTES)
        return -EINVAL;
    if (U32(1))
        error = mr_get_signal_set(U32(1), &set) ? -EFAULT : change_mask(INT(0), &set);
    return error || !U32(2) ? error : mr_put_signal_set(U32(2), &old);
}

SYSCALL(4126, sigprocmask, "dpp") /* sets of one word */
{
    struct mr_signal_set old = mr_thread_signals.blocked, set = {{0, 0}};
    uint32_t word;
    int64_t error = 0;
    if (U32(1) && mr_read32(U32(1), &word))
        return -EFAULT;
    if (U32(1)) {
        set.bits[0] = word;
        if (INT(0) == HOW_SET) {
            set.bits[0] |= old.bits[0] & ~(uint64_t)UINT32_MAX;
            set.bits[1] = old.bits[1];
        }
        error = change_mask(INT(0), &set);
    }
    return error || !U32(2) ? error : mr_write32(U32(2), (uint32_t)old.bits[0]);
}

SYSCALL(4196, rt_sigpending, "pu")
{
    struct mr_signal_set pending = mr_signals_pending();
    return U32(1) > MR_SIGNAL_SET_BYTES ? -EINVAL : mr_put_signal_set(U32(0), &pending);
}

SYSCALL(4073, sigpending, "p") { return mr_write32(U32(0), (uint32_t)mr_signals_pending().bits[0]); }

SYSCALL(4206, sigaltstack, "pp")
{
    struct mr_alternate_stack old = mr_thread_signals.stack, new;
    bool on_it = mr_on_alternate_stack(&old, GPR(c->s, MR_REG_SP));
    if (U32(0)) {
        if (mr_get_struct("3w", U32(0), &new))
            return -EFAULT;
        if (on_it)
            return -EPERM;
        if (new.flags & ~(uint32_t)(MR_SS_DISABLE | MR_SS_ONSTACK | MR_SS_AUTODISARM))
            return -EINVAL;
        if (new.flags & MR_SS_DISABLE)
            new.sp = new.size_bytes = 0;
        else if (new.size_bytes < LEAST_ALTERNATE_STACK)
            return -ENOMEM;
        new.flags &= ~(uint32_t)MR_SS_ONSTACK;
        mr_thread_signals.stack = new;
    }
    old.flags = on_it ? MR_SS_ONSTACK : old.flags;
    return U32(1) ? mr_put_struct("3w", U32(1), &old) : 0;
}

/* ---- sending ---- */

enum { CODE_USER = 0, CODE_TKILL = -6 };

/* A signal that waits because it is blocked waits in the host: there the whole process has it, and the next program. */
static bool host_keeps(int number)
{
    int host_number = number > 0 && number <= LAST_SIGNAL ? mr_signal_to_host(number) : 0;
    return host_number && !mr_signal_host_needs(host_number) && mr_signal_in(&mr_thread_signals.blocked, number);
}

/* What is sent to the own process may be for another thread than this one: then the host decides for which. */
static bool is_to_self(int process, int number)
{
    return process == getpid() && !host_keeps(number) && !mr_threads_several();
}

static bool is_to_this_thread(int thread, int number)
{
    return thread == gettid() && !host_keeps(number);
}

static struct mr_signal_info info_of_self(int number, int code)
{
    return (struct mr_signal_info){number, code, 0, {(uint32_t)getpid(), getuid()}, false};
}

/* What is sent to oneself goes to the queue at once; the rest is the host's. Signal 0 only asks. */
static int64_t queue_for_self(const struct mr_signal_info *info)
{
    if (info->signal == MIPS_SIGKILL || info->signal == MIPS_SIGSTOP)
        return mr_result(kill(getpid(), mr_signal_to_host(info->signal)));
    if (info->signal)
        mr_signal_queue(info);
    return 0;
}

static int64_t send_to_self(int number, int code)
{
    const struct mr_signal_info info = info_of_self(number, code);
    return queue_for_self(&info);
}

SYSCALL(4037, kill, "di")
{
    int number = INT(1);
    if (number < 0 || number > LAST_SIGNAL)
        return -EINVAL;
    if (mr_signal_is_carried(number)) {
        const struct mr_signal_info info = info_of_self(number, CODE_USER);
        return mr_send_carried(INT(0), &info);
    }
    if (is_to_self(INT(0), number))
        return send_to_self(number, CODE_USER);
    return mr_result(kill(INT(0), mr_signal_to_host(number)));
}

static int64_t send_to_thread(int group, int thread, int number)
{
    int host_number = mr_signal_to_host(number);
    if (number < 0 || number > LAST_SIGNAL || thread <= 0)
        return -EINVAL;
    if (is_to_this_thread(thread, number) && (group == -1 || group == getpid()))
        return send_to_self(number, CODE_TKILL);
    if (mr_signal_is_carried(number)) {
        const struct mr_signal_info info = info_of_self(number, CODE_TKILL);
        return mr_send_carried_to_thread(group, thread, &info);
    }
    return mr_result(group == -1 ? syscall(SYS_tkill, thread, host_number)
                                 : syscall(SYS_tgkill, group, thread, host_number));
}

SYSCALL(4236, tkill, "di") { return send_to_thread(-1, INT(0), INT(1)); }
SYSCALL(4266, tgkill, "ddi") { return INT(0) <= 0 ? -EINVAL : send_to_thread(INT(0), INT(1), INT(2)); }

/* What a guest makes up for itself it gets as it is; the kernel lets nobody else choose a code of the kernel's. */
static int64_t send_with_info(int process, int thread, int number, uint32_t guest_info)
{
    struct mr_signal_info info;
    siginfo_t host_info;
    if (mr_get_signal_info(guest_info, &info))
        return -EFAULT;
    if (number < 0 || number > LAST_SIGNAL)
        return -EINVAL;
    if ((info.code >= 0 || info.code == CODE_TKILL) && (thread ? thread : process) != gettid())
        return -EPERM;
    if (process <= 0 || thread < 0)
        return thread ? -EINVAL : -ESRCH;
    info.signal = number;
    if (thread ? is_to_this_thread(thread, number) && process == getpid() : is_to_self(process, number))
        return queue_for_self(&info);
    if (mr_signal_is_carried(number))
        return thread ? mr_send_carried_to_thread(process, thread, &info) : mr_send_carried(process, &info);
    mr_signal_info_to_host(&info, process == getpid(), &host_info);
    return mr_result(thread ? syscall(SYS_rt_tgsigqueueinfo, process, thread, host_info.si_signo, &host_info)
                            : syscall(SYS_rt_sigqueueinfo, process, host_info.si_signo, &host_info));
}

SYSCALL(4198, rt_sigqueueinfo, "dip") { return send_with_info(INT(0), 0, INT(1), U32(2)); }
SYSCALL(4332, rt_tgsigqueueinfo, "ddip") { return send_with_info(INT(0), INT(1), INT(2), U32(3)); }

/* ---- waiting ---- */

static int64_t wait_under_mask(uint32_t guest_set, uint32_t set_bytes)
{
    struct mr_signal_mask mask;
    int error = mr_signal_mask_for_wait(guest_set, set_bytes, &mask);
    if (error)
        return error;
    return mr_signal_wait_done(&mask, mr_wait_call(SYS_ppoll, 0, 0, 0, MR_HOST(&mask.host), 8, 0));
}

SYSCALL(4199, rt_sigsuspend, "~pu") { return wait_under_mask(U32(0), U32(1)); }
SYSCALL(4072, sigsuspend, "~p") { return wait_under_mask(U32(0), MR_SIGNAL_SET_BYTES); }
SYSCALL(4029, pause, "~") { return mr_wait_call(SYS_ppoll, 0, 0, 0, 0, 0, 0); }

/* Whether the host has a signal of the set that comes before all in the queue. */
static bool host_has_lower(const struct mr_signal_set *set)
{
    uint64_t pending = 0;
    int queued = mr_signal_lowest_queued(set);
    syscall(SYS_rt_sigpending, &pending, sizeof pending);
    for (int mips = 1; mips <= MR_CARRIER_SIGNAL && mips < queued; mips++)
        if (mr_signal_in(set, mips) && pending >> (mr_signal_to_host(mips) - 1) & 1)
            return true;
    return false;
}

/* Takes the first of the signals from this thread's queue or the host's; returns it, or -errno. */
static int64_t next_signal(struct mr_signal_set set, const struct timespec *timeout, struct mr_signal_info *info)
{
    siginfo_t host_info;
    uint64_t host_set = mr_signal_set_to_host(&set);
    mr_signals_take_waiting();
    if (mr_signals_waiting() && !host_has_lower(&set) && mr_signal_dequeue(set, info))
        return info->signal;
    int64_t found = mr_wait_call(SYS_rt_sigtimedwait, MR_HOST(&host_set), MR_HOST(&host_info), MR_HOST(timeout), 8, 0, 0);
    if (found > 0)
        mr_signal_info_from_host(&host_info, info);
    if (found == -EINTR && mr_signal_dequeue(set, info)) /* one that the host needs: it came to its handler */
        return info->signal;
    return found < 0 ? found : info->signal;
}

/* Returns the signal that came, of those in the set, which the guest has blocked. */
static int64_t wait_for_signal(struct mr_call *c, enum mr_time_width width)
{
    struct mr_signal_set set;
    struct mr_signal_info info;
    struct timespec timeout;
    if (U32(3) != MR_SIGNAL_SET_BYTES)
        return -EINVAL;
    if (mr_get_signal_set(U32(0), &set) || (U32(2) && mr_get_timespec(U32(2), width, &timeout)))
        return -EFAULT;
    mr_thread_signals.awaited = set;
    int64_t found = next_signal(set, U32(2) ? &timeout : NULL, &info);
    mr_thread_signals.awaited = (struct mr_signal_set){{0, 0}};
    if (found < 0)
        return found;
    return U32(1) && mr_put_signal_info(U32(1), &info) ? -EFAULT : info.signal;
}

SYSCALL(4197, rt_sigtimedwait, "~pppu") { return wait_for_signal(c, MR_TIME32); }
SYSCALL(4421, rt_sigtimedwait_time64, "~pppu") { return wait_for_signal(c, MR_TIME64); }

/* ---- returning from handlers ---- */

static int64_t return_from_handler(struct mr_call *c, bool with_info)
{
    mr_host_thread.recovery = NULL; /* it has no result */
    if (!mr_signal_return(c->s, with_info, &c->next_pc))
        c->next_pc = mr_raise(c->s, MIPS_SIGSEGV, 0x80, c->pc, GPR(c->s, MR_REG_SP));
    c->moved = true;
    return 0;
}

SYSCALL(4119, sigreturn, "") { return return_from_handler(c, false); }
SYSCALL(4193, rt_sigreturn, "") { return return_from_handler(c, true); }
