/* Eight channels of sound in Q15, each with its gain, mixed with saturation, as a telephone exchange does. */
#include "freestanding/out.h"
#include "q15.h"

enum { CHANNELS = 8, BLOCK = 512 };
static int16_t channels[CHANNELS][BLOCK] __attribute__((aligned(8)));
static int16_t mixed[BLOCK] __attribute__((aligned(8)));
static int16_t gains[CHANNELS];

#ifdef __mips_dsp
static void mix(void)
{
    q15_pair *to = (q15_pair *)mixed;
    for (uint32_t channel = 0; channel < CHANNELS; channel++) {
        const q15_pair *from = (const q15_pair *)channels[channel];
        q15_pair gain = {gains[channel], gains[channel]};
        for (uint32_t i = 0; i < BLOCK / 2; i++)
            to[i] = __builtin_mips_addq_s_ph(to[i], __builtin_mips_mulq_rs_ph(gain, from[i]));
    }
}
#else
static void mix(void)
{
    for (uint32_t channel = 0; channel < CHANNELS; channel++)
        for (uint32_t i = 0; i < BLOCK; i++)
            mixed[i] = q15_clamped(mixed[i] + (((int32_t)gains[channel] * channels[channel][i] + 0x4000) >> 15));
}
#endif

int main(int argc, char **argv)
{
    uint32_t rounds = sample_begin(argc, argv, 20), random = 1, hash = 0;
    for (uint32_t i = 0; i < CHANNELS * BLOCK; i++)
        channels[i / BLOCK][i % BLOCK] = q15_random(random32(&random));
    for (uint32_t round = 0; round < rounds; round++) {
        for (uint32_t i = 0; i < CHANNELS; i++)
            gains[i] = q15_random(random32(&random));
        memset(mixed, 0, sizeof mixed);
        mix();
        for (uint32_t i = 0; i < BLOCK; i += 64)
            hash = mix32(hash, (uint16_t)mixed[i]);
    }
    return sample_end(hash);
}
