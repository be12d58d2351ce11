/* What the runtime asks of the processor that it runs on: the interface that each folder of host/ answers.
 *
 * A host is a folder with the name that `uname -m` gives its machine, and a build takes the files of one of them. Its
 * inline.h defines the constants and what is `static inline` here, its C files the rest. Nothing outside of host/ names a
 * processor, a register or a relocation. mipsrec/target has the same host in Python; docs/howto/add-a-host.md tells how to
 * add one. The part of the baseline tier is in encoder.h.
 */
#ifndef MR_HOST_H
#define MR_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

/* ---- inline.h: what a handler of a signal finds of the code that it has interrupted ---- */

static inline uintptr_t mr_context_pc(const ucontext_t *context);
static inline uintptr_t mr_context_sp(const ucontext_t *context);
/* The address of the last access of this thread that faulted, as the processor told it. */
static inline uintptr_t mr_context_fault_address(const ucontext_t *context);
/* Gives the calling handler the floating-point modes and flags of that code: Linux may enter a handler with the FPU as a new
 * process has it. */
static inline void mr_context_resume_float(const ucontext_t *context);

/* ---- inline.h: floating point of the calling thread; exceptions and rounding modes are FE_... of <fenv.h> ---- */

static inline int mr_float_raised(void); /* the flags of exceptions; others may be among them */
static inline void mr_float_clear(void); /* takes all flags away */
/* Sets the rounding mode, and whether a result that is too small for a normal number becomes zero. Exceptions never trap. */
static inline void mr_float_set_modes(int rounding, bool flushes, bool keeps_flags);
/* Square roots in the current modes, which set the flags and nothing else. */
static inline float mr_sqrt_single(float a);
static inline double mr_sqrt_double(double a);

#if defined(__x86_64__)
#include "host/x86_64/inline.h"
#else
#error "there is no host for this processor: see docs/howto/add-a-host.md"
#endif

#endif
