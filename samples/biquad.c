/* Recursive filters (IIR): cascades of second-order sections on noise, one sample after the other; long chains of
   dependent operations in single and in double precision. */
#include "freestanding/out.h"

enum { SECTIONS = 6, BLOCK = 256 };

struct section {
    float b0, b1, b2, a1, a2, z1, z2;
};

struct section_double {
    double b0, b1, b2, a1, a2, z1, z2;
};

static struct section cascade[SECTIONS];
static struct section_double cascade_double[SECTIONS];
static float block[BLOCK];
static double block_double[BLOCK];

/* Poles inside the unit circle, each pair a little further out than the one before. */
static void design(void)
{
    for (uint32_t i = 0; i < SECTIONS; i++) {
        double radius = 0.80 + 0.03 * i, cosine = 0.9 - 0.2 * i;
        struct section_double *s = &cascade_double[i];
        s->a1 = -2 * radius * cosine;
        s->a2 = radius * radius;
        s->b0 = (1 + s->a1 + s->a2) / 4;
        s->b1 = 2 * s->b0;
        s->b2 = s->b0;
        cascade[i] = (struct section){(float)s->b0, (float)s->b1, (float)s->b2, (float)s->a1, (float)s->a2, 0, 0};
    }
}

/* Section after section over the whole block: direct form II transposed. */
static void filter_by_section(void)
{
    for (struct section *s = cascade; s < cascade + SECTIONS; s++) {
        float z1 = s->z1, z2 = s->z2;
        for (uint32_t i = 0; i < BLOCK; i++) {
            float in = block[i], out = s->b0 * in + z1;
            z1 = s->b1 * in - s->a1 * out + z2;
            z2 = s->b2 * in - s->a2 * out;
            block[i] = out;
        }
        s->z1 = z1;
        s->z2 = z2;
    }
}

/* Sample after sample through all sections. */
static void filter_by_sample(void)
{
    for (uint32_t i = 0; i < BLOCK; i++) {
        double value = block_double[i];
        for (struct section_double *s = cascade_double; s < cascade_double + SECTIONS; s++) {
            double out = s->b0 * value + s->z1;
            s->z1 = s->b1 * value - s->a1 * out + s->z2;
            s->z2 = s->b2 * value - s->a2 * out;
            value = out;
        }
        block_double[i] = value;
    }
}

int main(int argc, char **argv)
{
    uint32_t blocks = sample_begin(argc, argv, 40), random = 2718, hash = 0;
    float peak = 0;
    design();
    for (uint32_t number = 0; number < blocks; number++) {
        for (uint32_t i = 0; i < BLOCK; i++) {
            block[i] = (float)((int32_t)random32(&random) >> 8) / 8388608.0f;
            block_double[i] = block[i];
        }
        filter_by_section();
        filter_by_sample();
        for (uint32_t i = 0; i < BLOCK; i++)
            if (block[i] > peak)
                peak = block[i];
        hash = mix64(mix32(hash, float_bits(block[number % BLOCK])), double_bits(block_double[number % BLOCK]));
    }
    out_line("peak", float_bits(peak));
    return sample_end(hash);
}
