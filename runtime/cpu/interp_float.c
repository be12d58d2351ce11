/* Coprocessor 1: moves, branches on condition codes, arithmetic in single and double (MIPS32 manual, volume II-A).
 *
 * Paired single is not there: reserved. Format L works in the even registers of FR=0 as well, which the manual leaves
 * open.
 */
#include "cpu/fpu.h"
#include "cpu/interp.h"
#include "cpu/upcalls.h"

/* ---- fields and operands ---- */

static unsigned ft(uint32_t word) { return rt(word); }
static unsigned fs(uint32_t word) { return rd(word); }
static unsigned fd(uint32_t word) { return sa(word); }
static enum mr_fp_format format_of(uint32_t word) { return (enum mr_fp_format)(rs(word) & 7); }
static bool is_wide(enum mr_fp_format format) { return format & 1; } /* D and L */

static bool has_register(const struct mr_state *s, enum mr_fp_format format, unsigned number)
{
    return !is_wide(format) || mr_fpr_has_double(s, number);
}

static uint64_t operand(const struct mr_state *s, enum mr_fp_format format, unsigned number)
{
    return is_wide(format) ? mr_fpr_double(s, number) : mr_fpr_single(s, number);
}

static void set_operand(struct mr_state *s, enum mr_fp_format format, unsigned number, uint64_t bits)
{
    if (is_wide(format))
        mr_fpr_set_double(s, number, bits);
    else
        mr_fpr_set_single(s, number, (uint32_t)bits);
}

/* ---- arithmetic ---- */

/* Comparisons and binary operations have a second operand; in others the field is part of the opcode. */
static bool has_ft(uint32_t word)
{
    return funct(word) < 4 || funct(word) >= 0x30;
}

/* The first operand is in fs; where the instruction has fewer than three, the others are any. */
MR_INLINE uint32_t perform(struct mr_state *s, uint32_t word, uint32_t next, enum mr_fp_format format, unsigned second,
                           unsigned third)
{
    enum mr_fp_format to = mr_fp_result_format(word);
    if (!has_register(s, format, fs(word) | second | third) || !has_register(s, to, fd(word)))
        return raise_reserved(s, word);
    const uint64_t operands[3] = {operand(s, format, fs(word)), operand(s, format, second), operand(s, format, third)};
    uint64_t result;
    if (mr_fpu_execute(s, word, operands, &result))
        return mr_exception(s, s->pc, MR_FPE, word);
    set_operand(s, to, fd(word), result);
    return next;
}

static uint32_t op_arithmetic(struct mr_state *s, uint32_t word, uint32_t next)
{
    return perform(s, word, next, format_of(word), has_ft(word) ? ft(word) : 0, 0);
}

static uint32_t op_multiply_add(struct mr_state *s, uint32_t word, uint32_t next)
{
    return perform(s, word, next, mr_fp_result_format(word), ft(word), rs(word)); /* rs is the field fr */
}

/* The same for operations of two operands: most of the arithmetic that programs do. */
static inline uint32_t compute(struct mr_state *s, uint32_t word, uint32_t next, enum mr_fp_format format,
                               enum mr_fp_operation operation)
{
    if (mr_fpu_may_trap(s) || !has_register(s, format, fs(word) | ft(word) | fd(word)))
        return op_arithmetic(s, word, next);
    uint64_t a = operand(s, format, fs(word)), b = operand(s, format, ft(word));
    set_operand(s, format, fd(word), mr_fpu_compute(s, word, mr_fp_functions[format][operation], a, b));
    return next;
}

#define COMPUTE(name, format, operation)                           \
    static uint32_t op_##name(struct mr_state *s, uint32_t word, uint32_t next) \
    {                                                              \
        return compute(s, word, next, format, operation);          \
    }

COMPUTE(add_s, MR_FP_S, MR_FP_ADD)
COMPUTE(sub_s, MR_FP_S, MR_FP_SUB)
COMPUTE(mul_s, MR_FP_S, MR_FP_MUL)
COMPUTE(div_s, MR_FP_S, MR_FP_DIV)
COMPUTE(add_d, MR_FP_D, MR_FP_ADD)
COMPUTE(sub_d, MR_FP_D, MR_FP_SUB)
COMPUTE(mul_d, MR_FP_D, MR_FP_MUL)
COMPUTE(div_d, MR_FP_D, MR_FP_DIV)

/* cvt.s and cvt.d, which have no meaning within a format */
static uint32_t op_cvt_float(struct mr_state *s, uint32_t word, uint32_t next)
{
    return format_of(word) == (funct(word) & 1) ? raise_reserved(s, word) : op_arithmetic(s, word, next);
}

static uint32_t op_compare(struct mr_state *s, uint32_t word, uint32_t next)
{
    enum mr_fp_format format = format_of(word);
    if (!has_register(s, format, fs(word) | ft(word)) || word >> 6 & 1) /* bit 6: MIPS-3D's cabs */
        return raise_reserved(s, word);
    const uint64_t operands[3] = {operand(s, format, fs(word)), operand(s, format, ft(word))};
    uint64_t holds;
    if (mr_fpu_execute(s, word, operands, &holds))
        return mr_exception(s, s->pc, MR_FPE, word);
    s->fcc[word >> 8 & 7].value = (uint32_t)holds;
    return next;
}

/* ---- moves: no exceptions, FCSR stays as it is ---- */

static uint32_t move_if(struct mr_state *s, uint32_t word, uint32_t next, bool condition, uint32_t clear, uint32_t flip)
{
    enum mr_fp_format format = format_of(word);
    if (!has_register(s, format, fs(word) | fd(word)))
        return raise_reserved(s, word);
    if (condition) {
        unsigned sign_position = is_wide(format) ? 63 : 31;
        uint64_t bits = operand(s, format, fs(word));
        bits &= ~((uint64_t)clear << sign_position);
        set_operand(s, format, fd(word), bits ^ (uint64_t)flip << sign_position);
    }
    return next;
}

/* movf, movt and the branches: whether the condition code they name is what they want. */
static bool condition_holds(const struct mr_state *s, uint32_t word)
{
    return s->fcc[word >> 18 & 7].value == (word >> 16 & 1);
}

#define MOVE_IF(name, condition)                                   \
    static uint32_t op_##name(struct mr_state *s, uint32_t word, uint32_t next) \
    {                                                              \
        return move_if(s, word, next, condition, 0, 0);            \
    }

MOVE_IF(mov_fmt, true)
MOVE_IF(movz_fmt, GPR(s, rt(word)) == 0)
MOVE_IF(movn_fmt, GPR(s, rt(word)) != 0)
MOVE_IF(movcf_fmt, condition_holds(s, word))

/* With ABS2008 these two are moves as well, else arithmetic. */
static uint32_t op_abs_fmt(struct mr_state *s, uint32_t word, uint32_t next)
{
    return s->fcsr & MR_FCSR_ABS2008 ? move_if(s, word, next, true, 1, 0) : op_arithmetic(s, word, next);
}

static uint32_t op_neg_fmt(struct mr_state *s, uint32_t word, uint32_t next)
{
    return s->fcsr & MR_FCSR_ABS2008 ? move_if(s, word, next, true, 0, 1) : op_arithmetic(s, word, next);
}

/* movf and movt of general-purpose registers */
uint32_t op_movci(struct mr_state *s, uint32_t word, uint32_t next)
{
    if (condition_holds(s, word))
        set_gpr(s, rd(word), GPR(s, rs(word)));
    return next;
}

/* ---- branches ---- */

static uint32_t op_bc1(struct mr_state *s, uint32_t word, uint32_t next)
{
    return mr_branch(s, word, next, condition_holds(s, word), word >> 17 & 1);
}

/* ---- moves between register files ---- */

#define MOVE_FROM(name, value)                                     \
    static uint32_t op_##name(struct mr_state *s, uint32_t word, uint32_t next) \
    {                                                              \
        set_gpr(s, rt(word), value);                               \
        return next;                                               \
    }

/* mfhc1 and mthc1: the upper half of a 64-bit register; with FR=0 that is the odd register of the pair. */
MOVE_FROM(mfc1, mr_fpr_single(s, fs(word)))
MOVE_FROM(mfhc1, s->fpr[s->fr ? fs(word) : fs(word) & ~1u].word.high)
MOVE_FROM(cfc1, mr_cfc1(s, fs(word)))

static uint32_t op_mtc1(struct mr_state *s, uint32_t word, uint32_t next)
{
    mr_fpr_set_single(s, fs(word), GPR(s, rt(word)));
    return next;
}

static uint32_t op_mthc1(struct mr_state *s, uint32_t word, uint32_t next)
{
    s->fpr[s->fr ? fs(word) : fs(word) & ~1u].word.high = GPR(s, rt(word));
    return next;
}

static uint32_t op_ctc1(struct mr_state *s, uint32_t word, uint32_t next)
{
    bool before = mr_fpu_may_trap(s);
    mr_ctc1(s, fs(word), GPR(s, rt(word)));
    if (mr_fpu_pending(s))
        next = mr_exception(s, s->pc, MR_FPE, word);
    return mr_fpu_may_trap(s) && !before ? mr_leave_lifted(s, next) : next;
}

/* ---- COP1X ---- */

static mr_operation *const cop1x[64] = {
    [0x00] = op_lwxc1, [0x01] = op_ldxc1, [0x05] = op_luxc1, [0x08] = op_swxc1, [0x09] = op_sdxc1, [0x0d] = op_suxc1,
    [0x0f] = op_pref,
    [0x20] = op_multiply_add, op_multiply_add, [0x28] = op_multiply_add, op_multiply_add,
    [0x30] = op_multiply_add, op_multiply_add, [0x38] = op_multiply_add, op_multiply_add,
};

uint32_t op_cop1x(struct mr_state *s, uint32_t word, uint32_t next)
{
    mr_operation *operation = cop1x[funct(word)];
    return operation ? operation(s, word, next) : raise_reserved(s, word);
}

/* ---- COP1 ---- */

/* By function, from 4 on: the operations that formats S and D share. */
#define SHARED_OPERATIONS                                                                                  \
    [0x04] = op_arithmetic, op_abs_fmt, op_mov_fmt, op_neg_fmt,                                            \
    [0x08] = op_arithmetic, op_arithmetic, op_arithmetic, op_arithmetic,                                   \
    [0x0c] = op_arithmetic, op_arithmetic, op_arithmetic, op_arithmetic,                                   \
    [0x11] = op_movcf_fmt, op_movz_fmt, op_movn_fmt, [0x15] = op_arithmetic, op_arithmetic,                \
    [0x20] = op_cvt_float, op_cvt_float, [0x24] = op_arithmetic, op_arithmetic,                            \
    [0x30] = op_compare, op_compare, op_compare, op_compare, op_compare, op_compare, op_compare, op_compare, \
    [0x38] = op_compare, op_compare, op_compare, op_compare, op_compare, op_compare, op_compare, op_compare

static mr_operation *const float_operations[2][64] = {
    [MR_FP_S] = {op_add_s, op_sub_s, op_mul_s, op_div_s, SHARED_OPERATIONS},
    [MR_FP_D] = {op_add_d, op_sub_d, op_mul_d, op_div_d, SHARED_OPERATIONS},
};

/* Formats W and L: conversions only. */
static uint32_t op_fixed(struct mr_state *s, uint32_t word, uint32_t next)
{
    return (funct(word) & ~1u) == 0x20 ? op_cvt_float(s, word, next) : raise_reserved(s, word);
}

static mr_operation *const cop1[32] = { /* by the rs field: 16 and the format for arithmetic, of which S and D are above */
    [0x00] = op_mfc1, [0x02] = op_cfc1, op_mfhc1, op_mtc1, [0x06] = op_ctc1, op_mthc1, op_bc1,
    [0x14] = op_fixed, op_fixed,
};

uint32_t op_cop1(struct mr_state *s, uint32_t word, uint32_t next)
{
    unsigned format = rs(word) - 0x10;
    mr_operation *operation = format <= MR_FP_D ? float_operations[format][funct(word)] : cop1[rs(word)];
    return operation ? operation(s, word, next) : raise_reserved(s, word);
}
