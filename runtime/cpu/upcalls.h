/* What the processor asks of those who use it. Folders above define these functions, and mr_syscall, mr_exception and
 * mr_synci of mr_abi.h, which recompiled code calls as well.
 */
#ifndef MR_CPU_UPCALLS_H
#define MR_CPU_UPCALLS_H

#include "mr_state.h"

#include <stdbool.h>
#include <stdint.h>

/* Goes on at pc, or returns it, without frames of lifted code below, but for those that wait for the handler of a fault.
 * The state must be complete. (run/dispatch.c) */
uint32_t mr_leave_lifted(struct mr_state *s, uint32_t pc);
/* Abandons every frame this guest thread has on the host stack and goes on at pc. The state must be complete.
 * (run/dispatch.c) */
_Noreturn void mr_restart(struct mr_state *s, uint32_t pc);
/* Whether the decision at a pc is counted; then *counter is the first of its counters. Where mr_counting (base/counters.h).
 * (coverage/coverage.c) */
bool mr_counter_at(uint32_t pc, uint32_t *counter);
/* The instruction at a pc, or the MIPS32 one that does the same, is next: where mr_comparing (base/counters.h). It may be in
 * the slot of the jump at s->pc. (coverage/comparisons.c) */
void mr_note_comparison(const struct mr_state *s, uint32_t pc, uint32_t word);
/* The instruction is next: where mr_checking (memory/shadow.h). Returns only if it may access what it wants to.
 * (heap/accesses.c) */
void mr_check_access(struct mr_state *s, uint32_t word);

#endif
