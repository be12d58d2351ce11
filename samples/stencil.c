/* Heat in a plate and in a rod: sweeps of five-point and three-point stencils, in double and in single precision. */
#include "freestanding/out.h"

enum { SIDE = 66, LENGTH = 1026 };

static double plate[2][SIDE][SIDE];
static float rod[2][LENGTH];

static void heat_up(void)
{
    uint32_t random = 4711;
    for (uint32_t y = 0; y < SIDE; y++)
        for (uint32_t x = 0; x < SIDE; x++)
            plate[0][y][x] = plate[1][y][x] = (double)random32(&random) / 4294967296.0;
    for (uint32_t x = 0; x < LENGTH; x++)
        rod[0][x] = rod[1][x] = (float)(random32(&random) >> 8) / 16777216.0f;
}

/* One step of heat flow; returns how much the warmest change is. */
static double sweep_plate(const double (*from)[SIDE], double (*to)[SIDE])
{
    double greatest = 0;
    for (uint32_t y = 1; y < SIDE - 1; y++) {
        for (uint32_t x = 1; x < SIDE - 1; x++) {
            double around = from[y - 1][x] + from[y + 1][x] + from[y][x - 1] + from[y][x + 1];
            double next = from[y][x] + 0.2 * (around - 4.0 * from[y][x]);
            double change = next > from[y][x] ? next - from[y][x] : from[y][x] - next;
            if (change > greatest)
                greatest = change;
            to[y][x] = next;
        }
    }
    return greatest;
}

static void sweep_rod(const float *from, float *to)
{
    for (uint32_t x = 1; x < LENGTH - 1; x++)
        to[x] = 0.25f * from[x - 1] + 0.5f * from[x] + 0.25f * from[x + 1];
}

int main(int argc, char **argv)
{
    uint32_t steps = sample_begin(argc, argv, 20), hash = 0;
    double change = 0;
    heat_up();
    for (uint32_t step = 0; step < steps; step++) {
        uint32_t now = step & 1;
        change = sweep_plate(plate[now], plate[1 - now]);
        for (uint32_t i = 0; i < 4; i++)
            sweep_rod(rod[i & 1], rod[~i & 1]);
    }
    out_line64("last change", double_bits(change));
    for (uint32_t i = 0; i < SIDE; i++)
        hash = mix64(hash, double_bits(plate[steps & 1][i][SIDE / 2]));
    for (uint32_t x = 0; x < LENGTH; x++)
        hash = mix32(hash, float_bits(rod[0][x]));
    return sample_end(hash);
}
