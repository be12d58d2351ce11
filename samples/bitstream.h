/* What writer and reader of the bitstream sample share: the format's numbers, records and abbreviations. */
#ifndef SAMPLES_BITSTREAM_H
#define SAMPLES_BITSTREAM_H

#include "freestanding/out.h"

enum { END_BLOCK, ENTER_SUBBLOCK, DEFINE_ABBREV, UNABBREV_RECORD, FIRST_ABBREV };
enum encoding { LITERAL, FIXED, VBR, ARRAY, CHAR6 }; /* the numbers of the format; LITERAL has a flag of its own */
enum { MAX_OPERANDS = 64, MAX_ABBREVS = 8, MAX_ENCODINGS = 8, MAX_DEPTH = 5, STREAM_SIZE = 1 << 16, CHAR6_COUNT = 64 };
#define MAGIC 0xdec04342u

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

static inline uint32_t hash_record(uint32_t hash, const struct record *r)
{
    hash = mix32(mix32(mix32(hash, r->block), r->code), r->count);
    for (uint32_t i = 0; i < r->count; i++)
        hash = mix64(hash, r->operands[i]);
    return hash;
}

extern const char char6_set[CHAR6_COUNT + 1];

/* bitstream_writer.c: fills bytes from a random seed; returns how many, and in *hash the checksum of all records. */
uint32_t write_stream(uint8_t bytes[STREAM_SIZE], uint32_t seed, uint32_t *hash);

#endif
