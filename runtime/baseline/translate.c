/* Translates guest instructions to a unit of host code.
 *
 * Enters: guest words from a pc on. Leaves: a unit (code_cache.c). The instructions are taken in order, up to a jump that is
 * always taken, to where other code begins, or to the unit's greatest length.
 *
 * Delay slots. The slot of a branch comes first where it writes nothing that the branch reads; else it stands on both ways.
 * Either way nothing of the branch but its link has happened when the slot faults, so that the branch is what the guest's
 * handler comes back to. A branch that goes backwards, and every jump to a register, looks whether a signal waits.
 *
 * Where guest code may change without notice, a unit is a row of segments. Each begins with a comparison of its words with
 * those that were translated, can be entered only there, and ends at the latest behind a store. So what an instruction
 * stores is seen by the next one.
 */
#include "base/counters.h"
#include "base/instructions.h"
#include "base/marks.h"
#include "baseline/parts.h"
#include "baseline/writer.h"
#include "cpu/upcalls.h"
#include "memory/values.h"
#include "mr_stencil_numbers.h"

#include <string.h>

#define MOST_BYTES ((size_t)700 * MR_UNIT_INSTRUCTIONS)

/* ---- jumps ---- */

static unsigned link_register(const struct mr_row *row, uint32_t word)
{
    return row->link == 32 ? word >> 11 & 31 : row->link;
}

static void link_to(struct mr_writer *w, unsigned number, uint32_t pc)
{
    if (number != 0)
        mr_emit_own(w, MR_OWN_LINK, mr_gpr_class(number), (struct mr_origin){(uint32_t)number << 21, pc, 0});
}

bool mr_slot_conflicts(const struct mr_row *branch, const struct mr_entry_point *entry, uint32_t word, uint32_t slot_word)
{
    const struct mr_row *slot = mr_row_of(slot_word);
    if ((branch->flags & MR_READS_FCC) != 0 && (slot->flags & MR_WRITES_FCC) != 0)
        return true;
    if ((branch->flags & MR_READS_DSP) != 0 && (slot->flags & MR_WRITES_DSP) != 0)
        return true;
    const struct mr_entry_point *slot_entry = mr_entry_point(slot->entry);
    for (unsigned i = 0; i < slot_entry->choice_count; i++) {
        const struct mr_choice *written = &slot_entry->choices[i];
        if (!written->writes || !mr_is_gpr(written))
            continue;
        for (unsigned j = 0; j < entry->choice_count; j++)
            if ((slot_word >> written->shift & 31) == (word >> entry->choices[j].shift & 31))
                return true;
    }
    return false;
}

void mr_emit_way(struct mr_writer *w, uint32_t target, uint32_t pc)
{
    if (target > pc) {
        mr_emit_jump(w, target);
        return;
    }
    mr_add_place(w, pc, false);
    mr_emit_own(w, MR_OWN_POLL, 0, (struct mr_origin){0, pc, target});
    w->at = mr_write_stub(w->at, mr_entrance.link, target);
    w->ended = true;
}

/* Writes the jump over what is written until `land`, for where a branch is not taken. */
void mr_emit_jump_over(struct mr_writer *w, const struct mr_plan *not_taken, struct mr_origin origin)
{
    w->local_count = 0;
    origin.target = MR_LOCAL_PC;
    mr_plan_carry_out(w, not_taken, origin);
}

bool mr_land(struct mr_writer *w)
{
    w->in_temp = 0;
    for (unsigned i = 0; i < w->local_count; i++)
        mr_write_displacement(w->locals[i], w->at);
    return w->local_count > 0;
}

void mr_emit_branch_count(struct mr_writer *w, uint32_t word, uint32_t pc, bool taken)
{
    uint32_t counter;
    if (!mr_counting || !mr_is_decision(word) || !mr_counter_at(pc, &counter))
        return;
    w->at = mr_write_count(w->at, counter + taken);
    w->in_temp = 0;
}

void mr_emit_jump_count(struct mr_writer *w, unsigned number, uint32_t pc)
{
    uint32_t counter;
    if (!mr_counting || number == MR_REG_RA || !mr_counter_at(pc, &counter))
        return;
    mr_emit_fetch(w, number);
    w->at = mr_write_count_of_jump(w->at, counter);
}

void mr_emit_mark(struct mr_writer *w, uint32_t pc, uint32_t size_bytes, bool ends)
{
    if (mr_marks != NULL)
        w->at = mr_write_mark(w->at, pc, mr_mark_value(size_bytes, ends));
}

static void mark_slot(struct mr_writer *w, uint32_t branch_pc)
{
    mr_emit_mark(w, mr_next_pc(branch_pc), MR_INSTRUCTION_BYTES, true);
}

bool mr_is_unconditional(const struct mr_stencil *stencil)
{
    return stencil->hole_count == 1 && stencil->size_bytes == MR_JUMP_BYTES;
}

/* These return false where the interpreter is to perform branch and slot. */

static bool branch(struct mr_writer *w, const struct mr_row *row, uint32_t word, uint32_t pc)
{
    uint32_t slot_word = mr_word_at(w, mr_next_pc(pc)), target = mr_next_pc(pc) + ((uint32_t)(int16_t)word << 2);
    struct mr_origin origin = {word, pc, target};
    struct mr_plan not_taken, taken;
    unsigned link = link_register(row, word);
    if (!mr_plan_make(w, row, row->entry, word, &not_taken) || (link != 0 && (word >> 21 & 31) == link))
        return false;
    bool likely = row->flow == MR_LIKELY, twice = !likely && mr_slot_conflicts(row, not_taken.entry, word, slot_word);
    link_to(w, link, pc);
    if (!likely)
        mark_slot(w, pc);
    if (!likely && !twice)
        mr_emit_instruction(w, slot_word, pc, false);
    if (!mr_counting && !likely && !twice && target > pc && mr_plan_make(w, row, row->taken, word, &taken)) {
        mr_plan_carry_out(w, &taken, origin);
        w->ended = mr_is_unconditional(taken.stencil);
        return true;
    }
    mr_emit_jump_over(w, &not_taken, origin);
    if (likely)
        mark_slot(w, pc);
    if (likely || twice)
        mr_emit_instruction(w, slot_word, pc, false);
    mr_emit_branch_count(w, word, pc, true);
    mr_emit_way(w, target, pc);
    w->ended = !mr_land(w);
    if (w->ended)
        return true;
    if (twice)
        mr_emit_instruction(w, slot_word, pc, false);
    mr_emit_branch_count(w, word, pc, false);
    return true;
}

static bool jump(struct mr_writer *w, const struct mr_row *row, uint32_t word, uint32_t pc)
{
    link_to(w, link_register(row, word), pc);
    mark_slot(w, pc);
    mr_emit_instruction(w, mr_word_at(w, mr_next_pc(pc)), pc, false);
    mr_emit_way(w, (mr_next_pc(pc) & 0xf0000000u) | (word & 0x03ffffffu) << 2 | mr_is_jalx(word), pc);
    return true;
}

static bool jump_register(struct mr_writer *w, const struct mr_row *row, uint32_t word, uint32_t pc)
{
    uint32_t slot_word = mr_word_at(w, mr_next_pc(pc));
    struct mr_plan plan;
    unsigned link = link_register(row, word);
    if (!mr_plan_make(w, row, row->entry, word, &plan) || mr_slot_conflicts(row, plan.entry, word, slot_word) ||
        (link != 0 && (word >> 21 & 31) == link))
        return false;
    link_to(w, link, pc);
    mark_slot(w, pc);
    mr_emit_instruction(w, slot_word, pc, false);
    mr_emit_jump_count(w, word >> 21 & 31, pc);
    mr_plan_carry_out(w, &plan, (struct mr_origin){word, pc, 0});
    w->ended = true;
    return true;
}

static bool with_slot(struct mr_writer *w, const struct mr_row *row, uint32_t word, uint32_t pc)
{
    uint32_t slot_word = mr_word_at(w, mr_next_pc(pc));
    struct mr_plan slot;
    if (!mr_plan_instruction(w, mr_row_of(slot_word), slot_word, &slot))
        return false;
    mr_add_place(w, pc, false);
    if (slot.stencil != NULL || link_register(row, word) != 0 || mr_counting) /* TEMP is another when the branch looks at it */
        w->in_temp = 0;
    bool done = row->flow == MR_JUMP            ? jump(w, row, word, pc)
                : row->flow == MR_JUMP_REGISTER ? jump_register(w, row, word, pc)
                                                : branch(w, row, word, pc);
    w->in_temp = 0;
    return done;
}

/* ---- the end of a unit ---- */

static bool is_inside(const struct mr_writer *w, uint32_t pc)
{
    uint32_t distance = pc - w->start, index = distance / mr_place_bytes(w->start);
    return distance % mr_place_bytes(w->start) == 0 && index < MR_UNIT_HALVES && w->entries[index] != 0;
}

/* Puts a jump that can be redirected where the one of the site cannot. */
static void go_by_jump(struct mr_writer *w, struct mr_site *site)
{
    while (!mr_can_redirect(w->at + MR_JUMP_BYTES - 4))
        *w->at++ = 0;
    mr_write_displacement(site->displacement, w->at);
    w->at = mr_write_jump(w->at, w->at + MR_JUMP_BYTES);
    site->displacement = w->at - 4;
}

/* Gives every jump out of the unit its stub. `waits`: the stubs of those that may be redirected, by site. */
static void settle_sites(struct mr_writer *w, uint8_t *waits[MR_MOST_SITES])
{
    uint8_t *const targets[] = {mr_entrance.link, mr_entrance.perform, mr_entrance.stale};
    uint8_t *stub = NULL;
    for (unsigned i = 0; i < w->site_count; i++) {
        struct mr_site *site = &w->sites[i];
        bool same = i > 0 && site->wants == MR_STALE && site[-1].wants == MR_STALE && site->pc == site[-1].pc;
        waits[i] = NULL;
        if (site->wants == MR_GO_ON && is_inside(w, site->pc)) {
            mr_write_displacement(site->displacement, w->code + w->entries[(site->pc - w->start) / mr_place_bytes(w->start)] - 1);
            continue;
        }
        if (site->wants == MR_GO_ON && !mr_can_redirect(site->displacement))
            go_by_jump(w, site);
        if (!same) {
            stub = w->at;
            w->at = mr_write_stub(w->at, targets[site->wants], site->pc);
        }
        mr_write_displacement(site->displacement, stub);
        waits[i] = site->wants == MR_GO_ON ? stub : NULL;
    }
}

bool mr_writer_finish(struct mr_writer *w, uint32_t end_pc, uint32_t instruction_count)
{
    static uint8_t *waits[MR_MOST_SITES];
    settle_sites(w, waits);
    struct mr_unit_text text = {w->start, (end_pc - w->start) / mr_place_bytes(w->start), instruction_count, w->code,
                                (size_t)(w->at - w->code), w->entries, w->places, w->place_count};
    if (!mr_unit_add(w->s, &text))
        return false;
    for (unsigned i = 0; i < w->site_count; i++)
        if (waits[i] != NULL)
            mr_link(w->s, w->sites[i].displacement, waits[i], w->sites[i].pc);
    return true;
}

bool mr_is_taken(const struct mr_state *s, uint32_t pc)
{
    int32_t lifted = mr_is_mips16(pc) ? s->dispatch16[mr_half_index(pc)] : s->dispatch[mr_instruction_index(pc)];
    return mr_code_of(s, pc) != NULL || lifted != 0;
}

/* ---- segments ---- */

/* Whether the segment ends behind the instruction: it may store, or is performed by the interpreter, which may. */
static bool ends_segment(const struct mr_writer *w, const struct mr_row *row, uint32_t word)
{
    struct mr_plan plan;
    return !mr_plan_instruction(w, row, word, &plan) || (row->flags & MR_STORES) != 0;
}

static void find_segment_end(struct mr_writer *w, uint32_t pc)
{
    bool ends = false;
    for (w->segment_end = pc; !ends && mr_has_word(w, w->segment_end); w->segment_end += 4) {
        const struct mr_row *row = mr_row_of(mr_word_at(w, w->segment_end));
        if (w->segment_end != w->start && mr_is_taken(w->s, w->segment_end))
            return;
        ends = mr_row_has_slot(row) || ends_segment(w, row, mr_word_at(w, w->segment_end));
        if (mr_row_has_slot(row) && mr_has_word(w, mr_next_pc(w->segment_end)))
            w->segment_end += 4;
    }
}

static void compare_segment(struct mr_writer *w, uint32_t start)
{
    w->in_temp = 0;
    mr_add_place(w, start, false);
    for (uint32_t pc = start; pc < w->segment_end; pc += 8) {
        uint8_t *differs;
        unsigned count = mr_next_pc(pc) < w->segment_end ? 2 : 1;
        const uint32_t words[2] = {mr_swap32(mr_word_at(w, pc)), count == 2 ? mr_swap32(mr_word_at(w, mr_next_pc(pc))) : 0};
        w->at = mr_write_check(w->at, (uintptr_t)mr_window, pc, words, count, pc == start, &differs);
        mr_add_site(w, differs, start, MR_STALE);
    }
}

/* Has control come to pc when all before is done. */
static void enter_at(struct mr_writer *w, uint32_t pc)
{
    bool begins = pc == w->start || (w->changing && pc >= w->segment_end);
    if (w->changing && !begins)
        return;
    w->entries[mr_instruction_index(pc - w->start)] = (uint32_t)(w->at - w->code) + 1;
    if (!w->changing) {
        w->segment_end = w->start + MR_INSTRUCTION_BYTES * w->count;
    } else {
        find_segment_end(w, pc);
        compare_segment(w, pc);
    }
}

/* The instruction at pc relies on TEMP: nobody enters it from elsewhere, nor the ones right before it that have no code. */
static void drop_entry(struct mr_writer *w, uint32_t pc)
{
    uint32_t entry = w->entries[mr_instruction_index(pc - w->start)];
    for (uint32_t i = mr_instruction_index(pc - w->start); i > 0; i--) {
        if (w->entries[i] == entry)
            w->entries[i] = 0;
        else if (w->entries[i] != 0)
            return;
    }
}

/* An instruction that relied on TEMP could not be entered by way of a nop before it, whose mark is code. */
static void mark_entry(struct mr_writer *w, uint32_t pc)
{
    if (mr_marks == NULL)
        return;
    w->in_temp = 0;
    mr_emit_mark(w, pc, MR_INSTRUCTION_BYTES, false);
}

/* ---- a unit ---- */

void mr_emit_perform(struct mr_writer *w, uint32_t pc)
{
    w->at = mr_write_stub(w->at, mr_entrance.perform, pc);
    w->in_temp = 0;
}

void mr_writer_begin(struct mr_writer *w, struct mr_state *s, uint32_t pc)
{
    memset(w, 0, offsetof(struct mr_writer, sites));
    memset(w->entries, 0, sizeof w->entries);
    w->s = s;
    w->start = pc;
    w->set = (unsigned)mr_big_endian + (mr_window != NULL ? 2 : 0);
    w->code = w->at = mr_code_room(s, MOST_BYTES);
}

bool mr_translate(struct mr_state *s, uint32_t pc, const uint32_t *words, unsigned count, bool changing)
{
    static struct mr_writer writer;
    struct mr_writer *w = &writer;
    mr_writer_begin(w, s, pc);
    w->words = words;
    w->count = count;
    w->changing = changing;
    if (w->code == NULL || count == 0)
        return false;
    while (!w->ended && mr_has_word(w, pc)) {
        uint32_t word = mr_word_at(w, pc);
        const struct mr_row *row = mr_row_of(word);
        bool slot = mr_row_has_slot(row);
        if ((pc != w->start && mr_is_taken(s, pc)) || (slot && !mr_has_word(w, mr_next_pc(pc))))
            break;
        enter_at(w, pc);
        mark_entry(w, pc);
        w->used_temp = false;
        if (slot ? !with_slot(w, row, word, pc) : !mr_emit_instruction(w, word, pc, mr_is_overtaken(w, pc)))
            mr_emit_perform(w, pc);
        if (w->used_temp)
            drop_entry(w, pc);
        pc += slot ? 8 : 4;
    }
    if (pc == w->start)
        return false;
    if (!w->ended)
        mr_emit_jump(w, pc);
    return mr_writer_finish(w, pc, mr_instruction_index(pc - w->start));
}
