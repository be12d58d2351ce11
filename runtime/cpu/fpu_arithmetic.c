/* Floating-point arithmetic on bit patterns: the host's, with MIPS's NaNs, and the conversions the host does otherwise.
 *
 * Enters: an arithmetic instruction of coprocessor 1, and its operands, of which short ones are in the lower half.
 * Leaves: its result and exceptions. The registers are the callers' matter: the interpreter's, and that of lifted code,
 * which has a NaN's instruction performed again here. Paired single is not there.
 * The host computes in its current rounding mode. Calls go through tables of functions, so that no compiler moves the
 * arithmetic past a look at the host's flags. Compile with -frounding-math -ffp-contract=off.
 */
#ifdef __clang__
#pragma STDC FENV_ACCESS ON
#endif
#include "cpu/fpu.h"

#include "host/host.h"

struct layout {
    unsigned fraction_bits;
    int bias;
    uint64_t sign, infinity, quiet; /* quiet: the bit of a NaN that tells quiet from signalling */
    uint64_t legacy_nan, nan2008;   /* what an invalid operation gives */
};
static const struct layout layouts[2] = {
    [MR_FP_S] = {23, 127, 0x80000000u, 0x7f800000u, 0x00400000u, 0x7fbfffffu, 0x7fc00000u},
    [MR_FP_D] = {52, 1023, 1ull << 63, 0x7ff0000000000000u, 1ull << 51, 0x7ff7ffffffffffffu, 0x7ff8000000000000u},
};

/* ---- NaNs ---- */

static bool is_nan(const struct layout *layout, uint64_t a)
{
    return (a & ~layout->sign) > layout->infinity;
}

/* The legacy encoding marks signalling NaNs by the bit that IEEE 754-2008 marks quiet ones by. */
static bool is_signalling(const struct mr_state *s, const struct layout *layout, uint64_t a)
{
    bool bit = (a & layout->quiet) != 0;
    return is_nan(layout, a) && bit != ((s->fcsr & MR_FCSR_NAN2008) != 0);
}

static uint64_t default_nan(const struct mr_state *s, const struct layout *layout)
{
    return s->fcsr & MR_FCSR_NAN2008 ? layout->nan2008 : layout->legacy_nan;
}

/* The result of an operation with a NaN among its operands: after a signalling one the default NaN (legacy) or that one
 * made quiet (2008), else the first quiet one. */
static uint64_t nan_result(const struct mr_state *s, const struct layout *layout, uint64_t a, uint64_t b,
                           uint32_t *raised)
{
    bool a_signals = is_signalling(s, layout, a), b_signals = is_signalling(s, layout, b);
    if (!a_signals && !b_signals)
        return is_nan(layout, a) ? a : b;
    *raised |= MR_FP_INVALID;
    return s->fcsr & MR_FCSR_NAN2008 ? (a_signals ? a : b) | layout->quiet : layout->legacy_nan;
}

/* ---- the host's arithmetic ---- */

union single {
    uint32_t bits;
    float value;
};
union whole {
    uint64_t bits;
    double value;
};

static float single_of(uint64_t bits) { return (union single){.bits = (uint32_t)bits}.value; }
static uint64_t bits_of_single(float value) { return (union single){.value = value}.bits; }
static double double_of(uint64_t bits) { return (union whole){.bits = bits}.value; }
static uint64_t bits_of_double(double value) { return (union whole){.value = value}.bits; }

/* What the guest finds of a result that the host computed of operands that are no NaNs. */
static inline uint64_t finished(const struct mr_state *s, const struct layout *layout, uint64_t result, uint32_t *raised)
{
    if (is_nan(layout, result)) {
        *raised |= MR_FP_INVALID;
        return default_nan(s, layout);
    }
    return result;
}

#define ARITHMETIC(name, format, type, value_of, bits_of, value)                             \
    static uint64_t name(struct mr_state *s, uint64_t a_bits, uint64_t b_bits, uint32_t *raised) \
    {                                                                                        \
        const struct layout *layout = &layouts[format];                                      \
        type a = value_of(a_bits), b = value_of(b_bits);                                     \
        (void)b;                                                                             \
        if (is_nan(layout, a_bits) || is_nan(layout, b_bits))                                \
            return nan_result(s, layout, a_bits, b_bits, raised);                            \
        return finished(s, layout, bits_of(value), raised);                                  \
    }
#define BOTH_FORMATS(name, value)                                                            \
    ARITHMETIC(name##_s, MR_FP_S, float, single_of, bits_of_single, value)                   \
    ARITHMETIC(name##_d, MR_FP_D, double, double_of, bits_of_double, value)
#define root(a) _Generic((a), float: mr_sqrt_single, double: mr_sqrt_double)(a)

BOTH_FORMATS(add, a + b)
BOTH_FORMATS(sub, a - b)
BOTH_FORMATS(mul, a * b)
BOTH_FORMATS(div, a / b)
BOTH_FORMATS(sqrt, root(a))
BOTH_FORMATS(recip, 1 / a)
BOTH_FORMATS(rsqrt, 1 / root(a))

mr_fp_function *const mr_fp_functions[2][7] = {
    [MR_FP_S] = {add_s, sub_s, mul_s, div_s, sqrt_s, recip_s, rsqrt_s},
    [MR_FP_D] = {add_d, sub_d, mul_d, div_d, sqrt_d, recip_d, rsqrt_d},
};

/* Operations of one operand ignore b, but to their functions it must be 0. */
static uint64_t arithmetic(struct mr_state *s, enum mr_fp_operation operation, enum mr_fp_format format, uint64_t a,
                           uint64_t b, uint32_t *raised)
{
    return mr_fp_functions[format][operation](s, a, operation >= MR_FP_SQRT ? 0 : b, raised);
}

/* abs and neg: `changed` is a with its new sign. Without ABS2008 they are arithmetic: a quiet NaN passes unchanged, a
 * signalling one is invalid. */
static uint64_t change_sign(struct mr_state *s, enum mr_fp_format format, uint64_t a, uint64_t changed,
                            uint32_t *raised)
{
    const struct layout *layout = &layouts[format];
    if (!is_nan(layout, a) || s->fcsr & MR_FCSR_ABS2008)
        return changed;
    return is_signalling(s, layout, a) ? nan_result(s, layout, a, a, raised) : a;
}

/* ---- conversions to floating point ---- */

typedef uint64_t host_conversion(uint64_t a);
#define CONVERSION(name, source, bits_of) \
    static uint64_t name(uint64_t a) { return bits_of(source); }

CONVERSION(s_from_d, (float)double_of(a), bits_of_single)
CONVERSION(s_from_w, (float)(int32_t)a, bits_of_single)
CONVERSION(s_from_l, (float)(int64_t)a, bits_of_single)
CONVERSION(d_from_s, (double)single_of(a), bits_of_double)
CONVERSION(d_from_w, (double)(int32_t)a, bits_of_double)
CONVERSION(d_from_l, (double)(int64_t)a, bits_of_double)

static host_conversion *const conversions[2][6] = {
    [MR_FP_S] = {[MR_FP_D] = s_from_d, [MR_FP_W] = s_from_w, [MR_FP_L] = s_from_l},
    [MR_FP_D] = {[MR_FP_S] = d_from_s, [MR_FP_W] = d_from_w, [MR_FP_L] = d_from_l},
};

/* A NaN in the other format, with its sign and the leading bits of its payload; without such bits, the default NaN. */
static uint64_t convert_nan(struct mr_state *s, enum mr_fp_format to, enum mr_fp_format from, uint64_t a,
                            uint32_t *raised)
{
    if (is_signalling(s, &layouts[from], a) && !(s->fcsr & MR_FCSR_NAN2008)) {
        *raised |= MR_FP_INVALID;
        return default_nan(s, &layouts[to]);
    }
    uint64_t quiet = nan_result(s, &layouts[from], a, a, raised);
    uint64_t payload = quiet & (layouts[from].quiet * 2 - 1);
    payload = to == MR_FP_S ? payload >> 29 : payload << 29;
    if (payload == 0)
        return default_nan(s, &layouts[to]);
    return (quiet & layouts[from].sign ? layouts[to].sign : 0) | layouts[to].infinity | payload;
}

/* To S or D, from any other format. */
static uint64_t convert(struct mr_state *s, enum mr_fp_format to, enum mr_fp_format from, uint64_t a, uint32_t *raised)
{
    if (from <= MR_FP_D && is_nan(&layouts[from], a))
        return convert_nan(s, to, from, a, raised);
    return finished(s, &layouts[to], conversions[to][from](a), raised);
}

/* ---- conversions to integers ---- */

/* As FCSR.RM has them, and round, trunc, ceil, floor. */
enum rounding { ROUND_NEAREST, ROUND_ZERO, ROUND_UP, ROUND_DOWN };

static bool rounds_away(enum rounding mode, bool negative, bool odd, uint64_t rest, uint64_t half)
{
    switch (mode) {
    case ROUND_NEAREST:
        return rest > half || (rest == half && odd);
    case ROUND_UP:
        return rest != 0 && !negative;
    case ROUND_DOWN:
        return rest != 0 && negative;
    default:
        return false;
    }
}

/* The magnitude of a finite number, rounded; 2^64 - 1 stands for anything from 2^64 on. */
static uint64_t rounded_magnitude(const struct layout *layout, enum rounding mode, uint64_t a, bool *inexact)
{
    uint64_t fraction = a & ((1ull << layout->fraction_bits) - 1);
    int exponent = (int)((a & layout->infinity) >> layout->fraction_bits);
    uint64_t significand = exponent ? fraction | 1ull << layout->fraction_bits : fraction;
    int shift = (exponent ? exponent : 1) - layout->bias - (int)layout->fraction_bits;
    *inexact = false;
    if (shift >= 64 - (int)layout->fraction_bits)
        return UINT64_MAX;
    if (shift >= 0)
        return significand << shift;
    unsigned dropped = -shift > 60 ? 60 : (unsigned)-shift; /* all such are below one half */
    uint64_t whole = significand >> dropped, rest = significand & ((1ull << dropped) - 1);
    *inexact = rest != 0;
    return whole + rounds_away(mode, (a & layout->sign) != 0, whole & 1, rest, 1ull << (dropped - 1));
}

/* What an invalid conversion gives: the largest integer in legacy mode; in 2008 mode 0 for NaN, else the nearest. */
static uint64_t invalid_integer(const struct mr_state *s, const struct layout *layout, uint64_t a, uint64_t limit)
{
    if (!(s->fcsr & MR_FCSR_NAN2008))
        return limit - 1;
    if (is_nan(layout, a))
        return 0;
    return a & layout->sign ? 0 - limit : limit - 1;
}

/* To W or L, from S or D. */
static uint64_t to_integer(struct mr_state *s, enum mr_fp_format to, enum mr_fp_format from, enum rounding mode,
                           uint64_t a, uint32_t *raised)
{
    const struct layout *layout = &layouts[from];
    uint64_t limit = to == MR_FP_L ? 1ull << 63 : 1ull << 31;
    bool negative = (a & layout->sign) != 0, inexact;
    uint64_t magnitude = rounded_magnitude(layout, mode, a, &inexact); /* of infinities and NaNs: too large */
    if (magnitude > limit - !negative) {
        *raised |= MR_FP_INVALID;
        return invalid_integer(s, layout, a, limit);
    }
    if (inexact)
        *raised |= MR_FP_INEXACT;
    return negative ? 0 - magnitude : magnitude;
}

/* ---- comparison ---- */

/* Bit patterns as integers in the order of the numbers; both zeros are 0. */
static int64_t ordinal(const struct layout *layout, uint64_t a)
{
    int64_t magnitude = (int64_t)(a & ~layout->sign);
    return a & layout->sign ? -magnitude : magnitude;
}

/* The 4-bit condition of c.cond.fmt. */
static bool compare(struct mr_state *s, unsigned condition, enum mr_fp_format format, uint64_t a, uint64_t b,
                    uint32_t *raised)
{
    const struct layout *layout = &layouts[format];
    if (is_nan(layout, a) || is_nan(layout, b)) {
        if (condition & 8 || is_signalling(s, layout, a) || is_signalling(s, layout, b))
            *raised |= MR_FP_INVALID;
        return condition & 1;
    }
    int64_t first = ordinal(layout, a), second = ordinal(layout, b);
    return (condition & 2 && first == second) || (condition & 4 && first < second);
}

/* ---- what each instruction does, by its encoding (MIPS32 manual, volume II-A) ---- */

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
    uint64_t product = arithmetic(s, MR_FP_MUL, format, operands[0] & mask, operands[1] & mask, raised);
    uint64_t result = arithmetic(s, subtracts ? MR_FP_SUB : MR_FP_ADD, format, product, operands[2] & mask, raised);
    if (negates) /* NaNs too, as on qemu */
        result ^= 1ull << (format == MR_FP_D ? 63 : 31);
    return result;
}

static bool is_round(uint32_t funct)
{
    return (funct & 0x38) == FUNCT_ROUND_L;
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
    enum mr_fp_format format = (enum mr_fp_format)(word >> 21 & 7);
    uint32_t funct = word & 63;
    uint64_t mask = format & 1 ? UINT64_MAX : UINT32_MAX, a = operands[0] & mask, b = operands[1] & mask;
    if (word >> 26 == OPCODE_COP1X)
        return multiply_add(s, word, operands, raised);
    if (funct >= FUNCT_COMPARE)
        return compare(s, funct & 15, format, a, b, raised);
    switch (funct) {
    case FUNCT_SQRT:
        return arithmetic(s, MR_FP_SQRT, format, a, 0, raised);
    case FUNCT_RECIP:
        return arithmetic(s, MR_FP_RECIP, format, a, 0, raised);
    case FUNCT_RSQRT:
        return arithmetic(s, MR_FP_RSQRT, format, a, 0, raised);
    case FUNCT_ABS:
        return change_sign(s, format, a, a & ~layouts[format].sign, raised);
    case FUNCT_NEG:
        return change_sign(s, format, a, a ^ layouts[format].sign, raised);
    case FUNCT_CVT_S:
    case FUNCT_CVT_D:
        return convert(s, mr_fp_result_format(word), format, a, raised);
    default:
        break;
    }
    if (funct < 4) /* in the order of the operations */
        return arithmetic(s, (enum mr_fp_operation)funct, format, a, b, raised);
    enum rounding mode = (enum rounding)((is_round(funct) ? funct : s->fcsr) & MR_FCSR_RM);
    return to_integer(s, mr_fp_result_format(word), format, mode, a, raised);
}
