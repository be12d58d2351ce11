/* Natural cubic splines through noisy points, in double precision: tridiagonal systems, values, slopes and areas. */
#include "freestanding/out.h"

enum { KNOTS = 200, VALUES = 4000 };

struct spline {
    double x[KNOTS], y[KNOTS], curvature[KNOTS];
};

static struct spline spline;

/* Knots at uneven distances, on a wave made of parabolas, with noise. */
static void place_knots(uint32_t *random)
{
    double x = 0;
    for (uint32_t i = 0; i < KNOTS; i++) {
        double phase = (double)(i % 40) / 20.0 - 1.0, noise = (double)(random32(random) >> 8) / 16777216.0;
        spline.x[i] = x;
        spline.y[i] = (i / 40 & 1 ? -4.0 : 4.0) * (1.0 - phase * phase) + 0.125 * noise;
        x += 0.5 + (double)(random32(random) >> 16) / 65536.0;
    }
}

/* Solves for the second derivatives at the knots, forwards and then backwards. */
static void fit(struct spline *s)
{
    double above[KNOTS];
    s->curvature[0] = above[0] = 0;
    for (uint32_t i = 1; i < KNOTS - 1; i++) {
        double before = s->x[i] - s->x[i - 1], after = s->x[i + 1] - s->x[i];
        double bend = (s->y[i + 1] - s->y[i]) / after - (s->y[i] - s->y[i - 1]) / before;
        double pivot = 2.0 * (before + after) - before * above[i - 1];
        above[i] = after / pivot;
        s->curvature[i] = (6.0 * bend - before * s->curvature[i - 1]) / pivot;
    }
    s->curvature[KNOTS - 1] = 0;
    for (uint32_t i = KNOTS - 1; i-- > 1;)
        s->curvature[i] -= above[i] * s->curvature[i + 1];
}

static uint32_t interval_of(const struct spline *s, double x)
{
    uint32_t low = 0, high = KNOTS - 1;
    while (high - low > 1) {
        uint32_t middle = (low + high) / 2;
        if (s->x[middle] > x)
            high = middle;
        else
            low = middle;
    }
    return low;
}

/* The value of the spline; adds its slope. */
static double value_at(const struct spline *s, double x, double *slope)
{
    uint32_t i = interval_of(s, x);
    double width = s->x[i + 1] - s->x[i], right = (x - s->x[i]) / width, left = 1.0 - right;
    double m0 = s->curvature[i] * width * width / 6.0, m1 = s->curvature[i + 1] * width * width / 6.0;
    *slope += (s->y[i + 1] - s->y[i] + m0 * (1.0 - 3.0 * left * left) + m1 * (3.0 * right * right - 1.0)) / width;
    return left * s->y[i] + right * s->y[i + 1] + (left * left * left - left) * m0 + (right * right * right - right) * m1;
}

static double area(const struct spline *s)
{
    double total = 0;
    for (uint32_t i = 0; i + 1 < KNOTS; i++) {
        double width = s->x[i + 1] - s->x[i];
        total += width * (s->y[i] + s->y[i + 1]) / 2.0;
        total -= width * width * width * (s->curvature[i] + s->curvature[i + 1]) / 24.0;
    }
    return total;
}

int main(int argc, char **argv)
{
    uint32_t rounds = sample_begin(argc, argv, 5), random = 1946, hash = 0;
    double slope = 0, covered = 0;
    for (uint32_t round = 0; round < rounds; round++) {
        place_knots(&random);
        fit(&spline);
        double end = spline.x[KNOTS - 1], sum = 0;
        for (uint32_t i = 0; i < VALUES; i++)
            sum += value_at(&spline, end * (double)(i * 2654435761u >> 8) / 16777216.0, &slope);
        covered = area(&spline);
        hash = mix64(mix64(hash, double_bits(sum)), double_bits(covered));
    }
    out_line64("area", double_bits(covered));
    return sample_end(mix64(hash, double_bits(slope)));
}
