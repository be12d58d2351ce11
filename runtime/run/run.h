/* Running guest code: whichever tier has the code at a pc, and the way back from faults and handlers of signals. */
#ifndef MR_RUN_RUN_H
#define MR_RUN_RUN_H

#include "base/host_thread.h"

#include <stdbool.h>
#include <stdint.h>

/* Where a function returns to that the host has called: above MR_USER_END, so no code can be there. */
#define MR_RETURN_PC 0x7fff7ff0u

/* ---- dispatch.c ---- */

/* Runs from pc until pc == stop_pc, or until the guest's sp is above stop_sp after a jump; returns the pc then. */
uint32_t mr_run(struct mr_state *s, uint32_t pc, uint32_t stop_pc, uint32_t stop_sp);
/* Runs guest thread s on the calling host thread from pc on, until mr_end_thread. Gives the host thread its alternate signal
 * stack and the point mr_restart comes back to; call it once per host thread, on a stack with a guard of MR_HOST_GUARD_BYTES
 * or more (host_stack.c, pthread_attr_setguardsize), so that overflow is the guest's SIGSEGV. */
void mr_run_thread(struct mr_state *s, uint32_t pc);
/* Abandons every frame this guest thread has on the host stack, and returns from its mr_run_thread. Not for the main one. */
_Noreturn void mr_end_thread(struct mr_state *s);
/* As mr_run, on a host thread that has no frames of this guest yet: the place mr_restart comes back to. */
uint32_t mr_run_outermost(struct mr_state *s, uint32_t pc, uint32_t stop_pc);
/* Once sp is the handler's. */
struct mr_interrupted mr_interrupted_at(const struct mr_state *s, uint32_t pc, uint32_t sp);
/* Runs from pc until the handler is done or goes elsewhere; returns the pc then. */
uint32_t mr_run_handler(struct mr_state *s, uint32_t pc, struct mr_interrupted interrupted);
/* As mr_restart, with the pc that resume returns; resume runs when the frames are gone. */
_Noreturn void mr_restart_through(uint32_t (*resume)(struct mr_state *));

/* ---- interpret.c ---- */

/* Runs the code that the baseline tier has of pc until it comes back; returns the pc to go on at. */
uint32_t mr_run_translated(struct mr_state *s, uint32_t pc);

/* ---- waiting.c ---- */

/* A guest access that cannot be made, by the instruction at pc. */
struct mr_access_fault {
    uint32_t pc, address; /* the effective address, or the first byte that is not there */
    bool beyond_file;     /* the page maps a file that does not reach so far */
    bool registers_exact; /* the state has all registers as they were before the instruction */
    unsigned host_bytes;  /* recompiled code accessed so many; 0: not known */
};
/* Raises the signal for a fault of lifted code. Returns when the guest's handler has come back to the instruction with all
 * registers as they were: then the access is to be tried again. Otherwise goes on wherever the guest does. */
void mr_fault_in_lifted_code(struct mr_state *s, const struct mr_access_fault *fault);
/* Raises it when all frames of the thread are gone. */
_Noreturn void mr_fault_without_frames(const struct mr_access_fault *fault);

#endif
