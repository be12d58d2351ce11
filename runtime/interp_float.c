/* Coprocessor 1: moves, branches on condition codes, arithmetic in single and double (MIPS32 manual, volume II-A).
 *
 * Paired single is not there: reserved. Format L works in the even registers of FR=0 as well, which the manual leaves
 * open.
 */
#include "fpu.h"
#include "interp.h"

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

/* Ends an arithmetic instruction: writes fd, or raises the exception that its FCSR enables. */
static uint32_t finish(struct mr_state *s, uint32_t word, uint32_t next, enum mr_fp_format format, uint64_t result,
                       uint32_t raised)
{
    if (mr_fpu_traps(s, raised))
        return mr_exception(s, s->pc, MR_FPE, word);
    set_operand(s, format, fd(word), result);
    return next;
}

/* ---- formats S and D: arithmetic ---- */

static uint32_t op_arithmetic(struct mr_state *s, uint32_t word, uint32_t next)
{
    static const enum mr_fp_operation by_funct[4] = {MR_FP_ADD, MR_FP_SUB, MR_FP_MUL, MR_FP_DIV};
    enum mr_fp_format format = format_of(word);
    uint32_t raised = 0;
    if (!has_register(s, format, fs(word) | ft(word) | fd(word)))
        return raise_reserved(s, word);
    uint64_t result = mr_fp_arithmetic(s, by_funct[funct(word)], format, operand(s, format, fs(word)),
                                       operand(s, format, ft(word)), &raised);
    return finish(s, word, next, format, result, raised);
}

/* An operation on fs alone: a is its bits. */
#define UNARY(name, value)                                         \
    static uint32_t op_##name##_fmt(struct mr_state *s, uint32_t word, uint32_t next) \
    {                                                              \
        enum mr_fp_format format = format_of(word);                \
        uint32_t raised = 0;                                       \
        if (!has_register(s, format, fs(word) | fd(word)))         \
            return raise_reserved(s, word);                        \
        uint64_t a = operand(s, format, fs(word)), result = (value); \
        return finish(s, word, next, format, result, raised);      \
    }

UNARY(sqrt, mr_fp_arithmetic(s, MR_FP_SQRT, format, a, 0, &raised))
UNARY(recip, mr_fp_arithmetic(s, MR_FP_RECIP, format, a, 0, &raised))
UNARY(rsqrt, mr_fp_arithmetic(s, MR_FP_RSQRT, format, a, 0, &raised))
UNARY(arithmetic_abs, mr_fp_abs(s, format, a, &raised))
UNARY(arithmetic_neg, mr_fp_neg(s, format, a, &raised))

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

static uint32_t op_mov_fmt(struct mr_state *s, uint32_t word, uint32_t next)
{
    return move_if(s, word, next, true, 0, 0);
}

static uint32_t op_movz_fmt(struct mr_state *s, uint32_t word, uint32_t next)
{
    return move_if(s, word, next, GPR(s, rt(word)) == 0, 0, 0);
}

static uint32_t op_movn_fmt(struct mr_state *s, uint32_t word, uint32_t next)
{
    return move_if(s, word, next, GPR(s, rt(word)) != 0, 0, 0);
}

/* movf, movt and the branches: whether the condition code they name is what they want. */
static bool condition_holds(const struct mr_state *s, uint32_t word)
{
    return s->fcc[word >> 18 & 7].value == (word >> 16 & 1);
}

static uint32_t op_movcf_fmt(struct mr_state *s, uint32_t word, uint32_t next)
{
    return move_if(s, word, next, condition_holds(s, word), 0, 0);
}

/* With ABS2008 these two are moves as well. */
static uint32_t op_abs_fmt(struct mr_state *s, uint32_t word, uint32_t next)
{
    return s->fcsr & MR_FCSR_ABS2008 ? move_if(s, word, next, true, 1, 0) : op_arithmetic_abs_fmt(s, word, next);
}

static uint32_t op_neg_fmt(struct mr_state *s, uint32_t word, uint32_t next)
{
    return s->fcsr & MR_FCSR_ABS2008 ? move_if(s, word, next, true, 0, 1) : op_arithmetic_neg_fmt(s, word, next);
}

/* movf and movt of general-purpose registers */
uint32_t op_movci(struct mr_state *s, uint32_t word, uint32_t next)
{
    if (condition_holds(s, word))
        set_gpr(s, rd(word), GPR(s, rs(word)));
    return next;
}

/* ---- conversions ---- */

static uint32_t convert_to_integer(struct mr_state *s, uint32_t word, uint32_t next, enum mr_rounding mode)
{
    bool is_long = funct(word) == 0x25 || (funct(word) & 0x3c) == 0x08;
    enum mr_fp_format from = format_of(word), to = is_long ? MR_FP_L : MR_FP_W;
    uint32_t raised = 0;
    if (!has_register(s, from, fs(word)) || !has_register(s, to, fd(word)))
        return raise_reserved(s, word);
    uint64_t result = mr_fp_to_integer(s, to, from, mode, operand(s, from, fs(word)), &raised);
    return finish(s, word, next, to, result, raised);
}

static uint32_t op_round(struct mr_state *s, uint32_t word, uint32_t next)
{
    static const enum mr_rounding by_funct[4] = {MR_ROUND_NEAREST, MR_ROUND_ZERO, MR_ROUND_UP, MR_ROUND_DOWN};
    return convert_to_integer(s, word, next, by_funct[funct(word) & 3]);
}

static uint32_t op_cvt_integer(struct mr_state *s, uint32_t word, uint32_t next)
{
    return convert_to_integer(s, word, next, (enum mr_rounding)(s->fcsr & MR_FCSR_RM));
}

/* cvt.s and cvt.d */
static uint32_t op_cvt_float(struct mr_state *s, uint32_t word, uint32_t next)
{
    enum mr_fp_format from = format_of(word), to = (enum mr_fp_format)(funct(word) & 1);
    uint32_t raised = 0;
    if (from == to || !has_register(s, from, fs(word)) || !has_register(s, to, fd(word)))
        return raise_reserved(s, word);
    uint64_t result = mr_fp_convert(s, to, from, operand(s, from, fs(word)), &raised);
    return finish(s, word, next, to, result, raised);
}

/* ---- comparison and branches ---- */

static uint32_t op_compare(struct mr_state *s, uint32_t word, uint32_t next)
{
    enum mr_fp_format format = format_of(word);
    uint32_t raised = 0;
    if (!has_register(s, format, fs(word) | ft(word)) || word >> 6 & 1) /* bit 6: MIPS-3D's cabs */
        return raise_reserved(s, word);
    uint64_t a = operand(s, format, fs(word)), b = operand(s, format, ft(word));
    bool holds = mr_fp_compare(s, word & 15, format, a, b, &raised);
    if (mr_fpu_traps(s, raised))
        return mr_exception(s, s->pc, MR_FPE, word);
    s->fcc[word >> 8 & 7].value = holds;
    return next;
}

static uint32_t op_bc1(struct mr_state *s, uint32_t word, uint32_t next)
{
    (void)next;
    return mr_branch(s, word, condition_holds(s, word), word >> 17 & 1);
}

/* ---- moves between register files ---- */

static uint32_t op_mfc1(struct mr_state *s, uint32_t word, uint32_t next)
{
    set_gpr(s, rt(word), mr_fpr_single(s, fs(word)));
    return next;
}

static uint32_t op_mtc1(struct mr_state *s, uint32_t word, uint32_t next)
{
    mr_fpr_set_single(s, fs(word), GPR(s, rt(word)));
    return next;
}

/* The upper half of a 64-bit register; with FR=0 that is the odd register of the pair. */
static uint32_t op_mfhc1(struct mr_state *s, uint32_t word, uint32_t next)
{
    set_gpr(s, rt(word), s->fpr[s->fr ? fs(word) : fs(word) & ~1u].word.high);
    return next;
}

static uint32_t op_mthc1(struct mr_state *s, uint32_t word, uint32_t next)
{
    s->fpr[s->fr ? fs(word) : fs(word) & ~1u].word.high = GPR(s, rt(word));
    return next;
}

static uint32_t op_cfc1(struct mr_state *s, uint32_t word, uint32_t next)
{
    set_gpr(s, rt(word), mr_cfc1(s, fs(word)));
    return next;
}

static uint32_t op_ctc1(struct mr_state *s, uint32_t word, uint32_t next)
{
    mr_ctc1(s, fs(word), GPR(s, rt(word)));
    return mr_fpu_pending(s) ? mr_exception(s, s->pc, MR_FPE, word) : next;
}

/* ---- COP1X: two operations in one, each rounded ---- */

static uint32_t op_multiply_add(struct mr_state *s, uint32_t word, uint32_t next)
{
    enum mr_fp_format format = (enum mr_fp_format)(word & 7);
    unsigned fr = rs(word);
    bool subtracts = word >> 3 & 1, negates = word >> 4 & 1;
    uint32_t raised = 0;
    if (!has_register(s, format, fr | fs(word) | ft(word) | fd(word)))
        return raise_reserved(s, word);
    uint64_t product = mr_fp_arithmetic(s, MR_FP_MUL, format, operand(s, format, fs(word)),
                                        operand(s, format, ft(word)), &raised);
    uint64_t result = mr_fp_arithmetic(s, subtracts ? MR_FP_SUB : MR_FP_ADD, format, product, operand(s, format, fr),
                                       &raised);
    if (negates) /* NaNs too, as on qemu */
        result ^= 1ull << (is_wide(format) ? 63 : 31);
    return finish(s, word, next, format, result, raised);
}

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

static mr_operation *const float_operations[64] = { /* formats S and D, by function */
    [0x00] = op_arithmetic, op_arithmetic, op_arithmetic, op_arithmetic,
    [0x04] = op_sqrt_fmt, op_abs_fmt, op_mov_fmt, op_neg_fmt,
    [0x08] = op_round, op_round, op_round, op_round, op_round, op_round, op_round, op_round,
    [0x11] = op_movcf_fmt, op_movz_fmt, op_movn_fmt, [0x15] = op_recip_fmt, op_rsqrt_fmt,
    [0x20] = op_cvt_float, op_cvt_float, [0x24] = op_cvt_integer, op_cvt_integer,
    [0x30] = op_compare, op_compare, op_compare, op_compare, op_compare, op_compare, op_compare, op_compare,
    [0x38] = op_compare, op_compare, op_compare, op_compare, op_compare, op_compare, op_compare, op_compare,
};

static uint32_t op_float(struct mr_state *s, uint32_t word, uint32_t next)
{
    mr_operation *operation = float_operations[funct(word)];
    return operation ? operation(s, word, next) : raise_reserved(s, word);
}

/* Formats W and L: conversions only. */
static uint32_t op_fixed(struct mr_state *s, uint32_t word, uint32_t next)
{
    return (funct(word) & ~1u) == 0x20 ? op_cvt_float(s, word, next) : raise_reserved(s, word);
}

static mr_operation *const cop1[32] = { /* by the rs field, which for arithmetic is 16 and the format */
    [0x00] = op_mfc1, [0x02] = op_cfc1, op_mfhc1, op_mtc1, [0x06] = op_ctc1, op_mthc1, op_bc1,
    [0x10] = op_float, op_float, [0x14] = op_fixed, op_fixed,
};

uint32_t op_cop1(struct mr_state *s, uint32_t word, uint32_t next)
{
    mr_operation *operation = cop1[rs(word)];
    return operation ? operation(s, word, next) : raise_reserved(s, word);
}
