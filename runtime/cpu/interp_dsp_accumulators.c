/* Instructions of the DSP module on accumulators and DSPControl (manual, volume IV-e). The functions are called by the
 * function field; bits 10 to 6 tell the instructions of one apart. */
#include "cpu/dsp_values.h"

static unsigned accumulator(uint32_t word)
{
    return rd(word) & 3;
}

static int64_t low_half(uint32_t value) { return (int16_t)value; }
static int64_t high_half(uint32_t value) { return (int16_t)(value >> 16); }

/* The nearest number of 64 bits to a + b, or a - b. */
static int64_t sum_near(struct mr_state *s, int64_t a, int64_t b, bool subtracts, unsigned flag)
{
    int64_t result;
    bool over = subtracts ? __builtin_sub_overflow(a, b, &result) : __builtin_add_overflow(a, b, &result);
    mr_dsp_note(s, over, flag);
    return !over ? result : a < 0 ? INT64_MIN : INT64_MAX;
}

/* a + b modulo 2^33, as the nearest word (manual, sat32AccumulateQ31). */
static int64_t word_near(struct mr_state *s, uint64_t a, int64_t b, unsigned flag)
{
    uint64_t exact = a + (uint64_t)b;
    bool is_negative = exact >> 32 & 1, over = is_negative != (exact >> 31 & 1);
    mr_dsp_note(s, over, flag);
    return !over ? (int32_t)(uint32_t)exact : is_negative ? INT32_MIN : INT32_MAX;
}

/* ---- products that are added: function 110000 ---- */

struct products {
    int64_t high, low;
};

static struct products fractions(struct mr_state *s, uint32_t a, uint32_t b, unsigned flag)
{
    return (struct products){
        mr_dsp_fraction(s, high_half(a), high_half(b), flag), mr_dsp_fraction(s, low_half(a), low_half(b), flag)};
}

static struct products integers(uint32_t a, uint32_t b)
{
    return (struct products){high_half(a) * high_half(b), low_half(a) * low_half(b)};
}

static int64_t byte_products(uint32_t a, uint32_t b)
{
    return (int64_t)((a >> 8 & 0xff) * (b >> 8 & 0xff) + (a & 0xff) * (b & 0xff));
}

static uint32_t crossed(uint32_t value)
{
    return value << 16 | value >> 16;
}

static int64_t long_fraction(struct mr_state *s, uint32_t a, uint32_t b, unsigned flag)
{
    int64_t product = (int64_t)(int32_t)a * (int32_t)b;
    return sum_near(s, product, product, false, flag);
}

uint32_t op_dsp_dot(struct mr_state *s, uint32_t word, uint32_t next)
{
    uint32_t a = GPR(s, rs(word)), b = GPR(s, rt(word));
    unsigned flag = MR_DSP_ACCUMULATORS + accumulator(word);
    uint64_t *ac = &s->hilo[accumulator(word)];
    struct products parts;
    int64_t term;
    if (rd(word) > 3)
        return raise_reserved(s, word);
    switch (sa(word)) {
    case 0x00: parts = integers(a, b), term = parts.high + parts.low; break;
    case 0x01: parts = integers(a, b), term = -(parts.high + parts.low); break;
    case 0x02: parts = integers(a, b), term = parts.high - parts.low; break;
    case 0x03: term = byte_products(a >> 16, b >> 16); break;
    case 0x04: parts = fractions(s, a, b, flag), term = parts.high + parts.low; break;
    case 0x05: parts = fractions(s, a, b, flag), term = -(parts.high + parts.low); break;
    case 0x06: parts = fractions(s, a, b, flag), term = parts.high - parts.low; break;
    case 0x07: term = byte_products(a, b); break;
    case 0x08: parts = integers(a, crossed(b)), term = parts.high + parts.low; break;
    case 0x09: parts = integers(a, crossed(b)), term = -(parts.high + parts.low); break;
    case 0x0b: term = -byte_products(a >> 16, b >> 16); break;
    case 0x0c: *ac = (uint64_t)sum_near(s, (int64_t)*ac, long_fraction(s, a, b, flag), false, flag); return next;
    case 0x0d: *ac = (uint64_t)sum_near(s, (int64_t)*ac, long_fraction(s, a, b, flag), true, flag); return next;
    case 0x0f: term = -byte_products(a, b); break;
    case 0x10: *ac = (uint64_t)word_near(s, *ac, mr_dsp_fraction(s, high_half(a), high_half(b), flag), flag); return next;
    case 0x12: *ac = (uint64_t)word_near(s, *ac, mr_dsp_fraction(s, low_half(a), low_half(b), flag), flag); return next;
    case 0x14: term = mr_dsp_fraction(s, high_half(a), high_half(b), flag); break;
    case 0x16: term = mr_dsp_fraction(s, low_half(a), low_half(b), flag); break;
    case 0x18: parts = fractions(s, a, crossed(b), flag), term = parts.high + parts.low; break;
    case 0x19: parts = fractions(s, a, crossed(b), flag), term = -(parts.high + parts.low); break;
    case 0x1a: case 0x1b: {
        parts = fractions(s, a, crossed(b), flag), term = parts.high + parts.low;
        int64_t exact = (int64_t)(*ac + (uint64_t)(sa(word) & 1 ? -term : term)), near = mr_dsp_near(exact, 32, true);
        mr_dsp_note(s, exact != near, flag);
        *ac = (uint64_t)near;
        return next;
    }
    default: return raise_reserved(s, word);
    }
    *ac += (uint64_t)term;
    return next;
}

/* ---- what becomes of accumulators: function 111000 ---- */

static uint32_t extracted(struct mr_state *s, int64_t value, unsigned count, bool rounds, bool saturates)
{
    int64_t exact = value >> count, rounded = mr_dsp_rounded(value, count);
    bool over = rounded != (int32_t)rounded;
    mr_dsp_note(s, over || exact != (int32_t)exact, MR_DSP_EXTRACTION);
    if (over && saturates)
        return rounded < 0 ? 0x80000000u : 0x7fffffffu;
    return (uint32_t)(rounds ? rounded : exact);
}

static uint32_t extracted_half(struct mr_state *s, int64_t value, unsigned count)
{
    int64_t exact = value >> count, near = mr_dsp_near(exact, 16, true);
    mr_dsp_note(s, exact != near, MR_DSP_EXTRACTION);
    return (uint32_t)near;
}

/* Bits from pos down; where there are too few, the manual leaves the result open, and it is 0 here. */
static uint32_t bits_at_pos(struct mr_state *s, uint64_t value, unsigned count, bool advances)
{
    int first = (int)mr_dsp_field(s, MR_DSP_POS, 6) - (int)count;
    mr_dsp_set_field(s, MR_DSP_EFI, 1, first < 0);
    if (first < 0)
        return 0;
    if (advances)
        mr_dsp_set_field(s, MR_DSP_POS, 6, (uint32_t)(first - 1) & 63);
    return (uint32_t)(value >> first) & (0xffffffffu >> (31 - count));
}

static uint64_t shifted(uint64_t value, int count)
{
    return count < 0 ? value << -count : value >> count;
}

/* The fields of DSPControl that a mask chooses (manual, rddsp). */
static uint32_t chosen_fields(uint32_t mask)
{
    static const uint32_t fields[] = {0x3f, 0x3f << 7, 1u << 13, 0xffu << 16, 0xfu << 24, 1u << 14};
    uint32_t result = 0;
    for (unsigned i = 0; i < sizeof fields / sizeof *fields; i++)
        if (mask >> i & 1)
            result |= fields[i];
    return result;
}

static int six_bits(uint32_t value)
{
    return (int)((value & 63) ^ 32) - 32;
}

static uint32_t move_low_up(struct mr_state *s, uint64_t *ac, uint32_t low, uint32_t next)
{
    uint32_t pos = mr_dsp_field(s, MR_DSP_POS, 6);
    *ac = *ac << 32 | low;
    if (pos <= 32) /* more is unpredictable */
        mr_dsp_set_field(s, MR_DSP_POS, 6, (pos + 32) & 63);
    return next;
}

/* rddsp and wrdsp have a mask where the others have an accumulator: ten bits, of which four choose nothing. */
static uint32_t control(struct mr_state *s, uint32_t word, uint32_t next)
{
    if (sa(word) == 0x12) {
        set_gpr(s, rd(word), s->dsp_control.value & chosen_fields(word >> 16 & 63));
        return next;
    }
    uint32_t fields = chosen_fields(word >> 11 & 63);
    s->dsp_control.value = (s->dsp_control.value & ~fields) | (GPR(s, rs(word)) & fields);
    return next;
}

uint32_t op_dsp_extract(struct mr_state *s, uint32_t word, uint32_t next)
{
    if (sa(word) == 0x12 || sa(word) == 0x13)
        return control(s, word, next);
    uint64_t *ac = &s->hilo[accumulator(word)];
    uint32_t a = GPR(s, rs(word)), value;
    int64_t number = (int64_t)*ac;
    unsigned count = sa(word) & 1 ? a & 31 : rs(word);
    if (rd(word) > 3)
        return raise_reserved(s, word);
    switch (sa(word)) {
    case 0x00: case 0x01: value = extracted(s, number, count, false, false); break;
    case 0x02: case 0x03: value = bits_at_pos(s, *ac, count, false); break;
    case 0x04: case 0x05: value = extracted(s, number, count, true, false); break;
    case 0x06: case 0x07: value = extracted(s, number, count, true, true); break;
    case 0x0a: case 0x0b: value = bits_at_pos(s, *ac, count, true); break;
    case 0x0e: case 0x0f: value = extracted_half(s, number, count); break;
    case 0x1a: /* shilo */
        if ((word >> 16 & 15) != 0)
            return raise_reserved(s, word);
        *ac = shifted(*ac, six_bits(word >> 20));
        return next;
    case 0x1b: case 0x1f: /* shilov mthlip */
        if (rt(word) != 0)
            return raise_reserved(s, word);
        if (sa(word) == 0x1f)
            return move_low_up(s, ac, a, next);
        *ac = shifted(*ac, six_bits(a));
        return next;
    default: return raise_reserved(s, word);
    }
    set_gpr(s, rt(word), value);
    return next;
}
