/* Floating point: FCSR, the host's rounding mode and flags, registers by the FR rule, arithmetic on bit patterns. */
#ifndef MR_FPU_H
#define MR_FPU_H

#include "mr_state.h"

#include <stdbool.h>
#include <stdint.h>

/* Exceptions, in the order that FCSR's cause, enable and flag fields share (volume I-A, FCSR). */
enum {
    MR_FP_INEXACT = 1,
    MR_FP_UNDERFLOW = 2,
    MR_FP_OVERFLOW = 4,
    MR_FP_DIVISION = 8,
    MR_FP_INVALID = 16,
    MR_FP_UNIMPLEMENTED = 32 /* a cause only, always enabled */
};
enum { MR_FCSR_FLAGS_SHIFT = 2, MR_FCSR_ENABLES_SHIFT = 7, MR_FCSR_CAUSES_SHIFT = 12 };
#define MR_FCSR_NAN2008 (1u << 18)
#define MR_FCSR_RM 3u
#define MR_FCSR_ENABLES (31u << MR_FCSR_ENABLES_SHIFT)
#define MR_FCSR_ABS2008 (1u << 19)
#define MR_FCSR_FS (1u << 24)

enum mr_fp_format { MR_FP_S, MR_FP_D, MR_FP_W = 4, MR_FP_L }; /* the fmt field less 16 */
enum mr_fp_operation { MR_FP_ADD, MR_FP_SUB, MR_FP_MUL, MR_FP_DIV, MR_FP_SQRT, MR_FP_RECIP, MR_FP_RSQRT };
/* One of these operations on bit patterns. Exceptions are added to *raised, or left in the host's FPU. */
typedef uint64_t mr_fp_function(struct mr_state *s, uint64_t a, uint64_t b, uint32_t *raised);

/* ---- fpu.c ---- */

/* Gives the host the rounding mode and flushing that s->fcsr asks for, and takes away flags that s->fcsr does not have. For
 * callers that change it by other ways than mr_ctc1: a new thread, the return from a signal handler. */
void mr_fpu_enter(struct mr_state *s);
/* Gives s->fcsr what belongs there: the exception flags that have gathered in the host's FPU, and the causes of the last
 * instruction. For callers that read s->fcsr by other ways than mr_cfc1: the copy for a new thread. */
void mr_fpu_collect(struct mr_state *s);
/* The whole register with its condition codes, when the host's flags are collected; and the same backwards, for a thread that
 * enters its modes afterwards. */
uint32_t mr_fpu_fcsr(const struct mr_state *s);
void mr_fpu_set_fcsr(struct mr_state *s, uint32_t value);
#define MR_FIR 0x00739700u /* 74Kf: 64-bit registers, formats S, D, W, L */
/* True when a cause and its enable are both set: after mr_ctc1 the caller raises MR_FPE then. */
bool mr_fpu_pending(const struct mr_state *s);
void mr_ctc1(struct mr_state *s, uint32_t fs, uint32_t value);
/* Gives the host the modes again after something took them away, and keeps its flags. */
void mr_fpu_set_modes(const struct mr_state *s);

/* True when an exception is enabled: then every instruction must look whether it traps, which only the interpreter does. */
static inline bool mr_fpu_may_trap(const struct mr_state *s)
{
    return (s->fcsr & MR_FCSR_ENABLES) != 0;
}

/* Runs an arithmetic instruction on the bits of fs, ft and fr. Returns true when it traps: then FCSR has its causes, and
 * the caller raises MR_FPE and writes no result. */
bool mr_fpu_execute(struct mr_state *s, uint32_t word, const uint64_t operands[3], uint64_t *result);

/* The same for an instruction that is one of mr_fp_functions, while no exception is enabled. Returns its result. */
uint64_t mr_fpu_compute(struct mr_state *s, uint32_t word, mr_fp_function *function, uint64_t a, uint64_t b);

/* ---- registers, by the FR rule of mipsrec/state.py ---- */

static inline bool mr_fpr_has_double(const struct mr_state *s, unsigned number)
{
    return s->fr || !(number & 1);
}

static inline uint32_t mr_fpr_single(const struct mr_state *s, unsigned number)
{
    return !s->fr && number & 1 ? s->fpr[number - 1].word.high : s->fpr[number].word.low;
}

static inline void mr_fpr_set_single(struct mr_state *s, unsigned number, uint32_t bits)
{
    if (!s->fr && number & 1)
        s->fpr[number - 1].word.high = bits;
    else
        s->fpr[number].word.low = bits;
}

static inline uint64_t mr_fpr_double(const struct mr_state *s, unsigned number)
{
    return s->fpr[number].bits;
}

static inline void mr_fpr_set_double(struct mr_state *s, unsigned number, uint64_t bits)
{
    s->fpr[number].bits = bits;
}

/* ---- fpu_arithmetic.c: bit patterns in, bit patterns out ---- */

/* Performs an arithmetic instruction on the bits of fs, ft and fr: one of COP1 in formats S, D, W and L but for moves, or a
 * multiply-add. The result of a comparison is 0 or 1. Exceptions are added to *raised; those that the host's arithmetic
 * raises, all but MR_FP_INVALID, may be left in the host's FPU instead. */
uint64_t mr_fp_perform(struct mr_state *s, uint32_t word, const uint64_t operands[3], uint32_t *raised);
/* The format of what such an instruction writes to fd. */
enum mr_fp_format mr_fp_result_format(uint32_t word);

/* Operations in S or D; those of one operand want 0 for b. */
extern mr_fp_function *const mr_fp_functions[2][7]; /* by format and operation */

#endif
