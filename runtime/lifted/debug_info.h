/* The tree of DWARF's .debug_info: subprograms, subroutines inlined in them, and their variables. For places_table.c. */
#ifndef MR_LIFTED_DEBUG_INFO_H
#define MR_LIFTED_DEBUG_INFO_H

#include "lifted/dwarf.h"
#include "lifted/libfile.h"

enum mr_tag { /* DW_TAG_... */
    MR_TAG_FORMAL_PARAMETER = 0x05, MR_TAG_LEXICAL_BLOCK = 0x0b, MR_TAG_COMPILE_UNIT = 0x11,
    MR_TAG_INLINED_SUBROUTINE = 0x1d, MR_TAG_SUBPROGRAM = 0x2e, MR_TAG_VARIABLE = 0x34,
};

enum mr_value_kind { MR_NOTHING, MR_ADDRESS, MR_NUMBER, MR_BLOCK, MR_STRING };
struct mr_value {
    enum mr_value_kind kind;
    uint64_t number; /* of a block or string: of its bytes, unless it is a string in .debug_str at this offset */
    const uint8_t *bytes;
};

struct mr_die { /* a debugging information entry of the tree, with what is wanted of it; references are offsets in .debug_info */
    uint64_t tag;
    bool has_children;
    struct mr_value location, name, low, high, constant, origin, frame_base, ranges, call_line, call_column;
};

struct mr_abbreviation {
    uint64_t tag;
    bool has_children;
    struct mr_cursor attributes;
};

struct mr_unit {
    struct mr_cursor info;
    struct mr_cursor entries; /* of the tree */
    uint64_t offset;          /* of the unit in .debug_info */
    unsigned offset_bytes;
    struct mr_abbreviation *known; /* those of the codes 1, 2, ... */
    size_t known_count;
};

/* The next unit, from *offset on, which becomes that of the one behind it. A unit of another version than 2 to 4 has no entries.
 * Returns false behind the last one. */
bool mr_next_unit(struct mr_cursor info, struct mr_cursor abbreviations, uint64_t *offset, struct mr_unit *unit);
void mr_unit_end(struct mr_unit *unit);
/* Reads an entry; its tag is 0 at the end of a list of children. Returns false where the unit is damaged. */
bool mr_read_die(const struct mr_unit *unit, struct mr_cursor *c, struct mr_die *entry);
/* What is behind an offset in a section; nothing where that is beyond its end. */
struct mr_cursor mr_cursor_at(struct mr_cursor section, uint64_t offset);

#endif
