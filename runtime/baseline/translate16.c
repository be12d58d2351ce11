/* Translates MIPS16e code to a unit of host code, by the stencils of the MIPS32 instructions that do the same.
 *
 * Enters: halves from an odd pc on. Leaves: a unit (code_cache.c). Some instructions are several of MIPS32: save and restore
 * are accesses and an addition, what is relative to the pc begins with a lui. These are entered at their first only, and all
 * of them are at the pc of the instruction. Each can be performed again from the start when an access faults.
 */
#include "base/counters.h"
#include "baseline/parts.h"
#include "baseline/writer.h"
#include "cpu/mips16.h"
#include "memory/memory.h"
#include "mr_stencil_numbers.h"

struct code {
    uint32_t start;
    const uint16_t *halves;
    unsigned count; /* of halves */
};

/* Returns false where the halves end. */
static bool decode(const struct code *code, uint32_t pc, struct mr_mips16 *found)
{
    uint32_t index = mr_half_index(pc - code->start);
    if (index >= code->count || (mr_mips16_is_long(code->halves[index]) && index + 1 >= code->count))
        return false;
    *found = mr_mips16_decode(code->halves[index], index + 1 < code->count ? code->halves[index + 1] : 0);
    return true;
}

/* ---- jumps; all return false where the interpreter is to perform jump and slot ---- */

static void link_to(struct mr_writer *w, uint32_t return_pc)
{
    mr_emit_own(w, MR_OWN_LINK, mr_gpr_class(MR_REG_RA),
                (struct mr_origin){(uint32_t)MR_REG_RA << 21, return_pc - 2 * MR_INSTRUCTION_BYTES, 0});
}

static bool branch(struct mr_writer *w, struct mr_mips16 found, uint32_t pc)
{
    const struct mr_row *row = mr_row_of(found.word);
    uint32_t target = pc + found.size_bytes + found.value;
    struct mr_origin origin = {found.word, pc, target};
    struct mr_plan not_taken, taken;
    mr_add_place(w, pc, false);
    if (!mr_counting && target > pc && mr_plan_make(w, row, row->taken, found.word, &taken)) {
        mr_plan_carry_out(w, &taken, origin);
        w->ended = mr_is_unconditional(taken.stencil);
        w->in_temp = 0;
        return true;
    }
    if (!mr_plan_make(w, row, row->entry, found.word, &not_taken))
        return false;
    mr_emit_jump_over(w, &not_taken, origin);
    mr_emit_branch_count(w, found.word, pc, true);
    mr_emit_way(w, target, pc);
    w->ended = !mr_land(w);
    if (!w->ended)
        mr_emit_branch_count(w, found.word, pc, false);
    return true;
}

/* Plans the slot of a jump. Returns false where it is no instruction that a unit can have there. */
static bool plan_slot(const struct mr_writer *w, const struct code *code, uint32_t pc, uint32_t *word)
{
    struct mr_mips16 slot;
    struct mr_plan plan;
    if (!decode(code, pc, &slot) || slot.kind != MR16_PLAIN || slot.size_bytes != MR_HALF_BYTES)
        return false;
    *word = slot.word;
    return mr_plan_instruction(w, mr_row_of(slot.word), slot.word, &plan);
}

static bool jump(struct mr_writer *w, const struct code *code, struct mr_mips16 found, uint32_t pc)
{
    uint32_t next = pc + found.size_bytes, slot_word;
    if (!plan_slot(w, code, next, &slot_word))
        return false;
    mr_add_place(w, pc, false);
    w->in_temp = 0;
    link_to(w, next + MR_HALF_BYTES);
    mr_emit_mark(w, next, MR_HALF_BYTES, true);
    mr_emit_instruction(w, slot_word, pc, false);
    mr_emit_way(w, (next & 0xf0000000u) | found.value, pc);
    return true;
}

static bool jump_register(struct mr_writer *w, const struct code *code, struct mr_mips16 found, uint32_t pc)
{
    const struct mr_row *row = mr_row_of(found.word);
    uint32_t next = pc + found.size_bytes, slot_word = 0;
    bool has_slot = found.kind == MR16_JUMP_REGISTER, links = (found.word >> 11 & 31) != 0;
    if (links && found.number == MR_REG_RA)
        return false;
    if (has_slot && (!plan_slot(w, code, next, &slot_word) ||
                     mr_slot_conflicts(row, mr_entry_point(row->entry), found.word, slot_word)))
        return false;
    mr_add_place(w, pc, false);
    w->in_temp = 0;
    if (links)
        link_to(w, has_slot ? next + MR_HALF_BYTES : next);
    if (has_slot) {
        mr_emit_mark(w, next, MR_HALF_BYTES, true);
        mr_emit_instruction(w, slot_word, pc, false);
    }
    mr_emit_jump_count(w, found.number, pc);
    mr_emit_own(w, MR_OWN_JUMP16, mr_gpr_class(found.number), (struct mr_origin){(uint32_t)found.number << 21, pc, 0});
    w->ended = true;
    return true;
}

/* ---- a unit ---- */

/* The interpreter performs save and restore where sp is misaligned. */
static void check_frame(struct mr_writer *w, uint32_t pc)
{
    uint32_t number = MR_REG_SP;
    mr_emit_own(w, MR_OWN_WORDS_AT, mr_gpr_class(number), (struct mr_origin){number << 21, pc, 0});
}

static bool without_jump(struct mr_writer *w, struct mr_mips16 found, const uint32_t *words, unsigned count, uint32_t pc)
{
    struct mr_plan plan;
    for (unsigned i = 0; i < count; i++)
        if (!mr_plan_instruction(w, mr_row_of(words[i]), words[i], &plan))
            return false;
    if (mr_mips16_accesses_frame(found))
        check_frame(w, pc);
    for (unsigned i = 0; i < count; i++)
        mr_emit_instruction(w, words[i], pc, false);
    return count > 0;
}

/* A load that is relative to the pc is two instructions, of which the first one changes the target. So the interpreter performs
 * one that faults. */
static bool loads_from_nowhere(struct mr_mips16 found, uint32_t pc)
{
    return found.kind == MR16_PC_LOAD &&
           !mr_accessible(mr_aligned_down(pc) + found.value, MR_INSTRUCTION_BYTES, MR_READ);
}

/* `words`: the instructions of MIPS32 that do the same, where it is no jump. */
static bool instruction(struct mr_writer *w, const struct code *code, struct mr_mips16 found, const uint32_t *words,
                        unsigned count, uint32_t pc)
{
    switch (found.kind) {
    case MR16_BRANCH: return branch(w, found, pc);
    case MR16_JUMP: return jump(w, code, found, pc);
    case MR16_JUMP_REGISTER: case MR16_JUMP_COMPACT: return jump_register(w, code, found, pc);
    default: return !loads_from_nowhere(found, pc) && without_jump(w, found, words, count, pc);
    }
}

static bool has_slot(struct mr_mips16 found)
{
    return found.kind == MR16_JUMP || found.kind == MR16_JUMP_REGISTER;
}

bool mr_translate16(struct mr_state *s, uint32_t pc, const uint16_t *halves, unsigned count)
{
    static struct mr_writer writer;
    struct mr_writer *w = &writer;
    struct code code = {pc, halves, count};
    struct mr_mips16 found;
    uint32_t words[MR16_MOST_WORDS];
    unsigned instructions = 0, emitted = 0;
    mr_writer_begin(w, s, pc);
    if (w->code == NULL)
        return false;
    while (!w->ended && emitted + MR16_MOST_WORDS < MR_UNIT_INSTRUCTIONS && decode(&code, pc, &found)) {
        if (pc != w->start && mr_is_taken(s, pc))
            break;
        unsigned word_count = mr_mips16_words(found, pc, words);
        w->entries[mr_half_index(pc - w->start)] = (uint32_t)(w->at - w->code) + 1;
        w->in_temp = 0; /* so that every instruction may be entered */
        mr_emit_mark(w, pc, found.size_bytes, mr_mips16_jumps_alone(found));
        if (!instruction(w, &code, found, words, word_count, pc))
            mr_emit_perform(w, pc);
        instructions++;
        emitted += word_count + 2;
        pc += found.size_bytes + (has_slot(found) ? MR_HALF_BYTES : 0);
    }
    if (instructions == 0)
        return false;
    if (!w->ended)
        mr_emit_jump(w, pc);
    return mr_writer_finish(w, pc, instructions);
}
