/* What each arithmetic instruction of coprocessor 1 does, by its encoding (MIPS32 manual, volume II-A).
 *
 * Enters: an instruction and its operands, of which short ones are in the lower half. Leaves: its result and exceptions. The registers are the callers' matter: the
 * interpreter's, and that of lifted code, which has a NaN's instruction performed again here. Paired single is not there.
 */
#include "cpu/fpu.h"

enum { OPCODE_COP1X = 0x13 };
enum {
    FUNCT_SQRT = 0x04, FUNCT_ABS = 0x05, FUNCT_NEG = 0x07, FUNCT_ROUND_L = 0x08, FUNCT_RECIP = 0x15, FUNCT_RSQRT = 0x16,
    FUNCT_CVT_S = 0x20, FUNCT_CVT_D = 0x21, FUNCT_CVT_W = 0x24, FUNCT_CVT_L = 0x25, FUNCT_COMPARE = 0x30,
};

/* Two operations in one, each rounded: the bits of funct are its format, subtraction, negation. */
static uint64_t multiply_add(struct mr_state *s, uint32_t word, const uint64_t operands[3], uint32_t *raised)
{
    enum mr_fp_format format = (enum mr_fp_format)(word & 7);
    bool subtracts = word >> 3 & 1, negates = word >> 4 & 1;
    uint64_t mask = format == MR_FP_D ? UINT64_MAX : UINT32_MAX;
    uint64_t product = mr_fp_arithmetic(s, MR_FP_MUL, format, operands[0] & mask, operands[1] & mask, raised);
    uint64_t result = mr_fp_arithmetic(s, subtracts ? MR_FP_SUB : MR_FP_ADD, format, product, operands[2] & mask, raised);
    if (negates) /* NaNs too, as on qemu */
        result ^= 1ull << (format == MR_FP_D ? 63 : 31);
    return result;
}

static bool is_round(uint32_t funct)
{
    return (funct & 0x38) == FUNCT_ROUND_L;
}

/* round, trunc, ceil, floor; the others round as FCSR says. */
static enum mr_rounding rounding_of(const struct mr_state *s, uint32_t funct)
{
    static const enum mr_rounding by_funct[4] = {MR_ROUND_NEAREST, MR_ROUND_ZERO, MR_ROUND_UP, MR_ROUND_DOWN};
    return is_round(funct) ? by_funct[funct & 3] : (enum mr_rounding)(s->fcsr & MR_FCSR_RM);
}

enum mr_fp_format mr_fp_result_format(uint32_t word)
{
    uint32_t funct = word & 63;
    if (word >> 26 == OPCODE_COP1X)
        return (enum mr_fp_format)(word & 7);
    if (is_round(funct))
        return funct & 4 ? MR_FP_W : MR_FP_L;
    return (enum mr_fp_format)((funct & 0x38) == FUNCT_CVT_S ? funct & 7 : word >> 21 & 7);
}

uint64_t mr_fp_perform(struct mr_state *s, uint32_t word, const uint64_t operands[3], uint32_t *raised)
{
    static const enum mr_fp_operation by_funct[4] = {MR_FP_ADD, MR_FP_SUB, MR_FP_MUL, MR_FP_DIV};
    enum mr_fp_format format = (enum mr_fp_format)(word >> 21 & 7);
    uint32_t funct = word & 63;
    uint64_t mask = format & 1 ? UINT64_MAX : UINT32_MAX, a = operands[0] & mask, b = operands[1] & mask;
    if (word >> 26 == OPCODE_COP1X)
        return multiply_add(s, word, operands, raised);
    if (funct >= FUNCT_COMPARE)
        return mr_fp_compare(s, funct & 15, format, a, b, raised);
    switch (funct) {
    case FUNCT_SQRT:
        return mr_fp_arithmetic(s, MR_FP_SQRT, format, a, 0, raised);
    case FUNCT_RECIP:
        return mr_fp_arithmetic(s, MR_FP_RECIP, format, a, 0, raised);
    case FUNCT_RSQRT:
        return mr_fp_arithmetic(s, MR_FP_RSQRT, format, a, 0, raised);
    case FUNCT_ABS:
        return mr_fp_abs(s, format, a, raised);
    case FUNCT_NEG:
        return mr_fp_neg(s, format, a, raised);
    case FUNCT_CVT_S:
    case FUNCT_CVT_D:
        return mr_fp_convert(s, mr_fp_result_format(word), format, a, raised);
    default:
        break;
    }
    if (funct < 4)
        return mr_fp_arithmetic(s, by_funct[funct], format, a, b, raised);
    return mr_fp_to_integer(s, mr_fp_result_format(word), format, rounding_of(s, funct), a, raised);
}
