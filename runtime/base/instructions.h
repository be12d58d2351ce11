/* Where instructions are (mipsrec/architecture.py): each has MR_INSTRUCTION_BYTES, and an address that is a multiple of them.
 * Those of MIPS16e code have one half or two, and pcs there have bit 0 set. */
#ifndef MR_BASE_INSTRUCTIONS_H
#define MR_BASE_INSTRUCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define MR_INSTRUCTION_BYTES 4u
#define MR_HALF_BYTES 2u /* delay slots of MIPS16e code have one half */

static inline bool mr_is_aligned(uint32_t pc)
{
    return pc % MR_INSTRUCTION_BYTES == 0;
}

static inline bool mr_is_mips16(uint32_t pc)
{
    return (pc & 1) != 0;
}

/* Whether an instruction of either kind can be at an address. */
static inline bool mr_may_be_code(uint32_t pc)
{
    return mr_is_aligned(pc) || mr_is_mips16(pc);
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

static inline uint32_t mr_half_index(uint32_t pc) /* the same for MIPS16e code */
{
    return pc / MR_HALF_BYTES;
}

#endif
