/* Host system calls that wait, made so that no signal is missed.
 *
 * Between the last look for signals (syscall.c) and the kernel's beginning to wait, a handler of the host may note one that
 * is for the guest. Then the call must not be made: the handler moves the pc to where it is given up. When the kernel has
 * begun, it ends the call itself with EINTR. So it does when a handler has noted nothing for the guest, as that of a sample:
 * then the call is made again, with the time that is left.
 *
 * So no signal of the host's own decides how a call ends. This matters most where one comes together with the guest's. The
 * kernel delivers first what was sent to the thread. Then it has put back the mask of a call like ppoll, which alone let the
 * guest's signal in; or it has the call made again (SA_RESTART), which the guest's signal was to end.
 */
#include "base/observe.h"
#include "host/host.h"
#include "linux/host_call.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

_Thread_local volatile uint32_t mr_signal_came;
static _Thread_local volatile uint32_t came_for_nothing;

void mr_wait_call_interrupt(void *context)
{
    mr_signal_came = 1;
    mr_kernel_call_give_up(context);
}

void mr_wait_call_go_on(void *context)
{
    came_for_nothing = 1;
    mr_kernel_call_end_in_vain(context);
}

/* The time to wait, of calls whose kernel's side does not write there what is left. */
static struct timespec *time_to_wait(long number, uint64_t b, uint64_t c, uint64_t d)
{
    bool relative = number == SYS_clock_nanosleep ? !(b & TIMER_ABSTIME) : (b & FUTEX_CMD_MASK) == FUTEX_WAIT;
    if (number == SYS_rt_sigtimedwait || (number == SYS_clock_nanosleep && relative))
        return (struct timespec *)(uintptr_t)c;
    if (number == SYS_epoll_pwait2 || number == SYS_semtimedop || (number == SYS_futex && relative))
        return (struct timespec *)(uintptr_t)d;
    return NULL;
}

static void take_off(struct timespec *left, const struct timespec *from, const struct timespec *to)
{
    left->tv_sec -= to->tv_sec - from->tv_sec; /* at most 64 bits of seconds: no sum in nanoseconds */
    left->tv_nsec -= to->tv_nsec - from->tv_nsec;
    if (left->tv_nsec < 0) {
        left->tv_sec--;
        left->tv_nsec += 1000000000;
    } else if (left->tv_nsec >= 1000000000) {
        left->tv_sec++;
        left->tv_nsec -= 1000000000;
    }
    if (left->tv_sec < 0)
        *left = (struct timespec){0, 0};
}

static int64_t make_until_done(long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
    struct timespec *left = time_to_wait(number, b, c, d), before, now;
    if (left)
        clock_gettime(CLOCK_MONOTONIC, &before);
    for (;;) {
        came_for_nothing = 0;
        int64_t result = mr_kernel_call_unless(&mr_signal_came, number, a, b, c, d, e, f);
        if (result != -EINTR || mr_signal_came || !came_for_nothing)
            return result;
        if (left) {
            clock_gettime(CLOCK_MONOTONIC, &now);
            take_off(left, &before, &now);
            before = now;
        }
    }
}

/* ---- samples, where they would interrupt the call ---- */

uint64_t mr_samples_hold_bit(void)
{
    return mr_samples_held ? (uint64_t)1 << (MR_SAMPLE_SIGNAL - 1) : 0;
}

static void change_mask(int how)
{
    uint64_t bit = mr_samples_hold_bit();
    syscall(SYS_rt_sigprocmask, how, &bit, NULL, sizeof bit);
}

void mr_samples_hold(void)
{
    change_mask(SIG_BLOCK);
}

void mr_samples_release(void)
{
    change_mask(SIG_UNBLOCK);
}

/* ---- the call ---- */

int64_t mr_wait_call(long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
    if (!mr_samples_held)
        return make_until_done(number, a, b, c, d, e, f);
    mr_samples_hold();
    int64_t result = make_until_done(number, a, b, c, d, e, f);
    mr_samples_release();
    return result;
}
