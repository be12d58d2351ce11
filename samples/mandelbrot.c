/* The Mandelbrot set: how fast each point of a grid escapes, in double precision, and of another in single. */
#include "freestanding/out.h"

enum { WIDTH = 64, HEIGHT = 48, LIMIT = 200 };

static uint32_t escape(double x, double y)
{
    double re = 0, im = 0;
    for (uint32_t step = 0; step < LIMIT; step++) {
        double squared_re = re * re, squared_im = im * im;
        if (squared_re + squared_im > 4.0)
            return step;
        im = 2 * re * im + y;
        re = squared_re - squared_im + x;
    }
    return LIMIT;
}

static uint32_t escape_single(float x, float y)
{
    float re = 0, im = 0;
    for (uint32_t step = 0; step < LIMIT; step++) {
        float squared_re = re * re, squared_im = im * im;
        if (squared_re + squared_im > 4.0f)
            return step;
        im = 2 * re * im + y;
        re = squared_re - squared_im + x;
    }
    return LIMIT;
}

int main(int argc, char **argv)
{
    uint32_t rounds = sample_begin(argc, argv, 2), hash = 0, inside = 0;
    for (uint32_t round = 0; round < rounds; round++) {
        double size = 3.0 / (1 + round % 8), left = -0.7436 - size / 2, top = 0.1318 - size / 2;
        for (uint32_t row = 0; row < HEIGHT; row++) {
            for (uint32_t column = 0; column < WIDTH; column++) {
                double x = left + size * column / WIDTH, y = top + size * row / HEIGHT;
                uint32_t steps = row & 1 ? escape_single((float)x, (float)y) : escape(x, y);
                inside += steps == LIMIT;
                hash = mix32(hash, steps);
            }
        }
    }
    out_line_decimal("points inside", (int32_t)inside);
    return sample_end(hash);
}
