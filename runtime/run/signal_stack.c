/* The stack that handlers of signals run on, one for each host thread that runs a guest thread. */
#include "base/host_thread.h"
#include "base/messages.h"
#include "base/sanitizer.h"
#include "run/host_stack.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

/* Handlers of the guest run on it, and what they jump to. AddressSanitizer mistrusts stacks of more than 64 MiB. */
#define SIGNAL_STACK_BYTES ((size_t)(MR_ADDRESS_SANITIZER ? 32 : 256) << 20)
#define RED_ZONE_BYTES 128u /* of x86-64's ABI */

/* The bounds of the stack that the calling thread got from the host. */
static void find_stack_bounds(void)
{
    pthread_attr_t attributes;
    void *low;
    size_t size_bytes, guard_bytes;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return;
    if (pthread_attr_getstack(&attributes, &low, &size_bytes) == 0 &&
        pthread_attr_getguardsize(&attributes, &guard_bytes) == 0) {
        guard_bytes = guard_bytes > 0 ? guard_bytes : MR_HOST_GUARD_BYTES;
        /* Versions of libc differ in whether the guard is below `low` or above it; what is no guard does not fault. */
        mr_host_thread.stack_guard_low = (uintptr_t)low - guard_bytes;
        mr_host_thread.stack_low = (uintptr_t)low + guard_bytes;
    }
    pthread_attr_destroy(&attributes);
}

uintptr_t mr_signal_stack_make(void)
{
    return mr_stack_make(SIGNAL_STACK_BYTES);
}

void mr_signal_stack_free(uintptr_t low)
{
    mr_stack_free(low, SIGNAL_STACK_BYTES);
}

void mr_signal_stack_enter(void)
{
    stack_t stack = {0};
    if (mr_host_thread.stack_low == 0)
        find_stack_bounds();
    if (mr_host_thread.signal_stack_low == 0)
        mr_host_thread.signal_stack_low = mr_signal_stack_make();
    /* With sp in the lowest bytes, functions that keep values below sp are in the guard: the kernel would not find room. */
    stack.ss_size = SIGNAL_STACK_BYTES - RED_ZONE_BYTES;
    stack.ss_sp = (void *)(mr_host_thread.signal_stack_low + RED_ZONE_BYTES);
    if (mr_host_thread.signal_stack_low == 0 || sigaltstack(&stack, NULL) != 0)
        mr_fail("cannot make a signal stack: %s", strerror(errno));
}

void mr_signal_stack_leave(void)
{
    stack_t stack = {0}, none = {0};
    none.ss_flags = SS_DISABLE;
    if (sigaltstack(&none, &stack) == 0 && (stack.ss_flags & SS_DISABLE) == 0)
        mr_signal_stack_free(mr_host_thread.signal_stack_low);
}

bool mr_signal_stack_is_low(void)
{
    return (uintptr_t)__builtin_frame_address(0) - mr_host_thread.signal_stack_low < SIGNAL_STACK_BYTES / 2;
}
