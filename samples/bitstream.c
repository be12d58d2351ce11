/*
 * Writes and parses an abbreviation-coded stream of bits, as LLVM bitcode is one ("LLVM Bitcode File Format"): nested
 * blocks of records whose operands are fixed-width, variable-length, characters of six bits, arrays or literals.
 * The reader's checksum must be the writer's. The argument is how often the stream is written and parsed.
 */
#include "bitstream.h"

static uint8_t bytes[STREAM_SIZE];

/* The window of 64 bits is refilled by 32. */
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
        uint64_t next = word[0] | (uint32_t)word[1] << 8 | (uint32_t)word[2] << 16 | (uint32_t)word[3] << 24;
        r->window |= next << r->bits;
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
    static struct reader reader;
    uint32_t rounds = sample_begin(argc, argv, 2), hash = 0, size = 0, differences = 0, written = 0;
    for (uint32_t round = 0; round < rounds; round++) {
        size = write_stream(bytes, round * 2 + 1, &written);
        read_stream(&reader, size);
        differences += reader.failed || reader.hash != written;
        hash = mix32(hash, reader.hash);
    }
    out_line_decimal("bytes", (int32_t)size);
    out_line_decimal("records", (int32_t)reader.records);
    out_line_decimal("differences", (int32_t)differences);
    read_stream(&reader, size - 4);
    out_string(reader.failed ? "a cut stream is refused\n" : "A CUT STREAM IS ACCEPTED\n");
    return sample_end(hash);
}
