/* Where recompiled code has the guest's registers that are not in the state: in the host's registers and on its stack.
 *
 * LLVM says so in DWARF: each of these registers is a variable of the function's (mipsrec/emit/places.py). Libraries have a
 * shorter table of it (mipsrec/native/place_table.py), with the same expressions.
 */
#ifndef MR_LIFTED_PLACES_H
#define MR_LIFTED_PLACES_H

#include "lifted/library.h"

#include <ucontext.h>

/* What the handler of a signal knows of the code that it has interrupted. */
struct mr_host_frame {
    const ucontext_t *context;
    uintptr_t stack_low, stack_high; /* what may be read of the stack */
};

/* Number 0, whose register needs no place, has what sp was at the entry of the function. */
enum { MR_PLACE_REGISTERS = 32, MR_PLACE_ENTRY_SP = 0 };

/* ---- places.c ---- */
/* Finds the registers that the code at an address of the file has; `delta` is added to pcs. Returns the bits of those that are
 * found. */
uint32_t mr_places_find(struct mr_open_library *library, uint64_t file_address, uint32_t delta,
                        const struct mr_host_frame *frame, uint32_t values[MR_PLACE_REGISTERS]);

/* ---- places_table.c: the table that places.c looks in ---- */
/* Host code from low to high; the rows of one scope may be several. Those of the scopes around it come before. */
struct mr_scope_row {
    uint32_t low, high, scope, parent; /* parent: the row that it lies in, or MR_NO_ROW */
};
struct mr_scope {
    uint32_t frame_base; /* an expression */
    uint32_t link_pc;    /* of a function that stands in the place of its call: ra, as the call has set it; 0: not known */
};
#define MR_NO_ROW UINT32_MAX
struct mr_scope_variable {
    uint32_t scope, number, first, count; /* sorted by scope; number: of the guest's register; its rows of `places` */
};
struct mr_place_row {
    uint32_t low, high, expression; /* from low to high the expression holds; the rows of a variable are sorted */
};
struct mr_place_table {
    struct mr_scope_row *rows;
    struct mr_scope_variable *variables;
    struct mr_place_row *places;
    struct mr_scope *scopes;
    uint8_t *expressions;  /* each with its length before it; the first one is empty */
    size_t row_count, variable_count, place_count, scope_count, expression_bytes;
};
void mr_places_decode(const struct mr_library_file *file, struct mr_place_table *table);

/* ---- location.c ---- */
/* Evaluates the expression for where a word is. Returns false where it does not say. */
bool mr_location_value(struct mr_bytes expression, struct mr_bytes frame_base, const struct mr_host_frame *frame,
                       uint32_t *value);

#endif
