/* What the host asks of the debugger on behalf of a guest thread: about signals before the guest sees them, and about system
 * calls that are under way while the guest is stopped.
 *
 * Enters: signals that are to be delivered. Leaves: what the debugger makes of them. A signal that comes while a thread waits
 * in a system call is asked about in the handler of the host; the call goes on when the guest does not get the signal.
 */
#include "base/observe.h"
#include "base/options.h"
#include "cpu/fpu.h"
#include "gdb/parts.h"
#include "host/host.h"
#include "linux/host_call.h"
#include "linux/signals.h"

#include <unistd.h>

/* ---- system calls ---- */

bool mr_debug_holds_call(struct mr_state *s)
{
    mr_fpu_collect(s); /* the debugger may look at it during the call */
    return mr_debug_this_thread.number != 0 && __atomic_load_n(&mr_debug_stop, __ATOMIC_SEQ_CST);
}

bool mr_debug_moved(struct mr_state *s, uint32_t *pc)
{
    if (!mr_debug_this_thread.changed)
        return false;
    mr_debug_this_thread.changed = false;
    mr_fpu_enter(s);
    *pc = s->pc;
    return true;
}

/* ---- signals ---- */

void mr_debug_note_signal(struct mr_debug_thread *self, const struct mr_signal_info *info)
{
    bool fault = info->signal == MIPS_SIGSEGV || info->signal == MIPS_SIGBUS;
    _Static_assert(sizeof self->signal_info == MR_SIGINFO_BYTES, "room");
    self->fault_address = fault ? info->words[0] : 0;
    mr_signal_info_to_bytes(self->signal_info, info);
    self->has_signal_info = true;
}

/* Asks until the debugger has answered, whichever other threads stop meanwhile. */
static void ask(struct mr_debug_thread *self, struct mr_signal_info *info)
{
    const struct mr_debug_event event = {.kind = MR_DEBUG_SIGNAL, .signal = info->signal};
    mr_debug_note_signal(self, info);
    while (mr_debugging && !mr_debug_report(&event))
        ;
    self->has_signal_info = false;
    if (!mr_debugging)
        return;
    if (self->signal != info->signal)
        *info = (struct mr_signal_info){.signal = self->signal, .words = {(uint32_t)getpid(), getuid()}};
    self->signal = 0;
    info->asked = true;
}

static bool wants_to_know(const struct mr_signal_info *info)
{
    return mr_debug_this_thread.number != 0 && !info->asked && !mr_debug_passes(info->signal);
}

void mr_debug_ask_signal(struct mr_state *s, struct mr_signal_info *info, uint32_t *pc)
{
    if (!wants_to_know(info))
        return;
    s->pc = *pc;
    ask(&mr_debug_this_thread, info);
    mr_debug_this_thread.changed = false;
    *pc = s->pc;
}

bool mr_debug_take_given_signal(void)
{
    struct mr_debug_thread *self = &mr_debug_this_thread;
    if (self->signal == 0)
        return false;
    const struct mr_signal_info info = {.signal = self->signal, .words = {(uint32_t)getpid(), getuid()}, .asked = true};
    self->signal = 0;
    mr_signal_queue(&info);
    return true;
}

void mr_debug_end_in_call(void *context)
{
    bool given = mr_debug_take_given_signal();
    if (mr_debug_this_thread.changed || given)
        mr_wait_call_interrupt(context);
    else
        mr_wait_call_go_on(context);
}

bool mr_debug_ask_in_call(struct mr_signal_info *info, void *context)
{
    struct mr_debug_thread *self = &mr_debug_this_thread;
    if (!wants_to_know(info) || !mr_kernel_call_waits(context))
        return true;
    self->in_call = true;
    ask(self, info);
    self->in_call = false;
    if (info->signal != 0 && !mr_signal_is_ignored(info->signal))
        return true;
    mr_debug_end_in_call(context);
    return false;
}

bool mr_debug_wants_signal(int mips_signal)
{
    bool ignored = mr_signal_is_ignored(mips_signal);
    if (mr_options.gdb_on_crash != NULL && !ignored && mr_debug_dumps_core(mips_signal))
        return true;
    return mr_debugging && !(ignored && (mr_debug_session.executes || mr_debug_passes(mips_signal)));
}
