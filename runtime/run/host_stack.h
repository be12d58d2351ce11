/* Stacks of the host: those that guest threads run on, and those that handlers of signals run on. */
#ifndef MR_RUN_HOST_STACK_H
#define MR_RUN_HOST_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MR_HOST_GUARD_BYTES 0x100000u

uintptr_t mr_stack_make(size_t size_bytes); /* its lowest address, with a guard below; 0 when there is no address space */
void mr_stack_free(uintptr_t low, size_t size_bytes);
struct mr_host_stack {
    uintptr_t low; /* 0 when there is no address space for it */
    size_t size_bytes;
};
struct mr_host_stack mr_host_stack_make(uint32_t guest_sp); /* for the frames of a guest thread that begins with this sp */
/* Calls body on it. Not under AddressSanitizer, which must know every stack. */
void mr_on_host_stack(struct mr_host_stack stack, void (*body)(void *), void *argument);

/* ---- the stack of signal handlers ---- */
void mr_signal_stack_enter(void); /* signal stack and stack bounds of the calling host thread */
void mr_signal_stack_leave(void);
uintptr_t mr_signal_stack_make(void); /* 0 when there is no address space for it */
void mr_signal_stack_free(uintptr_t low);
/* What guest code with this sp has of the stack that sp is in, of the calling thread's two; nothing: sp is in neither. */
struct mr_stack_range {
    uintptr_t low, high;
};
struct mr_stack_range mr_stack_used(uintptr_t sp);
bool mr_signal_stack_is_low(void); /* whether the caller, who is on it, has used half of it */

#endif
