/* Decodes the DWARF line table of a recompiled library, where the line number of host code is the guest pc it came from.
 *
 * Enters: .debug_line, perhaps compressed, versions 2 to 5, one or many units. Leaves: the guest pc for an address in the
 * file. Code that begins a basic block, as the table has it, is of no one instruction; its line is that of what follows
 * (mipsrec/native/line_program.py). File names and statement flags are not looked at. The table is decoded as a whole at the
 * first question, since a program that catches its faults asks often. What is damaged ends the unit it is in, and answers
 * stay best efforts. The rules are those of DWARF 5, section 6.2.
 */
#include "lifted/dwarf.h"
#include "lifted/library.h"
#include "lifted/rows.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Of a row of struct mr_line_table: host code from address to the next row's comes from guest pc `line`; 0: a sequence ends
 * here; NO_LINE: from none. */
#define NO_LINE 1u /* no instruction has an odd address */

enum { STORED = 1, BORROWED = 0xffff }; /* columns: mipsrec/native/line_program.py; of code that is of no instruction */

struct line_program {
    struct mr_line_table *table;
    uint8_t minimum_instruction_bytes, line_range, opcode_base;
    int8_t line_base;
    uint8_t operand_counts[256]; /* of the standard opcodes, by opcode */
    uint64_t address;
    uint32_t line, column;
    bool borrowed;
    bool in_sequence; /* the last row added belongs to the sequence being read */
};

static void add_row(struct line_program *p, uint32_t line, bool ends_sequence)
{
    if (p->address > UINT32_MAX)
        return;
    if (line == 0 && !ends_sequence)
        line = NO_LINE;
    struct mr_line_table *table = p->table;
    bool borrowed = !ends_sequence && (line == NO_LINE || p->borrowed);
    struct mr_line_row row = {(uint32_t)p->address, line, borrowed ? BORROWED : p->column};
    p->borrowed = false;
    if (p->in_sequence && table->rows[table->row_count - 1].address == p->address) {
        if (line != NO_LINE)
            table->rows[table->row_count - 1] = row; /* the last row of an address is the one that holds */
    } else {
        if (!mr_has_room(&table->rows, sizeof *table->rows, table->row_count, &table->row_room))
            return;
        table->rows[table->row_count++] = row;
    }
    p->in_sequence = !ends_sequence;
}

static void start_sequence(struct line_program *p)
{
    p->address = 0;
    p->line = 1;
    p->column = 0;
    p->borrowed = false;
    p->in_sequence = false;
}

static bool read_header(struct line_program *p, struct mr_cursor *unit, unsigned offset_bytes)
{
    uint64_t version = mr_read_fixed(unit, 2);
    if (version < 2 || version > 5)
        return false;
    if (version == 5)
        mr_skip(unit, 2); /* address_size, segment_selector_size */
    uint64_t header_bytes = mr_read_fixed(unit, offset_bytes);
    struct mr_cursor header = mr_take(unit, header_bytes);
    p->minimum_instruction_bytes = (uint8_t)mr_read_fixed(&header, 1);
    if (version >= 4)
        mr_skip(&header, 1); /* maximum_operations_per_instruction: 1, as this machine has no VLIW */
    mr_skip(&header, 1);     /* default_is_stmt */
    p->line_base = (int8_t)(uint8_t)mr_read_fixed(&header, 1);
    p->line_range = (uint8_t)mr_read_fixed(&header, 1);
    p->opcode_base = (uint8_t)mr_read_fixed(&header, 1);
    for (unsigned opcode = 1; opcode < p->opcode_base; opcode++)
        p->operand_counts[opcode] = (uint8_t)mr_read_fixed(&header, 1);
    start_sequence(p);
    return !header.overrun && p->line_range != 0 && p->opcode_base != 0;
}

static void advance_by_special(struct line_program *p, uint8_t opcode)
{
    p->address += (uint64_t)p->minimum_instruction_bytes * ((uint8_t)(opcode - p->opcode_base) / p->line_range);
}

static void extended_opcode(struct line_program *p, struct mr_cursor *unit)
{
    struct mr_cursor operands = mr_take(unit, mr_read_leb128(unit, false));
    switch (mr_read_fixed(&operands, 1)) {
    case 1: /* DW_LNE_end_sequence */
        add_row(p, 0, true);
        start_sequence(p);
        break;
    case 2: /* DW_LNE_set_address */
        p->address = mr_read_fixed(&operands, (unsigned)(operands.end - operands.at) >= 8 ? 8 : 4);
        break;
    default: /* file definitions, discriminators, vendors' own */
        break;
    }
}

static void standard_opcode(struct line_program *p, struct mr_cursor *unit, uint8_t opcode)
{
    switch (opcode) {
    case 1: /* DW_LNS_copy */
        add_row(p, p->line, false);
        break;
    case 2: /* DW_LNS_advance_pc */
        p->address += p->minimum_instruction_bytes * mr_read_leb128(unit, false);
        break;
    case 3: /* DW_LNS_advance_line */
        p->line += (uint32_t)mr_read_leb128(unit, true);
        break;
    case 5: /* DW_LNS_set_column */
        p->column = (uint32_t)mr_read_leb128(unit, false);
        break;
    case 7: /* DW_LNS_set_basic_block */
        p->borrowed = true;
        break;
    case 8: /* DW_LNS_const_add_pc */
        advance_by_special(p, 255);
        break;
    case 9: /* DW_LNS_fixed_advance_pc */
        p->address += mr_read_fixed(unit, 2);
        break;
    default:
        for (unsigned i = 0; i < p->operand_counts[opcode]; i++)
            mr_read_leb128(unit, false);
        break;
    }
}

static void run_program(struct line_program *p, struct mr_cursor *unit)
{
    while (unit->at < unit->end && !unit->overrun) {
        uint8_t opcode = (uint8_t)mr_read_fixed(unit, 1);
        if (opcode >= p->opcode_base) {
            advance_by_special(p, opcode);
            p->line += (uint32_t)(p->line_base + (uint8_t)(opcode - p->opcode_base) % p->line_range);
            add_row(p, p->line, false);
        } else if (opcode == 0) {
            extended_opcode(p, unit);
        } else {
            standard_opcode(p, unit, opcode);
        }
    }
    if (p->in_sequence) /* damaged: an unfinished sequence must not reach into the next one */
        add_row(p, 0, true);
}

/* By address; where one sequence ends and the next begins at the same one, the end (line 0) comes first. */
static int compare_rows(const void *left, const void *right)
{
    const struct mr_line_row *l = left, *r = right;
    if (l->address != r->address)
        return l->address < r->address ? -1 : 1;
    return (l->line > r->line) - (l->line < r->line);
}

/* The linker has put units in the order of their code, for the most part. */
static void sort_rows(struct mr_line_row *rows, size_t count)
{
    for (size_t i = 1; i < count; i++)
        if (compare_rows(&rows[i - 1], &rows[i]) > 0) {
            qsort(rows, count, sizeof *rows, compare_rows);
            return;
        }
}

static void decode_table(struct mr_open_library *library)
{
    uint8_t *unpacked;
    struct mr_bytes section = mr_library_file_section(&library->file, ".debug_line", &unpacked);
    if (section.bytes == NULL)
        return;
    struct mr_cursor all = {section.bytes, section.bytes + section.size_bytes, false};
    while (all.at < all.end) {
        unsigned offset_bytes;
        struct mr_cursor unit = mr_take_unit(&all, &offset_bytes);
        struct line_program program = {.table = &library->lines};
        if (read_header(&program, &unit, offset_bytes))
            run_program(&program, &unit);
    }
    sort_rows(library->lines.rows, library->lines.row_count);
    free(unpacked);
}

static struct mr_line_table *decoded(struct mr_open_library *library)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (atomic_load(&library->lines.state) == 0) {
        pthread_mutex_lock(&lock);
        if (atomic_load(&library->lines.state) == 0)
            decode_table(library);
        atomic_store(&library->lines.state, 1);
        pthread_mutex_unlock(&lock);
    }
    return &library->lines;
}

/* The number of rows that begin at or below the address. */
static size_t rows_up_to(const struct mr_line_table *table, uint64_t file_address)
{
    return mr_count_below(table->rows, table->row_count, sizeof *table->rows, file_address + 1);
}

/* Code that is of no instruction belongs to what precedes it. */
static struct mr_line_row row_of(struct mr_open_library *library, uint64_t file_address)
{
    static const struct mr_line_row nothing;
    const struct mr_line_table *table = decoded(library);
    size_t count = rows_up_to(table, file_address);
    while (count > 0 && table->rows[count - 1].column == BORROWED)
        count--;
    return count == 0 ? nothing : table->rows[count - 1];
}

uint32_t mr_lines_find(struct mr_open_library *library, uint64_t file_address)
{
    return row_of(library, file_address).line;
}

bool mr_lines_stored(struct mr_open_library *library, uint64_t file_address)
{
    return row_of(library, file_address).column == STORED;
}

uint32_t mr_lines_depth(struct mr_open_library *library, uint64_t file_address)
{
    uint32_t column = row_of(library, file_address).column;
    return column == 0 ? 0 : (column - 1) * (uint32_t)sizeof(uint32_t);
}

/* LLVM says of code that it comes from no line only where a block begins. */
uint32_t mr_lines_near(struct mr_open_library *library, uint64_t file_address)
{
    const struct mr_line_table *table = decoded(library);
    size_t at = rows_up_to(table, file_address);
    bool known = at > 0 && table->rows[at - 1].line != NO_LINE;
    return known ? table->rows[at - 1].line : mr_lines_find(library, file_address);
}
