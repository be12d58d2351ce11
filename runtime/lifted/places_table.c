/* Makes the table for places.c: which code is of which function, inlined or not, and where the code has registers.
 *
 * Enters: the sections .debug_places of a library (mipsrec/native/place_table.py writes them, and file-formats.md has each byte),
 * all perhaps compressed. Leaves: the rows of functions, of their registers, and of these registers' places. The table is made as
 * a whole, since a program that catches its faults asks often. What is damaged ends the unit it is in. Each byte is read once, and
 * stands for a bounded number of rows.
 */
#include "lifted/dwarf.h"
#include "lifted/places.h"
#include "lifted/rows.h"

#include <stdlib.h>
#include <string.h>

enum { REMEMBERED = 4096 };
enum { MOST_REGISTERS = 16 }; /* of a unit */
enum { IN_REGISTER = 32, OP_REG0 = 0x50 }; /* expressions below it are DW_OP_reg0 and so on */
enum change { NOWHERE, HOME, AGAIN, ELSEWHERE };
enum { LAST = 0x40, MANY = 0x80, ALL_END = 1, COME_HOME = 2, MORE = 4 };

/* Of a scope: where a register was and is, from an address on. */
struct state {
    uint32_t now, last, since; /* numbers of expressions */
};
#define NO_PLACE UINT32_MAX

struct found_place {
    uint32_t position, low, high, expression;
};

struct decoding {
    struct mr_place_table *table;
    size_t row_room, variable_room, place_room, scope_room, expression_room;
    uint32_t remembered[REMEMBERED]; /* expressions by their hash: units have many in common */
    uint32_t in_register[IN_REGISTER];
    /* ---- of a unit ---- */
    struct mr_cursor steps, changes, homes, numbers;
    uint32_t register_count, expression_count, staying_count;
    uint8_t registers[MOST_REGISTERS];
    uint32_t home[MOST_REGISTERS];
    uint32_t *expressions; /* by number from IN_REGISTER on: where they are in the table */
    size_t expressions_room;
    /* ---- of a scope ---- */
    struct state states[MOST_REGISTERS];
    struct found_place *found;
    size_t found_count, found_room;
};

/* ---- expressions ---- */

/* Returns the offset of an expression; 0, that of none, where there is no room. */
static uint32_t keep(struct decoding *d, const uint8_t *bytes, uint8_t size_bytes)
{
    struct mr_place_table *table = d->table;
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (unsigned i = 0; i < size_bytes; i++)
        hash = (hash ^ bytes[i]) * 16777619u;
    uint32_t *known = &d->remembered[(hash ^ hash >> 16) % REMEMBERED];
    const uint8_t *there = table->expressions + *known;
    if (there[0] == size_bytes && memcmp(there + 1, bytes, size_bytes) == 0)
        return *known;
    while (d->expression_room - table->expression_bytes < (size_t)size_bytes + 1)
        if (!mr_has_room(&table->expressions, 1, d->expression_room, &d->expression_room))
            return 0;
    *known = (uint32_t)table->expression_bytes;
    table->expressions[table->expression_bytes] = size_bytes;
    memcpy(table->expressions + table->expression_bytes + 1, bytes, size_bytes);
    table->expression_bytes += (size_t)size_bytes + 1;
    return *known;
}

/* Returns where the expression of a number is in the table; 0, where none is, of a number that there is not. */
static uint32_t expression_of(const struct decoding *d, uint64_t number)
{
    if (number < IN_REGISTER)
        return d->in_register[number];
    return number - IN_REGISTER < d->expression_count ? d->expressions[number - IN_REGISTER] : 0;
}

static void read_expressions(struct decoding *d, struct mr_cursor *c)
{
    uint64_t count = mr_read_leb128(c, false);
    d->staying_count = (uint32_t)mr_read_leb128(c, false);
    for (d->expression_count = 0; d->expression_count < count; d->expression_count++) {
        uint8_t size_bytes = (uint8_t)mr_read_fixed(c, 1);
        struct mr_cursor expression = mr_take(c, size_bytes);
        if (c->overrun || !mr_has_room(&d->expressions, sizeof *d->expressions, d->expression_count, &d->expressions_room))
            break;
        d->expressions[d->expression_count] = size_bytes > 0 ? keep(d, expression.at, size_bytes) : 0;
    }
    c->overrun |= d->expression_count < count;
}

/* ---- the changes of a scope ---- */

static void set(struct decoding *d, uint32_t position, uint32_t address, uint32_t number)
{
    struct state *state = &d->states[position];
    if (state->now != NO_PLACE) {
        uint32_t expression = expression_of(d, state->now);
        if (state->since < address && expression != 0 &&
            mr_has_room(&d->found, sizeof *d->found, d->found_count, &d->found_room))
            d->found[d->found_count++] = (struct found_place){position, state->since, address, expression};
        state->last = state->now;
    }
    state->now = number;
    state->since = address;
}

static bool passes(const struct decoding *d, uint32_t number)
{
    return number != NO_PLACE && (number < IN_REGISTER || number - IN_REGISTER >= d->staying_count);
}

static void change_many(struct decoding *d, uint32_t address, uint8_t change)
{
    for (uint32_t i = 0; i < d->register_count && (change & ALL_END) != 0; i++)
        if (passes(d, d->states[i].now))
            set(d, i, address, NO_PLACE);
    uint64_t homes = (change & COME_HOME) != 0 ? mr_read_fixed(&d->homes, 2) : 0;
    for (uint32_t i = 0; i < d->register_count; i++)
        if ((homes >> i & 1) != 0 && d->states[i].now != d->home[i])
            set(d, i, address, d->home[i]);
}

/* Returns false where it was the last one at the address. */
static bool change_one(struct decoding *d, uint32_t address, uint8_t change)
{
    uint32_t position = change >> 2 & (MOST_REGISTERS - 1), number = NO_PLACE;
    switch (change & 3) {
    case HOME: number = d->home[position]; break;
    case AGAIN: number = d->states[position].last; break;
    case ELSEWHERE: number = (uint32_t)mr_read_leb128(&d->numbers, false); break;
    default: break;
    }
    if (position < d->register_count)
        set(d, position, address, number);
    return (change & LAST) == 0;
}

static void read_changes(struct decoding *d, uint32_t address)
{
    uint8_t change = (uint8_t)mr_read_fixed(&d->changes, 1);
    if ((change & MANY) != 0) {
        change_many(d, address, change);
        if ((change & MORE) == 0)
            return;
        change = (uint8_t)mr_read_fixed(&d->changes, 1);
    }
    while (change_one(d, address, change) && !d->changes.overrun)
        change = (uint8_t)mr_read_fixed(&d->changes, 1);
}

/* Those of one register after the other; of each they are in the order of addresses. */
static void add_places(struct decoding *d, uint32_t scope)
{
    struct mr_place_table *table = d->table;
    size_t counts[MOST_REGISTERS] = {0}, next[MOST_REGISTERS], total = table->place_count;
    while (d->place_room - table->place_count < d->found_count)
        if (!mr_has_room(&table->places, sizeof *table->places, d->place_room, &d->place_room))
            return;
    for (size_t i = 0; i < d->found_count; i++)
        counts[d->found[i].position]++;
    for (uint32_t position = 0; position < d->register_count; position++) {
        next[position] = total;
        if (counts[position] > 0 &&
            mr_has_room(&table->variables, sizeof *table->variables, table->variable_count, &d->variable_room))
            table->variables[table->variable_count++] = (struct mr_scope_variable){
                scope, d->registers[position], (uint32_t)total, (uint32_t)counts[position]};
        total += counts[position];
    }
    for (size_t i = 0; i < d->found_count; i++) {
        const struct found_place *found = &d->found[i];
        table->places[next[found->position]++] = (struct mr_place_row){found->low, found->high, found->expression};
    }
    table->place_count = total;
}

/* What is behind the end of the scope, or beyond the addresses of the file, is not looked at. */
static void read_places(struct decoding *d, uint32_t scope, uint64_t low, uint64_t high)
{
    uint64_t count = mr_read_leb128(&d->steps, false), address = low;
    d->found_count = 0;
    for (unsigned i = 0; i < MOST_REGISTERS; i++)
        d->states[i] = (struct state){NO_PLACE, NO_PLACE, 0};
    while (count-- > 0 && !d->steps.overrun && !d->changes.overrun) {
        uint64_t step = mr_read_leb128(&d->steps, false);
        address = step < high - address ? address + step : high;
        read_changes(d, (uint32_t)address);
    }
    for (uint32_t i = 0; i < d->register_count; i++)
        set(d, i, (uint32_t)high, NO_PLACE);
    add_places(d, scope);
}

/* ---- scopes ---- */

static void add_row(struct decoding *d, uint32_t scope, uint32_t low, uint32_t high)
{
    struct mr_place_table *table = d->table;
    if (low < high && mr_has_room(&table->rows, sizeof *table->rows, table->row_count, &d->row_room))
        table->rows[table->row_count++] = (struct mr_scope_row){low, high, scope, MR_NO_ROW};
}

/* Reads a scope; *last_low and *last_link are those of the one before. Returns false where the unit is damaged. */
static bool read_scope(struct decoding *d, struct mr_cursor *c, uint64_t *last_low, uint32_t *last_link)
{
    struct mr_place_table *table = d->table;
    struct mr_scope scope = {0};
    uint64_t base = mr_read_leb128(c, false);
    int64_t link = (int64_t)mr_read_leb128(c, true);
    uint64_t count = mr_read_leb128(c, false), lowest = UINT32_MAX, highest = 0;
    if (c->overrun || !mr_has_room(&table->scopes, sizeof *table->scopes, table->scope_count, &d->scope_room))
        return false;
    if (base != 0)
        scope.frame_base = expression_of(d, base - 1);
    if (link != 0)
        scope.link_pc = *last_link = *last_link + (uint32_t)(link > 0 ? link - 1 : link);
    uint32_t number = (uint32_t)table->scope_count;
    table->scopes[table->scope_count++] = scope;
    while (count-- > 0 && !c->overrun) {
        uint64_t low = *last_low + mr_read_leb128(c, true), size_bytes = mr_read_leb128(c, false);
        if (c->overrun || low > UINT32_MAX || size_bytes > UINT32_MAX - low)
            return false;
        *last_low = low;
        add_row(d, number, (uint32_t)low, (uint32_t)(low + size_bytes));
        lowest = low < lowest ? low : lowest;
        highest = low + size_bytes > highest ? low + size_bytes : highest;
    }
    if (lowest <= highest)
        read_places(d, number, lowest, highest);
    return !c->overrun;
}

/* ---- units ---- */

static bool read_registers(struct decoding *d, struct mr_cursor *c)
{
    uint64_t count = mr_read_leb128(c, false);
    if (count > MOST_REGISTERS)
        return false;
    d->register_count = (uint32_t)count;
    for (uint32_t i = 0; i < d->register_count; i++) {
        d->registers[i] = (uint8_t)mr_read_fixed(c, 1);
        d->home[i] = (uint32_t)mr_read_leb128(c, false);
        if (d->registers[i] >= MR_PLACE_REGISTERS)
            return false;
    }
    return !c->overrun;
}

/* The bytes of a unit in the other sections begin where those of the unit before it end, whatever is in that. */
static void read_unit(struct decoding *d, struct mr_cursor *c, struct mr_cursor others[4])
{
    struct mr_cursor *const parts[] = {&d->steps, &d->changes, &d->homes, &d->numbers};
    uint32_t last_link = 0;
    uint64_t base = mr_read_fixed(c, sizeof base);
    for (int i = 0; i < 4; i++)
        *parts[i] = mr_take(&others[i], mr_read_leb128(c, false));
    memset(d->home, 0, sizeof d->home);
    if (!read_registers(d, c))
        return;
    read_expressions(d, c);
    uint64_t count = mr_read_leb128(c, false), last_low = base;
    while (count-- > 0 && !c->overrun && read_scope(d, c, &last_low, &last_link))
        ;
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
    enum { UNITS, SECTIONS = 5 };
    static const char *const names[SECTIONS] = {".debug_places", ".debug_places_steps", ".debug_places_changes",
                                                ".debug_places_homes", ".debug_places_expressions"};
    struct mr_cursor sections[SECTIONS];
    uint8_t *unpacked[SECTIONS];
    struct decoding *d = calloc(1, sizeof *d);
    if (d == NULL)
        return;
    for (int i = 0; i < SECTIONS; i++) {
        struct mr_bytes section = mr_library_file_section(file, names[i], &unpacked[i]);
        const uint8_t *bytes = section.bytes != NULL ? section.bytes : (const uint8_t *)"";
        sections[i] = (struct mr_cursor){bytes, bytes + section.size_bytes, false};
    }
    d->table = table;
    if (mr_has_room(&table->expressions, 1, 0, &d->expression_room)) {
        table->expressions[table->expression_bytes++] = 0;
        for (unsigned number = 0; number < IN_REGISTER; number++)
            d->in_register[number] = keep(d, &(uint8_t){(uint8_t)(OP_REG0 + number)}, 1);
        while (sections[UNITS].at < sections[UNITS].end) {
            struct mr_cursor unit = mr_take(&sections[UNITS], mr_read_fixed(&sections[UNITS], 4));
            read_unit(d, &unit, sections + 1);
        }
        nest_rows(table->rows, table->row_count);
    }
    for (int i = 0; i < SECTIONS; i++)
        free(unpacked[i]);
    free(d->expressions);
    free(d->found);
    free(d);
}
