/* Unpacks zlib streams (RFC 1950) in the format DEFLATE (RFC 1951).
 *
 * Enters: bytes that need not be well-formed. Leaves: what they unpack to. It is for sections of megabytes that are
 * unpacked once, so codes are read bit by bit, and no table is made for each.
 */
#include "base/inflate.h"

#include <string.h>

enum { LONGEST_CODE = 15, LITERALS = 288, DISTANCES = 32, LENGTH_CODES = 19, END_OF_BLOCK = 256 };

struct stream {
    const uint8_t *packed;
    size_t packed_bytes, at; /* bytes, and the position of the next */
    uint32_t bits;           /* read and not used yet, the next one lowest */
    unsigned bit_count;
    uint8_t *bytes; /* unpacked so far */
    size_t size_bytes, done_bytes;
    bool failed; /* the stream ended, or made no sense: whatever is read from then on is 0 */
};

/* A canonical Huffman code: how many codes have each length, and the symbols in the order of their codes. */
struct code {
    uint16_t counts[LONGEST_CODE + 1];
    uint16_t symbols[LITERALS];
};

static uint32_t take_bits(struct stream *s, unsigned count)
{
    while (s->bit_count < count) {
        if (s->at == s->packed_bytes) {
            s->failed = true;
            return 0;
        }
        s->bits |= (uint32_t)s->packed[s->at++] << s->bit_count;
        s->bit_count += 8;
    }
    uint32_t value = s->bits & ((1u << count) - 1);
    s->bits >>= count;
    s->bit_count -= count;
    return value;
}

static void put(struct stream *s, uint8_t byte)
{
    if (s->done_bytes == s->size_bytes)
        s->failed = true;
    else
        s->bytes[s->done_bytes++] = byte;
}

/* `lengths` has the length of each symbol's code, 0 for symbols without one. */
static void make_code(struct code *code, const uint8_t *lengths, unsigned count)
{
    uint16_t next[LONGEST_CODE + 2] = {0};
    memset(code->counts, 0, sizeof code->counts);
    for (unsigned symbol = 0; symbol < count; symbol++)
        code->counts[lengths[symbol]]++;
    code->counts[0] = 0;
    for (unsigned length = 1; length <= LONGEST_CODE; length++)
        next[length + 1] = (uint16_t)(next[length] + code->counts[length]);
    for (unsigned symbol = 0; symbol < count; symbol++)
        if (lengths[symbol] != 0)
            code->symbols[next[lengths[symbol]]++] = (uint16_t)symbol;
}

/* The codes of one length are consecutive numbers, and begin at twice the number after the last of the length before. */
static unsigned take_symbol(struct stream *s, const struct code *code)
{
    uint32_t word = 0, first = 0, index = 0;
    for (unsigned length = 1; length <= LONGEST_CODE && !s->failed; length++) {
        word = word << 1 | take_bits(s, 1);
        first <<= 1;
        if (word - first < code->counts[length])
            return code->symbols[index + word - first];
        first += code->counts[length];
        index += code->counts[length];
    }
    s->failed = true;
    return END_OF_BLOCK;
}

static void copy_back(struct stream *s, size_t length, size_t distance)
{
    if (distance > s->done_bytes) {
        s->failed = true;
        return;
    }
    for (; length > 0 && !s->failed; length--)
        put(s, s->bytes[s->done_bytes - distance]);
}

/* RFC 1951, 3.2.5: from the fifth on, each four length codes have one more extra bit; of distances, each two. */
static size_t take_length(struct stream *s, unsigned symbol)
{
    unsigned code = symbol - (END_OF_BLOCK + 1);
    if (code < 8)
        return code + 3;
    if (code == 28)
        return 258;
    unsigned extra = (code >> 2) - 1;
    return ((4u + (code & 3)) << extra) + 3 + take_bits(s, extra);
}

static size_t take_distance(struct stream *s, unsigned code)
{
    if (code < 4)
        return code + 1;
    unsigned extra = (code >> 1) - 1;
    return ((size_t)(2 + (code & 1)) << extra) + 1 + take_bits(s, extra);
}

static void unpack_block(struct stream *s, const struct code *literals, const struct code *distances)
{
    while (!s->failed) {
        unsigned symbol = take_symbol(s, literals);
        if (symbol == END_OF_BLOCK)
            return;
        if (symbol < END_OF_BLOCK) {
            put(s, (uint8_t)symbol);
            continue;
        }
        size_t length = take_length(s, symbol);
        unsigned code = take_symbol(s, distances);
        if (symbol > 285 || code > 29)
            s->failed = true;
        if (!s->failed)
            copy_back(s, length, take_distance(s, code));
    }
}

static void unpack_stored(struct stream *s)
{
    s->bits = 0;
    s->bit_count = 0;
    uint32_t length = take_bits(s, 16);
    if (length != (take_bits(s, 16) ^ 0xffff))
        s->failed = true;
    for (; length > 0 && !s->failed; length--)
        put(s, (uint8_t)take_bits(s, 8));
}

static void unpack_fixed(struct stream *s)
{
    struct code literals, distances;
    uint8_t lengths[LITERALS];
    for (unsigned symbol = 0; symbol < LITERALS; symbol++)
        lengths[symbol] = symbol < 144 ? 8 : symbol < 256 ? 9 : symbol < 280 ? 7 : 8;
    make_code(&literals, lengths, LITERALS);
    memset(lengths, 5, DISTANCES);
    make_code(&distances, lengths, DISTANCES);
    unpack_block(s, &literals, &distances);
}

/* Reads the lengths of the codes of both alphabets, which are a text in a third one. */
static void take_lengths(struct stream *s, const struct code *code, uint8_t *lengths, unsigned count)
{
    unsigned at = 0;
    while (at < count && !s->failed) {
        unsigned symbol = take_symbol(s, code), times = 1;
        uint8_t length = 0;
        if (symbol < 16)
            length = (uint8_t)symbol;
        else if (symbol == 16)
            length = at > 0 ? lengths[at - 1] : 0;
        if (symbol >= 16)
            times = symbol == 16 ? 3 + take_bits(s, 2) : symbol == 17 ? 3 + take_bits(s, 3) : 11 + take_bits(s, 7);
        if (times > count - at || (symbol == 16 && at == 0))
            s->failed = true;
        for (; times > 0 && !s->failed; times--)
            lengths[at++] = length;
    }
}

static void unpack_dynamic(struct stream *s)
{
    static const uint8_t order[LENGTH_CODES] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    struct code literals, distances;
    uint8_t lengths[LITERALS + DISTANCES] = {0};
    unsigned literal_count = 257 + take_bits(s, 5), distance_count = 1 + take_bits(s, 5), count = 4 + take_bits(s, 4);
    for (unsigned i = 0; i < count; i++)
        lengths[order[i]] = (uint8_t)take_bits(s, 3);
    make_code(&literals, lengths, LENGTH_CODES);
    memset(lengths, 0, sizeof lengths);
    if (literal_count > LITERALS)
        s->failed = true;
    else
        take_lengths(s, &literals, lengths, literal_count + distance_count);
    if (s->failed)
        return;
    make_code(&literals, lengths, literal_count);
    make_code(&distances, lengths + literal_count, distance_count);
    unpack_block(s, &literals, &distances);
}

bool mr_inflate(const uint8_t *packed, size_t packed_bytes, uint8_t *bytes, size_t size_bytes)
{
    enum { HEADER_BYTES = 2, METHOD = 8, HAS_DICTIONARY = 0x20 };
    struct stream s = {.packed = packed, .packed_bytes = packed_bytes, .bytes = bytes, .size_bytes = size_bytes};
    if (packed_bytes < HEADER_BYTES || (packed[0] & 15) != METHOD || (packed[1] & HAS_DICTIONARY) != 0)
        return false;
    s.at = HEADER_BYTES;
    bool last = false;
    while (!last && !s.failed) {
        last = take_bits(&s, 1) != 0;
        switch (take_bits(&s, 2)) {
        case 0:
            unpack_stored(&s);
            break;
        case 1:
            unpack_fixed(&s);
            break;
        case 2:
            unpack_dynamic(&s);
            break;
        default:
            s.failed = true;
        }
    }
    return !s.failed && s.done_bytes == size_bytes;
}
