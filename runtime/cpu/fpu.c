/* FCSR and its views, and the host's rounding mode and exception flags (MIPS32 manual, volume I-A, chapter on the FPU).
 *
 * All tiers compute with the host's FPU, in the guest's rounding mode, and let exception flags gather there; they are
 * added to s->fcsr when a program reads it. The host's flag of invalid operations means nothing, as its NaNs signal where the
 * guest's are quiet: the code that makes or meets a NaN puts that flag into s->fcsr. The causes of the last instruction,
 * which s->fp_word and s->fp_operands tell, are found then by performing it again: to clear the host's flags before each
 * instruction made floating point eight times slower. When an exception is enabled, all code is interpreted, and looks at
 * once. Compile with -frounding-math.
 */
#ifdef __clang__
#pragma STDC FENV_ACCESS ON
#endif
#include "cpu/fpu.h"

#include "cpu/interp.h"
#include "cpu/upcalls.h"
#include "host/host.h"
#include "memory/values.h"

#include <fenv.h>
#include <string.h>

#define FLAGS (31u << MR_FCSR_FLAGS_SHIFT)
#define CAUSES (63u << MR_FCSR_CAUSES_SHIFT)

/* ---- the host ---- */

static uint32_t host_exceptions(void)
{
    int raised = mr_float_raised();
    return (raised & FE_DIVBYZERO ? MR_FP_DIVISION : 0) | (raised & FE_OVERFLOW ? MR_FP_OVERFLOW : 0) |
           (raised & FE_UNDERFLOW ? MR_FP_UNDERFLOW : 0) | (raised & FE_INEXACT ? MR_FP_INEXACT : 0);
}

static void set_modes(uint32_t fcsr, bool keeps_flags)
{
    static const int rounding[4] = {FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD};
    mr_float_set_modes(rounding[fcsr & MR_FCSR_RM], (fcsr & MR_FCSR_FS) != 0, keeps_flags);
}

void mr_fpu_set_modes(const struct mr_state *s)
{
    set_modes(s->fcsr, true);
}

/* Flags that the guest has too stay: to take them away takes time. */
void mr_fpu_enter(struct mr_state *s)
{
    set_modes(s->fcsr, (host_exceptions() & ~(s->fcsr >> MR_FCSR_FLAGS_SHIFT)) == 0);
    s->fp_word = 0;
}

/* ---- instructions ---- */

/* Performs an instruction for all its exceptions; the host's flags are those of it alone then. */
static uint64_t perform_alone(struct mr_state *s, uint32_t word, const uint64_t operands[3], uint32_t *raised)
{
    mr_float_clear();
    uint64_t result = mr_fp_perform(s, word, operands, raised);
    *raised |= host_exceptions();
    return result;
}

static void set_causes(struct mr_state *s, uint32_t raised)
{
    s->fcsr = (s->fcsr & ~CAUSES) | raised << MR_FCSR_CAUSES_SHIFT;
}

void mr_fpu_collect(struct mr_state *s)
{
    uint32_t raised = 0;
    s->fcsr |= host_exceptions() << MR_FCSR_FLAGS_SHIFT;
    if (s->fp_word == 0)
        return;
    perform_alone(s, s->fp_word, s->fp_operands, &raised);
    set_causes(s, raised);
    s->fp_word = 0;
}

static bool execute_at_once(struct mr_state *s, uint32_t word, const uint64_t operands[3], uint64_t *result)
{
    uint32_t raised = 0;
    mr_fpu_collect(s);
    *result = perform_alone(s, word, operands, &raised);
    set_causes(s, raised);
    if (mr_fpu_pending(s)) {
        mr_float_clear();
        return true;
    }
    s->fcsr |= raised << MR_FCSR_FLAGS_SHIFT;
    return false;
}

bool mr_fpu_execute(struct mr_state *s, uint32_t word, const uint64_t operands[3], uint64_t *result)
{
    uint32_t raised = 0;
    if (mr_fpu_may_trap(s))
        return execute_at_once(s, word, operands, result);
    *result = mr_fp_perform(s, word, operands, &raised);
    s->fcsr |= raised << MR_FCSR_FLAGS_SHIFT;
    s->fp_word = word;
    memcpy(s->fp_operands, operands, sizeof s->fp_operands);
    return false;
}

uint64_t mr_fpu_compute(struct mr_state *s, uint32_t word, mr_fp_function *function, uint64_t a, uint64_t b)
{
    uint32_t raised = 0;
    uint64_t result = function(s, a, b, &raised);
    s->fcsr |= raised << MR_FCSR_FLAGS_SHIFT;
    s->fp_word = word;
    s->fp_operands[0] = a;
    s->fp_operands[1] = b;
    return result;
}

uint64_t mr_fp_again(struct mr_state *s, uint32_t word, uint64_t a, uint64_t b, uint64_t c)
{
    const uint64_t operands[3] = {a, b, c};
    uint32_t raised = 0;
    uint64_t result = mr_fp_perform(s, word, operands, &raised);
    s->fcsr |= raised << MR_FCSR_FLAGS_SHIFT;
    return result;
}

void mr_fp_replay(struct mr_state *s, const struct mr_fp_step *steps, uint32_t load_count, uint32_t step_count,
                  uint64_t *slots)
{
    uint32_t raised = 0;
    for (uint32_t i = 0; i < load_count; i++) {
        uint32_t guest = (uint32_t)slots[steps[i].result] + steps[i].word, size_bytes = steps[i].operands[0];
        slots[steps[i].result] = size_bytes == 4 ? mr_peek32(guest) : mr_peek64(guest);
    }
    for (uint32_t i = load_count; i < step_count; i++) {
        const struct mr_fp_step *step = &steps[i];
        const uint64_t operands[3] = {slots[step->operands[0]], slots[step->operands[1]], slots[step->operands[2]]};
        slots[step->result] = mr_fp_perform(s, step->word, operands, &raised);
    }
    s->fcsr |= raised << MR_FCSR_FLAGS_SHIFT;
}

/* ---- FCSR's views: control registers 25 (FCCR), 26 (FEXR), 28 (FENR) and 31 (FCSR); 0 is FIR ---- */

#define FEXR_BITS (CAUSES | FLAGS)
#define FENR_BITS (MR_FCSR_ENABLES | MR_FCSR_RM)
#define FENR_FS (1u << 2)

static uint32_t condition_codes(const struct mr_state *s)
{
    uint32_t codes = 0;
    for (unsigned number = 0; number < 8; number++)
        codes |= (s->fcc[number].value & 1) << number;
    return codes;
}

static void set_condition_codes(struct mr_state *s, uint32_t codes)
{
    for (unsigned number = 0; number < 8; number++)
        s->fcc[number].value = codes >> number & 1;
}

static void replace_bits(uint32_t *word, uint32_t mask, uint32_t value)
{
    *word = (*word & ~mask) | (value & mask);
}

uint32_t mr_fpu_fcsr(const struct mr_state *s)
{
    uint32_t codes = condition_codes(s);
    return s->fcsr | (codes & 1) << 23 | (codes & 0xfe) << 24;
}

/* NAN2008 and ABS2008 are read-only. */
void mr_fpu_set_fcsr(struct mr_state *s, uint32_t value)
{
    set_condition_codes(s, (value >> 23 & 1) | (value >> 24 & 0xfe));
    replace_bits(&s->fcsr, FEXR_BITS | FENR_BITS | MR_FCSR_FS, value);
}

bool mr_fpu_pending(const struct mr_state *s)
{
    uint32_t enables = (s->fcsr >> MR_FCSR_ENABLES_SHIFT & 31) | MR_FP_UNIMPLEMENTED;
    return (s->fcsr >> MR_FCSR_CAUSES_SHIFT & 63 & enables) != 0;
}

uint32_t mr_cfc1(struct mr_state *s, uint32_t fs)
{
    mr_fpu_collect(s);
    switch (fs) {
    case 0:
        return MR_FIR;
    case 25:
        return condition_codes(s);
    case 26:
        return s->fcsr & FEXR_BITS;
    case 28:
        return (s->fcsr & FENR_BITS) | (s->fcsr & MR_FCSR_FS ? FENR_FS : 0);
    default: /* 31; the others are unpredictable, and on qemu this too */
        return mr_fpu_fcsr(s);
    }
}

void mr_ctc1(struct mr_state *s, uint32_t fs, uint32_t value)
{
    mr_fpu_collect(s);
    switch (fs) {
    case 25:
        set_condition_codes(s, value);
        break;
    case 26:
        replace_bits(&s->fcsr, FEXR_BITS, value);
        break;
    case 28:
        replace_bits(&s->fcsr, FENR_BITS, value);
        replace_bits(&s->fcsr, MR_FCSR_FS, value & FENR_FS ? MR_FCSR_FS : 0);
        break;
    case 31:
        mr_fpu_set_fcsr(s, value);
        break;
    default: /* FIR is read-only, the others do not exist */
        break;
    }
    mr_fpu_enter(s);
}

uint32_t mr_ctc1_lifted(struct mr_state *s, uint32_t fs, uint32_t value, uint32_t pc, uint32_t next_pc)
{
    mr_fpu_collect(s);
    uint32_t before = mr_fpu_fcsr(s);
    mr_ctc1(s, fs, value);
    if (next_pc == pc && mr_fpu_may_trap(s)) {
        /* In a delay slot, where next_pc is the branch: the interpreter performs both, with the condition codes that
         * the branch saw. */
        mr_fpu_set_fcsr(s, before);
        mr_fpu_enter(s);
        return mr_interpret_step(s, pc);
    }
    bool pending = mr_fpu_pending(s);
    if (pending)
        next_pc = mr_exception(s, pc, MR_FPE, 0);
    if (mr_fpu_may_trap(s))
        return mr_leave_lifted(s, next_pc);
    return pending ? next_pc : MR_STAY;
}
