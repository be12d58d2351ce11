/* What DWARF's tables are made of: numbers one behind the other, for lines.c and places.c. Reads never leave a table. */
#ifndef MR_LIFTED_DWARF_H
#define MR_LIFTED_DWARF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mr_cursor {
    const uint8_t *at, *end;
    bool overrun; /* something ran past the end; everything read from then on is 0 */
};

/* Returns false, and goes to the end, where there is less. */
static inline bool mr_skip(struct mr_cursor *c, uint64_t size_bytes)
{
    bool fits = size_bytes <= (uint64_t)(c->end - c->at);
    c->overrun |= !fits;
    c->at = fits ? c->at + size_bytes : c->end;
    return fits;
}

static inline uint64_t mr_read_fixed(struct mr_cursor *c, unsigned size_bytes)
{
    const uint8_t *bytes = c->at;
    uint64_t value = 0;
    if (!mr_skip(c, size_bytes))
        return 0;
    for (unsigned i = 0; i < size_bytes; i++)
        value |= (uint64_t)bytes[i] << (8 * i);
    return value;
}

static inline uint64_t mr_read_leb128(struct mr_cursor *c, bool is_signed)
{
    uint64_t value = 0;
    unsigned shift = 0;
    uint8_t byte;
    do {
        byte = (uint8_t)mr_read_fixed(c, 1);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while ((byte & 0x80) != 0);
    if (is_signed && shift < 64 && (byte & 0x40) != 0)
        value |= ~(uint64_t)0 << shift;
    return value;
}

/* The next size_bytes as a cursor of their own. */
static inline struct mr_cursor mr_take(struct mr_cursor *c, uint64_t size_bytes)
{
    struct mr_cursor part = *c;
    mr_skip(c, size_bytes);
    part.end = c->at;
    part.overrun = c->overrun;
    return part;
}

/* A unit of a table, from its length on: all of it behind that. *offset_bytes: the size of offsets in it. */
static inline struct mr_cursor mr_take_unit(struct mr_cursor *all, unsigned *offset_bytes)
{
    uint64_t unit_bytes = mr_read_fixed(all, 4);
    *offset_bytes = 4;
    if (unit_bytes == 0xffffffffu) { /* 64-bit DWARF */
        *offset_bytes = 8;
        unit_bytes = mr_read_fixed(all, 8);
    }
    return mr_take(all, unit_bytes);
}

#endif
