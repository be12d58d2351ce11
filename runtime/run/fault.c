/* Host faults: those that guest accesses cause become the guest's signals, all others are bugs of ours and reported as such.
 *
 * A fault is the guest's when its address lies in the guest's window or in the guard below the host stack. What the
 * guest's registers are at that point only the frames of lifted code know; the state has what they last wrote. So the handler
 * runs while those frames wait, and when it comes back to the instruction, as one does that has made the page accessible,
 * the host repeats the access and nothing is lost. When the guest goes elsewhere, the frames are abandoned, and it goes
 * there with the registers in the state. Accesses that the host makes on the guest's behalf, in system calls and for frames of
 * signals, raise nothing: the host goes on at its recovery.
 * Not done here: what a guest's own exceptions raise (exception.c), and how its handlers are called (signal_state.c).
 */
#include "linux/abi.h"
#include "baseline/baseline.h"
#include "run/control.h"
#include "lifted/code.h"
#include "cpu/fpu.h"
#include "gdb/gdb.h"
#include "profile/profile.h"
#include "linux/signals.h"
#include "verify/verify.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

/* Handlers of the guest run on it, and what they jump to. AddressSanitizer mistrusts stacks of more than 64 MiB. */
#define SIGNAL_STACK_BYTES ((size_t)(MR_ADDRESS_SANITIZER ? 32 : 256) << 20)
#define RED_ZONE_BYTES 128u /* of x86-64's ABI */
#define NESTED_FAULTS_MAX 16u /* those that never return must not fill it */
#define WINDOW_BYTES ((uint64_t)1 << 32)
#define HOST_SET_BYTES 8 /* of the kernel's sigset_t */

static const int handled_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};

static _Thread_local struct mr_access_fault pending; /* is being taken to the outermost loop */

static uintptr_t host_pc_of(const ucontext_t *context)
{
#if defined(__x86_64__)
    return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
    return (uintptr_t)context->uc_mcontext.pc;
#else
#error "where does this machine's ucontext keep the pc?"
#endif
}

/* Linux enters a handler with the FPU as a new process has it. */
static void resume_float_modes(const ucontext_t *context)
{
#if defined(__x86_64__)
    if (context->uc_mcontext.fpregs != NULL)
        _mm_setcsr(context->uc_mcontext.fpregs->mxcsr);
#else
    (void)context; /* aarch64 leaves it alone */
#endif
}

/* ---- the guest's faults ---- */

static uint32_t raise_pending(struct mr_state *s)
{
    return mr_raise_access(s, pending);
}

static _Noreturn void abandon_frames(const struct mr_access_fault *fault)
{
    pending = *fault;
    mr_restart_through(raise_pending);
}

/* Whether a handler of the guest can run while the frames of lifted code wait. */
static bool can_wait(const struct mr_state *s, struct mr_access_fault fault)
{
    int code, mips_signal = mr_access_signal(s, &fault, &code);
    uintptr_t here = (uintptr_t)&code;
    bool low_on_stack = here - mr_host_thread.signal_stack_low < SIGNAL_STACK_BYTES / 2;
    return mr_signal_actions[mips_signal].handler > MR_SIG_IGNORE &&
           !mr_signal_in(&mr_thread_signals.blocked, mips_signal) &&
           mr_host_thread.nested_faults < NESTED_FAULTS_MAX && !low_on_stack;
}

/* Runs the handler at here->pc; returns the guest's pc afterwards. */
static uint32_t run_above(struct mr_state *s, struct mr_waiting_frames *here)
{
    mr_host_thread.nested_faults++;
    mr_host_thread.waiting = here;
    sigsetjmp(here->handler, 0); /* mr_leave_lifted comes back here */
    mr_host_thread.nested_polls = here->polls;
    uint32_t pc = mr_run_handler(s, here->pc, here->interrupted);
    mr_host_thread.stop = here->stop;
    mr_host_thread.waiting = here->outer;
    mr_host_thread.nested_faults--;
    return pc;
}

void mr_fault_in_lifted_code(struct mr_state *s, const struct mr_access_fault *fault)
{
    mr_host_thread.registers_stale = true;
    if (!can_wait(s, *fault))
        abandon_frames(fault);
    mr_fpu_collect(s);
    struct mr_state before = *s;
    uint32_t sp = GPR(s, MR_REG_SP), pc = mr_raise_access(s, *fault);
    struct mr_waiting_frames here = {.pc = pc,
                                     .interrupted = mr_interrupted_at(s, fault->pc, sp),
                                     .polls = mr_host_thread.nested_polls,
                                     .stop = mr_host_thread.stop,
                                     .outer = mr_host_thread.waiting};
    mr_host_thread.registers_stale = false;
    pc = run_above(s, &here);
    if (pc != fault->pc || !mr_same_registers(&before, s))
        mr_restart(s, pc);
}

/* The guest pc of the code that faulted: lifted code, a memory access it made through access.c, or the interpreter. */
static uint32_t guest_pc_of(const struct mr_state *s, uintptr_t host_pc)
{
    if (mr_library_contains(host_pc))
        return mr_library_guest_pc(host_pc);
    if (mr_host_thread.access_return != 0)
        return mr_library_guest_pc(mr_host_thread.access_return - 1);
    return s->pc;
}

uint32_t mr_interrupted_pc(struct mr_state *s, const void *context)
{
    uintptr_t host_pc = host_pc_of(context);
    mr_baseline_fault(s, host_pc, context);
    return guest_pc_of(s, host_pc);
}

/* Of the signal stack, too: what waits there is abandoned, and the host's kernel begins at its top again. */
static bool is_stack_overflow(uintptr_t host_address)
{
    return (host_address >= mr_host_thread.stack_guard_low && host_address < mr_host_thread.stack_low) ||
           mr_host_thread.signal_stack_low - host_address - 1 < MR_HOST_GUARD_BYTES;
}

/* Fills in *fault but for its pc, and returns true, when the fault is the guest's doing. */
static bool classify(const struct mr_state *s, const siginfo_t *info, struct mr_access_fault *fault)
{
    uintptr_t host_address = (uintptr_t)info->si_addr;
    uint64_t into_window = (uint64_t)host_address - (uint64_t)(uintptr_t)mr_window;
    if ((info->si_signo != SIGSEGV && info->si_signo != SIGBUS) || info->si_code == SI_KERNEL)
        return false; /* SI_KERNEL: not a canonical address, which lifted code cannot form */
    if (into_window + MR_WINDOW_GUARD_BYTES < WINDOW_BYTES + 2 * MR_WINDOW_GUARD_BYTES) {
        fault->address = (uint32_t)into_window;
        fault->beyond_file = info->si_signo == SIGBUS;
        return true;
    }
    if (is_stack_overflow(host_address)) {
        fault->address = GPR(s, MR_REG_SP); /* as if the guest's stack had ended here */
        fault->beyond_file = false;
        return true;
    }
    return false;
}

/* ---- the end ---- */

void mr_die_of_host_signal(int host_signal)
{
    struct rlimit no_core = {0, 0};
    uint64_t bit = (uint64_t)1 << (host_signal - 1);
    if (!mr_options.dump_core) /* a core of the host says little about the guest */
        setrlimit(RLIMIT_CORE, &no_core);
    mr_signal_host_default(host_signal); /* not by the libc, which has signals of its own */
    syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &bit, NULL, HOST_SET_BYTES);
    syscall(SYS_tgkill, getpid(), gettid(), host_signal);
    _exit(128 + host_signal); /* it did not end us: we are process 1 of a container, or it is one that does not */
}

static _Noreturn void internal_error(int host_signal, uintptr_t host_pc, uintptr_t host_address)
{
    char text[800], place[400];
    uint32_t guest_pc = mr_current == NULL ? 0 : guest_pc_of(mr_current, host_pc);
    const struct mr_module *module = mr_module_of(host_pc);
    uintptr_t library_pc = module != NULL ? host_pc - module->object.bias : 0;
    bool known = mr_code_file_describe(guest_pc, false, place, sizeof place);
    int length = snprintf(text, sizeof text,
                          "mipsrec-host: internal error: host signal %d at host pc 0x%lx (0x%lx in the library), "
                          "address 0x%lx, guest pc 0x%08x%s%s\n",
                          host_signal, (unsigned long)host_pc, (unsigned long)library_pc,
                          (unsigned long)host_address, guest_pc, known ? ", " : "", known ? place : "");
    if (length > 0 && write(STDERR_FILENO, text, (size_t)length) < 0)
        _exit(128 + host_signal);
    mr_die_of_host_signal(host_signal);
}

/* A signal of these kinds that no instruction raised: kill, sigqueue and the like. */
void mr_take_sent(const siginfo_t *info, void *context)
{
    int mips_signal = mr_signal_to_mips(info->si_signo);
    struct mr_signal_info guest_info;
    if (mr_signal_actions[mips_signal].handler == MR_SIG_DEFAULT &&
        !mr_signal_in(&mr_thread_signals.blocked, mips_signal) && !mr_debug_takes(mips_signal)) {
        mr_profile_end();
        mr_die_of_host_signal(info->si_signo);
    }
    mr_signal_info_from_host(info, &guest_info);
    mr_signal_arrived(&guest_info, info->si_code == SI_TKILL, context);
}

static void on_guest_fault(struct mr_state *s, uintptr_t host_pc, const siginfo_t *info, ucontext_t *context,
                           struct mr_access_fault *fault)
{
    mr_host_thread.in_fault = true;
    mr_baseline_fault(s, host_pc, context);
    fault->pc = guest_pc_of(s, host_pc);
    if (mr_library_contains(host_pc))
        fault->pc = mr_first_access(fault);
    mr_host_thread.in_fault = false;
    resume_float_modes(context);
    /* The state is exact for interpreted code, but frames of lifted code may be waiting for what it is part of. */
    bool frames_matter = mr_library_contains(host_pc) || mr_host_thread.nested_faults > 0;
    fault->registers_exact = !mr_library_contains(host_pc) && mr_host_thread.access_return == 0 &&
                             !is_stack_overflow((uintptr_t)info->si_addr);
    if (!frames_matter || is_stack_overflow((uintptr_t)info->si_addr))
        abandon_frames(fault);
    mr_fault_in_lifted_code(s, fault);
    /* The host restores its mask from here, and the guest's may have changed. glibc's sigset_t is longer than the frame's. */
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, NULL, &context->uc_sigmask, HOST_SET_BYTES);
}

/* The host looked at the page before; but it may lie beyond the end of its file, or be gone since (syscall.c). */
static void recover(const siginfo_t *info, const ucontext_t *context)
{
    struct mr_access_fault fault;
    jmp_buf *recovery = mr_host_thread.recovery;
    if (recovery == NULL || !classify(mr_current, info, &fault) || is_stack_overflow((uintptr_t)info->si_addr))
        return;
    mr_host_thread.recovery = NULL;
    resume_float_modes(context);
    longjmp(*recovery, 1);
}

static void on_fault(int host_signal, siginfo_t *info, void *context)
{
    uintptr_t host_pc = host_pc_of(context);
    struct mr_access_fault fault;
    if (info->si_code <= 0) {
        int saved_errno = errno;
        mr_take_sent(info, context);
        errno = saved_errno;
        return;
    }
    if (mr_verifying) {
        resume_float_modes(context);
        mr_verify_fault((uintptr_t)info->si_addr);
    }
    recover(info, context);
    if (mr_current != NULL && !mr_host_thread.in_fault && classify(mr_current, info, &fault)) {
        on_guest_fault(mr_current, host_pc, info, context, &fault);
    } else {
        mr_host_thread.in_fault = true;
        signal(host_signal, SIG_DFL); /* whatever happens while the message is made */
        internal_error(host_signal, host_pc, (uintptr_t)info->si_addr);
    }
}

/* ---- handlers and stacks ---- */

/* SA_NODEFER: guest code runs in the handler, which may also be left by a jump. */
void mr_faults_install(void)
{
    struct sigaction action = {0};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof handled_signals / sizeof handled_signals[0]; i++)
        if (sigaction(handled_signals[i], &action, NULL) != 0)
            mr_fail("cannot install a handler for signal %d: %s", handled_signals[i], strerror(errno));
    mr_carrier_install();
    mr_signals_set_host_mask(mr_signal_set_to_host(&mr_thread_signals.blocked));
}

void mr_faults_hand_on(void)
{
    sigset_t blocked;
    sigemptyset(&blocked);
    for (size_t i = 0; i < sizeof handled_signals / sizeof handled_signals[0]; i++) {
        int mips_signal = mr_signal_to_mips(handled_signals[i]);
        if (mr_signal_in(&mr_thread_signals.blocked, mips_signal))
            sigaddset(&blocked, handled_signals[i]);
        if (mr_signal_actions[mips_signal].handler == MR_SIG_IGNORE)
            signal(handled_signals[i], SIG_IGN);
    }
    pthread_sigmask(SIG_BLOCK, &blocked, NULL);
}

void mr_faults_take_back(void)
{
    mr_faults_install();
    mr_signals_hold_none(false);
}

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

void mr_faults_prepare_thread(void)
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

void mr_faults_leave_thread(void)
{
    stack_t stack = {0}, none = {0};
    none.ss_flags = SS_DISABLE;
    if (sigaltstack(&none, &stack) == 0 && (stack.ss_flags & SS_DISABLE) == 0)
        mr_signal_stack_free(mr_host_thread.signal_stack_low);
}
