/* Fourier transforms of 256 complex numbers in Q15, halved at each stage so that nothing overflows. */
#include "freestanding/out.h"
#include "q15.h"

enum { SIZE = 256 };
#define PI 3.141592653589793

struct complex {
    int16_t real, imaginary;
} __attribute__((aligned(4), may_alias));

static struct complex values[SIZE], twiddles[SIZE / 2];

#ifdef __mips_dsp
static struct complex turned[SIZE / 2]; /* for the imaginary part: with both parts changed for each other */

static void prepare(void)
{
    for (uint32_t i = 0; i < SIZE / 2; i++) {
        turned[i] = (struct complex){twiddles[i].imaginary, twiddles[i].real};
        twiddles[i].imaginary = (int16_t)-twiddles[i].imaginary;
    }
}

static void butterfly(struct complex *first, struct complex *second, uint32_t by)
{
    q15_pair a = *(q15_pair *)first, b = *(q15_pair *)second;
    int32_t real = (int32_t)__builtin_mips_dpaq_s_w_ph(0, b, *(q15_pair *)&twiddles[by]);
    int32_t imaginary = (int32_t)__builtin_mips_dpaq_s_w_ph(0, b, *(q15_pair *)&turned[by]);
#ifdef __MIPSEB__
    q15_pair product = __builtin_mips_precrq_rs_ph_w(real, imaginary);
#else
    q15_pair product = __builtin_mips_precrq_rs_ph_w(imaginary, real);
#endif
    *(q15_pair *)first = __builtin_mips_addqh_ph(a, product);
    *(q15_pair *)second = __builtin_mips_subqh_ph(a, product);
}
#else
static void prepare(void)
{
}

static void butterfly(struct complex *first, struct complex *second, uint32_t by)
{
    struct complex a = *first, b = *second, w = twiddles[by];
    int32_t real = (b.real * w.real - b.imaginary * w.imaginary + 0x4000) >> 15;
    int32_t imaginary = (b.real * w.imaginary + b.imaginary * w.real + 0x4000) >> 15;
    *first = (struct complex){(int16_t)((a.real + real) >> 1), (int16_t)((a.imaginary + imaginary) >> 1)};
    *second = (struct complex){(int16_t)((a.real - real) >> 1), (int16_t)((a.imaginary - imaginary) >> 1)};
}
#endif

static void transform(void)
{
    for (uint32_t half = 1; half < SIZE; half *= 2)
        for (uint32_t start = 0; start < SIZE; start += 2 * half)
            for (uint32_t i = 0; i < half; i++)
                butterfly(&values[start + i], &values[start + half + i], i * (SIZE / 2 / half));
}

/* cos and sin of the twiddles' angles, by turning step by step: plain arithmetic, the same on every machine. */
static void make_twiddles(void)
{
    double step = 2 * PI / SIZE, square = step * step, real = 1, imaginary = 0;
    double cosine = 1 - square / 2 * (1 - square / 12 * (1 - square / 30));
    double sine = step * (1 - square / 6 * (1 - square / 20 * (1 - square / 42)));
    for (uint32_t i = 0; i < SIZE / 2; i++) {
        twiddles[i].real = (int16_t)(real * 32766);
        twiddles[i].imaginary = (int16_t)(imaginary * -32766);
        double next = real * cosine - imaginary * sine;
        imaginary = real * sine + imaginary * cosine;
        real = next;
    }
}

int main(int argc, char **argv)
{
    uint32_t rounds = sample_begin(argc, argv, 10), random = 1, hash = 0;
    make_twiddles();
    prepare();
    for (uint32_t round = 0; round < rounds; round++) {
        for (uint32_t i = 0; i < SIZE; i++) {
            uint32_t bits = random32(&random);
            values[i] = (struct complex){(int16_t)(q15_random(bits) / 2), (int16_t)(q15_random(bits << 16) / 2)};
        }
        transform();
        for (uint32_t i = 0; i < SIZE; i += 16)
            hash = mix32(hash, (uint32_t)(uint16_t)values[i].real << 16 | (uint16_t)values[i].imaginary);
    }
    return sample_end(hash);
}
