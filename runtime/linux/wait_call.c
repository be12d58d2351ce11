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
#include "linux/host_call.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

_Thread_local volatile uint32_t mr_signal_came;
static _Thread_local volatile uint32_t came_for_nothing;

#if defined(__x86_64__)

_Static_assert(ERESTART == 85, "the number in the code below");

/* As the kernel's convention, after the address of mr_signal_came; the number is the second argument. */
int64_t mr_wait_call_code(const volatile uint32_t *came, long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                          uint64_t e, uint64_t f);
extern const uint8_t mr_wait_call_begin[], mr_wait_call_enter[], mr_wait_call_made[], mr_wait_call_given_up[];

__asm__(".text\n"
        ".globl mr_wait_call_code, mr_wait_call_begin, mr_wait_call_enter, mr_wait_call_made, mr_wait_call_given_up\n"
        ".type mr_wait_call_code, @function\n"
        "mr_wait_call_code:\n\t"
        ".cfi_startproc\n\t"
        "movq %rdi, %r11\n\t"
        "movq %rsi, %rax\n\t"
        "movq %rdx, %rdi\n\t"
        "movq %rcx, %rsi\n\t"
        "movq %r8, %rdx\n\t"
        "movq %r9, %r10\n\t"
        "movq 8(%rsp), %r8\n\t"
        "movq 16(%rsp), %r9\n"
        "mr_wait_call_begin:\n\t"
        "cmpl $0, (%r11)\n\t"
        "jne mr_wait_call_given_up\n"
        "mr_wait_call_enter:\n\t"
        "syscall\n"
        "mr_wait_call_made:\n\t"
        "ret\n"
        "mr_wait_call_given_up:\n\t"
        "movq $-85, %rax\n\t"
        "ret\n\t"
        ".cfi_endproc\n"
        ".size mr_wait_call_code, . - mr_wait_call_code\n");

static int64_t make(long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
    return mr_wait_call_code(&mr_signal_came, number, a, b, c, d, e, f);
}

void mr_wait_call_interrupt(void *context)
{
    greg_t *pc = &((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    mr_signal_came = 1;
    if ((uintptr_t)*pc >= (uintptr_t)mr_wait_call_begin && (uintptr_t)*pc < (uintptr_t)mr_wait_call_made)
        *pc = (greg_t)(uintptr_t)mr_wait_call_given_up;
}

/* A call that the kernel restarts stands before `syscall` again, and so does one that is not made yet: both are over in vain.
 * Before that, mr_signal_came decides, and is looked at again: a handler above this one may have set it. */
void mr_wait_call_go_on(void *context)
{
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    uintptr_t pc = (uintptr_t)registers[REG_RIP];
    came_for_nothing = 1;
    if (pc == (uintptr_t)mr_wait_call_enter) {
        registers[REG_RIP] = (greg_t)(uintptr_t)mr_wait_call_made;
        registers[REG_RAX] = -EINTR;
    } else if (pc > (uintptr_t)mr_wait_call_begin && pc < (uintptr_t)mr_wait_call_enter) {
        registers[REG_RIP] = (greg_t)(uintptr_t)mr_wait_call_begin;
    }
}

bool mr_wait_call_waits(const void *context)
{
    const greg_t *registers = ((const ucontext_t *)context)->uc_mcontext.gregs;
    uintptr_t pc = (uintptr_t)registers[REG_RIP];
    return (pc >= (uintptr_t)mr_wait_call_begin && pc < (uintptr_t)mr_wait_call_made) ||
           (pc == (uintptr_t)mr_wait_call_made && registers[REG_RAX] == -EINTR);
}

#else /* a signal may be missed until the next one */

static int64_t make(long number, uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
    return mr_signal_came ? -ERESTART : mr_result(syscall(number, a, b, c, d, e, f));
}

void mr_wait_call_interrupt(void *context)
{
    (void)context;
    mr_signal_came = 1;
}

void mr_wait_call_go_on(void *context)
{
    (void)context;
    came_for_nothing = 1;
}

bool mr_wait_call_waits(const void *context)
{
    (void)context;
    return false; /* the call ends with EINTR, and is made again */
}

#endif

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
        int64_t result = make(number, a, b, c, d, e, f);
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
