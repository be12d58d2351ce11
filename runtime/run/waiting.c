/* Frames of lifted code that wait for the guest's handler of a fault they raised.
 *
 * What the guest's registers are at the fault only the frames of lifted code know; the state has what they last wrote. So the
 * handler runs while those frames wait. When it comes back to the instruction, as one does that has made the page
 * accessible, the host repeats the access and nothing is lost. When the guest goes elsewhere, the frames are abandoned, and
 * it goes there with the registers in the state.
 */
#include "cpu/fpu.h"
#include "cpu/registers.h"
#include "cpu/upcalls.h"
#include "run/host_stack.h"
#include "run/upcalls.h"

#define NESTED_FAULTS_MAX 16u /* handlers that never return must not fill the signal stack */

static _Thread_local struct mr_access_fault pending; /* is being taken to the outermost loop */

static uint32_t raise_pending(struct mr_state *s)
{
    return mr_raise_access(s, pending);
}

void mr_fault_without_frames(const struct mr_access_fault *fault)
{
    pending = *fault;
    mr_restart_through(raise_pending);
}

/* Whether a handler of the guest can run while the frames of lifted code wait. */
static bool can_wait(const struct mr_state *s, struct mr_access_fault fault)
{
    return mr_access_is_caught(s, fault) && mr_host_thread.nested_faults < NESTED_FAULTS_MAX && !mr_signal_stack_is_low();
}

/* Runs the handler at here->pc; returns the guest's pc afterwards. */
static uint32_t run_above(struct mr_state *s, struct mr_waiting_frames *here)
{
    mr_host_thread.nested_faults++;
    mr_host_thread.waiting = here;
    sigsetjmp(here->handler, 0); /* mr_leave_lifted comes back here */
    mr_host_thread.nested_polls = here->polls;
    uint32_t pc = mr_run_handler(s, here->pc, here->interrupted);
    mr_host_thread.stop = here->stop;
    mr_host_thread.waiting = here->outer;
    mr_host_thread.nested_faults--;
    return pc;
}

void mr_fault_in_lifted_code(struct mr_state *s, const struct mr_access_fault *fault)
{
    mr_host_thread.registers_stale = true;
    if (!can_wait(s, *fault))
        mr_fault_without_frames(fault);
    mr_fpu_collect(s);
    struct mr_state before = *s;
    uint32_t sp = GPR(s, MR_REG_SP), pc = mr_raise_access(s, *fault);
    struct mr_waiting_frames here = {.pc = pc,
                                     .interrupted = mr_interrupted_at(s, fault->pc, sp),
                                     .polls = mr_host_thread.nested_polls,
                                     .stop = mr_host_thread.stop,
                                     .outer = mr_host_thread.waiting};
    mr_host_thread.registers_stale = false;
    pc = run_above(s, &here);
    if (pc != fault->pc || !mr_same_registers(&before, s))
        mr_restart(s, pc);
}
