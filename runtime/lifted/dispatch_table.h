/* The dispatch table: which guest pc has a lifted function. */
#ifndef MR_LIFTED_DISPATCH_TABLE_H
#define MR_LIFTED_DISPATCH_TABLE_H

#include "base/instructions.h"
#include "mr_abi.h"
#include "mr_state.h"

#include <stddef.h>
#include <stdint.h>

/* Calls a lifted function, whose calling convention only its library knows. */
extern uint32_t (*mr_enter)(struct mr_state *s, mr_function function);
/* By the index of every instruction: the lifted function as a displacement from mr_fallback, 0 where there is none. */
extern int32_t *mr_dispatch;
extern int32_t *mr_dispatch16; /* the same for MIPS16e code, by mr_half_index */
extern uint8_t *mr_fallback; /* the start of all lifted code: a jump to the function that calls mr_call */
/* Whether the table lacks entries of a chunk of guest code that some module has; and puts them in (lifted/module.c). */
#define MR_CODE_CHUNK_SHIFT 16
extern uint8_t mr_code_pending[1u << (32 - MR_CODE_CHUNK_SHIFT)];
int32_t mr_dispatch_fill(uint32_t pc); /* returns the entry of pc then */
/* NULL: no table has entries for such a pc. */
static inline int32_t *mr_dispatch_entry(uint32_t pc)
{
    if (mr_is_aligned(pc))
        return &mr_dispatch[mr_instruction_index(pc)];
    return mr_is_mips16(pc) && pc < MR_USER_END ? &mr_dispatch16[mr_half_index(pc)] : NULL;
}

static inline mr_function mr_lookup(uint32_t pc)
{
    const int32_t *entry = mr_dispatch_entry(pc);
    if (entry == NULL)
        return NULL;
    int32_t displacement = __atomic_load_n(entry, __ATOMIC_RELAXED);
    if (displacement == 0 && __atomic_load_n(&mr_code_pending[pc >> MR_CODE_CHUNK_SHIFT], __ATOMIC_ACQUIRE) != 0)
        displacement = mr_dispatch_fill(pc);
    return displacement != 0 ? (mr_function)(uintptr_t)(mr_fallback + displacement) : NULL;
}

void mr_dispatch_reserve(void);
/* Makes table entries [low_pc, high_pc) writable, which are below 2^31; also those of MIPS16e code. */
void mr_dispatch_open(uint32_t low_pc, uint32_t high_pc);
void mr_dispatch_open16(uint32_t low_pc, uint32_t high_pc);

#endif
