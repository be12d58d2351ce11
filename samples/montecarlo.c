/* Monte Carlo: the volume of a ball, random walks between walls, and integrals by weighted points; single and double. */
#include "freestanding/out.h"

/* A number from 0 to below 1. */
static float uniform(uint32_t *random)
{
    return (float)(random32(random) >> 8) / 16777216.0f;
}

static double uniform_double(uint32_t *random)
{
    uint32_t high = random32(random) >> 5, low = random32(random) >> 6;
    return ((double)high * 67108864.0 + (double)low) / 9007199254740992.0;
}

/* Counts the points of a cube of four dimensions that lie in the ball. */
static uint32_t points_in_ball(uint32_t count, uint32_t *random)
{
    uint32_t inside = 0;
    for (uint32_t i = 0; i < count; i++) {
        float a = uniform(random), b = uniform(random), c = uniform(random), d = uniform(random);
        inside += a * a + b * b + c * c + d * d < 1.0f;
    }
    return inside;
}

/* Walks with steps of about a normal distribution until a wall is reached; returns the mean of the squared lengths. */
static float walk(uint32_t walks, uint32_t *random)
{
    float total = 0;
    for (uint32_t i = 0; i < walks; i++) {
        float x = 0, y = 0;
        for (uint32_t step = 0; step < 64 && x < 8.0f && x > -8.0f; step++) {
            x += uniform(random) + uniform(random) + uniform(random) - 1.5f;
            y += uniform(random) + uniform(random) + uniform(random) - 1.5f;
        }
        total += x * x + y * y;
    }
    return total / (float)walks;
}

/* The integral of 1 / (1 + x^2) from 0 to 1, by points that lie denser where it is large; adds the variance. */
static double integral(uint32_t count, uint32_t *random, double *variance)
{
    double sum = 0, squares = 0;
    for (uint32_t i = 0; i < count; i++) {
        double u = uniform_double(random);
        double x = 2.0 - __builtin_sqrt(4.0 - 3.0 * u); /* density (4 - 2 x) / 3 */
        double weight = 3.0 / ((4.0 - 2.0 * x) * (1.0 + x * x));
        sum += weight;
        squares += weight * weight;
    }
    double mean = sum / count;
    *variance += squares / count - mean * mean;
    return mean;
}

int main(int argc, char **argv)
{
    uint32_t rounds = sample_begin(argc, argv, 10), random = 1949, hash = 0;
    double mean = 0, variance = 0;
    for (uint32_t round = 0; round < rounds; round++) {
        hash = mix32(hash, points_in_ball(2000, &random));
        hash = mix32(hash, float_bits(walk(40, &random)));
        mean = integral(1000, &random, &variance);
        hash = mix64(hash, double_bits(mean));
    }
    out_line64("integral", double_bits(mean));
    return sample_end(mix64(hash, double_bits(variance)));
}
