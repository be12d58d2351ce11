/* Floating-point arithmetic on bit patterns: the host's, with MIPS's NaNs, and the conversions the host does otherwise.
 *
 * The host computes in its current rounding mode. Calls go through tables of functions, so that no compiler moves the
 * arithmetic past a look at the host's flags. Compile with -frounding-math -ffp-contract=off.
 */
#include "cpu/fpu.h"

#include <math.h>
#include <string.h>

#ifdef __clang__
#pragma STDC FENV_ACCESS ON
#endif

#if defined(__SSE2__) && !defined(MR_FPU_PORTABLE)
#include <emmintrin.h>
#define FLUSHES_BY_ITSELF true
#else
#define FLUSHES_BY_ITSELF false
#endif

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

static float single_of(uint64_t bits)
{
    uint32_t low = (uint32_t)bits;
    float value;
    memcpy(&value, &low, sizeof value);
    return value;
}

static uint64_t bits_of_single(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t bits_of_double(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

#if defined(__SSE2__) && !defined(MR_FPU_PORTABLE)
/* Not sqrt(), which may set errno and wants libm. */
static float root_s(float a)
{
    return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(a)));
}

static double root_d(double a)
{
    return _mm_cvtsd_f64(_mm_sqrt_pd(_mm_set1_pd(a)));
}
#else
#define root_s sqrtf
#define root_d sqrt
#endif

/* Replaces a result too small for a normal number by zero, where FS asks for it and the host has no such mode. */
static uint64_t flushed(const struct mr_state *s, const struct layout *layout, uint64_t result, uint32_t *raised)
{
    uint64_t magnitude = result & ~layout->sign;
    if (FLUSHES_BY_ITSELF || !(s->fcsr & MR_FCSR_FS) || magnitude == 0 || magnitude >> layout->fraction_bits)
        return result;
    *raised |= MR_FP_UNDERFLOW | MR_FP_INEXACT;
    return result & layout->sign;
}

/* What the guest finds of a result that the host computed of operands that are no NaNs. */
static inline uint64_t finished(const struct mr_state *s, const struct layout *layout, uint64_t result, uint32_t *raised)
{
    if (is_nan(layout, result)) {
        *raised |= MR_FP_INVALID;
        return default_nan(s, layout);
    }
    return flushed(s, layout, result, raised);
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
#define SINGLE(name, value) ARITHMETIC(name##_s, MR_FP_S, float, single_of, bits_of_single, value)
#define DOUBLE(name, value) ARITHMETIC(name##_d, MR_FP_D, double, double_of, bits_of_double, value)

SINGLE(add, a + b)
SINGLE(sub, a - b)
SINGLE(mul, a * b)
SINGLE(div, a / b)
SINGLE(sqrt, root_s(a))
SINGLE(recip, 1.0f / a)
SINGLE(rsqrt, 1.0f / root_s(a))
DOUBLE(add, a + b)
DOUBLE(sub, a - b)
DOUBLE(mul, a * b)
DOUBLE(div, a / b)
DOUBLE(sqrt, root_d(a))
DOUBLE(recip, 1.0 / a)
DOUBLE(rsqrt, 1.0 / root_d(a))

mr_fp_function *const mr_fp_functions[2][7] = {
    [MR_FP_S] = {add_s, sub_s, mul_s, div_s, sqrt_s, recip_s, rsqrt_s},
    [MR_FP_D] = {add_d, sub_d, mul_d, div_d, sqrt_d, recip_d, rsqrt_d},
};

uint64_t mr_fp_arithmetic(struct mr_state *s, enum mr_fp_operation operation, enum mr_fp_format format, uint64_t a,
                          uint64_t b, uint32_t *raised)
{
    return mr_fp_functions[format][operation](s, a, operation >= MR_FP_SQRT ? 0 : b, raised);
}

/* abs and neg. Without ABS2008 they are arithmetic: a quiet NaN passes unchanged, a signalling one is invalid. */
static uint64_t change_sign(struct mr_state *s, enum mr_fp_format format, uint64_t a, uint64_t changed,
                            uint32_t *raised)
{
    const struct layout *layout = &layouts[format];
    if (!is_nan(layout, a) || s->fcsr & MR_FCSR_ABS2008)
        return changed;
    return is_signalling(s, layout, a) ? nan_result(s, layout, a, a, raised) : a;
}

uint64_t mr_fp_abs(struct mr_state *s, enum mr_fp_format format, uint64_t a, uint32_t *raised)
{
    return change_sign(s, format, a, a & ~layouts[format].sign, raised);
}

uint64_t mr_fp_neg(struct mr_state *s, enum mr_fp_format format, uint64_t a, uint32_t *raised)
{
    return change_sign(s, format, a, a ^ layouts[format].sign, raised);
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

uint64_t mr_fp_convert(struct mr_state *s, enum mr_fp_format to, enum mr_fp_format from, uint64_t a, uint32_t *raised)
{
    if (from <= MR_FP_D && is_nan(&layouts[from], a))
        return convert_nan(s, to, from, a, raised);
    return finished(s, &layouts[to], conversions[to][from](a), raised);
}

/* ---- conversions to integers ---- */

static bool rounds_away(enum mr_rounding mode, bool negative, bool odd, uint64_t rest, uint64_t half)
{
    switch (mode) {
    case MR_ROUND_NEAREST:
        return rest > half || (rest == half && odd);
    case MR_ROUND_UP:
        return rest != 0 && !negative;
    case MR_ROUND_DOWN:
        return rest != 0 && negative;
    default:
        return false;
    }
}

/* The magnitude of a finite number, rounded; 2^64 - 1 stands for anything from 2^64 on. */
static uint64_t rounded_magnitude(const struct layout *layout, enum mr_rounding mode, uint64_t a, bool *inexact)
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

uint64_t mr_fp_to_integer(struct mr_state *s, enum mr_fp_format to, enum mr_fp_format from, enum mr_rounding mode,
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

bool mr_fp_compare(struct mr_state *s, unsigned condition, enum mr_fp_format format, uint64_t a, uint64_t b,
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
