/* What the samples with fixed-point numbers share. In builds for the DSP module (-mdspr2) two numbers lie in a register. */
#ifndef SAMPLES_Q15_H
#define SAMPLES_Q15_H

#include <stdint.h>

#ifdef __mips_dsp
typedef int16_t q15_pair __attribute__((vector_size(4), may_alias));
#endif

static inline int16_t q15_clamped(int32_t value)
{
    return (int16_t)(value > 32767 ? 32767 : value < -32768 ? -32768 : value);
}

/* Any number but -1, whose square has no place in Q15. */
static inline int16_t q15_random(uint32_t bits)
{
    return (int16_t)((bits >> 16) == 0x8000 ? 0 : bits >> 16);
}

#endif
