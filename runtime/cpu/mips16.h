/* MIPS16e code (manual, volume IV-a): instructions of two bytes, or four, at addresses with bit 0 set. */
#ifndef MR_MIPS16_H
#define MR_MIPS16_H

#include "base/instructions.h"
#include "mr_state.h"

#include <stdbool.h>
#include <stdint.h>

/* What an instruction does besides, or in place of, what `word` does. */
enum mr_mips16_kind {
    MR16_PLAIN,         /* nothing: the MIPS32 instruction `word` does the same */
    MR16_PC_LOAD,       /* loads the word at base + value into register `number`; base: the pc without its low two bits */
    MR16_PC_ADD,        /* register `number` gets base + value */
    MR16_BRANCH,        /* goes to the pc behind + value, under the condition of the MIPS32 branch `word`; no delay slot */
    MR16_JUMP,          /* jal, jalx: to value within the region, which has bit 0 where the target is MIPS16 code */
    MR16_JUMP_REGISTER, /* jr, jalr to register `number`: `word`, with a delay slot */
    MR16_JUMP_COMPACT,  /* jrc, jalrc: without one */
    MR16_SAVE,          /* the bits of save and restore, as save_word has them, are in value */
    MR16_RESTORE,
    MR16_RESERVED,
};

struct mr_mips16 {
    enum mr_mips16_kind kind;
    uint8_t size_bytes, number;
    uint32_t word;
    uint32_t value;
};

/* Decodes an instruction of which `second` is the second half; of one with two bytes it is not looked at. */
struct mr_mips16 mr_mips16_decode(uint32_t first, uint32_t second);
static inline bool mr_mips16_is_long(uint32_t first)
{
    return first >> 11 == 0x1e || first >> 11 == 0x03; /* extend, jal */
}

static inline bool mr_mips16_jumps_alone(struct mr_mips16 found) /* it is a jump or branch without a delay slot */
{
    return found.kind == MR16_BRANCH || found.kind == MR16_JUMP_COMPACT;
}

/* Of save and restore, with the bits that are in `value`. */
#define MR16_MOST_SAVED 14u
/* Writes the registers that are in words below the frame's top, from there down; returns how many. */
unsigned mr_mips16_saved(uint32_t bits, uint8_t numbers[MR16_MOST_SAVED]);
unsigned mr_mips16_arguments(uint32_t bits); /* how many of a0 up save stores above the frame's top */
uint32_t mr_mips16_frame_bytes(struct mr_mips16 found);
bool mr_mips16_accesses_frame(struct mr_mips16 found); /* it is a save or restore that stores or loads something */
static inline bool mr_mips16_is_unknown_frame(uint32_t bits) /* it is reserved */
{
    return (bits >> 16 & 15) == 15;
}

/* Writes the MIPS32 instructions that do what the one at a pc does, and returns how many there are: 0 for a jump, and where
 * it is reserved. Where an access faults, they can be performed again from the first on. */
#define MR16_MOST_WORDS (MR16_MOST_SAVED + 5u) /* arguments, saved registers, and the new sp */
unsigned mr_mips16_words(struct mr_mips16 found, uint32_t pc, uint32_t words[MR16_MOST_WORDS]);

/* Runs the instruction at an odd pc, and its delay slot; returns the pc to go on at. */
uint32_t mr_mips16_step(struct mr_state *s, uint32_t pc);

#endif
