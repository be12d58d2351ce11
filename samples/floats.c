/* Single and double precision: arithmetic, conversions, comparisons, infinities, denormal numbers, NaNs as operands. */
#include "freestanding/out.h"

static const double doubles[] = {0.0, -0.0, 1.0, -1.0, 0.1, 3.141592653589793, -2.5e10, 1e300, -1e-300, 4.9e-324,
                                 2.2250738585072014e-308, 1.7976931348623157e308, 123456789.125, -0.5, 1.5, 2147483647.0};
static const float floats[] = {0.0f, -0.0f, 1.0f, -1.0f, 0.1f, 3.1415927f, -2.5e10f, 1e38f, -1e-38f, 1.4e-45f,
                               16777216.0f, 3.4028235e38f, 12345.125f, -0.5f, 1.5f, 2147483520.0f};
enum { COUNT = 16 };

/* A NaN's bits differ between the architectures; that it is one does not. */
static uint64_t canonical(double value)
{
    return value == value ? double_bits(value) : 0x4e614e0000000000ull;
}

static uint32_t canonical_float(float value)
{
    return value == value ? float_bits(value) : 0x4e614e00u;
}

static uint32_t double_arithmetic(uint32_t hash)
{
    for (uint32_t i = 0; i < COUNT; i++) {
        for (uint32_t j = 0; j < COUNT; j++) {
            double a = doubles[i], b = doubles[j];
            hash = mix64(hash, canonical(a + b));
            hash = mix64(hash, canonical(a - b));
            hash = mix64(hash, canonical(a * b));
            hash = mix64(hash, canonical(a / b));
            hash = mix64(hash, canonical(-a * b + 1.0));
        }
    }
    return hash;
}

static uint32_t float_arithmetic(uint32_t hash)
{
    for (uint32_t i = 0; i < COUNT; i++) {
        for (uint32_t j = 0; j < COUNT; j++) {
            float a = floats[i], b = floats[j];
            hash = mix32(hash, canonical_float(a + b));
            hash = mix32(hash, canonical_float(a - b));
            hash = mix32(hash, canonical_float(a * b));
            hash = mix32(hash, canonical_float(a / b));
        }
    }
    return hash;
}

static uint32_t compare(double a, double b)
{
    return (uint32_t)((a < b) | (a <= b) << 1 | (a == b) << 2 | (a != b) << 3 | (a > b) << 4 | (a >= b) << 5 |
                      !(a < b) << 6 | !(a >= b) << 7 | __builtin_isunordered(a, b) << 8 | __builtin_islessgreater(a, b) << 9);
}

static uint32_t comparisons(uint32_t hash, double not_a_number)
{
    for (uint32_t i = 0; i < COUNT; i++) {
        for (uint32_t j = 0; j < COUNT; j++) {
            hash = mix32(hash, compare(doubles[i], doubles[j]));
            hash = mix32(hash, (uint32_t)(floats[i] < floats[j]) * 2 + (uint32_t)(floats[i] == floats[j]));
        }
        hash = mix32(hash, compare(doubles[i], not_a_number) << 10 | compare(not_a_number, doubles[i]));
    }
    return mix32(hash, compare(not_a_number, not_a_number));
}

static uint32_t conversions(uint32_t hash)
{
    static const int32_t integers[] = {0, 1, -1, 16777217, -16777217, 2147483647, -2147483647 - 1, 123456789};
    for (uint32_t i = 0; i < sizeof integers / sizeof *integers; i++) {
        hash = mix32(hash, float_bits((float)integers[i]));
        hash = mix64(hash, double_bits((double)integers[i]));
        hash = mix64(hash, double_bits((double)(uint32_t)integers[i]));
        hash = mix32(hash, float_bits((float)(uint32_t)integers[i]));
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        double d = doubles[i];
        float f = floats[i];
        hash = mix32(hash, canonical_float((float)d)); /* rounds, overflows to infinity, underflows */
        hash = mix64(hash, canonical((double)f));
        if (d > -2147483648.0 && d <= 2147483647.0)
            hash = mix32(hash, (uint32_t)(int32_t)d);
        if (f > -2147483648.0f && f < 2147483648.0f)
            hash = mix32(hash, (uint32_t)(int32_t)f);
        if (d >= 0 && d < 4294967296.0)
            hash = mix32(hash, (uint32_t)d);
        hash = mix32(hash, (uint32_t)(int32_t)(f * 0.001f > 1e6f ? 7.9f : f * 0.0001f < -1e6f ? -7.9f : 0.9f));
    }
    return hash;
}

/* Sums that depend on every rounding on the way. */
static double series(uint32_t terms)
{
    double sum = 0, sign = 1;
    float single = 0;
    for (uint32_t i = 0; i < terms; i++, sign = -sign) {
        sum += sign / (2.0 * i + 1.0);
        single = single * 0.99f + (float)sign / (float)(i + 1);
    }
    return 4 * sum + (double)single;
}

int main(int argc, char **argv)
{
    uint32_t rounds = sample_begin(argc, argv, 5), hash = 1;
    volatile double zero = 0.0;
    for (uint32_t round = 0; round < rounds; round++) {
        hash = float_arithmetic(double_arithmetic(hash));
        hash = conversions(comparisons(hash, zero / zero));
    }
    double sum = series(rounds * 1000);
    out_line("operations", hash);
    out_line64("series", double_bits(sum));
    return sample_end(mix64(hash, double_bits(sum)));
}
