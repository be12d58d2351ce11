/* Where instructions are (mipsrec/architecture.py): each has MR_INSTRUCTION_BYTES, and an address that is a multiple of them. */
#ifndef MR_BASE_INSTRUCTIONS_H
#define MR_BASE_INSTRUCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define MR_INSTRUCTION_BYTES 4u

static inline bool mr_is_aligned(uint32_t pc)
{
    return pc % MR_INSTRUCTION_BYTES == 0;
}

static inline uint32_t mr_aligned_down(uint32_t pc)
{
    return pc - pc % MR_INSTRUCTION_BYTES;
}

static inline uint32_t mr_next_pc(uint32_t pc) /* of a branch or jump: its delay slot */
{
    return pc + MR_INSTRUCTION_BYTES;
}

static inline uint32_t mr_return_pc(uint32_t pc) /* behind the delay slot of a branch or jump at pc */
{
    return pc + 2 * MR_INSTRUCTION_BYTES;
}

static inline uint32_t mr_instruction_index(uint32_t pc) /* in tables with an entry for each instruction */
{
    return pc / MR_INSTRUCTION_BYTES;
}

#endif
