/* The interpreter's loop under a debugger: before each instruction it looks whether the thread is to stop.
 *
 * A branch and its delay slot are one step, as they are for ptrace on MIPS. The state is exact at each instruction; s->pc is
 * the one that comes next. Breakpoints are not in guest memory. An instruction at which the thread has just told the debugger
 * of a stop is executed when the debugger lets it go on, whatever is set there.
 */
#include "base/observe.h"
#include "cpu/fpu.h"
#include "cpu/interp.h"
#include "gdb/parts.h"
#include "linux/signals.h"
#include "run/upcalls.h"

/* Returns whether the thread has stopped. Then everything is looked at again, at s->pc. */
static bool stops(struct mr_debug_thread *self, const struct mr_state *s)
{
    struct mr_debug_event event = {MR_DEBUG_SIGNAL, MIPS_SIGTRAP, 0};
    if (__atomic_load_n(&mr_debug_stop, __ATOMIC_ACQUIRE)) {
        mr_debug_park(false);
        return true;
    }
    if (self->order != MR_DEBUG_STEP || !self->stepped) {
        if (self->reported && self->reported_pc == s->pc)
            return false;
        if (mr_debug_breaks_at(s->pc))
            event.kind = MR_DEBUG_BREAK;
        else if (!mr_debug_watches_next(s, &event))
            return false;
    }
    mr_debug_report(&event);
    return true;
}

static uint32_t execute(struct mr_debug_thread *self, struct mr_state *s, uint32_t pc)
{
    self->reported = false;
    self->stepped = true; /* before: the instruction may raise a signal, and never come back here */
    mr_counters.interpreted++;
    return mr_interpret_step(s, pc);
}

uint32_t mr_debug_run(struct mr_state *s, uint32_t pc, uint32_t stop_pc, uint32_t stop_sp)
{
    struct mr_debug_thread *self = &mr_debug_this_thread;
    mr_fpu_set_modes(s);
    pc = mr_aligned(s, pc);
    do {
        s->pc = pc;
        uint32_t next = pc;
        if (stops(self, s)) {
            self->changed = false;
            mr_debug_take_given_signal();
            next = s->pc;
        } else if (mr_signals_waiting() && (next = mr_signals_take(s, pc)) != pc) {
            self->stepped = true; /* into the handler */
        } else {
            next = execute(self, s, pc);
        }
        pc = mr_aligned(s, next);
    } while (mr_debugging && pc != stop_pc && GPR(s, MR_REG_SP) <= stop_sp);
    return pc;
}
