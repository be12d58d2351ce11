/* Fourier transforms of 1024 complex numbers, forth and back, and a convolution by them, in double precision. */
#include "freestanding/out.h"

enum { LOG = 10, COUNT = 1 << LOG };

struct complex {
    double re, im;
};

static struct complex roots[COUNT / 2], signal[COUNT], filter[COUNT], work[COUNT];

static struct complex times(struct complex a, struct complex b)
{
    struct complex product = {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
    return product;
}

/* The roots of unity, each from that of half its angle: cos and sin of a half by square roots. */
static void find_roots(void)
{
    struct complex half[LOG];
    half[0].re = 0, half[0].im = -1; /* a quarter of the circle */
    for (uint32_t i = 1; i < LOG; i++) {
        half[i].re = __builtin_sqrt((1 + half[i - 1].re) / 2);
        half[i].im = half[i - 1].im / (2 * half[i].re);
    }
    for (uint32_t i = 0; i < COUNT / 2; i++) {
        struct complex root = {1, 0};
        for (uint32_t bit = 0; bit < LOG - 1; bit++)
            if (i >> bit & 1)
                root = times(root, half[LOG - 2 - bit]);
        roots[i] = root;
    }
}

static uint32_t reversed(uint32_t index)
{
    uint32_t result = 0;
    for (uint32_t bit = 0; bit < LOG; bit++)
        result |= (index >> bit & 1) << (LOG - 1 - bit);
    return result;
}

static void transform(struct complex *data)
{
    for (uint32_t i = 0; i < COUNT; i++) {
        uint32_t j = reversed(i);
        if (i < j) {
            struct complex kept = data[i];
            data[i] = data[j];
            data[j] = kept;
        }
    }
    for (uint32_t half = 1; half < COUNT; half *= 2) {
        for (uint32_t start = 0; start < COUNT; start += 2 * half) {
            for (uint32_t i = 0; i < half; i++) {
                struct complex *low = &data[start + i], *high = low + half;
                struct complex turned = times(*high, roots[i * (COUNT / 2 / half)]);
                high->re = low->re - turned.re;
                high->im = low->im - turned.im;
                low->re += turned.re;
                low->im += turned.im;
            }
        }
    }
}

/* The transform backwards is that forwards with the sign of im turned before and after. */
static void transform_back(struct complex *data)
{
    for (uint32_t i = 0; i < COUNT; i++)
        data[i].im = -data[i].im;
    transform(data);
    for (uint32_t i = 0; i < COUNT; i++) {
        data[i].re /= COUNT;
        data[i].im = -data[i].im / COUNT;
    }
}

int main(int argc, char **argv)
{
    uint32_t rounds = sample_begin(argc, argv, 4), random = 31337, hash = 0;
    find_roots();
    for (uint32_t i = 0; i < COUNT; i++) {
        signal[i].re = (double)(int32_t)random32(&random) / 2147483648.0;
        filter[i].re = i < 16 ? 1.0 / 16 : 0;
    }
    transform(filter);
    for (uint32_t round = 0; round < rounds; round++) {
        memcpy(work, signal, sizeof work);
        transform(work);
        for (uint32_t i = 0; i < COUNT; i++)
            work[i] = times(work[i], filter[i]);
        transform_back(work);
        signal[round % COUNT].re += work[round * 7 % COUNT].re;
    }
    for (uint32_t i = 0; i < COUNT; i++)
        hash = mix64(mix64(hash, double_bits(work[i].re)), double_bits(work[i].im));
    out_line64("first", double_bits(work[0].re));
    return sample_end(hash);
}
