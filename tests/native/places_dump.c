/* Prints what the host's readers of a library's debug information say of addresses, which standard input has in hexadecimal.
 *
 * A line is the address, its pcs by mr_lines_find and mr_lines_near, the column of its row, and the functions from the
 * innermost one on: each with the pc that its call returns to, the base of its frame, and the expression of each register.
 */
#include "lifted/library.h"
#include "lifted/places.h"
#include "lifted/rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_expression(const struct mr_place_table *table, uint32_t at)
{
    for (unsigned i = 1; i <= table->expressions[at]; i++)
        printf("%02x", table->expressions[at + i]);
}

static void print_registers(const struct mr_place_table *table, uint32_t scope, uint64_t address)
{
    size_t at = mr_count_below(table->variables, table->variable_count, sizeof *table->variables, scope);
    for (; at < table->variable_count && table->variables[at].scope == scope; at++) {
        const struct mr_place_row *rows = table->places + table->variables[at].first;
        size_t count = mr_count_below(rows, table->variables[at].count, sizeof *rows, address + 1);
        if (count == 0 || address >= rows[count - 1].high)
            continue;
        printf(" %" PRIu32 "=", table->variables[at].number);
        print_expression(table, rows[count - 1].expression);
    }
}

static void print_scopes(const struct mr_place_table *table, uint64_t address)
{
    size_t count = mr_count_below(table->rows, table->row_count, sizeof *table->rows, address + 1);
    uint32_t at = count > 0 ? (uint32_t)count - 1 : MR_NO_ROW;
    for (; at != MR_NO_ROW; at = table->rows[at].parent) {
        if (table->rows[at].high <= address)
            continue;
        const struct mr_scope *scope = &table->scopes[table->rows[at].scope];
        printf(" (%" PRIx32 " ", scope->link_pc);
        print_expression(table, scope->frame_base);
        print_registers(table, table->rows[at].scope, address);
        printf(")");
    }
}

int main(int count, char **words)
{
    struct mr_open_library library;
    struct mr_place_table table;
    uint64_t address;
    memset(&library, 0, sizeof library);
    memset(&table, 0, sizeof table);
    if (count != 2 || mr_library_file_open(&library.file, words[1]) != NULL)
        return 1;
    mr_places_decode(&library.file, &table);
    while (scanf("%" SCNx64, &address) == 1) {
        uint32_t words = mr_lines_depth(&library, address) / 4, column = mr_lines_stored(&library, address);
        if (words != 0)
            column = words + 1;
        printf("%" PRIx64 " %" PRIx32 " %" PRIx32 " %" PRIu32, address, mr_lines_find(&library, address),
               mr_lines_near(&library, address), column);
        print_scopes(&table, address);
        printf("\n");
    }
    return 0;
}
