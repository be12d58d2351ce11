/* The interpreter's loop: runs instructions until control leaves for recompiled or translated code, or for a waiting frame.
 *
 * Most code comes by a few times before it is translated, which is too seldom for a cache of decoded instructions.
 * Self-modifying code needs no care: nothing decoded is kept.
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
#include "cpu/upcalls.h"
#include "lifted/code_files.h"
#include "lifted/dispatch_table.h"
#include "run/upcalls.h"

/* Each way to code that nobody recompiled costs about as much as a hundred instructions, and samples do not show where it
 * leads: the last of so many counts as a sample. */
#define ARRIVALS 4096u

static _Thread_local uint32_t arrivals;

static inline uint32_t aligned(struct mr_state *s, uint32_t pc)
{
    return mr_may_fetch(pc) ? pc : mr_aligned(s, pc);
}

/* Whether a signal may wait, or code is only told to leave (code_users.c), or a sample wants a step of growth/hot.c. */
static inline bool is_called(const struct mr_state *s)
{
    return mr_signals_waiting() || *(const volatile uint32_t *)&s->signalled.value != 0;
}

static inline bool leaves(const struct mr_state *s, uint32_t pc, uint32_t stop_pc, uint32_t stop_sp)
{
    return pc == stop_pc || pc >= MR_USER_END || GPR(s, MR_REG_SP) > stop_sp ||
           (!mr_options.engine_interp && !mr_fpu_may_trap(s) && mr_lookup(pc) != NULL && !mr_passed_over());
}

/* Runs the translated code of pc until it comes back; returns the pc to go on at. */
static inline uint32_t translated(struct mr_state *s, uint32_t pc)
{
    bool performs = mr_baseline_run(s, pc);
    pc = aligned(s, performs ? mr_interpret_step(s, s->pc) : s->pc);
    return is_called(s) ? aligned(s, mr_signals_take(s, pc)) : pc;
}

/* Runs translated code from *pc on, as long as it leads to more; moves *pc to where it does not. Returns true where the loop
 * below is to leave. */
static bool run_translated(struct mr_state *s, uint32_t *pc, uint32_t stop_pc, uint32_t stop_sp)
{
    while (mr_baseline_on && !mr_fpu_may_trap(s) && mr_baseline_has(s, *pc)) {
        *pc = translated(s, *pc);
        if (leaves(s, *pc, stop_pc, stop_sp))
            return true;
    }
    return false;
}

static void note(const struct mr_state *s, uint32_t pc, uint32_t word)
{
    mr_mark(pc, MR_INSTRUCTION_BYTES, false);
    if (mr_comparing)
        mr_note_comparison(s, pc, word);
}

/* Runs instructions from *pc on up to a jump, which it performs; moves *pc to the jump and returns its target. A branch that is
 * not taken is no jump, unless it leads to stop_pc. */
static inline uint32_t run_to_jump(struct mr_state *s, uint32_t *pc, uint32_t stop_pc)
{
    for (uint32_t at = *pc;;) {
        *(volatile uint32_t *)&s->pc = at;
        uint32_t word = mr_fetch(at);
        if (__builtin_expect(mr_noting, false))
            note(s, at, word);
        uint32_t following = mr_next_pc(at), next = mr_perform(s, word, following);
        if (__builtin_expect(next != following, false) && /* or else compilers put a jump into the loop */
            (next != mr_return_pc(at) || next == stop_pc)) {
            *pc = at;
            return next;
        }
        at = next;
    }
}

/* Runs MIPS16 code up to a jump, and that. Returns true where the loop below is to leave: behind a jump alone, as `restore` frees
 * the frame of a function before its last instruction. */
static bool run_mips16(struct mr_state *s, uint32_t *pc, uint32_t stop_pc, uint32_t stop_sp)
{
    for (bool jumped = false; !jumped && mr_is_mips16(*pc);) {
        uint32_t next = mr_mips16_step(s, *pc);
        jumped = next - *pc > 2 * MR_HALF_BYTES;
        *pc = aligned(s, next);
        mr_counters.interpreted++;
        if (is_called(s)) {
            *pc = aligned(s, mr_signals_take(s, *pc));
            jumped |= *pc != next;
        }
        if ((jumped || *pc == stop_pc) && leaves(s, *pc, stop_pc, stop_sp))
            return true;
    }
    return false;
}

/* Runs code that the loop below does not interpret, as long as one kind leads to the other. Returns true where that is to
 * leave. */
static inline bool run_other_code(struct mr_state *s, uint32_t *pc, uint32_t stop_pc, uint32_t stop_sp)
{
    do {
        if ((mr_baseline_on && run_translated(s, pc, stop_pc, stop_sp)) || run_mips16(s, pc, stop_pc, stop_sp))
            return true;
    } while (mr_is_mips16(*pc));
    return false;
}

static uint32_t interpret(struct mr_state *s, uint32_t pc, uint32_t stop_pc, uint32_t stop_sp)
{
    mr_fpu_set_modes(s);
    pc = mr_aligned(s, pc);
    if (run_other_code(s, &pc, stop_pc, stop_sp))
        return pc;
    for (;;) {
        uint32_t jump_pc = pc, next = run_to_jump(s, &jump_pc, stop_pc);
        uint64_t instructions = mr_instruction_index(jump_pc - pc) + 2; /* all since the last jump, and the delay slot */
        mr_counters.interpreted += instructions;
        if (mr_options.stats)
            mr_code_file_interpreted(jump_pc, instructions);
        pc = aligned(s, next);
        if (is_called(s)) /* else a loop that waits for a handler's work would never end */
            pc = aligned(s, mr_signals_take(s, pc));
        if (leaves(s, pc, stop_pc, stop_sp) || run_other_code(s, &pc, stop_pc, stop_sp))
            return pc;
    }
}

static inline void note_arrival(uint32_t pc)
{
    mr_counters.interpreter_runs++;
    if (++arrivals % ARRIVALS == 0)
        MR_TELL(growth_arrived, pc);
}

uint32_t mr_run_translated(struct mr_state *s, uint32_t pc)
{
    mr_doing.activity = MR_INTERPRETING;
    note_arrival(pc);
    return translated(s, pc);
}

uint32_t mr_interpret(struct mr_state *s, uint32_t pc, uint32_t stop_pc, uint32_t stop_sp)
{
    struct mr_doing before = mr_doing;
    mr_doing.activity = MR_INTERPRETING;
    note_arrival(pc);
    pc = mr_debugging ? mr_observe.debug_run(s, pc, stop_pc, stop_sp) : interpret(s, pc, stop_pc, stop_sp);
    mr_doing = before;
    return pc;
}
