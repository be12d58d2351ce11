/* Instructions of the DSP module that make a register of others (manual, volume IV-e). The functions are called by the
 * function field; bits 10 to 6 tell the instructions of one apart. */
#include "cpu/dsp_values.h"

enum { BYTES = 8, HALVES = 16, WORDS = 32 };

/* ---- the same for all numbers of a register ---- */

typedef int64_t lane_operation(int64_t a, int64_t b);

static int64_t sum(int64_t a, int64_t b) { return a + b; }
static int64_t difference(int64_t a, int64_t b) { return a - b; }
static int64_t product(int64_t a, int64_t b) { return a * b; }
static int64_t half_sum(int64_t a, int64_t b) { return (a + b) >> 1; }
static int64_t half_difference(int64_t a, int64_t b) { return (a - b) >> 1; }
static int64_t rounded_half_sum(int64_t a, int64_t b) { return (a + b + 1) >> 1; }
static int64_t rounded_half_difference(int64_t a, int64_t b) { return (a - b + 1) >> 1; }
static int64_t left(int64_t a, int64_t count) { return a * (INT64_C(1) << count); }
static int64_t right(int64_t a, int64_t count) { return a >> count; }
static int64_t rounded_right(int64_t a, int64_t count) { return mr_dsp_rounded(a, (unsigned)count); }
static int64_t absolute(int64_t a, int64_t unused) { return (void)unused, a < 0 ? -a : a; }

/* How numbers are taken, and what becomes of a result that does not fit. */
enum { SIGNED = 1, NEAREST = 2, NOTED = 4, TIMES_ONE = 8 /* b is one number, for all */ };

static uint32_t each(struct mr_state *s, uint32_t a, uint32_t b, unsigned bits, int how, unsigned flag, lane_operation *made)
{
    uint32_t result = 0;
    for (unsigned place = 0; place < 32 / bits; place++) {
        bool has_sign = (how & SIGNED) != 0;
        int64_t second = how & TIMES_ONE ? (int64_t)b : mr_dsp_lane(b, place, bits, has_sign);
        int64_t exact = made(mr_dsp_lane(a, place, bits, has_sign), second), near = mr_dsp_near(exact, bits, has_sign);
        if (how & NOTED)
            mr_dsp_note(s, near != exact, flag);
        uint32_t value = (uint32_t)(how & NEAREST ? near : exact) & (0xffffffffu >> (32 - bits));
        result |= value << place * bits;
    }
    return result;
}

static uint32_t result_in(struct mr_state *s, unsigned number, uint32_t value, uint32_t next)
{
    set_gpr(s, number, value);
    return next;
}

/* ---- sums and products: function 010000 ---- */

static uint32_t upper(uint32_t value) { return value >> 16; }
static uint32_t lower(uint32_t value) { return value & 0xffff; }
static uint32_t halves(uint32_t high, uint32_t low) { return high << 16 | (low & 0xffff); }
static uint32_t byte(uint32_t value, unsigned place) { return value >> 8 * place & 0xff; }

static uint32_t add_with_carry(struct mr_state *s, uint32_t a, uint32_t b)
{
    int64_t exact = (int64_t)(int32_t)a + (int32_t)b + mr_dsp_field(s, MR_DSP_CARRY, 1);
    mr_dsp_note(s, exact != (int32_t)exact, MR_DSP_SUMS);
    return (uint32_t)exact;
}

static uint32_t add_setting_carry(struct mr_state *s, uint32_t a, uint32_t b)
{
    uint64_t exact = (uint64_t)a + b;
    mr_dsp_set_field(s, MR_DSP_CARRY, 1, (uint32_t)(exact >> 32));
    return (uint32_t)exact;
}

static uint32_t byte_products(struct mr_state *s, uint32_t a, uint32_t b)
{
    return each(s, halves(byte(a, 1), byte(a, 0)), b, HALVES, NEAREST | NOTED, MR_DSP_PRODUCTS, product);
}

static uint32_t upper_fractions(struct mr_state *s, uint32_t a, uint32_t b, unsigned bits, bool rounds)
{
    uint32_t result = 0;
    for (unsigned place = 0; place < 32 / bits; place++) {
        int64_t first = mr_dsp_lane(a, place, bits, true), second = mr_dsp_lane(b, place, bits, true);
        int64_t least = -(INT64_C(1) << (bits - 1)), value = -least - 1;
        if (first == least && second == least)
            mr_dsp_note(s, true, MR_DSP_PRODUCTS);
        else
            value = (first * second + (rounds ? -least / 2 : 0)) >> (bits - 1);
        result |= ((uint32_t)value & (0xffffffffu >> (32 - bits))) << place * bits;
    }
    return result;
}

uint32_t op_dsp_sum(struct mr_state *s, uint32_t word, uint32_t next)
{
    const unsigned flag = MR_DSP_SUMS, products = MR_DSP_PRODUCTS;
    uint32_t a = GPR(s, rs(word)), b = GPR(s, rt(word)), value;
    switch (sa(word)) {
    case 0x00: value = each(s, a, b, BYTES, NOTED, flag, sum); break;
    case 0x01: value = each(s, a, b, BYTES, NOTED, flag, difference); break;
    case 0x04: value = each(s, a, b, BYTES, NOTED | NEAREST, flag, sum); break;
    case 0x05: value = each(s, a, b, BYTES, NOTED | NEAREST, flag, difference); break;
    case 0x06: value = byte_products(s, upper(a), b); break;
    case 0x07: value = byte_products(s, lower(a), b); break;
    case 0x08: value = each(s, a, b, HALVES, NOTED, flag, sum); break;
    case 0x09: value = each(s, a, b, HALVES, NOTED, flag, difference); break;
    case 0x0a: value = each(s, a, b, HALVES, SIGNED | NOTED, flag, sum); break;
    case 0x0b: value = each(s, a, b, HALVES, SIGNED | NOTED, flag, difference); break;
    case 0x0c: value = each(s, a, b, HALVES, NOTED | NEAREST, flag, sum); break;
    case 0x0d: value = each(s, a, b, HALVES, NOTED | NEAREST, flag, difference); break;
    case 0x0e: value = each(s, a, b, HALVES, SIGNED | NOTED | NEAREST, flag, sum); break;
    case 0x0f: value = each(s, a, b, HALVES, SIGNED | NOTED | NEAREST, flag, difference); break;
    case 0x10: value = add_setting_carry(s, a, b); break;
    case 0x11: value = add_with_carry(s, a, b); break;
    case 0x12: value = a == 0 ? b >> 8 & 0xffff : a - (b & 0xff); break; /* modsub */
    case 0x14: /* raddu.w.qb */
        if (rt(word) != 0)
            return raise_reserved(s, word);
        value = byte(a, 0) + byte(a, 1) + byte(a, 2) + byte(a, 3);
        break;
    case 0x16: value = each(s, a, b, WORDS, SIGNED | NOTED | NEAREST, flag, sum); break;
    case 0x17: value = each(s, a, b, WORDS, SIGNED | NOTED | NEAREST, flag, difference); break;
    case 0x1c: value = (uint32_t)mr_dsp_fraction(s, (int16_t)upper(a), (int16_t)upper(b), products); break;
    case 0x1d: value = (uint32_t)mr_dsp_fraction(s, (int16_t)a, (int16_t)b, products); break;
    case 0x1e: value = upper_fractions(s, a, b, HALVES, false); break;
    case 0x1f: value = upper_fractions(s, a, b, HALVES, true); break;
    default: return raise_reserved(s, word);
    }
    return result_in(s, rd(word), value, next);
}

/* ---- half sums, and products of release 2: function 011000 ---- */

uint32_t op_dsp_half_sum(struct mr_state *s, uint32_t word, uint32_t next)
{
    static lane_operation *const made[] = {half_sum, half_difference, rounded_half_sum, rounded_half_difference};
    uint32_t a = GPR(s, rs(word)), b = GPR(s, rt(word)), value;
    lane_operation *operation = made[sa(word) & 3];
    switch (sa(word)) {
    case 0x00: case 0x01: case 0x02: case 0x03: value = each(s, a, b, BYTES, 0, 0, operation); break;
    case 0x08: case 0x09: case 0x0a: case 0x0b: value = each(s, a, b, HALVES, SIGNED, 0, operation); break;
    case 0x10: case 0x11: case 0x12: case 0x13: value = each(s, a, b, WORDS, SIGNED, 0, operation); break;
    case 0x0c: value = each(s, a, b, HALVES, SIGNED | NOTED, MR_DSP_PRODUCTS, product); break;
    case 0x0e: value = each(s, a, b, HALVES, SIGNED | NOTED | NEAREST, MR_DSP_PRODUCTS, product); break;
    case 0x16: value = upper_fractions(s, a, b, WORDS, false); break;
    case 0x17: value = upper_fractions(s, a, b, WORDS, true); break;
    default: return raise_reserved(s, word);
    }
    return result_in(s, rd(word), value, next);
}

/* ---- comparisons, and less precision: function 010001 ---- */

/* A bit for each pair of numbers: whether they are equal, the first is less, or is not greater. */
static uint32_t compared(uint32_t a, uint32_t b, unsigned bits, bool has_sign, unsigned condition)
{
    uint32_t found = 0;
    for (unsigned place = 0; place < 32 / bits; place++) {
        int64_t first = mr_dsp_lane(a, place, bits, has_sign), second = mr_dsp_lane(b, place, bits, has_sign);
        bool is_met = condition == 0 ? first == second : condition == 1 ? first < second : first <= second;
        found |= (uint32_t)is_met << place;
    }
    return found;
}

static uint32_t picked(const struct mr_state *s, uint32_t a, uint32_t b, unsigned bits)
{
    uint32_t mask = 0, conditions = s->dsp_control.value >> MR_DSP_CONDITIONS;
    for (unsigned place = 0; place < 32 / bits; place++)
        if (conditions >> place & 1)
            mask |= (0xffffffffu >> (32 - bits)) << place * bits;
    return (a & mask) | (b & ~mask);
}

/* A fraction of 16 bits as one of 8 without a sign (manual, sat8ReducePrecision). */
static uint32_t reduced(struct mr_state *s, uint32_t half)
{
    int16_t value = (int16_t)half;
    mr_dsp_note(s, value < 0 || value > 0x7f80, MR_DSP_SHIFTS);
    return value < 0 ? 0 : (uint32_t)value >> 7;
}

/* A fraction of 32 bits as one of 16 (manual, trunc16Sat16Round). */
static uint32_t rounded_half(struct mr_state *s, uint32_t value)
{
    int64_t exact = mr_dsp_rounded((int32_t)value, 16), near = mr_dsp_near(exact, HALVES, true);
    mr_dsp_note(s, exact != near, MR_DSP_SHIFTS);
    return (uint32_t)near & 0xffff;
}

static uint32_t four(uint32_t third, uint32_t second, uint32_t first, uint32_t lowest)
{
    return third << 24 | second << 16 | first << 8 | lowest;
}

uint32_t op_dsp_compare(struct mr_state *s, uint32_t word, uint32_t next)
{
    uint32_t a = GPR(s, rs(word)), b = GPR(s, rt(word)), value, condition = sa(word) & 3;
    unsigned target = rd(word), count = rd(word); /* of precr_sra, rd is how far */
    switch (sa(word)) {
    case 0x00: case 0x01: case 0x02: case 0x08: case 0x09: case 0x0a: {
        bool are_halves = (sa(word) & 8) != 0;
        if (rd(word) != 0)
            return raise_reserved(s, word);
        value = compared(a, b, are_halves ? HALVES : BYTES, are_halves, condition);
        mr_dsp_set_field(s, MR_DSP_CONDITIONS, are_halves ? 2 : 4, value);
        return next;
    }
    case 0x04: case 0x05: case 0x06: value = compared(a, b, BYTES, false, condition); break;
    case 0x18: case 0x19: case 0x1a:
        value = compared(a, b, BYTES, false, condition);
        mr_dsp_set_field(s, MR_DSP_CONDITIONS, 4, value);
        break;
    case 0x03: value = picked(s, a, b, BYTES); break;
    case 0x0b: value = picked(s, a, b, HALVES); break;
    case 0x0c: value = four(byte(a, 3), byte(a, 1), byte(b, 3), byte(b, 1)); break;
    case 0x0d: value = four(byte(a, 2), byte(a, 0), byte(b, 2), byte(b, 0)); break;
    case 0x0e: value = halves(lower(a), upper(b)); break; /* packrl.ph */
    case 0x0f: value = four(reduced(s, upper(a)), reduced(s, a), reduced(s, upper(b)), reduced(s, b)); break;
    case 0x14: value = halves(upper(a), upper(b)); break;
    case 0x15: value = halves(rounded_half(s, a), rounded_half(s, b)); break;
    case 0x1e: case 0x1f: {
        lane_operation *moved = sa(word) & 1 ? rounded_right : right;
        target = rt(word);
        value = halves((uint32_t)moved((int32_t)b, count), (uint32_t)moved((int32_t)a, count));
        break;
    }
    default: return raise_reserved(s, word);
    }
    return result_in(s, target, value, next);
}

/* ---- more precision, and copies: function 010010 ---- */

static uint32_t reversed(uint32_t value)
{
    uint32_t result = 0;
    for (unsigned i = 0; i < 16; i++)
        result |= (value >> i & 1) << (15 - i);
    return result;
}

uint32_t op_dsp_extend(struct mr_state *s, uint32_t word, uint32_t next)
{
    static const uint8_t high[] = {3, 1, 3, 2}, low[] = {2, 0, 1, 0};
    unsigned operation = sa(word), field = word >> 16 & 0x3ff, way = operation & 3;
    uint32_t b = GPR(s, rt(word)), value;
    if (operation != 0x02 && operation != 0x0a && rs(word) != 0)
        return raise_reserved(s, word);
    switch (operation) {
    case 0x01: value = each(s, b, 0, BYTES, SIGNED | NOTED | NEAREST, MR_DSP_SUMS, absolute); break;
    case 0x09: value = each(s, b, 0, HALVES, SIGNED | NOTED | NEAREST, MR_DSP_SUMS, absolute); break;
    case 0x11: value = each(s, b, 0, WORDS, SIGNED | NOTED | NEAREST, MR_DSP_SUMS, absolute); break;
    case 0x02:
        if (field > 0xff)
            return raise_reserved(s, word);
        value = field * 0x01010101u;
        break;
    case 0x03: value = byte(b, 0) * 0x01010101u; break;
    case 0x0a: value = halves((field ^ 0x200) - 0x200, (field ^ 0x200) - 0x200); break;
    case 0x0b: value = halves(b, b); break;
    case 0x04: case 0x05: case 0x06: case 0x07: value = halves(byte(b, high[way]) << 7, byte(b, low[way]) << 7); break;
    case 0x1c: case 0x1d: case 0x1e: case 0x1f: value = halves(byte(b, high[way]), byte(b, low[way])); break;
    case 0x0c: value = b & 0xffff0000u; break;
    case 0x0d: value = b << 16; break;
    case 0x1b: value = reversed(b); break;
    default: return raise_reserved(s, word);
    }
    return result_in(s, rd(word), value, next);
}

/* ---- shifts: function 010011 ---- */

uint32_t op_dsp_shift(struct mr_state *s, uint32_t word, uint32_t next)
{
    const int to_left = NOTED | TIMES_ONE;
    unsigned operation = sa(word), bits = operation < 0x08 ? BYTES : operation < 0x10 || operation >= 0x18 ? HALVES : WORDS;
    bool is_variable = (operation & 2) != 0;
    uint32_t b = GPR(s, rt(word)), count = is_variable ? GPR(s, rs(word)) & (bits - 1) : rs(word), value;
    if (count >= bits) /* a reserved field */
        return raise_reserved(s, word);
    switch (operation & ~2u) {
    case 0x00: value = each(s, b, count, bits, to_left, MR_DSP_SHIFTS, left); break;
    case 0x01: value = each(s, b, count, bits, TIMES_ONE, 0, right); break;
    case 0x04: value = each(s, b, count, bits, TIMES_ONE | SIGNED, 0, right); break;
    case 0x05: value = each(s, b, count, bits, TIMES_ONE | SIGNED, 0, rounded_right); break;
    case 0x08: value = each(s, b, count, bits, to_left | SIGNED, MR_DSP_SHIFTS, left); break;
    case 0x09: value = each(s, b, count, bits, TIMES_ONE | SIGNED, 0, right); break;
    case 0x0c: case 0x14: value = each(s, b, count, bits, to_left | SIGNED | NEAREST, MR_DSP_SHIFTS, left); break;
    case 0x0d: case 0x15: value = each(s, b, count, bits, TIMES_ONE | SIGNED, 0, rounded_right); break;
    case 0x19: value = each(s, b, count, bits, TIMES_ONE, 0, right); break;
    default: return raise_reserved(s, word);
    }
    return result_in(s, rd(word), value, next);
}

/* ---- parts of two registers: functions 110001 and 001100 ---- */

uint32_t op_dsp_append(struct mr_state *s, uint32_t word, uint32_t next)
{
    uint64_t a = GPR(s, rs(word)), b = GPR(s, rt(word));
    unsigned count = rd(word);
    switch (sa(word)) {
    case 0x00: return result_in(s, rt(word), (uint32_t)(b << count | (a & ((UINT64_C(1) << count) - 1))), next);
    case 0x01: return result_in(s, rt(word), (uint32_t)((a << 32 | b) >> count), next);
    case 0x10:
        if (count > 3)
            return raise_reserved(s, word);
        return result_in(s, rt(word), (uint32_t)((b << 32 | a) << 8 * count >> 32), next);
    default: return raise_reserved(s, word);
    }
}

uint32_t op_dsp_insert(struct mr_state *s, uint32_t word, uint32_t next)
{
    uint32_t first = mr_dsp_field(s, MR_DSP_POS, 5), bits = mr_dsp_field(s, MR_DSP_SCOUNT, 6), mask = 0;
    if (rd(word) != 0 || sa(word) != 0)
        return raise_reserved(s, word);
    for (uint32_t i = first; first + bits <= 32 && i < first + bits; i++)
        mask |= 1u << i;
    uint32_t inserted = GPR(s, rs(word)) << first & mask;
    return result_in(s, rt(word), (GPR(s, rt(word)) & ~mask) | inserted, next);
}

/* ---- all of them ---- */

static mr_operation *const functions[64] = {
    [0x0a] = op_lx, [0x0c] = op_dsp_insert, [0x10] = op_dsp_sum, [0x11] = op_dsp_compare, [0x12] = op_dsp_extend,
    [0x13] = op_dsp_shift, [0x18] = op_dsp_half_sum, [0x30] = op_dsp_dot, [0x31] = op_dsp_append, [0x38] = op_dsp_extract,
};

uint32_t op_dsp(struct mr_state *s, uint32_t word, uint32_t next)
{
    return mr_cpu_lacks_word(word) ? raise_reserved(s, word) : functions[funct(word)](s, word, next);
}
