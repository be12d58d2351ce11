/* Writes the stream of the bitstream sample: a module of constants, functions of instructions, and names. */
#include "bitstream.h"

const char char6_set[CHAR6_COUNT + 1] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._";

/* Bits fill a 64-bit word from below; whole 32-bit words go out in little-endian order. */

struct writer {
    uint8_t *bytes;
    uint64_t pending;
    uint32_t bits, at, depth, hash, random;
    struct scope scopes[MAX_DEPTH];
};

static void write_word(struct writer *w, uint32_t at, uint32_t word)
{
    for (uint32_t i = 0; i < 4; i++)
        w->bytes[at + i] = (uint8_t)(word >> (8 * i));
}

static void write_bits(struct writer *w, uint64_t value, uint32_t width)
{
    if (width > 32) {
        write_bits(w, value & 0xffffffffu, 32);
        value >>= 32;
        width -= 32;
    }
    w->pending |= value << w->bits;
    w->bits += width;
    if (w->bits >= 32) {
        write_word(w, w->at, (uint32_t)w->pending);
        w->at += 4;
        w->pending >>= 32;
        w->bits -= 32;
    }
}

static void write_vbr(struct writer *w, uint64_t value, uint32_t width)
{
    uint64_t top = 1ull << (width - 1);
    for (; value >= top; value >>= width - 1)
        write_bits(w, (value & (top - 1)) | top, width);
    write_bits(w, value, width);
}

static void write_align(struct writer *w)
{
    if (w->bits)
        write_bits(w, 0, 32 - w->bits);
}

static uint32_t char6_index(char c)
{
    uint32_t i = 0;
    while (char6_set[i] != c)
        i++;
    return i;
}

static void enter_block(struct writer *w, uint32_t block, uint32_t width)
{
    struct scope *outer = &w->scopes[w->depth], *inner = &w->scopes[w->depth + 1];
    write_bits(w, ENTER_SUBBLOCK, outer->width);
    write_vbr(w, block, 8);
    write_vbr(w, width, 4);
    write_align(w);
    *inner = (struct scope){.block = block, .width = width, .length_at = w->at};
    write_bits(w, 0, 32); /* the length in words, known at the end */
    w->depth++;
}

static void end_block(struct writer *w)
{
    struct scope *scope = &w->scopes[w->depth--];
    write_bits(w, END_BLOCK, scope->width);
    write_align(w);
    write_word(w, scope->length_at, (w->at - scope->length_at) / 4 - 1);
}

static void define_abbrev(struct writer *w, const struct abbrev *a)
{
    struct scope *scope = &w->scopes[w->depth];
    write_bits(w, DEFINE_ABBREV, scope->width);
    write_vbr(w, a->count, 5);
    for (uint32_t i = 0; i < a->count; i++) {
        uint8_t encoding = a->operands[i].encoding;
        write_bits(w, encoding == LITERAL, 1);
        if (encoding == LITERAL) {
            write_vbr(w, a->operands[i].value, 8);
        } else {
            write_bits(w, encoding, 3);
            if (encoding == FIXED || encoding == VBR)
                write_vbr(w, a->operands[i].value, 5);
        }
    }
    scope->abbrev[scope->abbrevs++] = *a;
}

static void write_scalar(struct writer *w, uint8_t encoding, uint64_t parameter, uint64_t value)
{
    if (encoding == FIXED)
        write_bits(w, value, (uint32_t)parameter);
    else if (encoding == VBR)
        write_vbr(w, value, (uint32_t)parameter);
    else if (encoding == CHAR6)
        write_bits(w, char6_index((char)value), 6);
}

/* Writes a record through an abbreviation of the block (from 0), or without one (-1). The code is the first operand. */
static void write_record(struct writer *w, struct record *r, int32_t number)
{
    struct scope *scope = &w->scopes[w->depth];
    r->block = scope->block;
    w->hash = hash_record(w->hash, r);
    if (number < 0) {
        write_bits(w, UNABBREV_RECORD, scope->width);
        write_vbr(w, r->code, 6);
        write_vbr(w, r->count, 6);
        for (uint32_t i = 0; i < r->count; i++)
            write_vbr(w, r->operands[i], 6);
        return;
    }
    const struct abbrev *a = &scope->abbrev[number];
    write_bits(w, FIRST_ABBREV + (uint32_t)number, scope->width);
    for (uint32_t i = 0, next = 0; i < a->count; i++, next++) { /* operand 0 is the code */
        if (a->operands[i].encoding != ARRAY) {
            write_scalar(w, a->operands[i].encoding, a->operands[i].value, next ? r->operands[next - 1] : r->code);
            continue;
        }
        write_vbr(w, r->count + 1 - next, 6);
        for (i++; next <= r->count; next++)
            write_scalar(w, a->operands[i].encoding, a->operands[i].value, r->operands[next - 1]);
    }
}

/* ---- what is written: a module with constants, functions of instructions, and names ---- */

static uint64_t random64(struct writer *w)
{
    uint64_t high = random32(&w->random), low = random32(&w->random);
    return (high << 32 | low) >> (random32(&w->random) >> 26);
}

static void write_constants(struct writer *w, uint32_t count)
{
    static const struct abbrev integer = {2, {{LITERAL, 4}, {VBR, 8}}};
    static const struct abbrev settype = {2, {{LITERAL, 1}, {FIXED, 7}}};
    struct record r = {0};
    enter_block(w, 11, 4);
    define_abbrev(w, &integer);
    define_abbrev(w, &settype);
    for (uint32_t i = 0; i < count; i++) {
        r.code = i % 8 ? 4 : 1;
        r.count = 1;
        r.operands[0] = i % 8 ? random64(w) : random32(&w->random) & 127;
        write_record(w, &r, i % 5 == 4 ? -1 : i % 8 ? 0 : 1);
    }
    end_block(w);
}

static void write_names(struct writer *w, uint32_t count)
{
    static const struct abbrev entry = {4, {{LITERAL, 1}, {VBR, 8}, {ARRAY, 0}, {CHAR6, 0}}};
    static const struct abbrev entry8 = {4, {{FIXED, 3}, {VBR, 8}, {ARRAY, 0}, {FIXED, 8}}};
    struct record r = {0};
    enter_block(w, 14, 4);
    define_abbrev(w, &entry);
    define_abbrev(w, &entry8);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t shape = random32(&w->random), size = shape % 20;
        r.code = shape & 0x100 ? 1 : 2;
        r.count = size + 1;
        r.operands[0] = i;
        for (uint32_t j = 1; j <= size; j++)
            r.operands[j] = r.code == 1 ? (uint8_t)char6_set[random32(&w->random) % CHAR6_COUNT] : random32(&w->random) & 255;
        write_record(w, &r, shape % 7 == 0 ? -1 : (int32_t)r.code - 1);
    }
    end_block(w);
}

/* Makes up instruction i; returns the number of its abbreviation, -1 for none. */
static int32_t make_instruction(struct writer *w, struct record *r, uint32_t i)
{
    uint64_t noise = random64(w);
    uint32_t shape = random32(&w->random) >> 10 & 7;
    r->operands[0] = noise & 0xfff;
    r->operands[1] = noise >> 12 & 0x7f;
    r->operands[2] = noise >> 20 & 15;
    r->operands[3] = i & 1;
    if (shape < 3) {
        r->code = 20;
        r->count = 4;
        return 0;
    }
    if (shape < 6) {
        r->code = 2;
        r->count = 3;
        return 1;
    }
    if (shape == 6) { /* a call with some arguments */
        r->code = 34;
        r->count = 4 + i % 9;
        for (uint32_t j = 4; j < r->count; j++)
            r->operands[j] = noise >> j;
        return -1;
    }
    r->code = 57;
    r->count = 2;
    r->operands[0] = noise;
    r->operands[1] = random64(w) & 0x1fffffffffull;
    return 2;
}

static void write_function(struct writer *w, uint32_t instructions)
{
    static const struct abbrev load = {5, {{LITERAL, 20}, {VBR, 6}, {FIXED, 7}, {VBR, 4}, {FIXED, 1}}};
    static const struct abbrev binary = {4, {{LITERAL, 2}, {VBR, 6}, {VBR, 6}, {FIXED, 4}}};
    static const struct abbrev wide = {3, {{FIXED, 6}, {FIXED, 64}, {FIXED, 37}}};
    struct record r = {0};
    enter_block(w, 12, 5);
    define_abbrev(w, &load);
    define_abbrev(w, &binary);
    define_abbrev(w, &wide);
    write_constants(w, instructions / 4);
    for (uint32_t i = 0; i < instructions; i++) {
        int32_t abbrev = make_instruction(w, &r, i);
        write_record(w, &r, abbrev);
    }
    write_names(w, instructions / 8);
    end_block(w);
}

uint32_t write_stream(uint8_t bytes[STREAM_SIZE], uint32_t seed, uint32_t *hash)
{
    static struct writer writer;
    struct writer *w = &writer;
    *w = (struct writer){.bytes = bytes, .random = seed};
    w->scopes[0].width = 2;
    write_bits(w, MAGIC, 32);
    enter_block(w, 8, 3);
    write_constants(w, 100);
    for (uint32_t i = 0; i < 10; i++)
        write_function(w, 100 + 10 * i);
    write_names(w, 100);
    end_block(w);
    *hash = w->hash;
    return w->at;
}
