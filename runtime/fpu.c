/* FCSR and its views, and the host's rounding mode and exception flags (MIPS32 manual, volume I-A, chapter on the FPU).
 *
 * Everyone computes with the host's FPU, in the guest's rounding mode, and lets exception flags gather there; they are
 * added to s->fcsr when someone asks. The causes of the interpreter's last instruction are found then by computing it
 * again: to clear the host's flags before each instruction made floating point eight times slower. Only when exceptions
 * are enabled does it look at once. Lifted code knows no causes. Compile with -frounding-math.
 */
#include "fpu.h"

#ifdef __clang__
#pragma STDC FENV_ACCESS ON
#endif

#if defined(__SSE2__) && !defined(MR_FPU_PORTABLE)
#include <xmmintrin.h>
#else
#include <fenv.h>
#endif

#define FLAGS (31u << MR_FCSR_FLAGS_SHIFT)
#define ENABLES (31u << MR_FCSR_ENABLES_SHIFT)
#define CAUSES (63u << MR_FCSR_CAUSES_SHIFT)
#define FIR 0x00739300u /* 24Kf: 64-bit registers, formats S, D, W, L */

/* ---- the host ---- */

#if defined(__SSE2__) && !defined(MR_FPU_PORTABLE)
#define MXCSR_FLAGS 0x3fu
#define MXCSR_MASKED 0x1f80u /* no exception traps */
#define MXCSR_FLUSH 0x8000u

static uint32_t host_modes(uint32_t fcsr)
{
    static const uint32_t rounding[4] = {0x0000, 0x6000, 0x4000, 0x2000};
    return MXCSR_MASKED | rounding[fcsr & MR_FCSR_RM] | (fcsr & MR_FCSR_FS ? MXCSR_FLUSH : 0);
}

static uint32_t host_exceptions(void)
{
    uint32_t mxcsr = _mm_getcsr();
    return (mxcsr & 1 ? MR_FP_INVALID : 0) | (mxcsr & 4 ? MR_FP_DIVISION : 0) | (mxcsr & 8 ? MR_FP_OVERFLOW : 0) |
           (mxcsr & 16 ? MR_FP_UNDERFLOW : 0) | (mxcsr & 32 ? MR_FP_INEXACT : 0);
}

static void host_clear(void)
{
    _mm_setcsr(_mm_getcsr() & ~MXCSR_FLAGS);
}

static void host_set_modes(uint32_t fcsr)
{
    uint32_t now = _mm_getcsr(), wanted = host_modes(fcsr) | (now & MXCSR_FLAGS);
    if (now != wanted)
        _mm_setcsr(wanted);
}
#else
/* FS has no name in C: fpu_arithmetic.c flushes results then, lifted code does not. */
static uint32_t host_exceptions(void)
{
    int flags = fetestexcept(FE_ALL_EXCEPT);
    return (flags & FE_INVALID ? MR_FP_INVALID : 0) | (flags & FE_DIVBYZERO ? MR_FP_DIVISION : 0) |
           (flags & FE_OVERFLOW ? MR_FP_OVERFLOW : 0) | (flags & FE_UNDERFLOW ? MR_FP_UNDERFLOW : 0) |
           (flags & FE_INEXACT ? MR_FP_INEXACT : 0);
}

static void host_clear(void)
{
    feclearexcept(FE_ALL_EXCEPT);
}

static void host_set_modes(uint32_t fcsr)
{
    static const int rounding[4] = {FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD};
    fesetround(rounding[fcsr & MR_FCSR_RM]);
}
#endif

void mr_fpu_set_modes(const struct mr_state *s)
{
    host_set_modes(s->fcsr);
}

void mr_fpu_enter(struct mr_state *s)
{
    host_set_modes(s->fcsr);
    host_clear();
}

/* ---- the interpreter's instructions ---- */

/* What the last instruction computed. */
static _Thread_local struct {
    struct {
        mr_host_operation *operation;
        uint64_t a, b;
    } steps[2];
    unsigned count;
    bool complete; /* mr_fpu_traps was there: the next step is another instruction's */
} last;

void mr_fpu_collect(struct mr_state *s)
{
    uint32_t raised = host_exceptions();
    if (raised) {
        s->fcsr |= raised << MR_FCSR_FLAGS_SHIFT;
        host_clear();
        for (unsigned step = 0; step < last.count; step++)
            last.steps[step].operation(last.steps[step].a, last.steps[step].b);
        s->fcsr |= host_exceptions() << MR_FCSR_CAUSES_SHIFT;
        host_clear();
    }
    last.count = 0;
}

uint64_t mr_fpu_compute(struct mr_state *s, mr_host_operation *operation, uint64_t a, uint64_t b, uint32_t *raised)
{
    if (s->fcsr & ENABLES) {
        mr_fpu_collect(s);
        uint64_t result = operation(a, b);
        *raised |= host_exceptions();
        host_clear();
        return result;
    }
    if (last.complete)
        last.count = 0;
    last.complete = false;
    last.steps[last.count].operation = operation;
    last.steps[last.count].a = a;
    last.steps[last.count].b = b;
    last.count++;
    return operation(a, b);
}

/* ---- FCSR ---- */

bool mr_fpu_pending(const struct mr_state *s)
{
    uint32_t enables = (s->fcsr >> MR_FCSR_ENABLES_SHIFT & 31) | MR_FP_UNIMPLEMENTED;
    return (s->fcsr >> MR_FCSR_CAUSES_SHIFT & 63 & enables) != 0;
}

bool mr_fpu_traps(struct mr_state *s, uint32_t raised)
{
    if (last.complete)
        last.count = 0; /* of an earlier instruction: this one computed nothing */
    last.complete = true;
    s->fcsr = (s->fcsr & ~CAUSES) | raised << MR_FCSR_CAUSES_SHIFT;
    if (mr_fpu_pending(s))
        return true;
    s->fcsr |= raised << MR_FCSR_FLAGS_SHIFT;
    return false;
}

/* ---- FCSR's views: control registers 25 (FCCR), 26 (FEXR), 28 (FENR) and 31 (FCSR); 0 is FIR ---- */

#define FEXR_BITS (CAUSES | FLAGS)
#define FENR_BITS (ENABLES | MR_FCSR_RM)
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

uint32_t mr_cfc1(struct mr_state *s, uint32_t fs)
{
    uint32_t codes = condition_codes(s);
    mr_fpu_collect(s);
    switch (fs) {
    case 0:
        return FIR;
    case 25:
        return codes;
    case 26:
        return s->fcsr & FEXR_BITS;
    case 28:
        return (s->fcsr & FENR_BITS) | (s->fcsr & MR_FCSR_FS ? FENR_FS : 0);
    default: /* 31; the others are unpredictable, and on qemu this too */
        return s->fcsr | (codes & 1) << 23 | (codes & 0xfe) << 24;
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
    case 31: /* NAN2008 and ABS2008 are read-only */
        set_condition_codes(s, (value >> 23 & 1) | (value >> 24 & 0xfe));
        replace_bits(&s->fcsr, FEXR_BITS | FENR_BITS | MR_FCSR_FS, value);
        break;
    default: /* FIR is read-only, the others do not exist */
        break;
    }
    mr_fpu_enter(s);
}
