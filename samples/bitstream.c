/*
 * Writes and parses an abbreviation-coded stream of bits, as LLVM bitcode is one ("LLVM Bitcode File Format"): nested
 * blocks of records whose operands are fixed-width, variable-length, characters of six bits, arrays or literals.
 * The reader's checksum must be the writer's. The argument is how often the stream is written and parsed.
 */
#include "freestanding/out.h"

enum { END_BLOCK, ENTER_SUBBLOCK, DEFINE_ABBREV, UNABBREV_RECORD, FIRST_ABBREV };
enum encoding { LITERAL, FIXED, VBR, ARRAY, CHAR6 }; /* the numbers of the format; LITERAL has a flag of its own */
enum { MAX_OPERANDS = 64, MAX_ABBREVS = 8, MAX_ENCODINGS = 8, MAX_DEPTH = 5, STREAM_SIZE = 1 << 16, CHAR6_COUNT = 64 };
#define MAGIC 0xdec04342u
static const char char6_set[CHAR6_COUNT + 1] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._";

struct abbrev {
    uint32_t count;
    struct { uint8_t encoding; uint64_t value; } operands[MAX_ENCODINGS];
};

struct record {
    uint32_t block, code, count;
    uint64_t operands[MAX_OPERANDS];
};

/* What is known inside one block: the width of abbreviation numbers and the abbreviations defined so far. */
struct scope {
    uint32_t block, width, abbrevs, length_at;
    struct abbrev abbrev[MAX_ABBREVS];
};

static uint8_t bytes[STREAM_SIZE];

static uint32_t hash_record(uint32_t hash, const struct record *r)
{
    hash = mix32(mix32(mix32(hash, r->block), r->code), r->count);
    for (uint32_t i = 0; i < r->count; i++)
        hash = mix64(hash, r->operands[i]);
    return hash;
}

/* ---- writer: bits fill a 64-bit word from below; whole 32-bit words go out in little-endian order ---- */

struct writer {
    uint64_t pending;
    uint32_t bits, at, depth, hash, random;
    struct scope scopes[MAX_DEPTH];
};

static void write_word(uint32_t at, uint32_t word)
{
    for (uint32_t i = 0; i < 4; i++)
        bytes[at + i] = (uint8_t)(word >> (8 * i));
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
        write_word(w->at, (uint32_t)w->pending);
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
    write_word(scope->length_at, (w->at - scope->length_at) / 4 - 1);
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
        uint32_t shape = random32(&w->random) >> 10 & 7;
        uint64_t noise = random64(w), operands[] = {noise & 0xfff, noise >> 12 & 15, noise >> 16 & 0x7f, i & 1};
        r.code = shape < 3 ? 20 : shape < 6 ? 2 : shape == 6 ? 34 : 57;
        r.count = shape < 3 ? 4 : shape < 6 ? 3 : shape == 6 ? 3 + i % 9 : 2;
        for (uint32_t j = 0; j < r.count; j++)
            r.operands[j] = j < 4 ? operands[(j + (r.code == 20)) & 3] & (r.code == 2 && j == 2 ? 15 : r.code == 20 && j == 3 ? 1 : ~0ull) : j;
        if (shape == 7) {
            r.operands[0] = random64(w);
            r.operands[1] = random64(w) & 0x1fffffffffull;
        }
        write_record(w, &r, shape < 3 ? 0 : shape < 6 ? 1 : shape == 7 ? 2 : -1);
    }
    write_names(w, instructions / 8);
    end_block(w);
}

static uint32_t write_stream(struct writer *w, uint32_t seed)
{
    *w = (struct writer){.random = seed};
    w->scopes[0].width = 2;
    write_bits(w, MAGIC, 32);
    enter_block(w, 8, 3);
    write_constants(w, 100);
    for (uint32_t i = 0; i < 10; i++)
        write_function(w, 100 + 10 * i);
    write_names(w, 100);
    end_block(w);
    return w->at;
}

/* ---- reader: a window of 64 bits, refilled by 32 ---- */

struct reader {
    uint64_t window;
    uint32_t bits, at, size, depth, hash, records, failed;
    struct scope scopes[MAX_DEPTH];
};

static uint64_t read_bits(struct reader *r, uint32_t width)
{
    if (width > 32) {
        uint64_t low = read_bits(r, 32);
        return low | read_bits(r, width - 32) << 32;
    }
    if (r->bits < width) {
        const uint8_t *word = bytes + r->at;
        if (r->at + 4 > r->size) {
            r->failed = 1;
            return 0;
        }
        r->window |= (uint64_t)(word[0] | (uint32_t)word[1] << 8 | (uint32_t)word[2] << 16 | (uint32_t)word[3] << 24) << r->bits;
        r->at += 4;
        r->bits += 32;
    }
    uint64_t value = r->window & ((1ull << width) - 1);
    r->window >>= width;
    r->bits -= width;
    return value;
}

static uint64_t read_vbr(struct reader *r, uint32_t width)
{
    uint64_t value = 0, top = 1ull << (width - 1);
    for (uint32_t shift = 0; shift < 64; shift += width - 1) {
        uint64_t chunk = read_bits(r, width);
        value |= (chunk & (top - 1)) << shift;
        if (!(chunk & top))
            break;
    }
    return value;
}

static void read_align(struct reader *r)
{
    r->window = 0;
    r->bits = 0; /* words are read one at a time, so what is left is padding */
}

static uint64_t read_scalar(struct reader *r, uint8_t encoding, uint64_t parameter)
{
    if (encoding == FIXED)
        return read_bits(r, (uint32_t)parameter);
    if (encoding == VBR)
        return read_vbr(r, (uint32_t)parameter);
    if (encoding == CHAR6)
        return (uint8_t)char6_set[read_bits(r, 6)];
    return parameter; /* literal */
}

static void read_definition(struct reader *r, struct scope *scope)
{
    struct abbrev *a = &scope->abbrev[scope->abbrevs];
    a->count = (uint32_t)read_vbr(r, 5);
    if (a->count > MAX_ENCODINGS || scope->abbrevs + 1 >= MAX_ABBREVS) {
        r->failed = 1;
        return;
    }
    for (uint32_t i = 0; i < a->count; i++) {
        uint8_t encoding = read_bits(r, 1) ? LITERAL : (uint8_t)read_bits(r, 3);
        a->operands[i].encoding = encoding;
        uint64_t value = encoding == LITERAL ? read_vbr(r, 8) : encoding == FIXED || encoding == VBR ? read_vbr(r, 5) : 0;
        r->failed |= encoding > CHAR6 || (encoding == ARRAY && i + 2 != a->count) || (encoding == FIXED && value > 64) ||
                     (encoding == VBR && (value < 2 || value > 32));
        a->operands[i].value = value;
    }
    scope->abbrevs++;
}

static void read_record(struct reader *r, const struct scope *scope, uint32_t id, struct record *record)
{
    uint32_t read = 0;
    record->block = scope->block;
    if (id == UNABBREV_RECORD) {
        record->code = (uint32_t)read_vbr(r, 6);
        record->count = (uint32_t)read_vbr(r, 6);
        r->failed |= record->count > MAX_OPERANDS;
        for (; read < record->count && !r->failed; read++)
            record->operands[read] = read_vbr(r, 6);
        return;
    }
    const struct abbrev *a = &scope->abbrev[id - FIRST_ABBREV];
    record->code = (uint32_t)read_scalar(r, a->operands[0].encoding, a->operands[0].value);
    for (uint32_t i = 1; i < a->count; i++) {
        uint32_t count = 1;
        if (a->operands[i].encoding == ARRAY) {
            count = (uint32_t)read_vbr(r, 6);
            i++;
        }
        for (; count && read < MAX_OPERANDS; count--)
            record->operands[read++] = read_scalar(r, a->operands[i].encoding, a->operands[i].value);
        r->failed |= count != 0;
    }
    record->count = read;
}

static void read_enter(struct reader *r)
{
    struct scope *inner = &r->scopes[r->depth + 1];
    inner->block = (uint32_t)read_vbr(r, 8);
    inner->width = (uint32_t)read_vbr(r, 4);
    inner->abbrevs = 0;
    read_align(r);
    inner->length_at = r->at;
    uint32_t words = (uint32_t)read_bits(r, 32);
    r->failed |= ++r->depth + 1 >= MAX_DEPTH || r->at + words * 4 > r->size;
}

static void read_stream(struct reader *r, uint32_t size)
{
    static struct record record;
    *r = (struct reader){.size = size};
    r->scopes[0].width = 2;
    r->failed = read_bits(r, 32) != MAGIC;
    while (!r->failed && !(r->depth == 0 && r->at == size)) {
        struct scope *scope = &r->scopes[r->depth];
        uint32_t id = (uint32_t)read_bits(r, scope->width);
        if (id == END_BLOCK) {
            read_align(r);
            r->failed |= r->depth-- == 0;
        } else if (id == ENTER_SUBBLOCK) {
            read_enter(r);
        } else if (id == DEFINE_ABBREV) {
            read_definition(r, scope);
        } else if (id >= FIRST_ABBREV + scope->abbrevs) {
            r->failed = 1;
        } else {
            read_record(r, scope, id, &record);
            r->hash = hash_record(r->hash, &record);
            r->records++;
        }
    }
}

int main(int argc, char **argv)
{
    static struct writer writer;
    static struct reader reader;
    uint32_t rounds = sample_begin(argc, argv, 2), hash = 0, size = 0, differences = 0;
    for (uint32_t round = 0; round < rounds; round++) {
        size = write_stream(&writer, round * 2 + 1);
        read_stream(&reader, size);
        differences += reader.failed || reader.hash != writer.hash;
        hash = mix32(hash, reader.hash);
    }
    out_line_decimal("bytes", (int32_t)size);
    out_line_decimal("records", (int32_t)reader.records);
    out_line_decimal("differences", (int32_t)differences);
    read_stream(&reader, size - 4);
    out_string(reader.failed ? "a cut stream is refused\n" : "A CUT STREAM IS ACCEPTED\n");
    return sample_end(hash);
}
