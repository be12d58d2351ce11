/* A unit under way: what its writer knows, and single instructions of it. */
#ifndef MR_BASELINE_WRITER_H
#define MR_BASELINE_WRITER_H

#include "baseline/parts.h"

#include <stdbool.h>
#include <stdint.h>

#define MR_MOST_SITES (7 * MR_UNIT_INSTRUCTIONS)
#define MR_MOST_PLACES (4 * MR_UNIT_INSTRUCTIONS)
#define MR_MOST_LOCALS 4u
#define MR_LOCAL_PC 10u /* a target: no instruction is there */

/* A displacement to be filled in at the end. */
struct mr_site {
    uint8_t *displacement;
    uint32_t pc;           /* the target */
    enum mr_outcome wants; /* when control leaves translated code there */
};

struct mr_writer {
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
    uint8_t *locals[MR_MOST_LOCALS]; /* displacements of jumps over what is written next */
    unsigned local_count;
    struct mr_site sites[MR_MOST_SITES];
    struct mr_unit_place places[MR_MOST_PLACES];
    uint32_t entries[MR_UNIT_HALVES];
};

static inline uint32_t mr_word_at(const struct mr_writer *w, uint32_t pc)
{
    return w->words[mr_instruction_index(pc - w->start)];
}

static inline bool mr_has_word(const struct mr_writer *w, uint32_t pc)
{
    return mr_instruction_index(pc - w->start) < w->count;
}

static inline void mr_add_site(struct mr_writer *w, uint8_t *displacement, uint32_t pc, enum mr_outcome wants)
{
    w->sites[w->site_count++] = (struct mr_site){displacement, pc, wants};
}

static inline void mr_add_place(struct mr_writer *w, uint32_t pc, bool in_state)
{
    w->places[w->place_count++] = (struct mr_unit_place){(uint32_t)(w->at - w->code) & 0x7fffffff, in_state, pc};
}

/* Of which instruction: its word, the address that the host reports, and where its branch goes. */
struct mr_origin {
    uint32_t word, pc, target;
};

struct mr_operand {
    unsigned number; /* register */
    unsigned own;    /* the class that it has by itself */
    unsigned pair;   /* of a floating-point register: the one whose class that is */
    unsigned class_; /* the one that the stencil wants */
    bool in_temp;    /* TEMP holds it already */
};

struct mr_plan {
    const struct mr_entry_point *entry;
    const struct mr_stencil *stencil;
    struct mr_operand operands[4];
    bool uses_temp; /* as it is when the plan is made */
};

static inline bool mr_is_gpr(const struct mr_choice *choice)
{
    return choice->kind == MR_GPR;
}

/* ---- translate.c ---- */

void mr_writer_begin(struct mr_writer *w, struct mr_state *s, uint32_t pc);
bool mr_writer_finish(struct mr_writer *w, uint32_t end_pc, uint32_t instruction_count);
/* Whether other code takes over at a pc behind the start. */
bool mr_is_taken(const struct mr_state *s, uint32_t pc);
/* Has the interpreter perform the instruction; control goes on wherever that leads. */
void mr_emit_perform(struct mr_writer *w, uint32_t pc);
/* Ends with a jump of the instruction at pc; one that goes backwards looks whether a signal waits. */
void mr_emit_way(struct mr_writer *w, uint32_t target, uint32_t pc);
void mr_emit_jump_over(struct mr_writer *w, const struct mr_plan *not_taken, struct mr_origin origin);
bool mr_land(struct mr_writer *w); /* false: no way comes here */
/* Counts the decision at a pc: a branch that is taken or not, or a jump by a register. TEMP is lost. */
void mr_emit_branch_count(struct mr_writer *w, uint32_t word, uint32_t pc, bool taken);
void mr_emit_jump_count(struct mr_writer *w, unsigned number, uint32_t pc);
/* Marks the instruction at pc as executed (base/marks.h), where that is wanted. Nothing is lost. */
void mr_emit_mark(struct mr_writer *w, uint32_t pc, uint32_t size_bytes, bool ends);
bool mr_is_unconditional(const struct mr_stencil *stencil);
/* Whether the slot writes what the branch or jump reads. */
bool mr_slot_conflicts(const struct mr_row *branch, const struct mr_entry_point *entry, uint32_t word, uint32_t slot_word);

/* ---- emit.c ---- */

void mr_emit(struct mr_writer *w, const struct mr_stencil *stencil, struct mr_origin origin);
/* An operation of the translator's own on a register of a class. */
void mr_emit_own(struct mr_writer *w, unsigned own, unsigned class_, struct mr_origin origin);
void mr_emit_fetch(struct mr_writer *w, unsigned number); /* brings a general-purpose register into TEMP */
void mr_emit_jump(struct mr_writer *w, uint32_t pc);
bool mr_plan_make(const struct mr_writer *w, const struct mr_row *row, unsigned entry, uint32_t word, struct mr_plan *plan);
void mr_plan_carry_out(struct mr_writer *w, const struct mr_plan *plan, struct mr_origin origin);
/* Whether there is code for an instruction that is no jump; in plan->stencil NULL where it does nothing. */
bool mr_plan_instruction(const struct mr_writer *w, const struct mr_row *row, uint32_t word, struct mr_plan *plan);
bool mr_row_has_slot(const struct mr_row *row);
/* Whether another instruction computes before anybody can look at FCSR's causes. */
bool mr_is_overtaken(const struct mr_writer *w, uint32_t pc);
/* Whether an instruction that is no jump can be translated; in that case does it, as the one at `pc` for the guest. */
bool mr_emit_instruction(struct mr_writer *w, uint32_t word, uint32_t pc, bool overtaken);

#endif
