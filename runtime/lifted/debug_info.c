/* Reads the tree of debug information that a recompiled library has, one unit for each of its objects.
 *
 * Enters: .debug_info and .debug_abbrev, of versions 2 to 4. Leaves: its entries one by one, with the attributes that
 * places_table.c needs. What is damaged ends the unit it is in. The rules are those of DWARF 4, section 7.5.
 */
#include "lifted/debug_info.h"
#include "lifted/rows.h"

#include <stdlib.h>

enum { MOST_ABBREVIATIONS = 4096 };

enum { /* DW_AT_... */
    AT_LOCATION = 0x02, AT_NAME = 0x03, AT_LOW_PC = 0x11, AT_HIGH_PC = 0x12, AT_CONST_VALUE = 0x1c,
    AT_ABSTRACT_ORIGIN = 0x31, AT_FRAME_BASE = 0x40, AT_RANGES = 0x55, AT_CALL_COLUMN = 0x57,
    AT_CALL_LINE = 0x59,
};

struct mr_cursor mr_cursor_at(struct mr_cursor section, uint64_t offset)
{
    uint64_t size_bytes = (uint64_t)(section.end - section.at);
    section.at += offset < size_bytes ? offset : size_bytes;
    return section;
}

static struct mr_value read_block(struct mr_cursor *c, uint64_t size_bytes)
{
    struct mr_cursor part = mr_take(c, size_bytes);
    return (struct mr_value){MR_BLOCK, (uint64_t)(part.end - part.at), part.at};
}

static struct mr_value read_string(struct mr_cursor *c)
{
    const uint8_t *start = c->at;
    while (mr_read_fixed(c, 1) != 0)
        ;
    return (struct mr_value){MR_STRING, (uint64_t)(c->at - start), start};
}

/* Of a form that version 4 does not have, the rest of the unit cannot be read. */
static struct mr_value read_form(const struct mr_unit *unit, struct mr_cursor *c, uint64_t form)
{
    static const uint8_t bytes_of_data[] = {[0x05] = 2, [0x06] = 4, [0x07] = 8, [0x0b] = 1, [0x0c] = 1};
    switch (form) { /* DW_FORM_... */
    case 0x01: return (struct mr_value){MR_ADDRESS, mr_read_fixed(c, 8), NULL};
    case 0x03: return read_block(c, mr_read_fixed(c, 2));
    case 0x04: return read_block(c, mr_read_fixed(c, 4));
    case 0x08: return read_string(c);
    case 0x09: case 0x18: return read_block(c, mr_read_leb128(c, false)); /* exprloc, too */
    case 0x0a: return read_block(c, mr_read_fixed(c, 1));
    case 0x0d: return (struct mr_value){MR_NUMBER, mr_read_leb128(c, true), NULL};
    case 0x0e: return (struct mr_value){MR_STRING, mr_read_fixed(c, unit->offset_bytes), NULL}; /* strp */
    case 0x0f: return (struct mr_value){MR_NUMBER, mr_read_leb128(c, false), NULL};
    case 0x10: case 0x17: return (struct mr_value){MR_NUMBER, mr_read_fixed(c, unit->offset_bytes), NULL}; /* ref_addr, sec_offset */
    case 0x11: case 0x12: case 0x13: case 0x14: /* ref1 to ref8 */
        return (struct mr_value){MR_NUMBER, unit->offset + mr_read_fixed(c, 1u << (form - 0x11)), NULL};
    case 0x15: return (struct mr_value){MR_NUMBER, unit->offset + mr_read_leb128(c, false), NULL};
    case 0x19: return (struct mr_value){MR_NUMBER, 1, NULL}; /* flag_present */
    default: break;
    }
    if (form < sizeof bytes_of_data && bytes_of_data[form] != 0)
        return (struct mr_value){MR_NUMBER, mr_read_fixed(c, bytes_of_data[form]), NULL};
    c->overrun = true;
    return (struct mr_value){MR_NOTHING, 0, NULL};
}

static struct mr_value *wanted(struct mr_die *entry, uint64_t attribute)
{
    switch (attribute) {
    case AT_LOCATION: return &entry->location;
    case AT_NAME: return &entry->name;
    case AT_LOW_PC: return &entry->low;
    case AT_HIGH_PC: return &entry->high;
    case AT_CONST_VALUE: return &entry->constant;
    case AT_ABSTRACT_ORIGIN: return &entry->origin;
    case AT_FRAME_BASE: return &entry->frame_base;
    case AT_RANGES: return &entry->ranges;
    case AT_CALL_COLUMN: return &entry->call_column;
    case AT_CALL_LINE: return &entry->call_line;
    default: return NULL;
    }
}

bool mr_read_die(const struct mr_unit *unit, struct mr_cursor *c, struct mr_die *entry)
{
    uint64_t code = mr_read_leb128(c, false);
    *entry = (struct mr_die){0};
    if (c->overrun || code > unit->known_count)
        return false;
    if (code == 0)
        return true;
    const struct mr_abbreviation *known = &unit->known[code - 1];
    struct mr_cursor attributes = known->attributes;
    entry->tag = known->tag;
    entry->has_children = known->has_children;
    while (attributes.at < attributes.end && !c->overrun) {
        uint64_t attribute = mr_read_leb128(&attributes, false), form = mr_read_leb128(&attributes, false);
        struct mr_value value = read_form(unit, c, form), *to = wanted(entry, attribute);
        if (to != NULL)
            *to = value;
    }
    return !c->overrun;
}

/* LLVM and binutils number them from 1 on. */
static void read_abbreviations(struct mr_unit *unit, struct mr_cursor c)
{
    size_t room = 0;
    while (mr_read_leb128(&c, false) == unit->known_count + 1 && unit->known_count < MOST_ABBREVIATIONS &&
           mr_has_room(&unit->known, sizeof *unit->known, unit->known_count, &room)) {
        struct mr_abbreviation *known = &unit->known[unit->known_count];
        uint64_t attribute, form;
        known->tag = (uint32_t)mr_read_leb128(&c, false);
        known->has_children = mr_read_fixed(&c, 1) != 0;
        known->attributes = c;
        do {
            known->attributes.end = c.at;
            attribute = mr_read_leb128(&c, false);
            form = mr_read_leb128(&c, false);
        } while (attribute != 0 || form != 0);
        if (c.overrun)
            break;
        unit->known_count++;
    }
}

/* ---- units ---- */

bool mr_next_unit(struct mr_cursor info, struct mr_cursor abbreviations, uint64_t *offset, struct mr_unit *unit)
{
    struct mr_cursor all = mr_cursor_at(info, *offset);
    *unit = (struct mr_unit){.info = info, .offset = *offset};
    if (all.at == all.end)
        return false;
    struct mr_cursor c = mr_take_unit(&all, &unit->offset_bytes);
    *offset = (uint64_t)(all.at - info.at);
    uint64_t version = mr_read_fixed(&c, 2), table = mr_read_fixed(&c, unit->offset_bytes);
    if (version >= 2 && version <= 4 && mr_read_fixed(&c, 1) == sizeof(uint64_t)) {
        read_abbreviations(unit, mr_cursor_at(abbreviations, table));
        unit->entries = c;
    }
    return true;
}

void mr_unit_end(struct mr_unit *unit)
{
    free(unit->known);
}
