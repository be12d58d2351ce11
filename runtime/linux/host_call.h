/* System calls of the host's kernel: their results, and those that wait. */
#ifndef MR_LINUX_HOST_CALL_H
#define MR_LINUX_HOST_CALL_H

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

/* The result of a host function that answers -1 and errno. */
static inline int64_t mr_result(int64_t host_result)
{
    return host_result == -1 ? -errno : host_result;
}

/* ---- wait_call.c ---- */

/* A system call of the host that may wait. Returns its result, -errno, or -ERESTART when a signal came before it was made:
 * then the guest's call is made again, after the signal's handler (syscall.c). */
int64_t mr_wait_call(long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f);
#define MR_HOST(pointer) ((uint64_t)(uintptr_t)(pointer)) /* as an argument of it */

/* A signal has come from the host since the guest's system call began. */
extern _Thread_local volatile uint32_t mr_signal_came;
void mr_wait_call_interrupt(void *context); /* for handlers of the host that have noted one; the handler's ucontext_t */
void mr_wait_call_go_on(void *context); /* for those that have noted nothing the call must end for */

/* A signal that comes when a thread has used a sampling period. Every signal of the host is one of the guest's, and this one
 * is its SIGEMT, which Linux never raises. One that is sent reaches the guest all the same. */
#define MR_SAMPLE_SIGNAL SIGSTKFLT
/* No samples between the two: so that a call that waits is not interrupted by one, and no write is cut short, as kernels do
 * that send the signal from the clock's interrupt (Linux before 5.9). What has been used meanwhile counts as used at the end. */
uint64_t mr_samples_hold_bit(void); /* of a host's mask, or 0 */
void mr_samples_hold(void);
void mr_samples_release(void);

#endif
