/* Delivery of the guest's signals: to a handler, or by what happens without one.
 *
 * Not done here: the frames of handlers (signal_frame.c).
 */
#include "base/observe.h"
#include "base/options.h"
#include "linux/abi.h"
#include "linux/signal_parts.h"
#include "linux/upcalls.h"
#include "run/upcalls.h"

#include <signal.h>
#include <stdatomic.h>

static bool stops_by_default(int mips_signal)
{
    return mips_signal == MIPS_SIGSTOP || mips_signal == MIPS_SIGTSTP || mips_signal == MIPS_SIGTTIN ||
           mips_signal == MIPS_SIGTTOU;
}

bool mr_signals_restart(void)
{
    struct mr_signal_set wanted = mr_signals_unblocked();
    int found = mr_signal_find_queued(&wanted);
    if (found == 0)
        return true;
    const struct mr_signal_action action = mr_signal_get_action(found);
    return action.handler <= MR_SIG_IGNORE || action.flags & MR_SA_RESTART;
}

/* Enters the handler of a signal, or takes the default action. Returns the pc to go on at. */
static uint32_t deliver(struct mr_state *s, const struct mr_signal_info *info, uint32_t pc)
{
    struct mr_signal_action action = mr_signal_get_action(info->signal);
    struct mr_thread_signals *thread = &mr_thread_signals;
    if (action.handler == MR_SIG_IGNORE || (action.handler == MR_SIG_DEFAULT && mr_signal_ignored_by_default(info->signal)))
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
    while (mr_signals_waiting() && mr_signal_dequeue(mr_signals_unblocked(), &info))
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
