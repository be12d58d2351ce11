/* Translates guest instructions to a unit of host code.
 *
 * Enters: guest words from a pc on. Leaves: a unit (code_cache.c). The instructions are taken in order, up to a jump that is
 * always taken, to where other code begins, or to the unit's greatest length.
 *
 * Delay slots. The slot of a branch comes first where it writes nothing that the branch reads; else it stands on both ways.
 * Either way nothing of the branch but its link has happened when the slot faults, so that the branch is what the guest's
 * handler comes back to. A branch that goes backwards, and every jump to a register, looks whether a signal waits.
 *
 * A result that is not pinned goes to the state through TEMP, and the next instruction may find it there. Such an instruction
 * has no entry, and a nop right before it has none: control that comes from elsewhere gets a unit that begins there.
 *
 * Where guest code may change without notice, a unit is a row of segments. Each begins with a comparison of its words with
 * those that were translated, can be entered only there, and ends at the latest behind a store. So what an instruction
 * stores is seen by the next one.
 *
 * FCSR's causes are those of the last instruction that computed. Its word and its operands are stored before it, unless
 * another one computes before anybody can look.
 */
#if defined(__x86_64__)
#include "baseline/parts.h"
#include "cpu/fpu.h"
#include "memory/values.h"
#include "mr_stencil_numbers.h"

#include <string.h>

#define MOST_SITES (5 * MR_UNIT_INSTRUCTIONS)
#define MOST_PLACES (4 * MR_UNIT_INSTRUCTIONS)
#define MOST_LOCALS 4u
#define LOCAL_PC 1u /* a target: no instruction is there */
#define MOST_BYTES ((size_t)600 * MR_UNIT_INSTRUCTIONS)

/* A displacement to be filled in at the end. */
struct site {
    uint8_t *displacement;
    uint32_t pc;           /* the target */
    enum mr_outcome wants; /* when control leaves translated code there */
};

struct writer {
    struct mr_state *s;
    uint32_t start;
    const uint32_t *words;
    unsigned count; /* of words */
    bool changing;  /* the guest may write them */
    uint32_t segment_end; /* pc */
    unsigned in_temp;     /* the register that TEMP holds a copy of, or 0 */
    bool used_temp;       /* the instruction that was written last relies on that */
    unsigned set;   /* of stencils of accesses */
    uint8_t *code, *at;
    unsigned site_count, place_count;
    bool ended;     /* nothing goes on behind what is written */
    uint8_t *locals[MOST_LOCALS]; /* displacements of jumps over what is written next */
    unsigned local_count;
    struct site sites[MOST_SITES];
    struct mr_unit_place places[MOST_PLACES];
    uint32_t entries[MR_UNIT_INSTRUCTIONS];
};

static uint32_t word_at(const struct writer *w, uint32_t pc)
{
    return w->words[(pc - w->start) / 4];
}

static bool has_word(const struct writer *w, uint32_t pc)
{
    return (pc - w->start) / 4 < w->count;
}

static void add_site(struct writer *w, uint8_t *displacement, uint32_t pc, enum mr_outcome wants)
{
    w->sites[w->site_count++] = (struct site){displacement, pc, wants};
}

static void add_place(struct writer *w, uint32_t pc, bool in_state)
{
    w->places[w->place_count++] = (struct mr_unit_place){(uint32_t)(w->at - w->code), pc | in_state};
}

/* ---- stencils ---- */

/* Of which instruction: its word, the address that the host reports, and where its branch goes. */
struct origin {
    uint32_t word, pc, target;
};

static void emit(struct writer *w, const struct mr_stencil *stencil, struct origin origin)
{
    const struct mr_hole *holes = mr_stencil_holes(stencil);
    w->in_temp = 0;
    mr_stencil_copy(stencil, w->at, origin.word, origin.pc, w->s->fr);
    for (unsigned i = 0; i < stencil->hole_count; i++) {
        uint8_t *at = w->at + holes[i].offset;
        if (holes[i].value == MR_EXIT_LEAVE_THERE)
            mr_write_displacement(at, mr_entrance.there);
        else if (holes[i].value == MR_EXIT_TAKEN && origin.target == LOCAL_PC && w->local_count < MOST_LOCALS)
            w->locals[w->local_count++] = at;
        else if (holes[i].value < MR_EXIT_COUNT)
            add_site(w, at, holes[i].value == MR_EXIT_TAKEN ? origin.target : origin.pc,
                     holes[i].value == MR_EXIT_LEAVE ? MR_PERFORM : MR_GO_ON);
    }
    w->at += stencil->size_bytes;
}

/* An operation of the translator's own on a register of a class. */
static void emit_own(struct writer *w, unsigned own, unsigned class_, uint32_t word, uint32_t pc)
{
    const struct mr_entry_point *entry = mr_entry_point(own);
    uint8_t classes[1] = {(uint8_t)class_};
    emit(w, mr_stencil(entry, 0, classes), (struct origin){word, pc, 0});
}

/* The same on a register: a word that names it where the operation does. */
static void emit_on(struct writer *w, unsigned own, unsigned class_, unsigned number)
{
    emit_own(w, own, class_, (uint32_t)number << mr_entry_point(own)->choices[0].shift, 0);
}

static void jump_to(struct writer *w, uint32_t pc)
{
    mr_write_jump(w->at, w->at);
    add_site(w, w->at + MR_JUMP_BYTES - 4, pc, MR_GO_ON);
    w->at += MR_JUMP_BYTES;
    w->ended = true;
}

static void write_stub(struct writer *w, const uint8_t *target, uint32_t pc)
{
    mr_write_stub(w->at, target, pc);
    w->at += MR_STUB_BYTES;
}

/* ---- operands ---- */

struct operand {
    unsigned number; /* register */
    unsigned own;    /* the class that it has by itself */
    unsigned pair;   /* of a floating-point register: the one whose class that is */
    unsigned class_; /* the one that the stencil wants */
    bool in_temp;    /* TEMP holds it already */
};

static bool is_gpr(const struct mr_choice *choice) { return choice->kind == MR_GPR; }

/* By the FR rule of mipsrec/state.py. */
static struct operand float_operand(const struct writer *w, unsigned number)
{
    unsigned pair = w->s->fr != 0 ? number : number & ~1u;
    return (struct operand){.number = number, .own = mr_float_class(pair), .pair = pair};
}

/* Returns false for a register that there is none of. */
static bool find_operand(const struct writer *w, const struct mr_choice *choice, uint32_t word, struct operand *operand)
{
    unsigned number = word >> choice->shift & 31;
    if (is_gpr(choice))
        *operand = (struct operand){.number = number, .own = mr_gpr_class(number), .pair = number};
    else
        *operand = float_operand(w, number);
    return choice->kind != MR_DOUBLE || operand->number == operand->pair;
}

static bool is_pinned(unsigned class_) { return class_ < MR_CLASS_MEMORY; }

/* The class of where the operand is by itself: of a single, perhaps the upper half of a pinned pair. */
static unsigned class_by_itself(const struct mr_choice *choice, const struct operand *operand)
{
    bool upper = choice->kind == MR_SINGLE && operand->number != operand->pair && is_pinned(operand->own);
    return upper ? operand->own + MR_CLASS_UPPER : operand->own;
}

/* Decides how the stencil gets an operand, or gives it. Returns false where it cannot. */
static bool choose_class(const struct mr_choice *choice, struct operand *operand)
{
    bool is_zero = is_gpr(choice) && operand->number == 0;
    if (mr_class_fits(choice, class_by_itself(choice, operand)))
        operand->class_ = class_by_itself(choice, operand);
    else if (!(choice->reads && choice->writes) && mr_class_fits(choice, MR_CLASS_TEMP) && !is_zero)
        operand->class_ = MR_CLASS_TEMP;
    else if (mr_class_fits(choice, MR_CLASS_MEMORY) && !(is_zero && choice->writes))
        operand->class_ = MR_CLASS_MEMORY; /* of register 0 the state holds 0 */
    else
        return false;
    return true;
}

/* Returns the class that a single is read by: the upper half of a pinned pair from the state, after the pair went there. */
static unsigned single_class(struct writer *w, const struct operand *operand)
{
    if (operand->number == operand->pair || !is_pinned(operand->own))
        return operand->own;
    emit_on(w, MR_OWN_SPILL_FLOAT, operand->own, operand->pair);
    return MR_CLASS_MEMORY;
}

static void fetch(struct writer *w, const struct mr_choice *choice, const struct operand *operand)
{
    if (choice->kind == MR_SINGLE)
        emit_on(w, MR_OWN_FETCH_SINGLE, single_class(w, operand), operand->number);
    else
        emit_on(w, is_gpr(choice) ? MR_OWN_FETCH : MR_OWN_FETCH_FLOAT, operand->own, operand->number);
}

static void bring(struct writer *w, const struct mr_choice *choice, const struct operand *operand)
{
    bool part = !is_gpr(choice) && choice->kind != MR_DOUBLE; /* writing it leaves the rest of the pair */
    if (operand->class_ == MR_CLASS_TEMP && choice->reads && !operand->in_temp)
        fetch(w, choice, operand);
    else if (operand->class_ == MR_CLASS_MEMORY && is_pinned(operand->own) && (choice->reads || part))
        emit_on(w, is_gpr(choice) ? MR_OWN_SPILL : MR_OWN_SPILL_FLOAT, operand->own, operand->pair);
}

static void take_back(struct writer *w, const struct mr_choice *choice, const struct operand *operand)
{
    if (choice->writes && operand->class_ == MR_CLASS_MEMORY && is_pinned(operand->own))
        emit_on(w, is_gpr(choice) ? MR_OWN_FILL : MR_OWN_FILL_FLOAT, operand->own, operand->pair);
    if (choice->writes && operand->class_ == MR_CLASS_TEMP) {
        emit_on(w, MR_OWN_KEEP, MR_CLASS_MEMORY, operand->number);
        w->in_temp = operand->number;
    }
}

/* ---- instructions ---- */

struct plan {
    const struct mr_entry_point *entry;
    const struct mr_stencil *stencil;
    struct operand operands[4];
    bool uses_temp; /* as it is when the plan is made */
};

/* Whether an instruction only writes register 0, and so does nothing. */
static bool does_nothing(const struct mr_row *row, const struct mr_entry_point *entry, uint32_t word)
{
    bool writes_zero = false;
    for (unsigned i = 0; i < entry->choice_count; i++)
        if (entry->choices[i].writes)
            writes_zero = is_gpr(&entry->choices[i]) && (word >> entry->choices[i].shift & 31) == 0;
    return writes_zero && (row->flags & (MR_ACCESSES | MR_MAY_LEAVE)) == 0;
}

static bool computes(const struct writer *w, const struct mr_row *row)
{
    bool changes_sign_only = (row->flags & MR_CHANGES_SIGN) != 0 && (w->s->fcsr & MR_FCSR_ABS2008) != 0;
    return (row->flags & MR_COMPUTES) != 0 && !changes_sign_only;
}

/* Whether the operand is to be brought where the stencil wants it, but for one that TEMP holds. */
static bool must_bring(const struct writer *w, const struct mr_choice *choice, const struct operand *operand)
{
    bool comes = operand->class_ == MR_CLASS_TEMP ? choice->reads : operand->class_ == MR_CLASS_MEMORY && is_pinned(operand->own);
    return comes && !(is_gpr(choice) && operand->number == w->in_temp);
}

/* Takes from TEMP what it holds, if nothing is brought there before. */
static void use_temp(const struct writer *w, struct plan *plan)
{
    if (w->in_temp == 0)
        return;
    for (unsigned i = 0; i < plan->entry->choice_count; i++)
        if (must_bring(w, &plan->entry->choices[i], &plan->operands[i]))
            return;
    for (unsigned i = 0; i < plan->entry->choice_count; i++) {
        const struct mr_choice *choice = &plan->entry->choices[i];
        struct operand *operand = &plan->operands[i];
        if (!is_gpr(choice) || !choice->reads || choice->writes || operand->number != w->in_temp ||
            !mr_class_fits(choice, MR_CLASS_TEMP))
            continue;
        operand->class_ = MR_CLASS_TEMP;
        operand->in_temp = plan->uses_temp = true;
    }
}

static bool make_plan(const struct writer *w, const struct mr_row *row, unsigned entry, uint32_t word, struct plan *plan)
{
    uint8_t classes[4];
    if (entry == MR_NO_ENTRY)
        return false;
    plan->entry = mr_entry_point(entry);
    plan->uses_temp = false;
    for (unsigned i = 0; i < plan->entry->choice_count; i++)
        if (!find_operand(w, &plan->entry->choices[i], word, &plan->operands[i]) ||
            !choose_class(&plan->entry->choices[i], &plan->operands[i]))
            return false;
    if (!computes(w, row))
        use_temp(w, plan);
    for (unsigned i = 0; i < plan->entry->choice_count; i++)
        classes[i] = (uint8_t)plan->operands[i].class_;
    plan->stencil = mr_stencil(plan->entry, (row->flags & MR_ACCESSES) != 0 ? w->set : 0, classes);
    return plan->stencil != NULL;
}

static void carry_out(struct writer *w, const struct plan *plan, struct origin origin)
{
    for (unsigned i = 0; i < plan->entry->choice_count; i++)
        bring(w, &plan->entry->choices[i], &plan->operands[i]);
    emit(w, plan->stencil, origin);
    w->used_temp |= plan->uses_temp;
    for (unsigned i = 0; i < plan->entry->choice_count; i++)
        take_back(w, &plan->entry->choices[i], &plan->operands[i]);
}

/* Whether there is code for an instruction that is no jump; in plan->stencil NULL where it does nothing. */
static bool plan_instruction(const struct writer *w, const struct mr_row *row, uint32_t word, struct plan *plan)
{
    plan->stencil = NULL;
    return row != NULL && row->flow == MR_NEXT && row->entry != MR_NO_ENTRY &&
           (does_nothing(row, mr_entry_point(row->entry), word) || make_plan(w, row, row->entry, word, plan));
}

static bool has_slot(const struct mr_row *row)
{
    return row != NULL && row->flow != MR_NEXT && row->flow != MR_LEAVE;
}

/* Whether the next instruction that matters is a jump whose slot, which is always executed, computes. */
static bool slot_computes(const struct writer *w, const struct mr_row *row, uint32_t pc)
{
    struct plan plan;
    if (row == NULL || row->flow == MR_LIKELY || !has_slot(row) || pc + 4 >= w->segment_end)
        return false;
    const struct mr_row *slot = mr_row_of(word_at(w, pc + 4));
    return plan_instruction(w, slot, word_at(w, pc + 4), &plan) && plan.stencil != NULL && computes(w, slot);
}

/* Whether another instruction computes before anybody can look at FCSR's causes. */
static bool is_overtaken(const struct writer *w, uint32_t pc)
{
    for (uint32_t next = pc + 4; next < w->segment_end; next += 4) {
        const struct mr_row *row = mr_row_of(word_at(w, next));
        struct plan plan;
        if (!plan_instruction(w, row, word_at(w, next), &plan))
            return slot_computes(w, row, next);
        if (computes(w, row))
            return true;
        if ((row->flags & (MR_ACCESSES | MR_MAY_LEAVE)) != 0)
            return false;
    }
    return false;
}

static void record(struct writer *w, const struct mr_row *row, uint32_t word)
{
    emit_own(w, MR_OWN_RECORD_WORD, 0, word, 0);
    for (unsigned i = 0; i < row->operand_count; i++) {
        struct operand operand = float_operand(w, word >> row->operands[i].shift & 31);
        bool is_single = row->operands[i].kind == MR_SINGLE;
        unsigned class_ = is_single ? single_class(w, &operand) : operand.own;
        bool is_word = is_single && class_ == MR_CLASS_MEMORY;
        emit_on(w, (is_word ? MR_OWN_RECORD_SINGLE_0 : MR_OWN_RECORD_0) + i, class_, operand.number);
    }
}

/* Whether an instruction that is no jump can be translated; in that case does it, as the one at `pc` for the guest. */
static bool instruction(struct writer *w, uint32_t word, uint32_t pc, bool overtaken)
{
    const struct mr_row *row = mr_row_of(word);
    struct plan plan;
    if (!plan_instruction(w, row, word, &plan))
        return false;
    if (plan.stencil == NULL)
        return true;
    add_place(w, pc, (row->flags & MR_SPILLED) != 0);
    if (computes(w, row) && !overtaken)
        record(w, row, word);
    carry_out(w, &plan, (struct origin){word, pc, 0});
    return true;
}

/* ---- jumps ---- */

static unsigned link_register(const struct mr_row *row, uint32_t word)
{
    return row->link == 32 ? word >> 11 & 31 : row->link;
}

static void link_to(struct writer *w, unsigned number, uint32_t pc)
{
    if (number != 0)
        emit_own(w, MR_OWN_LINK, mr_gpr_class(number), (uint32_t)number << 21, pc);
}

/* Whether the slot writes what the branch reads. */
static bool conflicts(const struct mr_row *branch, const struct mr_entry_point *entry, uint32_t word, uint32_t slot_word)
{
    const struct mr_row *slot = mr_row_of(slot_word);
    if ((branch->flags & MR_READS_FCC) != 0 && (slot->flags & MR_WRITES_FCC) != 0)
        return true;
    const struct mr_entry_point *slot_entry = mr_entry_point(slot->entry);
    for (unsigned i = 0; i < slot_entry->choice_count; i++) {
        const struct mr_choice *written = &slot_entry->choices[i];
        if (!written->writes || !is_gpr(written))
            continue;
        for (unsigned j = 0; j < entry->choice_count; j++)
            if ((slot_word >> written->shift & 31) == (word >> entry->choices[j].shift & 31))
                return true;
    }
    return false;
}

static void go_to(struct writer *w, uint32_t target, uint32_t pc)
{
    if (target > pc) {
        jump_to(w, target);
        return;
    }
    uint8_t classes[1] = {0};
    add_place(w, pc, false);
    emit(w, mr_stencil(mr_entry_point(MR_OWN_POLL), 0, classes), (struct origin){0, pc, target});
    write_stub(w, mr_entrance.link, target);
    w->ended = true;
}

/* Writes the jump over what is written until `land`, for where a branch is not taken. */
static void jump_over(struct writer *w, const struct plan *not_taken, struct origin origin)
{
    w->local_count = 0;
    origin.target = LOCAL_PC;
    carry_out(w, not_taken, origin);
}

/* Returns false where no way comes here. */
static bool land(struct writer *w)
{
    w->in_temp = 0;
    for (unsigned i = 0; i < w->local_count; i++)
        mr_write_displacement(w->locals[i], w->at);
    return w->local_count > 0;
}

static bool is_unconditional(const struct mr_stencil *stencil)
{
    return stencil->hole_count == 1 && stencil->size_bytes == MR_JUMP_BYTES;
}

/* These return false where the interpreter is to perform branch and slot. */

static bool branch(struct writer *w, const struct mr_row *row, uint32_t word, uint32_t pc)
{
    uint32_t slot_word = word_at(w, pc + 4), target = pc + 4 + ((uint32_t)(int16_t)word << 2);
    struct origin origin = {word, pc, target};
    struct plan not_taken, taken;
    unsigned link = link_register(row, word);
    if (!make_plan(w, row, row->entry, word, &not_taken) || (link != 0 && (word >> 21 & 31) == link))
        return false;
    bool likely = row->flow == MR_LIKELY, twice = !likely && conflicts(row, not_taken.entry, word, slot_word);
    link_to(w, link, pc);
    if (!likely && !twice)
        instruction(w, slot_word, pc, false);
    if (!likely && !twice && target > pc && make_plan(w, row, row->taken, word, &taken)) {
        carry_out(w, &taken, origin);
        w->ended = is_unconditional(taken.stencil);
        return true;
    }
    jump_over(w, &not_taken, origin);
    if (likely || twice)
        instruction(w, slot_word, pc, false);
    go_to(w, target, pc);
    w->ended = !land(w);
    if (twice && !w->ended)
        instruction(w, slot_word, pc, false);
    return true;
}

static bool jump(struct writer *w, const struct mr_row *row, uint32_t word, uint32_t pc)
{
    link_to(w, link_register(row, word), pc);
    instruction(w, word_at(w, pc + 4), pc, false);
    go_to(w, ((pc + 4) & 0xf0000000u) | (word & 0x03ffffffu) << 2, pc);
    return true;
}

static bool jump_register(struct writer *w, const struct mr_row *row, uint32_t word, uint32_t pc)
{
    uint32_t slot_word = word_at(w, pc + 4);
    struct plan plan;
    unsigned link = link_register(row, word);
    if (!make_plan(w, row, row->entry, word, &plan) || conflicts(row, plan.entry, word, slot_word) ||
        (link != 0 && (word >> 21 & 31) == link))
        return false;
    link_to(w, link, pc);
    instruction(w, slot_word, pc, false);
    carry_out(w, &plan, (struct origin){word, pc, 0});
    w->ended = true;
    return true;
}

static bool with_slot(struct writer *w, const struct mr_row *row, uint32_t word, uint32_t pc)
{
    uint32_t slot_word = word_at(w, pc + 4);
    struct plan slot;
    if (!plan_instruction(w, mr_row_of(slot_word), slot_word, &slot))
        return false;
    add_place(w, pc, false);
    if (slot.stencil != NULL || link_register(row, word) != 0) /* TEMP is another when the branch looks at it */
        w->in_temp = 0;
    bool done = row->flow == MR_JUMP            ? jump(w, row, word, pc)
                : row->flow == MR_JUMP_REGISTER ? jump_register(w, row, word, pc)
                                                : branch(w, row, word, pc);
    w->in_temp = 0;
    return done;
}

/* ---- the end of a unit ---- */

static bool is_inside(const struct writer *w, uint32_t pc)
{
    uint32_t index = (pc - w->start) / 4;
    return pc % 4 == 0 && index < MR_UNIT_INSTRUCTIONS && w->entries[index] != 0;
}

/* Puts a jump that can be redirected where the one of the site cannot. */
static void go_by_jump(struct writer *w, struct site *site)
{
    while (!mr_can_redirect(w->at + MR_JUMP_BYTES - 4))
        *w->at++ = 0;
    mr_write_jump(w->at, w->at + MR_JUMP_BYTES);
    mr_write_displacement(site->displacement, w->at);
    site->displacement = w->at + MR_JUMP_BYTES - 4;
    w->at += MR_JUMP_BYTES;
}

/* Gives every jump out of the unit its stub. `waits`: the stubs of those that may be redirected, by site. */
static void settle_sites(struct writer *w, uint8_t *waits[MOST_SITES])
{
    uint8_t *const targets[] = {mr_entrance.link, mr_entrance.perform, mr_entrance.stale};
    uint8_t *stub = NULL;
    for (unsigned i = 0; i < w->site_count; i++) {
        struct site *site = &w->sites[i];
        bool same = i > 0 && site->wants == MR_STALE && site[-1].wants == MR_STALE && site->pc == site[-1].pc;
        waits[i] = NULL;
        if (site->wants == MR_GO_ON && is_inside(w, site->pc)) {
            mr_write_displacement(site->displacement, w->code + w->entries[(site->pc - w->start) / 4] - 1);
            continue;
        }
        if (site->wants == MR_GO_ON && !mr_can_redirect(site->displacement))
            go_by_jump(w, site);
        if (!same) {
            stub = w->at;
            write_stub(w, targets[site->wants], site->pc);
        }
        mr_write_displacement(site->displacement, stub);
        waits[i] = site->wants == MR_GO_ON ? stub : NULL;
    }
}

static bool finish(struct writer *w, uint32_t end_pc)
{
    static uint8_t *waits[MOST_SITES];
    settle_sites(w, waits);
    struct mr_unit_text text = {w->start, (end_pc - w->start) / 4, w->code, (size_t)(w->at - w->code),
                                w->entries, w->places, w->place_count};
    if (!mr_unit_add(w->s, &text))
        return false;
    for (unsigned i = 0; i < w->site_count; i++)
        if (waits[i] != NULL)
            mr_link(w->s, w->sites[i].displacement, waits[i], w->sites[i].pc);
    return true;
}

/* Whether other code takes over at a pc behind the start. */
static bool is_taken(const struct mr_state *s, uint32_t pc)
{
    return mr_code_of(s, pc) != NULL || s->dispatch[pc >> 2] != 0;
}

/* ---- segments ---- */

/* Whether the segment ends behind the instruction: it may store, or is performed by the interpreter, which may. */
static bool ends_segment(const struct writer *w, const struct mr_row *row, uint32_t word)
{
    struct plan plan;
    return !plan_instruction(w, row, word, &plan) || (row->flags & MR_STORES) != 0;
}

static void find_segment_end(struct writer *w, uint32_t pc)
{
    bool ends = false;
    for (w->segment_end = pc; !ends && has_word(w, w->segment_end); w->segment_end += 4) {
        const struct mr_row *row = mr_row_of(word_at(w, w->segment_end));
        if (w->segment_end != w->start && is_taken(w->s, w->segment_end))
            return;
        ends = has_slot(row) || ends_segment(w, row, word_at(w, w->segment_end));
        if (has_slot(row) && has_word(w, w->segment_end + 4))
            w->segment_end += 4;
    }
}

static void compare_segment(struct writer *w, uint32_t start)
{
    w->in_temp = 0;
    add_place(w, start, false);
    for (uint32_t pc = start; pc < w->segment_end; pc += 8) {
        uint8_t *differs;
        unsigned count = pc + 4 < w->segment_end ? 2 : 1;
        const uint32_t words[2] = {mr_swap32(word_at(w, pc)), count == 2 ? mr_swap32(word_at(w, pc + 4)) : 0};
        w->at = mr_write_check(w->at, pc, words, count, pc == start, &differs);
        add_site(w, differs, start, MR_STALE);
    }
}

/* Has control come to pc when all before is done. */
static void enter_at(struct writer *w, uint32_t pc)
{
    bool begins = pc == w->start || (w->changing && pc >= w->segment_end);
    if (w->changing && !begins)
        return;
    w->entries[(pc - w->start) / 4] = (uint32_t)(w->at - w->code) + 1;
    if (!w->changing) {
        w->segment_end = w->start + 4 * w->count;
    } else {
        find_segment_end(w, pc);
        compare_segment(w, pc);
    }
}

/* The instruction at pc relies on TEMP: nobody enters it from elsewhere, nor the ones right before it that have no code. */
static void drop_entry(struct writer *w, uint32_t pc)
{
    uint32_t entry = w->entries[(pc - w->start) / 4];
    for (uint32_t i = (pc - w->start) / 4; i > 0; i--) {
        if (w->entries[i] == entry)
            w->entries[i] = 0;
        else if (w->entries[i] != 0)
            return;
    }
}

/* ---- a unit ---- */

/* Has the interpreter perform the instruction; control goes on wherever that leads. */
static void perform(struct writer *w, uint32_t pc)
{
    write_stub(w, mr_entrance.perform, pc);
    w->in_temp = 0;
}

static void begin(struct writer *w, struct mr_state *s, uint32_t pc)
{
    memset(w, 0, offsetof(struct writer, sites));
    memset(w->entries, 0, sizeof w->entries);
    w->s = s;
    w->start = pc;
    w->set = (unsigned)mr_big_endian + (mr_window != NULL ? 2 : 0);
    w->code = w->at = mr_code_room(s, MOST_BYTES);
}

bool mr_translate(struct mr_state *s, uint32_t pc, const uint32_t *words, unsigned count, bool changing)
{
    static struct writer writer;
    struct writer *w = &writer;
    begin(w, s, pc);
    w->words = words;
    w->count = count;
    w->changing = changing;
    if (w->code == NULL || count == 0)
        return false;
    while (!w->ended && has_word(w, pc)) {
        uint32_t word = word_at(w, pc);
        const struct mr_row *row = mr_row_of(word);
        bool slot = has_slot(row);
        if ((pc != w->start && is_taken(s, pc)) || (slot && !has_word(w, pc + 4)))
            break;
        enter_at(w, pc);
        w->used_temp = false;
        if (slot ? !with_slot(w, row, word, pc) : !instruction(w, word, pc, is_overtaken(w, pc)))
            perform(w, pc);
        if (w->used_temp)
            drop_entry(w, pc);
        pc += slot ? 8 : 4;
    }
    if (pc == w->start)
        return false;
    if (!w->ended)
        jump_to(w, pc);
    return finish(w, pc);
}

#endif
