/* What recompiled code asks of the host: the functions that it imports, which are defined in folders above (imports.c). */
#ifndef MR_LIFTED_UPCALLS_H
#define MR_LIFTED_UPCALLS_H

#include <stddef.h>
#include <stdint.h>

struct mr_import {
    const char *name;
    uintptr_t address;
};
extern const struct mr_import mr_imports[];
extern const size_t mr_import_count;

#endif
