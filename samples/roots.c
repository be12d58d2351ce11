/* Complex arithmetic: all roots of polynomials at once (Durand and Kerner), and products of complex matrices. */
#include "freestanding/out.h"

enum { DEGREE = 16, SIZE = 24, STEPS = 40 };

struct complex {
    double re, im;
};

static struct complex sum(struct complex a, struct complex b)
{
    return (struct complex){a.re + b.re, a.im + b.im};
}

static struct complex difference(struct complex a, struct complex b)
{
    return (struct complex){a.re - b.re, a.im - b.im};
}

static struct complex times(struct complex a, struct complex b)
{
    return (struct complex){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

static struct complex quotient(struct complex a, struct complex b)
{
    double square = b.re * b.re + b.im * b.im;
    return (struct complex){(a.re * b.re + a.im * b.im) / square, (a.im * b.re - a.re * b.im) / square};
}

static double small(uint32_t *random)
{
    return (double)(int32_t)random32(random) / 2147483648.0;
}

/* Improves guesses of the roots of a polynomial whose first coefficient is 1; returns the last square of a change. */
static double improve(const struct complex *coefficients, struct complex *roots)
{
    double change = 0;
    for (uint32_t step = 0; step < STEPS; step++) {
        change = 0;
        for (uint32_t i = 0; i < DEGREE; i++) {
            struct complex value = {1, 0}, others = {1, 0};
            for (uint32_t k = 0; k < DEGREE; k++)
                value = sum(times(value, roots[i]), coefficients[k]);
            for (uint32_t k = 0; k < DEGREE; k++)
                if (k != i)
                    others = times(others, difference(roots[i], roots[k]));
            struct complex by = quotient(value, others);
            roots[i] = difference(roots[i], by);
            change += by.re * by.re + by.im * by.im;
        }
    }
    return change;
}

static void multiply(struct complex (*to)[SIZE], const struct complex (*a)[SIZE], const struct complex (*b)[SIZE])
{
    for (uint32_t i = 0; i < SIZE; i++) {
        for (uint32_t j = 0; j < SIZE; j++) {
            struct complex total = {0, 0};
            for (uint32_t k = 0; k < SIZE; k++)
                total = sum(total, times(a[i][k], b[k][j]));
            to[i][j] = total;
        }
    }
}

static struct complex left[SIZE][SIZE], right[SIZE][SIZE], product[SIZE][SIZE];

int main(int argc, char **argv)
{
    uint32_t rounds = sample_begin(argc, argv, 3), random = 1806, hash = 0;
    double change = 0;
    for (uint32_t round = 0; round < rounds; round++) {
        struct complex coefficients[DEGREE], roots[DEGREE], power = {1, 0}, turn = {0.4, 0.9};
        for (uint32_t i = 0; i < DEGREE; i++) {
            coefficients[i] = (struct complex){small(&random), small(&random)};
            roots[i] = power = times(power, turn);
        }
        change = improve(coefficients, roots);
        for (uint32_t i = 0; i < SIZE * SIZE; i++) {
            left[i / SIZE][i % SIZE] = (struct complex){small(&random), roots[i % DEGREE].re};
            right[i / SIZE][i % SIZE] = (struct complex){roots[i % DEGREE].im, small(&random)};
        }
        multiply(product, left, right);
        for (uint32_t i = 0; i < SIZE; i++)
            hash = mix64(mix64(hash, double_bits(product[i][i].re)), double_bits(product[i][SIZE - 1 - i].im));
    }
    out_line64("change", double_bits(change));
    return sample_end(hash);
}
