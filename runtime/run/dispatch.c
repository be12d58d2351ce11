/* Control flow between lifted code, the interpreter and the host's stack.
 *
 * Lifted functions return the guest pc to go on at. The caller of one compares it with the pc it expects; on a mismatch it
 * returns that pc upward, and so every pc that has no place among the host's frames ends up in a loop here, which looks
 * for a lifted entry and else interprets. Nested loops (mr_call) end when the guest comes back to where they were begun,
 * or when its stack pointer shows that it has left the frame they were begun in. Where all this fills the host's stack,
 * the outermost loop begins anew.
 */
#include "base/counters.h"
#include "base/instructions.h"
#include "base/marks.h"
#include "base/observe.h"
#include "base/options.h"
#include "baseline/baseline.h"
#include "cpu/fpu.h"
#include "cpu/interp.h"
#include "cpu/mips16.h"
#include "cpu/registers.h"
#include "cpu/upcalls.h"
#include "host/host.h"
#include "lifted/dispatch_table.h"
#include "lifted/module.h"
#include "run/host_stack.h"
#include "run/upcalls.h"

#include <setjmp.h>

#define NEVER_PC 6u /* misaligned: no instruction is there */
#define NEVER_SP 0xffffffffu
#define LEAST_STACK_BYTES ((size_t)1 << 20)
#define NESTED_POLLS_MAX 16u /* those whose handlers never return must not fill the stack */

static _Thread_local struct {
    sigjmp_buf outermost;
    uint32_t (*resume)(struct mr_state *);
    uint32_t pc, stop_pc;
    bool ended; /* by mr_end_thread */
} restart;

/* Goes on at pc by what there is of it: lifted code, else translated code, else the interpreter. Where programs have some
 * of their functions lifted, control comes here for each call between those and the others. */
static inline uint32_t run_one(struct mr_state *s, uint32_t pc, uint32_t stop_pc, uint32_t stop_sp)
{
    bool may_trap = mr_fpu_may_trap(s);
    mr_function lifted = may_trap || mr_options.engine_interp || mr_passed_over() ? NULL : mr_lookup(pc);
    mr_counters.dispatches++;
    if (lifted != NULL) {
        s->pc = pc;
        mr_doing.activity = MR_FOR_LIFTED;
        return mr_enter(s, lifted);
    }
    if (mr_baseline_on && !may_trap && !mr_verifying && !mr_debugging && mr_baseline_has_already(s, pc))
        return mr_run_translated(s, pc);
    return mr_interpret(s, pc, stop_pc, stop_sp);
}

uint32_t mr_run(struct mr_state *s, uint32_t pc, uint32_t stop_pc, uint32_t stop_sp)
{
    struct mr_doing before = mr_doing;
    uint64_t outer = mr_host_thread.stop;
    mr_host_thread.stop = (uint64_t)stop_sp << 32 | stop_pc;
    do {
        pc = run_one(s, pc, stop_pc, stop_sp);
        if (mr_verifying)
            mr_observe.point(s, MR_AT_PLACE, pc);
    } while (pc != stop_pc && pc != restart.stop_pc && GPR(s, MR_REG_SP) <= stop_sp);
    mr_host_thread.stop = outer;
    mr_doing = before;
    return pc;
}

/* Whether the host's stack will soon be full. Then its frames are abandoned: all are of lifted code whose state is complete,
 * and every pc that they wait for is found without them. */
static bool stack_is_low(void)
{
    uintptr_t low = mr_host_thread.waiting == NULL ? mr_host_thread.stack_low : mr_host_thread.signal_stack_low;
    return (uintptr_t)__builtin_frame_address(0) - low < LEAST_STACK_BYTES;
}

/* Whether recompiled code has been set aside since this thread last abandoned its frames. Those that wait would return to it,
 * and a loop that calls other code all the time might stay in it for good. */
static bool frames_are_aside(void)
{
    uint32_t times = atomic_load_explicit(&mr_times_set_aside, memory_order_relaxed);
    if (times == mr_host_thread.times_set_aside)
        return false;
    mr_host_thread.times_set_aside = times;
    return true;
}

/* Where the innermost loop would end as well, it is asked to go on: code that jumps here has come from there, and returning
 * leaves no frame behind. */
uint32_t mr_call(struct mr_state *s, uint32_t target)
{
    if (mr_verifying)
        mr_observe.point(s, MR_AT_CALL, target);
    if (target == restart.stop_pc) /* a function that mipsrec call runs returns by another register than ra */
        return target;
    uint32_t stop_pc = GPR(s, MR_REG_RA), stop_sp = GPR(s, MR_REG_SP);
    if (((uint64_t)stop_sp << 32 | stop_pc) == mr_host_thread.stop && mr_may_be_code(target))
        return target;
    if (stack_is_low() || frames_are_aside())
        return mr_leave_lifted(s, target);
    return mr_run(s, target, stop_pc, stop_sp);
}

/* So the frames that wait there stay, while a handler runs, another context, or code that nobody lifted. */
uint32_t mr_run_nested(struct mr_state *s, uint32_t pc, uint32_t sp)
{
    if (pc == restart.stop_pc || pc == NEVER_PC)
        return pc;
    if (stack_is_low())
        return mr_leave_lifted(s, pc);
    return mr_run(s, pc, NEVER_PC, sp - 1);
}

/* An alternate stack may be above; then only the pc tells when the handler is done. */
struct mr_interrupted mr_interrupted_at(const struct mr_state *s, uint32_t pc, uint32_t sp)
{
    return (struct mr_interrupted){pc, sp, GPR(s, MR_REG_SP) > sp ? NEVER_SP : sp - 1};
}

static bool is_over(const struct mr_state *s, uint32_t pc, struct mr_interrupted interrupted)
{
    return mr_is_back(s, pc, interrupted) || pc == restart.stop_pc || GPR(s, MR_REG_SP) > interrupted.stop_sp;
}

/* mr_leave_lifted may come with the pc that a handler's last system call returned to: then there is nothing more to run. */
uint32_t mr_run_handler(struct mr_state *s, uint32_t pc, struct mr_interrupted interrupted)
{
    while (!is_over(s, pc, interrupted))
        pc = mr_run(s, pc, interrupted.pc, interrupted.stop_sp);
    return pc;
}

/* The handler runs while the frames of lifted code wait. When it has come back with all registers as they were, they go on;
 * a handler that goes elsewhere has its pc returned through them, unless it is none, as MR_STAY. */
uint32_t mr_poll(struct mr_state *s, uint32_t pc)
{
    mr_fpu_collect(s);
    struct mr_state before = *s;
    uint32_t sp = GPR(s, MR_REG_SP), next = mr_signals_take(s, pc);
    if (next == pc && GPR(s, MR_REG_SP) == sp)
        return MR_STAY;
    if (mr_host_thread.nested_polls == NESTED_POLLS_MAX || stack_is_low())
        return mr_aligned(s, next);
    mr_host_thread.nested_polls++;
    next = mr_run_handler(s, next, mr_interrupted_at(s, pc, sp));
    mr_host_thread.nested_polls--;
    return next == pc && mr_same_registers(&before, s) ? MR_STAY : mr_aligned(s, next);
}

/* All that happens between two restarts. Nothing of it is in the frame that called sigsetjmp. */
static uint32_t run_until_restart(void)
{
    mr_host_thread.registers_stale = false;
    while (!restart.ended) {
        restart.pc = mr_run(mr_current, restart.pc, restart.stop_pc, NEVER_SP);
        if (restart.pc != NEVER_PC)
            break;
        restart.pc = mr_exception(mr_current, NEVER_PC, MR_ADDRESS, 0);
    }
    return restart.pc;
}

uint32_t mr_run_outermost(struct mr_state *s, uint32_t pc, uint32_t stop_pc)
{
    mr_host_thread.stack_high = (uintptr_t)__builtin_frame_address(0);
    restart.pc = pc;
    restart.stop_pc = stop_pc;
    restart.resume = NULL;
    mr_current = s;
    mr_baseline_thread_begins(s);
    mr_fpu_enter(s);
    /* The signal mask is not saved: the fault handlers do not change it, and the guest may have. */
    if (sigsetjmp(restart.outermost, 0) != 0) {
        if (restart.resume != NULL)
            restart.pc = restart.resume(mr_current);
    }
    pc = run_until_restart();
    mr_baseline_thread_ends();
    return pc;
}

void mr_restart_through(uint32_t (*resume)(struct mr_state *))
{
    restart.resume = resume;
    mr_host_thread.recovery = NULL;
    mr_host_thread.access_return = 0;
    mr_host_thread.nested_faults = 0;
    mr_host_thread.nested_polls = 0;
    mr_host_thread.waiting = NULL;
    mr_baseline_abandoned();
    siglongjmp(restart.outermost, 1);
}

void mr_restart(struct mr_state *s, uint32_t pc)
{
    (void)s;
    restart.pc = pc;
    mr_restart_through(NULL);
}

/* Frames that wait for the handler of a fault are kept: what they hold is nowhere else. Another state than the thread's is that
 * of verify.c's interpreter, which has no frames. */
uint32_t mr_leave_lifted(struct mr_state *s, uint32_t pc)
{
    if (mr_options.engine_interp || s != mr_current)
        return pc;
    if (mr_host_thread.waiting == NULL)
        mr_restart(s, pc);
    mr_host_thread.recovery = NULL;
    mr_host_thread.access_return = 0;
    mr_host_thread.waiting->pc = pc;
    siglongjmp(mr_host_thread.waiting->handler, 1);
}

void mr_end_thread(struct mr_state *s)
{
    (void)s;
    restart.ended = true;
    mr_restart_through(NULL);
}

void mr_run_thread(struct mr_state *s, uint32_t pc)
{
    mr_signal_stack_enter();
    if (mr_counter_map != NULL)
        mr_set_counters(mr_counter_map);
    if (mr_marks != NULL)
        mr_set_counters(mr_marks);
    MR_TELL(sample_thread_begins);
    mr_run_outermost(s, pc, NEVER_PC);
    MR_TELL(sample_thread_ends);
    mr_signal_stack_leave();
    mr_current = NULL;
}
