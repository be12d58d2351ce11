/* Faults of the host, and exceptions of the guest, as the guest's signals. */
#ifndef MR_LINUX_FAULT_H
#define MR_LINUX_FAULT_H

#include "cpu/mips16.h"
#include "run/run.h"

#include <signal.h>
#include <stdint.h>

/* ---- fault.c ---- */
void mr_faults_install(void); /* host handlers for SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP on an alternate stack */
/* Around execve: the next program finds these signals blocked or ignored as the guest has them; and it failed. */
void mr_faults_hand_on(void);
void mr_faults_take_back(void);
_Noreturn void mr_die_of_host_signal(int host_signal);
/* In a handler of the host: makes the registers as exact as the interrupted code has them; returns the guest's pc. */
uint32_t mr_interrupted_pc(struct mr_state *s, const void *context);
void mr_take_sent(const siginfo_t *info, void *context); /* a signal that the host needs for itself, but a process sent */

/* ---- exception.c ---- */
/* A synchronous signal: its MIPS number, si_code and si_addr, raised by the instruction at pc. Returns the pc to go on at,
 * that of the guest's handler; without a handler the guest dies. */
uint32_t mr_raise(struct mr_state *s, int mips_signal, int code, uint32_t pc, uint32_t address);
/* Returns the pc of the instruction that faulted first, of a load and a store that recompiled code makes as one: where memory
 * cannot be read, no store can fault that a load of the same place stands before. */
uint32_t mr_first_access(const struct mr_access_fault *fault);
/* The word at pc, or 0 where none can be read, as beyond the end of a file: a fault of the host would be one too many. */
uint32_t mr_code_word(uint32_t pc);
struct mr_mips16 mr_code_mips16(uint32_t pc); /* the same of MIPS16 code: reserved where it cannot be read */

#endif
