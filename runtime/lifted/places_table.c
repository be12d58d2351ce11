/* Makes the table for places.c: which code is of which function, inlined or not, and where the code has its variables.
 *
 * Enters: the tree of debug_info.c; .debug_str, .debug_loc and .debug_ranges; all perhaps compressed. Leaves: the rows of
 * subprograms and inlined subroutines, of the variables in them that stand for registers of the guest, and of their location
 * lists. It is made as a whole, since a program that catches its faults asks often. A list ends where it is damaged. All
 * reading ends where it has passed the sections' bytes more often than what LLVM writes asks for: then the table has a part of
 * what they say, and its size and the time for it are bounded by theirs. The rules are those of DWARF 4.
 */
#include "lifted/debug_info.h"
#include "lifted/places.h"
#include "lifted/rows.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_DEPTH = 256, MOST_ORIGINS = 4, REMEMBERED = 4096, NO_SCOPE = -1 };
enum { MOST_READS = 8 }; /* of a byte, on average */

enum { OP_CONSTU = 0x10, OP_STACK_VALUE = 0x9f }; /* DW_OP_... */

struct decoding {
    struct mr_place_table *table;
    struct mr_cursor strings, lists, ranges;
    size_t row_room, variable_room, place_room, scope_room, expression_room;
    uint64_t allowance; /* bytes that may yet be read */
    uint32_t remembered[REMEMBERED]; /* expressions by their hash: most occur often */
    struct mr_unit unit;
    uint64_t base; /* of its addresses */
};

/* ---- expressions ---- */

/* Returns the offset of an expression; 0, that of none, where it is too long or there is no room. */
static uint32_t keep(struct decoding *d, const uint8_t *bytes, uint64_t size_bytes)
{
    struct mr_place_table *table = d->table;
    uint32_t hash = 2166136261u; /* FNV-1a */
    if (size_bytes == 0 || size_bytes > UINT8_MAX)
        return 0;
    for (uint64_t i = 0; i < size_bytes; i++)
        hash = (hash ^ bytes[i]) * 16777619u;
    uint32_t *known = &d->remembered[(hash ^ hash >> 16) % REMEMBERED];
    const uint8_t *there = table->expressions + *known;
    if (there[0] == size_bytes && memcmp(there + 1, bytes, size_bytes) == 0)
        return *known;
    while (d->expression_room - table->expression_bytes < size_bytes + 1)
        if (!mr_has_room(&table->expressions, 1, d->expression_room, &d->expression_room))
            return 0;
    *known = (uint32_t)table->expression_bytes;
    table->expressions[table->expression_bytes] = (uint8_t)size_bytes;
    memcpy(table->expressions + table->expression_bytes + 1, bytes, size_bytes);
    table->expression_bytes += size_bytes + 1;
    return *known;
}

static uint32_t keep_constant(struct decoding *d, uint64_t number)
{
    uint8_t bytes[16];
    unsigned count = 0;
    bytes[count++] = OP_CONSTU;
    for (number = (uint32_t)number; number > 0x7f; number >>= 7)
        bytes[count++] = (uint8_t)(number | 0x80);
    bytes[count++] = (uint8_t)number;
    bytes[count++] = OP_STACK_VALUE;
    return keep(d, bytes, count);
}

/* ---- scopes ---- */

static void add_row(struct decoding *d, uint64_t low, uint64_t high)
{
    struct mr_place_table *table = d->table;
    if (low < high && high <= UINT32_MAX &&
        mr_has_room(&table->rows, sizeof *table->rows, table->row_count, &d->row_room))
        table->rows[table->row_count++] =
            (struct mr_scope_row){(uint32_t)low, (uint32_t)high, (uint32_t)table->scope_count - 1, MR_NO_ROW};
}

/* Reads a pair of addresses of .debug_ranges or .debug_loc, from *base on. Returns false at the end of the list. */
static bool read_pair(struct mr_cursor *c, uint64_t *base, uint64_t *low, uint64_t *high)
{
    for (;;) {
        *low = mr_read_fixed(c, 8);
        *high = mr_read_fixed(c, 8);
        if (c->overrun || (*low == 0 && *high == 0))
            return false;
        if (*low != UINT64_MAX)
            break;
        *base = *high;
    }
    *low += *base;
    *high += *base;
    return true;
}

/* The column of a call is how far behind it the callee returns. */
static uint32_t link_pc(const struct mr_die *entry)
{
    bool links = entry->call_line.kind == MR_NUMBER && entry->call_column.kind == MR_NUMBER && entry->call_column.number != 0;
    return links ? (uint32_t)(entry->call_line.number + entry->call_column.number) : 0;
}

/* Returns the number of a new scope, or NO_SCOPE where there is no code of it. */
static int64_t add_scope(struct decoding *d, const struct mr_die *entry, int64_t around)
{
    struct mr_place_table *table = d->table;
    struct mr_scope scope = {around != NO_SCOPE ? table->scopes[around].frame_base : 0, link_pc(entry), 0};
    uint64_t low = entry->low.number, high = entry->high.number, base = d->base;
    if (entry->low.kind != MR_ADDRESS && entry->ranges.kind != MR_NUMBER)
        return NO_SCOPE;
    if (!mr_has_room(&table->scopes, sizeof *table->scopes, table->scope_count, &d->scope_room))
        return NO_SCOPE;
    if (entry->frame_base.kind == MR_BLOCK)
        scope.frame_base = keep(d, entry->frame_base.bytes, entry->frame_base.number);
    table->scopes[table->scope_count++] = scope;
    if (entry->ranges.kind == MR_NUMBER) {
        struct mr_cursor list = mr_cursor_at(d->ranges, entry->ranges.number);
        while (read_pair(&list, &base, &low, &high))
            add_row(d, low, high);
    } else {
        add_row(d, low, entry->high.kind == MR_ADDRESS ? high : low + high);
    }
    return (int64_t)table->scope_count - 1;
}

/* ---- variables ---- */

/* Returns the number that a name rN has, or 0. */
static uint32_t number_of(struct decoding *d, struct mr_value name)
{
    uint32_t number = 0;
    struct mr_cursor c = mr_cursor_at(d->strings, name.number);
    if (name.bytes != NULL)
        c = (struct mr_cursor){name.bytes, name.bytes + name.number, false, &d->allowance};
    if (name.kind != MR_STRING || mr_read_fixed(&c, 1) != 'r')
        return 0;
    for (uint64_t digit; (digit = mr_read_fixed(&c, 1)) != 0; number = 10 * number + (uint32_t)digit - '0')
        if (digit < '0' || digit > '9' || number >= MR_PLACE_REGISTERS)
            return 0;
    return !c.overrun && number < MR_PLACE_REGISTERS ? number : 0;
}

/* A variable of an inlined subroutine has its name where the subroutine is abstract. */
static uint32_t number_of_variable(struct decoding *d, const struct mr_die *entry)
{
    struct mr_die origin = *entry;
    for (int i = 0; i < MOST_ORIGINS && origin.name.kind == MR_NOTHING && origin.origin.kind == MR_NUMBER; i++) {
        struct mr_cursor c = mr_cursor_at(d->unit.info, origin.origin.number);
        if (!mr_read_die(&d->unit, &c, &origin))
            return 0;
    }
    return number_of(d, origin.name);
}

static void add_place(struct decoding *d, uint64_t low, uint64_t high, uint32_t expression)
{
    struct mr_place_table *table = d->table;
    if (low < high && high <= UINT32_MAX && expression != 0 &&
        mr_has_room(&table->places, sizeof *table->places, table->place_count, &d->place_room))
        table->places[table->place_count++] = (struct mr_place_row){(uint32_t)low, (uint32_t)high, expression};
}

static void add_list(struct decoding *d, uint64_t offset)
{
    struct mr_cursor list = mr_cursor_at(d->lists, offset);
    uint64_t base = d->base, low, high;
    size_t first = d->table->place_count;
    while (read_pair(&list, &base, &low, &high)) {
        struct mr_cursor expression = mr_take(&list, mr_read_fixed(&list, 2));
        add_place(d, low, high, keep(d, expression.at, (uint64_t)(expression.end - expression.at)));
    }
    if (d->table->place_count > first)
        mr_sort_rows(d->table->places + first, d->table->place_count - first, sizeof *d->table->places);
}

static void add_variable(struct decoding *d, const struct mr_die *entry, int64_t scope)
{
    struct mr_place_table *table = d->table;
    uint32_t number = scope != NO_SCOPE ? number_of_variable(d, entry) : 0, bit = (uint32_t)1 << number;
    size_t first = table->place_count;
    if (number == 0 || (table->scopes[scope].known & bit) != 0 ||
        !mr_has_room(&table->variables, sizeof *table->variables, table->variable_count, &d->variable_room))
        return;
    if (entry->location.kind == MR_BLOCK)
        add_place(d, 0, UINT32_MAX, keep(d, entry->location.bytes, entry->location.number));
    else if (entry->location.kind == MR_NUMBER)
        add_list(d, entry->location.number);
    else if (entry->constant.kind == MR_NUMBER)
        add_place(d, 0, UINT32_MAX, keep_constant(d, entry->constant.number));
    if (table->place_count == first)
        return;
    table->scopes[scope].known |= bit;
    table->variables[table->variable_count++] =
        (struct mr_scope_variable){(uint32_t)scope, number, (uint32_t)first, (uint32_t)(table->place_count - first)};
}

/* ---- units ---- */

/* The scope that the children of an entry are in. */
static int64_t add_entry(struct decoding *d, const struct mr_die *entry, int64_t around)
{
    switch (entry->tag) {
    case MR_TAG_COMPILE_UNIT: d->base = entry->low.number; return NO_SCOPE;
    case MR_TAG_SUBPROGRAM: return add_scope(d, entry, NO_SCOPE);
    case MR_TAG_INLINED_SUBROUTINE: return add_scope(d, entry, around);
    case MR_TAG_LEXICAL_BLOCK: return around;
    case MR_TAG_FORMAL_PARAMETER: case MR_TAG_VARIABLE: add_variable(d, entry, around); return NO_SCOPE;
    default: return NO_SCOPE;
    }
}

static void read_unit(struct decoding *d)
{
    int64_t scopes[MOST_DEPTH] = {NO_SCOPE};
    struct mr_cursor c = d->unit.entries;
    struct mr_die entry;
    unsigned depth = 0;
    while (c.at < c.end && mr_read_die(&d->unit, &c, &entry)) {
        if (entry.tag == 0) {
            if (depth-- == 0)
                break;
            continue;
        }
        int64_t scope = add_entry(d, &entry, scopes[depth]);
        if (!entry.has_children)
            continue;
        if (++depth == MOST_DEPTH)
            break;
        scopes[depth] = scope;
    }
}

/* What lies around something else comes first. */
static int compare_rows(const void *left, const void *right)
{
    const struct mr_scope_row *l = left, *r = right;
    if (l->low != r->low)
        return l->low < r->low ? -1 : 1;
    if (l->high != r->high)
        return l->high > r->high ? -1 : 1;
    return (l->scope > r->scope) - (l->scope < r->scope);
}

static void nest_rows(struct mr_scope_row *rows, size_t count)
{
    if (count > 0)
        qsort(rows, count, sizeof *rows, compare_rows);
    for (size_t i = 0; i < count; i++) {
        uint32_t around = i > 0 ? (uint32_t)i - 1 : MR_NO_ROW;
        while (around != MR_NO_ROW && rows[around].high <= rows[i].low)
            around = rows[around].parent;
        rows[i].parent = around;
    }
}

void mr_places_decode(const struct mr_library_file *file, struct mr_place_table *table)
{
    enum { INFO, ABBREVIATIONS, STRINGS, LISTS, RANGES, SECTIONS };
    static const char *const names[SECTIONS] = {".debug_info", ".debug_abbrev", ".debug_str", ".debug_loc", ".debug_ranges"};
    struct mr_cursor sections[SECTIONS];
    uint8_t *unpacked[SECTIONS];
    struct decoding *d = calloc(1, sizeof *d);
    if (d == NULL)
        return;
    for (int i = 0; i < SECTIONS; i++) {
        struct mr_bytes section = mr_library_file_section(file, names[i], &unpacked[i]);
        const uint8_t *bytes = section.bytes != NULL ? section.bytes : (const uint8_t *)"";
        sections[i] = (struct mr_cursor){bytes, bytes + section.size_bytes, false, &d->allowance};
        d->allowance += MOST_READS * section.size_bytes;
    }
    d->table = table;
    d->strings = sections[STRINGS];
    d->lists = sections[LISTS];
    d->ranges = sections[RANGES];
    if (mr_has_room(&table->expressions, 1, 0, &d->expression_room)) {
        table->expressions[table->expression_bytes++] = 0;
        for (uint64_t offset = 0; mr_next_unit(sections[INFO], sections[ABBREVIATIONS], &offset, &d->unit);) {
            read_unit(d);
            mr_unit_end(&d->unit);
        }
        nest_rows(table->rows, table->row_count);
    }
    mr_sort_rows(table->variables, table->variable_count, sizeof *table->variables);
    for (int i = 0; i < SECTIONS; i++)
        free(unpacked[i]);
    free(d);
}
