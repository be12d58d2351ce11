/* The baseline tier: guest code that nobody recompiled ahead of time becomes host code the moment it is executed often.
 *
 * It makes code by copying stencils (mipsrec/stencils) and filling in what depends on the instruction. A *unit* is the code
 * of consecutive instructions up to a jump that is always taken; every instruction of it but those in delay slots may be
 * entered. Translated code comes back to the interpreter's loop (run/interpret.c) where it cannot go on: at a place that has no
 * code, at an instruction that only the interpreter performs, and when a signal waits.
 *
 *     baseline.c      what the interpreter, the fault handler and the system calls ask of the tier
 *     translate.c     guest instructions to units: jumps, delay slots, segments
 *     translate16.c   the same for MIPS16e code
 *     emit.c          single instructions by stencils
 *     stencils.c      tables of the generated header: rows, and stencils by the classes of their operands
 *     code_cache.c    where code lies, which guest pc it is of, and forgetting
 *     code_links.c    jumps between units
 *     code_users.c    which threads execute code, so that its memory can be used again
 *     inherited.c     what processes of a fork server make, for the next ones
 *     random_tiers.c  switches of tiers at random points, for tests
 *
 * What depends on the host's processor is in the host's folder (host/encoder.h).
 */
#ifndef MR_BASELINE_H
#define MR_BASELINE_H

#include "base/instructions.h"
#include "mr_abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Before the first guest instruction: reserves address space. Without effect where the tier is off. */
void mr_baseline_start(struct mr_state *s);
extern bool mr_baseline_on;
extern uint32_t mr_baseline_threshold; /* a place is translated when control comes by for the time of this number; at most 255 */
#define MR_CODE_CACHE_BYTES ((size_t)64 << 20)
extern size_t mr_code_cache_bytes; /* of code; what is full loses its oldest code */

/* The entry of a pc in the tables of translated code. */
static inline int32_t *mr_code_entry(const struct mr_state *s, uint32_t pc)
{
    return mr_is_mips16(pc) ? &s->translated16[mr_half_index(pc)] : (int32_t *)((uintptr_t)s->translated + pc);
}

/* Whether there is code for the guest pc; where the pc has come by often, it is made. Not of misaligned pcs. */
bool mr_baseline_has(struct mr_state *s, uint32_t pc);
/* The same, of any pc, without making it. Only where mr_baseline_on. */
static inline bool mr_baseline_has_already(const struct mr_state *s, uint32_t pc)
{
    return pc < MR_USER_END && mr_may_be_code(pc) && __atomic_load_n(mr_code_entry(s, pc), __ATOMIC_RELAXED) != 0;
}

/* Runs translated code from pc until it comes back. Then s->pc is where the guest goes on; true: the interpreter is to perform
 * the instruction there, whatever code there is. */
bool mr_baseline_run(struct mr_state *s, uint32_t pc);

/* A guest thread begins and ends to run. */
void mr_baseline_thread_begins(struct mr_state *s);
void mr_baseline_thread_ends(void);
void mr_baseline_several_threads(void); /* there will be another one */
void mr_baseline_abandoned(void); /* the calling thread has left all frames of its stack by a jump */
void mr_baseline_forked(void);    /* in the child: the other threads are not there */

/* Under mr_lock: what was made of guest code in the range is no longer what the guest has there. */
void mr_baseline_forget(uint32_t guest, uint32_t size_bytes);

/* In the handler of a fault at host_pc: makes the state exact, if that is in translated code. */
void mr_baseline_fault(struct mr_state *s, uintptr_t host_pc, const void *context);

/* The guest pc of translated code at host_pc, or 0 where there is none; for handlers of signals, too. */
uint32_t mr_baseline_guest_pc(uintptr_t host_pc);

/* Calls visit with the start of each unit that there is. */
void mr_baseline_visit(void (*visit)(uint32_t start, void *argument), void *argument);

void mr_baseline_report(uint64_t entries); /* for --stats */

/* ---- inherited.c ---- */

void mr_baseline_share(void);                 /* before a fork server makes processes */
void mr_baseline_inherit(struct mr_state *s); /* makes what those have made that have ended, or still run */

/* ---- random_tiers.c: only where --threshold is random:SEED ---- */

extern bool mr_tiers_random;
extern uint32_t mr_tiers_seed;
uint32_t mr_random_threshold(uint32_t pc); /* 1 to 255 */
bool mr_random_choice(uint32_t one_of);    /* true once in so many times */
void mr_tiers_disturb(void);               /* after a system call: translated code, or frames of recompiled code, may go */

/* Whether a recompiled function is left to another tier this time. */
static inline bool mr_passed_over(void)
{
    return mr_tiers_random && mr_random_choice(4);
}

#endif
