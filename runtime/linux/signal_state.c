/* What signals the guest has: actions of the process, and masks of its threads.
 *
 * Not done here: what waits (signal_queue.c), the host's mirror of it all (signal_host.c), the calls (sys_signal.c).
 */
#include "base/lock.h"
#include "linux/host_call.h"
#include "linux/signal_parts.h"
#include "run/upcalls.h"

#include <errno.h>
#include <string.h>

struct mr_signal_action mr_signal_actions[129];
_Thread_local struct mr_thread_signals mr_thread_signals;

struct mr_signal_set mr_signals_unblocked(void)
{
    const struct mr_signal_set *blocked = &mr_thread_signals.blocked;
    return (struct mr_signal_set){{~blocked->bits[0], ~blocked->bits[1]}};
}

/* ---- actions ---- */

bool mr_signal_ignored_by_default(int mips_signal)
{
    return mips_signal == MIPS_SIGCHLD || mips_signal == MIPS_SIGCONT || mips_signal == MIPS_SIGURG ||
           mips_signal == MIPS_SIGWINCH;
}

bool mr_signal_is_ignored(int mips_signal)
{
    uint32_t handler = mr_signal_actions[mips_signal].handler;
    return handler == MR_SIG_IGNORE || (handler == MR_SIG_DEFAULT && mr_signal_ignored_by_default(mips_signal));
}

void mr_signal_set_action(int mips_signal, const struct mr_signal_action *action)
{
    if (mr_signal_is_reserved(mips_signal))
        mr_signals_own_reserved();
    mr_lock();
    mr_signal_actions[mips_signal] = *action;
    mr_signal_actions[mips_signal].mask.bits[0] &=
        ~((uint64_t)1 << (MIPS_SIGKILL - 1) | (uint64_t)1 << (MIPS_SIGSTOP - 1));
    mr_signal_mirror(mips_signal, action);
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
    struct mr_signal_set now = mr_signals_unblocked();
    return mr_signal_find_queued(&now) != 0 ? (int)mr_signal_wait_done(mask, -EINTR) : 0;
}

int64_t mr_signal_wait_done(const struct mr_signal_mask *mask, int64_t result)
{
    struct mr_signal_set wanted = mr_signals_unblocked();
    if (mask && (result != -EINTR || mr_signal_find_queued(&wanted) == 0)) {
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
