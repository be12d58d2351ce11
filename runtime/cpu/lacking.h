/* Names for instructions that this processor has not. */
#ifndef MR_CPU_LACKING_H
#define MR_CPU_LACKING_H

#include "mr_modules.h"

#include <stdint.h>

/* Returns the module of the architecture that an instruction is of, or NULL: one that every o32 program may use, or none. */
const char *mr_lacking_module(uint32_t word);

#endif
