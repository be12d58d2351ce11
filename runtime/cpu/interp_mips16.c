/* Runs MIPS16e code (manual, volume IV-a), one instruction after the other.
 *
 * An instruction that MIPS32 has as well is performed by the function for that. s->pc has bit 0 set, as EPC would have. */
#include "base/counters.h"
#include "base/instructions.h"
#include "base/marks.h"
#include "cpu/interp.h"
#include "cpu/mips16.h"
#include "cpu/upcalls.h"

#define MR16_CALL_WORD (3u << 26) /* jal */

static uint32_t fetch_half(uint32_t pc)
{
    return mr_swap16(*(const volatile uint16_t *)((uintptr_t)mr_window + (pc & ~1u)));
}

static struct mr_mips16 fetched(uint32_t pc)
{
    uint32_t first = fetch_half(pc);
    return mr_mips16_decode(first, mr_mips16_is_long(first) ? fetch_half(pc + MR_HALF_BYTES) : 0);
}

static uint32_t plain(struct mr_state *s, uint32_t word, uint32_t next)
{
    return mr_perform(s, word, next);
}

/* ---- save and restore ---- */

static void restore(struct mr_state *s, uint32_t bits, uint32_t top)
{
    uint8_t numbers[MR16_MOST_SAVED];
    uint32_t values[MR16_MOST_SAVED];
    unsigned count = mr_mips16_saved(bits, numbers);
    for (unsigned i = 0; i < count; i++)
        values[i] = mr_peek32(top - 4 * (i + 1));
    for (unsigned i = 0; i < count; i++)
        set_gpr(s, numbers[i], values[i]);
    set_gpr(s, MR_REG_SP, top);
}

static void save(struct mr_state *s, uint32_t bits, uint32_t sp, uint32_t bytes)
{
    uint8_t numbers[MR16_MOST_SAVED];
    unsigned count = mr_mips16_saved(bits, numbers);
    for (unsigned i = 0; i < mr_mips16_arguments(bits); i++)
        mr_poke32(sp + 4 * i, GPR(s, 4 + i));
    for (unsigned i = 0; i < count; i++)
        mr_poke32(sp - 4 * (i + 1), GPR(s, numbers[i]));
    set_gpr(s, MR_REG_SP, sp - bytes);
}

/* Of these the kernel emulates no access (unaligned.c): a misaligned one ends like one to the kernel's half, which this makes. */
static void check_frame(struct mr_mips16 found, uint32_t sp)
{
    const uint32_t kernel_half = 0x80000000u;
    if (sp % 4 != 0 && mr_mips16_accesses_frame(found))
        (void)*(const volatile uint8_t *)((uintptr_t)mr_window + (sp | kernel_half));
}

/* A fault comes before any register changes, so the instruction can be run again. */
static uint32_t save_or_restore(struct mr_state *s, struct mr_mips16 found, uint32_t next)
{
    uint32_t sp = GPR(s, MR_REG_SP), bytes = mr_mips16_frame_bytes(found);
    if (mr_mips16_is_unknown_frame(found.value))
        return raise_reserved(s, 0);
    check_frame(found, sp);
    if (found.kind == MR16_RESTORE)
        restore(s, found.value, sp + bytes);
    else
        save(s, found.value, sp, bytes);
    return next;
}

/* ---- instructions ---- */

/* What lies at pc; where it is in the delay slot of the jump at s->pc, `next` is the target. Only a jump's kind is left out. */
static uint32_t without_jump(struct mr_state *s, struct mr_mips16 found, uint32_t next)
{
    uint32_t base = mr_aligned_down(s->pc) + found.value;
    switch (found.kind) {
    case MR16_PLAIN: return plain(s, found.word, next);
    case MR16_PC_ADD: set_gpr(s, found.number, base); return next;
    case MR16_PC_LOAD: set_gpr(s, found.number, mr_peek32(base)); return next;
    case MR16_SAVE: case MR16_RESTORE: return save_or_restore(s, found, next);
    default: return raise_reserved(s, 0);
    }
}

/* An instruction of four bytes, a jump or a branch in a delay slot is unpredictable by the manual. */
static uint32_t in_slot(struct mr_state *s, uint32_t slot_pc, uint32_t target)
{
    uint32_t half = fetch_half(slot_pc);
    mr_mark(slot_pc, MR_HALF_BYTES, true);
    return mr_mips16_is_long(half) ? raise_reserved(s, 0) : without_jump(s, mr_mips16_decode(half, 0), target);
}

static bool is_taken(const struct mr_state *s, uint32_t branch)
{
    bool is_equal = GPR(s, rs(branch)) == GPR(s, rt(branch)), wants_equal = branch >> 26 == 0x04;
    return is_equal == wants_equal;
}

static uint32_t branch(const struct mr_state *s, struct mr_mips16 found, uint32_t next)
{
    bool taken = is_taken(s, found.word);
    if (mr_counting)
        mr_decide_branch(s, found.word, taken);
    return taken ? next + found.value : next;
}

uint32_t mr_mips16_step(struct mr_state *s, uint32_t pc)
{
    *(volatile uint32_t *)&s->pc = pc;
    struct mr_mips16 found = fetched(pc);
    uint32_t next = pc + found.size_bytes, target;
    mr_mark(pc, found.size_bytes, mr_mips16_jumps_alone(found));
    if (mr_comparing)
        mr_note_comparison(s, pc, found.kind == MR16_JUMP ? MR16_CALL_WORD : found.word);
    switch (found.kind) {
    case MR16_BRANCH: return branch(s, found, next);
    case MR16_JUMP:
        set_gpr(s, MR_REG_RA, next + MR_HALF_BYTES);
        return in_slot(s, next, (next & 0xf0000000u) | found.value);
    case MR16_JUMP_REGISTER: case MR16_JUMP_COMPACT: {
        bool has_slot = found.kind == MR16_JUMP_REGISTER;
        target = GPR(s, found.number);
        set_gpr(s, rd(found.word), has_slot ? next + MR_HALF_BYTES : next);
        next = has_slot ? in_slot(s, next, target) : target;
        if (mr_counting && next == target)
            mr_decide_jump(s, found.number, target);
        return next;
    }
    default: return without_jump(s, found, next);
    }
}
