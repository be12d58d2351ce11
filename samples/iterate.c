/* Long chains of dependent operations: the logistic map, Newton's method, Horner's rule and continued fractions. */
#include "freestanding/out.h"

enum { TERMS = 24 };

/* Iterates x -> r x (1 - x); returns the mean. */
static double logistic(double r, double x, uint32_t count)
{
    double total = 0;
    for (uint32_t i = 0; i < count; i++) {
        x = r * x * (1.0 - x);
        total += x;
    }
    return total / count;
}

static float logistic_single(float r, float x, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        x = r * x * (1.0f - x);
    return x;
}

/* The cube root, by Newton's method until it changes no more, and at most 60 times. */
static double cube_root(double value)
{
    double root = value < 1.0 ? 1.0 : value, before = 0;
    for (uint32_t i = 0; i < 60 && root != before; i++) {
        before = root;
        root -= (root * root * root - value) / (3.0 * root * root);
    }
    return root;
}

/* The exponential function, by its series. */
static double exponential(double x)
{
    double result = 1;
    for (uint32_t i = TERMS; i > 0; i--)
        result = 1.0 + x * result / i;
    return result;
}

static double polynomial(const double *coefficients, double x)
{
    double result = 0;
    for (uint32_t i = 0; i < TERMS; i++)
        result = result * x + coefficients[i];
    return result;
}

/* tan(x), as x / (1 - x^2 / (3 - x^2 / (5 - ...))). */
static double tangent(double x)
{
    double square = x * x, bottom = 2.0 * TERMS + 1.0;
    for (uint32_t i = TERMS; i > 0; i--)
        bottom = (2.0 * i - 1.0) - square / bottom;
    return x / bottom;
}

int main(int argc, char **argv)
{
    uint32_t rounds = sample_begin(argc, argv, 200), random = 1976, hash = 0;
    double coefficients[TERMS], last = 0;
    for (uint32_t i = 0; i < TERMS; i++)
        coefficients[i] = (double)(int32_t)random32(&random) / 2147483648.0;
    for (uint32_t round = 0; round < rounds; round++) {
        double x = (double)(random32(&random) >> 8) / 16777216.0;
        last = logistic(3.6 + 0.4 * x, 0.25 + x / 2, 300);
        hash = mix32(hash, float_bits(logistic_single(3.7f, (float)x * 0.5f + 0.25f, 300)));
        hash = mix64(mix64(hash, double_bits(last)), double_bits(cube_root(1000.0 * x + 0.5)));
        hash = mix64(mix64(hash, double_bits(exponential(x))), double_bits(polynomial(coefficients, x)));
        hash = mix64(hash, double_bits(tangent(x)));
    }
    out_line64("mean", double_bits(last));
    return sample_end(hash);
}
