/* Numbers of the DSP module (volume IV-e): several in a register, fractions, and the flags of DSPControl. */
#ifndef MR_DSP_VALUES_H
#define MR_DSP_VALUES_H

#include "cpu/interp.h"

/* Bits of DSPControl: its numbers and flags begin here. Flags 16 to 19 are of the accumulators. */
enum {
    MR_DSP_POS = 0, MR_DSP_SCOUNT = 7, MR_DSP_CARRY = 13, MR_DSP_EFI = 14, MR_DSP_ACCUMULATORS = 16, MR_DSP_SUMS = 20,
    MR_DSP_PRODUCTS = 21, MR_DSP_SHIFTS = 22, MR_DSP_EXTRACTION = 23, MR_DSP_CONDITIONS = 24,
};

static inline void mr_dsp_note(struct mr_state *s, bool flag, unsigned bit)
{
    s->dsp_control.value |= (uint32_t)flag << bit;
}

static inline uint32_t mr_dsp_field(const struct mr_state *s, unsigned first, unsigned bits)
{
    return s->dsp_control.value >> first & ((1u << bits) - 1);
}

static inline void mr_dsp_set_field(struct mr_state *s, unsigned first, unsigned bits, uint32_t value)
{
    uint32_t mask = ((1u << bits) - 1) << first;
    s->dsp_control.value = (s->dsp_control.value & ~mask) | (value << first & mask);
}

/* The number of `bits` bits at a place of a register, the lowest first; with its sign, or without. */
static inline int64_t mr_dsp_lane(uint32_t value, unsigned place, unsigned bits, bool has_sign)
{
    uint32_t lane = value >> place * bits & (0xffffffffu >> (32 - bits));
    return has_sign && lane >> (bits - 1) ? (int64_t)lane - (INT64_C(1) << bits) : (int64_t)lane;
}

static inline int64_t mr_dsp_clamp(int64_t value, int64_t least, int64_t greatest)
{
    return value < least ? least : value > greatest ? greatest : value;
}

/* The nearest number of `bits` bits. */
static inline int64_t mr_dsp_near(int64_t value, unsigned bits, bool has_sign)
{
    int64_t span = INT64_C(1) << bits;
    return has_sign ? mr_dsp_clamp(value, -span / 2, span / 2 - 1) : mr_dsp_clamp(value, 0, span - 1);
}

/* The product of two fractions of 16 bits as a fraction of 32 (manual, multiplyQ15Q15); -1 times -1 is not quite 1. */
static inline int64_t mr_dsp_fraction(struct mr_state *s, int64_t a, int64_t b, unsigned flag)
{
    int64_t twice = 2 * a * b, near = mr_dsp_near(twice, 32, true);
    mr_dsp_note(s, near != twice, flag);
    return near;
}

/* value / 2^count, rounded to the nearest number, halves up. */
static inline int64_t mr_dsp_rounded(int64_t value, unsigned count)
{
    return count ? ((value >> (count - 1)) + 1) >> 1 : value;
}

#endif
