/* Stacks of the host, each with a guard below: overflow becomes the guest's SIGSEGV (fault.c). Each host thread that
 * runs a guest thread has two: one for its frames, and one that handlers of signals run on.
 *
 * Address space is reserved in proportion to the guest's stack, and memory is used as far as the guest's calls are nested.
 * Not done here: the signal stack's use (fault.c), and leaving frames before a stack is full (dispatch.c).
 */
#include "run/host_stack.h"

#include "base/host_thread.h"
#include "base/messages.h"
#include "base/sanitizer.h"
#include "host/host.h"
#include "memory/memory.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#define HOST_BYTES_PER_GUEST_BYTE 64 /* host frames are at most some ten times the guest's, as compilers make those */
#define LEAST_BYTES ((size_t)128 << 20)
#define MOST_GUEST_BYTES ((uint32_t)256 << 20)

/* Handlers of the guest run on it, and what they jump to. AddressSanitizer mistrusts stacks of more than 64 MiB. */
#define SIGNAL_STACK_BYTES ((size_t)(MR_ADDRESS_SANITIZER ? 32 : 256) << 20)

uintptr_t mr_stack_make(size_t size_bytes)
{
    uint8_t *low = mmap(NULL, MR_HOST_GUARD_BYTES + size_bytes, PROT_NONE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (low == MAP_FAILED)
        return 0;
    if (mprotect(low + MR_HOST_GUARD_BYTES, size_bytes, PROT_READ | PROT_WRITE) != 0) {
        munmap(low, MR_HOST_GUARD_BYTES + size_bytes);
        return 0;
    }
    return (uintptr_t)low + MR_HOST_GUARD_BYTES;
}

void mr_stack_free(uintptr_t low, size_t size_bytes)
{
    munmap((void *)(low - MR_HOST_GUARD_BYTES), MR_HOST_GUARD_BYTES + size_bytes);
}

/* The stack that sp is in ends at the first page that cannot be written, if it does not grow. */
static uint32_t guest_stack_bytes(uint32_t sp)
{
    uint32_t page = (sp - 1) / MR_PAGE_BYTES, count = 0;
    while (count < MOST_GUEST_BYTES / MR_PAGE_BYTES && count < page && (mr_pages[page - count] & MR_WRITE) != 0)
        count++;
    uint64_t limit = count > 0 && (mr_pages[page] & MR_GROWS) != 0 ? mr_stack_limit_bytes() : 0;
    limit = limit < MOST_GUEST_BYTES ? limit : MOST_GUEST_BYTES;
    return limit > count * MR_PAGE_BYTES ? (uint32_t)limit : count * MR_PAGE_BYTES;
}

/* Where address space is scarce, or every byte of it charged, less is tried. */
struct mr_host_stack mr_host_stack_make(uint32_t guest_sp)
{
    struct mr_host_stack stack = {0, (size_t)guest_stack_bytes(guest_sp) * HOST_BYTES_PER_GUEST_BYTE};
    if (stack.size_bytes < LEAST_BYTES)
        stack.size_bytes = LEAST_BYTES;
    while ((stack.low = mr_stack_make(stack.size_bytes)) == 0 && stack.size_bytes / 2 >= LEAST_BYTES)
        stack.size_bytes /= 2;
    return stack;
}

/* The words at the top are zero: debuggers find the end there. */
void mr_on_host_stack(struct mr_host_stack stack, void (*body)(void *), void *argument)
{
    enum { ZERO_BYTES = 64 };
    uintptr_t top = stack.low + stack.size_bytes - ZERO_BYTES;
    mr_host_thread.stack_guard_low = stack.low - MR_HOST_GUARD_BYTES;
    mr_host_thread.stack_low = stack.low;
    mr_call_on_stack(top, body, argument);
}

/* ---- the stack of signal handlers ---- */

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
    stack.ss_size = SIGNAL_STACK_BYTES - MR_RED_ZONE_BYTES;
    stack.ss_sp = (void *)(mr_host_thread.signal_stack_low + MR_RED_ZONE_BYTES);
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

struct mr_stack_range mr_stack_used(uintptr_t sp)
{
    struct mr_stack_range used = {mr_host_thread.stack_low, mr_host_thread.stack_high};
    if (sp - mr_host_thread.signal_stack_low < SIGNAL_STACK_BYTES) {
        used.low = mr_host_thread.signal_stack_low;
        used.high = used.low + SIGNAL_STACK_BYTES;
    }
    if (sp < used.low || sp >= used.high)
        return (struct mr_stack_range){0, 0};
    used.low = sp - used.low > MR_RED_ZONE_BYTES ? sp - MR_RED_ZONE_BYTES : used.low;
    return used;
}

bool mr_signal_stack_is_low(void)
{
    return (uintptr_t)__builtin_frame_address(0) - mr_host_thread.signal_stack_low < SIGNAL_STACK_BYTES / 2;
}
