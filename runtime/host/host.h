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

/* ---- accessed.c ---- */

/* How many bytes of memory the instruction at a pc loads or stores, if it has general-purpose registers; else 0. */
unsigned mr_accessed_bytes(uintptr_t pc);

/* ---- registers.c ---- */

/* What the interrupted code has in a register, by the number that DWARF gives it; of a vector the lowest bits. Returns false
 * where the context does not say. */
bool mr_context_register(const ucontext_t *context, unsigned number, uint64_t *value);

/* ---- inline.h: floating point of the calling thread; exceptions and rounding modes are FE_... of <fenv.h> ---- */

static inline int mr_float_raised(void); /* the flags of exceptions; others may be among them */
static inline void mr_float_clear(void); /* takes all flags away */
/* Sets the rounding mode, and whether a result that is too small for a normal number becomes zero. Exceptions never trap. */
static inline void mr_float_set_modes(int rounding, bool flushes, bool keeps_flags);
/* Square roots in the current modes, which set the flags and nothing else. */
static inline float mr_sqrt_single(float a);
static inline double mr_sqrt_double(double a);

/* ---- inline.h: stacks and the kernel ---- */

/* Calls body on another stack, whose top is aligned as for a call of it, and comes back to this one. */
static inline void mr_call_on_stack(uintptr_t top, void (*body)(void *), void *argument);
/* MR_RED_ZONE_BYTES: how far below sp functions keep values. MR_HOST_LARGEFILE: the kernel's O_LARGEFILE. */

/* Where the calling thread, and threads that it makes, have the counters of decisions, or the marks (base/marks.h): recompiled and
 * translated code reach them in an address space of their own (mipsrec/target). */
static inline void mr_set_counters(uint8_t *map);

/* ---- inline.h: shared objects of recompiled code ---- */

/* MR_ELF_MACHINE: their e_machine. MR_RELOCATION_RELATIVE: the load bias and the addend; _ENTRY, _JUMP and _ABSOLUTE: a
 * symbol and the addend. All are of 64 bits, and others do not occur. */
/* Puts a jump to any address at `to`, and returns its end. */
static inline uint8_t *mr_write_far_jump(uint8_t *to, uintptr_t target);

/* ---- cpu_level.c: levels of processors, from 1 on; each has what those below it have (mipsrec/target) ---- */

enum { MR_CPU_NAME_BYTES = 24 };
uint32_t mr_host_cpu_level(void); /* of the processor that this runs on */
void mr_host_cpu_name(uint32_t level, char name[MR_CPU_NAME_BYTES]); /* as --cpu and LLVM call it */
/* MR_MOST_LEVEL: the highest one that code is made for when --cpu names none. */

/* ---- crc.c: the CRC-32 of base/checksum.c, many bytes at a time ---- */

enum { MR_CRC_FOLD_BYTES = 64, MR_CRC_REST_BYTES = 16 };
bool mr_crc_can_fold(void); /* whether this processor can */
/* Gives bytes whose running register, from 0 on, is the one of `bytes` from crc on. size_bytes: a multiple of
 * MR_CRC_FOLD_BYTES and not 0. */
void mr_crc_fold(uint32_t crc, const uint8_t *bytes, size_t size_bytes, uint8_t rest[MR_CRC_REST_BYTES]);

/* ---- kernel_call.c: a system call that may wait, for linux/wait_call.c ---- */

/* Makes a system call of the kernel, unless *came is set: even by a handler that runs right before the kernel begins.
 * Returns its result, -errno, or -ERESTART where it was not made. */
int64_t mr_kernel_call_unless(const volatile uint32_t *came, long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                              uint64_t e, uint64_t f);
/* For handlers of signals, which may have interrupted it. The first one has set *came: a call that is not made is given up. */
void mr_kernel_call_give_up(ucontext_t *context);
/* The second one has not: a call that waits, or is about to, returns -EINTR or looks at *came again. */
void mr_kernel_call_end_in_vain(ucontext_t *context);
bool mr_kernel_call_waits(const ucontext_t *context); /* whether the thread is in it, and it can be made again */

#if defined(__x86_64__)
#include "host/x86_64/inline.h"
#else
#error "there is no host for this processor: see docs/howto/add-a-host.md"
#endif

#endif
