/* Emits single instructions that are no jumps: chooses a stencil for the classes of their operands, and fills it in.
 *
 * Enters: guest words. Leaves: host code at w->at, and sites to be filled in when the unit is complete (translate.c).
 *
 * A result that is not pinned goes to the state through TEMP, and the next instruction may find it there. Such an instruction
 * has no entry, and a nop right before it has none: control that comes from elsewhere gets a unit that begins there.
 *
 * FCSR's causes are those of the last instruction that computed. Its word and its operands are stored before it, unless
 * another one computes before anybody can look.
 */
#include "base/instructions.h"
#include "baseline/parts.h"
#include "baseline/writer.h"
#include "cpu/access.h"
#include "cpu/fpu.h"
#include "memory/shadow.h"
#include "mr_stencil_numbers.h"

#include <string.h>

/* ---- stencils ---- */

void mr_emit(struct mr_writer *w, const struct mr_stencil *stencil, struct mr_origin origin)
{
    const struct mr_hole *holes = mr_stencil_holes(stencil);
    w->in_temp = 0;
    mr_stencil_copy(stencil, w->at, origin.word, origin.pc, w->s->fr);
    for (unsigned i = 0; i < stencil->hole_count; i++) {
        uint8_t *at = w->at + holes[i].offset;
        if (holes[i].value == MR_EXIT_LEAVE_THERE)
            mr_write_displacement(at, mr_entrance.there);
        else if (holes[i].value == MR_EXIT_TAKEN && origin.target == MR_LOCAL_PC && w->local_count < MR_MOST_LOCALS)
            w->locals[w->local_count++] = at;
        else if (holes[i].value < MR_EXIT_COUNT)
            mr_add_site(w, at, holes[i].value == MR_EXIT_TAKEN ? origin.target : origin.pc,
                     holes[i].value == MR_EXIT_LEAVE ? MR_PERFORM : MR_GO_ON);
    }
    w->at += stencil->size_bytes;
}

void mr_emit_own(struct mr_writer *w, unsigned own, unsigned class_, struct mr_origin origin)
{
    uint8_t classes[1] = {(uint8_t)class_};
    mr_emit(w, mr_stencil(mr_entry_point(own), 0, classes), origin);
}

/* The same on a register: a word that names it where the operation does. */
static void emit_on(struct mr_writer *w, unsigned own, unsigned class_, unsigned number)
{
    mr_emit_own(w, own, class_, (struct mr_origin){.word = (uint32_t)number << mr_entry_point(own)->choices[0].shift});
}

void mr_emit_jump(struct mr_writer *w, uint32_t pc)
{
    w->at = mr_write_jump(w->at, w->at);
    mr_add_site(w, w->at - 4, pc, MR_GO_ON);
    w->ended = true;
}

/* ---- operands ---- */

/* By the FR rule of mipsrec/state.py. */
static struct mr_operand float_operand(const struct mr_writer *w, unsigned number)
{
    unsigned pair = w->s->fr != 0 ? number : number & ~1u;
    return (struct mr_operand){.number = number, .own = mr_float_class(pair), .pair = pair};
}

/* Returns false for a register that there is none of. */
static bool find_operand(const struct mr_writer *w, const struct mr_choice *choice, uint32_t word, struct mr_operand *operand)
{
    unsigned number = word >> choice->shift & 31;
    if (mr_is_gpr(choice))
        *operand = (struct mr_operand){.number = number, .own = mr_gpr_class(number), .pair = number};
    else
        *operand = float_operand(w, number);
    return choice->kind != MR_DOUBLE || operand->number == operand->pair;
}

static bool is_pinned(unsigned class_) { return class_ < MR_CLASS_MEMORY; }

/* The class of where the operand is by itself: of a single, perhaps the upper half of a pinned pair. */
static unsigned class_by_itself(const struct mr_choice *choice, const struct mr_operand *operand)
{
    bool upper = choice->kind == MR_SINGLE && operand->number != operand->pair && is_pinned(operand->own);
    return upper ? operand->own + MR_CLASS_UPPER : operand->own;
}

/* Decides how the stencil gets an operand, or gives it. Returns false where it cannot. */
static bool choose_class(const struct mr_choice *choice, struct mr_operand *operand)
{
    bool is_zero = mr_is_gpr(choice) && operand->number == 0;
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
static unsigned single_class(struct mr_writer *w, const struct mr_operand *operand)
{
    if (operand->number == operand->pair || !is_pinned(operand->own))
        return operand->own;
    emit_on(w, MR_OWN_SPILL_FLOAT, operand->own, operand->pair);
    return MR_CLASS_MEMORY;
}

static void fetch(struct mr_writer *w, const struct mr_choice *choice, const struct mr_operand *operand)
{
    if (choice->kind == MR_SINGLE)
        emit_on(w, MR_OWN_FETCH_SINGLE, single_class(w, operand), operand->number);
    else
        emit_on(w, mr_is_gpr(choice) ? MR_OWN_FETCH : MR_OWN_FETCH_FLOAT, operand->own, operand->number);
}

static void bring(struct mr_writer *w, const struct mr_choice *choice, const struct mr_operand *operand)
{
    bool part = !mr_is_gpr(choice) && choice->kind != MR_DOUBLE; /* writing it leaves the rest of the pair */
    if (operand->class_ == MR_CLASS_TEMP && choice->reads && !operand->in_temp)
        fetch(w, choice, operand);
    else if (operand->class_ == MR_CLASS_MEMORY && is_pinned(operand->own) && (choice->reads || part))
        emit_on(w, mr_is_gpr(choice) ? MR_OWN_SPILL : MR_OWN_SPILL_FLOAT, operand->own, operand->pair);
}

static void take_back(struct mr_writer *w, const struct mr_choice *choice, const struct mr_operand *operand)
{
    if (choice->writes && operand->class_ == MR_CLASS_MEMORY && is_pinned(operand->own))
        emit_on(w, mr_is_gpr(choice) ? MR_OWN_FILL : MR_OWN_FILL_FLOAT, operand->own, operand->pair);
    if (choice->writes && operand->class_ == MR_CLASS_TEMP) {
        emit_on(w, MR_OWN_KEEP, MR_CLASS_MEMORY, operand->number);
        w->in_temp = operand->number;
    }
}

/* ---- instructions ---- */

/* Whether an instruction only writes register 0, and so does nothing. */
static bool does_nothing(const struct mr_row *row, const struct mr_entry_point *entry, uint32_t word)
{
    bool writes_zero = false;
    for (unsigned i = 0; i < entry->choice_count; i++)
        if (entry->choices[i].writes)
            writes_zero = mr_is_gpr(&entry->choices[i]) && (word >> entry->choices[i].shift & 31) == 0;
    return writes_zero && (row->flags & (MR_ACCESSES | MR_MAY_LEAVE | MR_WRITES_DSP)) == 0;
}

static bool computes(const struct mr_writer *w, const struct mr_row *row)
{
    bool changes_sign_only = (row->flags & MR_CHANGES_SIGN) != 0 && (w->s->fcsr & MR_FCSR_ABS2008) != 0;
    return (row->flags & MR_COMPUTES) != 0 && !changes_sign_only;
}

/* Whether the operand is to be brought where the stencil wants it, but for one that TEMP holds. */
static bool must_bring(const struct mr_writer *w, const struct mr_choice *choice, const struct mr_operand *operand)
{
    bool comes = operand->class_ == MR_CLASS_TEMP ? choice->reads : operand->class_ == MR_CLASS_MEMORY && is_pinned(operand->own);
    return comes && !(mr_is_gpr(choice) && operand->number == w->in_temp);
}

/* Takes from TEMP what it holds, if nothing is brought there before. */
static void use_temp(const struct mr_writer *w, struct mr_plan *plan)
{
    if (w->in_temp == 0)
        return;
    for (unsigned i = 0; i < plan->entry->choice_count; i++)
        if (must_bring(w, &plan->entry->choices[i], &plan->operands[i]))
            return;
    for (unsigned i = 0; i < plan->entry->choice_count; i++) {
        const struct mr_choice *choice = &plan->entry->choices[i];
        struct mr_operand *operand = &plan->operands[i];
        if (!mr_is_gpr(choice) || !choice->reads || choice->writes || operand->number != w->in_temp ||
            !mr_class_fits(choice, MR_CLASS_TEMP))
            continue;
        operand->class_ = MR_CLASS_TEMP;
        operand->in_temp = plan->uses_temp = true;
    }
}

bool mr_plan_make(const struct mr_writer *w, const struct mr_row *row, unsigned entry, uint32_t word, struct mr_plan *plan)
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

void mr_plan_carry_out(struct mr_writer *w, const struct mr_plan *plan, struct mr_origin origin)
{
    for (unsigned i = 0; i < plan->entry->choice_count; i++)
        bring(w, &plan->entry->choices[i], &plan->operands[i]);
    mr_emit(w, plan->stencil, origin);
    w->used_temp |= plan->uses_temp;
    for (unsigned i = 0; i < plan->entry->choice_count; i++)
        take_back(w, &plan->entry->choices[i], &plan->operands[i]);
}

bool mr_plan_instruction(const struct mr_writer *w, const struct mr_row *row, uint32_t word, struct mr_plan *plan)
{
    plan->stencil = NULL;
    return row != NULL && row->flow == MR_NEXT && row->entry != MR_NO_ENTRY &&
           (does_nothing(row, mr_entry_point(row->entry), word) || mr_plan_make(w, row, row->entry, word, plan));
}

bool mr_row_has_slot(const struct mr_row *row)
{
    return row != NULL && row->flow != MR_NEXT && row->flow != MR_LEAVE;
}

/* Whether the next instruction that matters is a jump whose slot, which is always executed, computes. */
static bool slot_computes(const struct mr_writer *w, const struct mr_row *row, uint32_t pc)
{
    struct mr_plan plan;
    if (row == NULL || row->flow == MR_LIKELY || !mr_row_has_slot(row) || mr_next_pc(pc) >= w->segment_end)
        return false;
    const struct mr_row *slot = mr_row_of(mr_word_at(w, mr_next_pc(pc)));
    return mr_plan_instruction(w, slot, mr_word_at(w, mr_next_pc(pc)), &plan) && plan.stencil != NULL && computes(w, slot);
}

bool mr_is_overtaken(const struct mr_writer *w, uint32_t pc)
{
    for (uint32_t next = mr_next_pc(pc); next < w->segment_end; next = mr_next_pc(next)) {
        const struct mr_row *row = mr_row_of(mr_word_at(w, next));
        struct mr_plan plan;
        if (!mr_plan_instruction(w, row, mr_word_at(w, next), &plan))
            return slot_computes(w, row, next);
        if (computes(w, row))
            return true;
        if ((row->flags & (MR_ACCESSES | MR_MAY_LEAVE)) != 0)
            return false;
    }
    return false;
}

static void record(struct mr_writer *w, const struct mr_row *row, uint32_t word)
{
    mr_emit_own(w, MR_OWN_RECORD_WORD, 0, (struct mr_origin){.word = word});
    for (unsigned i = 0; i < row->operand_count; i++) {
        struct mr_operand operand = float_operand(w, word >> row->operands[i].shift & 31);
        bool is_single = row->operands[i].kind == MR_SINGLE;
        unsigned class_ = is_single ? single_class(w, &operand) : operand.own;
        bool is_word = is_single && class_ == MR_CLASS_MEMORY;
        emit_on(w, (is_word ? MR_OWN_RECORD_SINGLE_0 : MR_OWN_RECORD_0) + i, class_, operand.number);
    }
}

void mr_emit_fetch(struct mr_writer *w, unsigned number)
{
    emit_on(w, MR_OWN_FETCH, number == 0 ? MR_CLASS_MEMORY : mr_gpr_class(number), number);
}

/* Writes a look into the shadow before an access: the interpreter performs, and so reports, one that is forbidden. The stack and
 * what gp reaches are no heap. */
static void look(struct mr_writer *w, uint32_t word, uint32_t pc)
{
    enum { ZERO = 0 };
    struct mr_access access = mr_access_of(word);
    unsigned base = word >> 21 & 31, index = access.is_indexed ? word >> 16 & 31 : ZERO;
    if (access.size_bytes == 0 || base == MR_REG_SP || base == MR_REG_GP)
        return;
    uint8_t *forbidden;
    mr_emit_fetch(w, base);
    if (index != ZERO) {
        w->at = mr_write_keep(w->at);
        mr_emit_fetch(w, index);
        w->at = mr_write_add_kept(w->at);
    }
    uint32_t displacement = access.is_indexed ? 0 : (uint32_t)(int16_t)word;
    w->at = mr_write_look(w->at, displacement, access.size_bytes - 1, MR_SHADOW_OFFSET, &forbidden);
    mr_add_site(w, forbidden, pc, MR_PERFORM);
}

bool mr_emit_instruction(struct mr_writer *w, uint32_t word, uint32_t pc, bool overtaken)
{
    const struct mr_row *row = mr_row_of(word);
    struct mr_plan plan;
    if (mr_checking && row != NULL && row->flow == MR_NEXT && (row->flags & MR_ACCESSES) != 0)
        look(w, word, pc);
    if (!mr_plan_instruction(w, row, word, &plan))
        return false;
    if (plan.stencil == NULL)
        return true;
    mr_add_place(w, pc, (row->flags & MR_SPILLED) != 0);
    if (computes(w, row) && !overtaken)
        record(w, row, word);
    mr_plan_carry_out(w, &plan, (struct mr_origin){word, pc, 0});
    return true;
}
