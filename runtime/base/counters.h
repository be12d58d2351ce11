/* Counters of decisions: which byte of the map each has. mipsrec/counters.py states the same rule, and says what counts.
 *
 * Every tier counts a decision when its delay slot is done. So what faults in a slot, and is executed again, counts once.
 */
#ifndef MR_BASE_COUNTERS_H
#define MR_BASE_COUNTERS_H

#include "base/instructions.h"
#include "mr_abi.h"

#include <stdbool.h>
#include <stdint.h>

/* The map, MR_COUNTER_BYTES; NULL where there is none. Recompiled code with counters has it also where nobody reads it. */
extern uint8_t *mr_counter_map;
extern bool mr_counting; /* the interpreter and the baseline tier are to count */
extern bool mr_comparing; /* all is interpreted, and what is compared is noted */
extern bool mr_noting;    /* the interpreter is to look before each instruction whether that is so, or marks (base/marks.h) */

/* Of a file, from two words of its ELF header. */
static inline uint32_t mr_counter_seed(uint32_t entry, uint32_t section_headers)
{
    uint32_t mixed = entry * MR_COUNTER_MULTIPLIER ^ section_headers * MR_COUNTER_MULTIPLIER;
    return mixed >> 15 & (MR_COUNTER_BYTES - 2);
}

/* The first counter of the decision at a pc, as `mipsrec disasm` shows it in a file of that seed. */
static inline uint32_t mr_counter_place(uint32_t seed, uint32_t pc)
{
    return (seed + (mr_is_mips16(pc) ? pc - 1 : pc >> 1)) & (MR_COUNTER_BYTES - 1);
}

/* The counter of a jump by a register, of which `first` is the one of its place. */
static inline uint32_t mr_counter_of_jump(uint32_t first, uint32_t target)
{
    return (first + (target * MR_COUNTER_MULTIPLIER >> (32 - MR_COUNTER_BITS))) & (MR_COUNTER_BYTES - 1);
}

/* Whether the condition of a branch is one: not that of `beq $0, $0`, or of any other that is always or never true. */
static inline bool mr_is_decision(uint32_t word)
{
    uint32_t opcode = word >> 26, rs = word >> 21 & 31, rt = word >> 16 & 31;
    switch (opcode & ~0x10u) { /* branches-likely, 0x14 to 0x17, are as those without */
    case 0x04: case 0x05: return rs != rt;             /* beq bne */
    case 0x06: case 0x07: return rs != 0;              /* blez bgtz */
    case 0x01: return opcode != 0x01 || rs != 0 || rt == 0x1c; /* bltz bgez and their kin, bposge32; 0x11: bc1f bc1t */
    default: return true;
    }
}

/* Counts up, from 255 to 1. Threads may lose a count to each other, as they do in recompiled code. */
static inline void mr_count(uint32_t counter)
{
    uint8_t more = (uint8_t)(*(volatile uint8_t *)&mr_counter_map[counter] + 1);
    *(volatile uint8_t *)&mr_counter_map[counter] = (uint8_t)(more + (more == 0));
}

#endif
