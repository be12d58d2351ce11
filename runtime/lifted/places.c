/* Finds what recompiled code has of the guest's registers at a fault, by the table of places_table.c.
 *
 * Enters: the library, the address in its file, and the context of a signal. Leaves: values. A register is not found where it
 * is not live, as one that the function has stored on the guest's stack to use it for something else. Where one function is
 * inlined in another, the innermost one that knows of a register counts.
 */
#include "lifted/places.h"
#include "lifted/rows.h"

#include "mr_state.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum { MOST_AROUND = 256 }; /* functions that are inlined in one another */

static const struct mr_place_table *decoded(struct mr_open_library *library)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static const struct mr_place_table nothing;
    if (atomic_load(&library->places) == NULL) {
        pthread_mutex_lock(&lock);
        struct mr_place_table *made = atomic_load(&library->places) == NULL ? calloc(1, sizeof *made) : NULL;
        if (made != NULL) {
            mr_places_decode(&library->file, made);
            atomic_store(&library->places, made);
        }
        pthread_mutex_unlock(&lock);
    }
    const struct mr_place_table *table = atomic_load(&library->places);
    return table != NULL ? table : &nothing;
}

/* Of the rows that begin at the address or before, the last one lies innermost, or what lies around it does. */
static const struct mr_scope_row *innermost(const struct mr_place_table *table, uint64_t address)
{
    size_t count = mr_count_below(table->rows, table->row_count, sizeof *table->rows, address + 1);
    uint32_t at = count > 0 ? (uint32_t)count - 1 : MR_NO_ROW;
    while (at != MR_NO_ROW && table->rows[at].high <= address)
        at = table->rows[at].parent;
    return at != MR_NO_ROW ? &table->rows[at] : NULL;
}

static const struct mr_scope_row *around(const struct mr_place_table *table, const struct mr_scope_row *row)
{
    return row->parent != MR_NO_ROW ? &table->rows[row->parent] : NULL;
}

static struct mr_bytes expression_at(const struct mr_place_table *table, uint32_t offset)
{
    return (struct mr_bytes){table->expressions + offset + 1, table->expressions[offset]};
}

/* The expression that holds for a variable at the address; empty: none. */
static struct mr_bytes place_of(const struct mr_place_table *table, const struct mr_scope_variable *variable, uint64_t address)
{
    const struct mr_place_row *rows = table->places + variable->first;
    size_t count = mr_count_below(rows, variable->count, sizeof *rows, address + 1);
    bool holds = count > 0 && address < rows[count - 1].high;
    return expression_at(table, holds ? rows[count - 1].expression : 0);
}

/* LLVM may have lost a register of a function that it has put in the place of a call. Then it is where the code around has it,
 * but for sp, which the function may have moved. And ra is as the call has set it: what has ra for something else has stored
 * it where an unwinder finds it. */
uint32_t mr_places_find(struct mr_open_library *library, uint64_t file_address, uint32_t delta,
                        const struct mr_host_frame *frame, uint32_t values[MR_PLACE_REGISTERS])
{
    const struct mr_place_table *table = decoded(library);
    const struct mr_scope_variable *variables = table->variables;
    const struct mr_scope_row *row = innermost(table, file_address);
    uint32_t found = 0, ra = (uint32_t)1 << MR_REG_RA;
    uint32_t sp = (uint32_t)1 << MR_REG_SP, entry_sp = (uint32_t)1 << MR_PLACE_ENTRY_SP;
    for (int depth = 0; row != NULL && depth < MOST_AROUND; depth++, row = around(table, row)) {
        struct mr_bytes frame_base = expression_at(table, table->scopes[row->scope].frame_base);
        size_t at = mr_count_below(variables, table->variable_count, sizeof *variables, row->scope);
        uint32_t passed_over = depth > 0 ? found | sp | entry_sp : found;
        for (; at < table->variable_count && variables[at].scope == row->scope; at++) {
            uint32_t number = variables[at].number, bit = (uint32_t)1 << number;
            struct mr_bytes place = place_of(table, &variables[at], file_address);
            if ((passed_over & bit) == 0 && mr_location_value(place, frame_base, frame, &values[number]))
                found |= bit;
        }
        if ((found & ra) == 0 && table->scopes[row->scope].link_pc != 0) {
            values[MR_REG_RA] = table->scopes[row->scope].link_pc + delta;
            found |= ra;
        }
    }
    if ((found & entry_sp) != 0) {
        values[MR_REG_SP] = values[MR_PLACE_ENTRY_SP] - mr_lines_depth(library, file_address);
        found = (found & ~entry_sp) | sp;
    }
    return found;
}
