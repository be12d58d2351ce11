/* The functions of the host that recompiled code imports. */
#include "lifted/upcalls.h"
#include "mr_abi.h"

#include <math.h>
#include <string.h>

/* Those that recompiled code calls by name, and those of the C library that LLVM makes of operations. */
#define IMPORTS(X) MR_ABI_FUNCTIONS(X) MR_C_LIBRARY_FUNCTIONS(X)

#define ROW(function) {#function, (uintptr_t)function},
const struct mr_import mr_imports[] = {IMPORTS(ROW)};
const size_t mr_import_count = sizeof mr_imports / sizeof *mr_imports;
