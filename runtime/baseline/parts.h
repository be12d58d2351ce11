/* What the files of the baseline tier share. */
#ifndef MR_BASELINE_PARTS_H
#define MR_BASELINE_PARTS_H

#include "baseline/baseline.h"
#include "host/encoder.h"
#include "mr_state.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- stencils.c: the generated tables. Their meaning stands in mipsrec/stencils/convention.py. ---- */

enum mr_flow { MR_NEXT, MR_BRANCH, MR_LIKELY, MR_JUMP, MR_JUMP_REGISTER, MR_LEAVE };
enum mr_operand_kind { MR_GPR, MR_SINGLE, MR_DOUBLE, MR_HIGH };
enum mr_row_flags {
    MR_COMPUTES = 1,     /* FCSR's causes depend on it afterwards */
    MR_CHANGES_SIGN = 2, /* abs and neg: they compute without FCSR.ABS2008 only */
    MR_SPILLED = 4,      /* its stencil stores pinned registers before it may fault */
    MR_ACCESSES = 8,     /* memory */
    MR_MAY_LEAVE = 16,   /* its stencils may leave for the interpreter */
    MR_READS_FCC = 32,
    MR_WRITES_FCC = 64,
    MR_STORES = 128,    /* to memory */
    MR_READS_DSP = 256, /* DSPControl */
    MR_WRITES_DSP = 512,
    MR_OF_DSP = 1024, /* the module that it is of */
    MR_OF_DSP2 = 2048,
};

struct mr_choice { /* an operand of an entry */
    uint8_t shift, kind;
    bool reads, writes;
    uint8_t classes, class_count; /* the list of classes that it may have */
};
struct mr_entry_point {
    uint32_t first, per_set; /* of combinations; per_set: 0 where byte order and window do not matter */
    uint8_t choice_count;
    struct mr_choice choices[4];
};
struct mr_row {
    uint32_t mask, value;
    uint16_t flags;
    uint8_t flow;
    uint8_t link;         /* register; 0: none; 32: the one in the field rd */
    uint8_t spare;        /* value that must not be negative, or 255 */
    uint16_t entry, taken; /* MR_NO_ENTRY: none. Of a branch: jumps where it is not taken, and where it is */
    uint8_t operand_count;
    struct {
        uint8_t kind, shift;
    } operands[3]; /* that FCSR's causes depend on */
};
struct mr_stencil {
    uint32_t code;
    uint16_t size_bytes;
    uint8_t hole_count;
    uint16_t first_hole;
};
struct mr_hole {
    uint16_t offset;
    uint8_t size_bytes, value;
};
#define MR_NO_ENTRY 0xffffu

static inline bool mr_is_jalx(uint32_t word) /* a call of MIPS16e code */
{
    return word >> 26 == 0x1d;
}
/* NULL: no row has the word, operands of it are out of range, or the guest's processor lacks it. */
const struct mr_row *mr_row_of(uint32_t word);
const struct mr_entry_point *mr_entry_point(unsigned number);
/* The class that a register has by itself: a pin, MEMORY or ZERO. Of floating point, half: the class of the pair it is in. */
unsigned mr_gpr_class(unsigned number);
unsigned mr_float_class(unsigned pair);
bool mr_class_fits(const struct mr_choice *choice, unsigned class_);
/* NULL: there is none. set: 0 to 3, for byte order and window. */
const struct mr_stencil *mr_stencil(const struct mr_entry_point *entry, unsigned set, const uint8_t *classes);
const struct mr_hole *mr_stencil_holes(const struct mr_stencil *stencil);
/* Copies it to `to` and fills in all holes but exits. */
void mr_stencil_copy(const struct mr_stencil *stencil, uint8_t *to, uint32_t word, uint32_t pc, uint32_t fr);
extern const struct mr_glue mr_glue;

/* ---- code_cache.c; all but lookups under mr_lock ---- */

/* Where the code of an instruction begins. */
struct mr_unit_place {
    uint32_t offset : 31;  /* from the unit's start */
    uint32_t in_state : 1; /* the state has its registers */
    uint32_t pc;           /* of it, or of the branch whose slot it is in */
};
extern struct mr_entrance mr_entrance;
/* Instructions begin at every word, in MIPS16e code at every half. */
static inline uint32_t mr_place_bytes(uint32_t pc)
{
    return mr_is_mips16(pc) ? MR_HALF_BYTES : MR_INSTRUCTION_BYTES;
}
static inline uint32_t mr_unit_pc(uint32_t start, uint32_t index)
{
    return start + mr_place_bytes(start) * index;
}
/* Returns false where the kernel gives no address space, or lets no memory be both written and executed. */
bool mr_code_cache_start(struct mr_state *s);
/* Where the next unit goes, or NULL: the cache is full, and a thread still executes what is to go first. */
uint8_t *mr_code_room(const struct mr_state *s, size_t size_bytes);
static inline uint8_t *mr_code_of(const struct mr_state *s, uint32_t pc)
{
    int32_t displacement = __atomic_load_n(mr_code_entry(s, pc), __ATOMIC_ACQUIRE);
    return displacement != 0 ? s->code + displacement : NULL;
}
const struct mr_unit_place *mr_code_place(uintptr_t host_pc); /* NULL: none; for handlers of signals, too */
/* Adds a unit that is written where mr_code_room said, of at most two pages. entries[i]: 1 more than the offset at which the
 * code of the instruction at mr_unit_pc(start, i) begins, or 0: none begins there, or it may not be entered. Returns false
 * where memory is short. */
struct mr_unit_text {
    uint32_t start, entry_count, instruction_count;
    uint8_t *code;
    size_t size_bytes;
    const uint32_t *entries;
    const struct mr_unit_place *places;
    uint32_t place_count;
};
bool mr_unit_add(struct mr_state *s, const struct mr_unit_text *text);
/* A jump of the newest unit, which goes to its stub, goes to the code of pc as long as there is any. */
void mr_link(struct mr_state *s, uint8_t *displacement, uint8_t *stub, uint32_t pc);
void mr_unit_forget_at(const struct mr_state *s, uint32_t pc); /* the unit whose code is entered there, if there is one */
void mr_units_forget(const struct mr_state *s, uint32_t guest, uint32_t size_bytes); /* all that hold code of the range */

/* ---- code_links.c; under mr_lock ---- */

/* A jump that goes to a unit when there is one for its pc, else to its stub. */
struct mr_link {
    uint8_t *displacement, *stub;
    uint32_t pc;
    struct mr_link *next;
};
/* A jump that goes to its stub, to have the code of pc, if any, which is of the unit with that list. */
void mr_link_add(uint8_t *displacement, uint8_t *stub, uint32_t pc, const uint8_t *code, struct mr_link **of_unit);
void mr_links_connect(uint32_t pc, const uint8_t *code, struct mr_link **of_unit); /* those that wait for the pc */
void mr_links_to_stubs(struct mr_link **of_unit);                                 /* and they wait */
/* Links from code in the range are no more. */
void mr_links_drop(struct mr_link **of_unit, const uint8_t *code, size_t size_bytes);
void mr_links_drop_waiting(const uint8_t *code, size_t size_bytes);

/* ---- code_users.c: which threads execute translated code ---- */

/* Some code has lost all its entries. */
void mr_code_send_out(void);         /* has threads leave translated code at their next poll; under mr_lock */
uint32_t mr_code_retire(void);       /* returns the time, and sends threads out; under mr_lock */
bool mr_code_retired(uint32_t time); /* whether all threads have left what was retired by then; under mr_lock */
struct mr_code_user { /* a guest thread. All under mr_lock but `since` */
    _Atomic uint32_t since; /* the time when it entered translated code, or 0 */
    struct mr_state *s;
    struct mr_code_user *next;
};
extern _Thread_local struct mr_code_user mr_code_user; /* the calling thread */
extern _Atomic uint32_t mr_code_time;
extern bool mr_code_shared; /* by several threads */
/* The calling thread will look for an entry. It may do so while code below waits for the handler of a fault (run/waiting.c): then
 * the older time holds for both. Returns what mr_code_leave is to be told. */
static inline uint32_t mr_code_enter(void)
{
    uint32_t before = atomic_load_explicit(&mr_code_user.since, memory_order_relaxed);
    if (before == 0 && mr_code_shared)
        atomic_store(&mr_code_user.since, atomic_load(&mr_code_time));
    else if (before == 0)
        atomic_store_explicit(&mr_code_user.since, atomic_load(&mr_code_time), memory_order_relaxed);
    return before;
}
static inline void mr_code_leave(uint32_t before)
{
    atomic_store_explicit(&mr_code_user.since, before, memory_order_release);
}

struct mr_baseline_counts {
    uint64_t units, instructions, code_bytes;
};
extern struct mr_baseline_counts mr_baseline_counts;

/* ---- translate.c ---- */

/* Under mr_lock: makes the unit that begins at a pc of MIPS16e code, from count halves. */
bool mr_translate16(struct mr_state *s, uint32_t pc, const uint16_t *halves, unsigned count);
/* Under mr_lock: makes the unit that begins at pc. The words of guest code are given, count of them. changing: they may
 * change without notice, so that the code compares them before it does what they say. */
bool mr_translate(struct mr_state *s, uint32_t pc, const uint32_t *words, unsigned count, bool changing);
enum { MR_UNIT_INSTRUCTIONS = 128, MR_UNIT_HALVES = 2 * MR_UNIT_INSTRUCTIONS };

/* ---- baseline.c ---- */

/* By pc: how often control came there. Several pcs may share one, and threads may lose counts. */
struct mr_came {
    uint16_t came;
    uint8_t stale; /* how often its code was found to be of other words; each time doubles what it waits for code */
};
#define MR_CAME_PLACES (1u << 16)
extern struct mr_came *mr_came;
bool mr_translate_at(struct mr_state *s, uint32_t pc); /* whether there is code for it now */

/* ---- inherited.c ---- */

void mr_note_translated(uint32_t pc);

#endif
