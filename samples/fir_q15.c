/* A filter of 64 taps over blocks of noise in Q15, with sums of 40 bits: the inner loop of a modem. */
#include "freestanding/out.h"
#include "q15.h"

enum { TAPS = 64, BLOCK = 1024 };
static int16_t taps[TAPS] __attribute__((aligned(8)));
static int16_t output[BLOCK];

#ifdef __mips_dsp
/* Pairs are words, so what begins at an odd number has a copy that begins at a word. */
static int16_t input[2][BLOCK + TAPS + 2] __attribute__((aligned(8)));

static void put(uint32_t place, int16_t value)
{
    input[0][place] = value;
    if (place > 0)
        input[1][place - 1] = value;
}

static int16_t filtered(uint32_t place)
{
    const q15_pair *from = (const q15_pair *)&input[place & 1][place & ~1u], *by = (const q15_pair *)taps;
    long long sum = 0;
    for (uint32_t i = 0; i < TAPS / 2; i++)
        sum = __builtin_mips_dpaq_s_w_ph(sum, from[i], by[i]);
    return (int16_t)__builtin_mips_extr_s_h(sum, 16);
}
#else
static int16_t input[BLOCK + TAPS];

static void put(uint32_t place, int16_t value)
{
    input[place] = value;
}

static int16_t filtered(uint32_t place)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < TAPS; i++)
        sum += 2 * ((int32_t)input[place + i] * taps[i]);
    return q15_clamped((int32_t)(sum >> 16));
}
#endif

int main(int argc, char **argv)
{
    uint32_t rounds = sample_begin(argc, argv, 4), random = 1, hash = 0;
    for (uint32_t i = 0; i < TAPS; i++)
        taps[i] = q15_random(random32(&random)) / 8;
    for (uint32_t round = 0; round < rounds; round++) {
        for (uint32_t i = 0; i < BLOCK + TAPS; i++)
            put(i, q15_random(random32(&random)));
        for (uint32_t i = 0; i < BLOCK; i++)
            output[i] = filtered(i);
        for (uint32_t i = 0; i < BLOCK; i += 16)
            hash = mix32(hash, (uint16_t)output[i]);
    }
    return sample_end(hash);
}
