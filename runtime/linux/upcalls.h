/* What the guest's system asks of the program that is this host (report.c, command_line.c). */
#ifndef MR_LINUX_UPCALLS_H
#define MR_LINUX_UPCALLS_H

#include "mr_state.h"

#include <stdbool.h>
#include <stdint.h>

/* A signal the guest does not catch: optional report, then the host dies of the same signal. MIPS numbering. */
_Noreturn void mr_die_by_signal(struct mr_state *s, int mips_signal, uint32_t guest_pc, uint32_t address);
_Noreturn void mr_exit_guest(struct mr_state *s, int status); /* flushes --stats, exits */

/* Where mr_checking (memory/shadow.h). Performs the function of the allocator that has its `syscall` at pc: returns false where
 * there is none, else *after is where control goes on. (heap/hooks.c) */
bool mr_heap_called(struct mr_state *s, uint32_t pc, uint32_t *after);
/* Looks at the memory that a call has read or written, whose arguments the registers still have. (heap/accesses.c) */
void mr_check_call(struct mr_state *s, uint32_t number, int64_t result);

#define MR_OPTION_WORDS 94
/* The options that a program executed by the guest runs with, as words of a command line. Returns how many. same_program: it
 * is the file that runs now, so that its library is right for it, too. */
uint32_t mr_options_hand_on(const char *words[MR_OPTION_WORDS], bool same_program);

#endif
