/* Host faults: those that guest accesses cause become the guest's signals, all others are bugs of ours and reported as such.
 *
 * A fault is the guest's when its address lies in the guest's window or in the guard below the host stack. Accesses that the
 * host makes on the guest's behalf, in system calls and for frames of signals, raise nothing: the host goes on at its
 * recovery. An access below the stack makes that grow, be it the guest's or the host's (memory/growing.c).
 * Not done here: what a guest's own exceptions raise (exception.c), how its handlers are called (signal_delivery.c), and what
 * becomes of frames of lifted code meanwhile (run/waiting.c).
 */
#include "linux/fault.h"

#include "base/messages.h"
#include "base/observe.h"
#include "base/options.h"
#include "baseline/baseline.h"
#include "host/host.h"
#include "lifted/code_files.h"
#include "lifted/module.h"
#include "linux/abi.h"
#include "linux/signals.h"
#include "memory/memory.h"
#include "run/host_stack.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define WINDOW_BYTES ((uint64_t)1 << 32)
#define HOST_SET_BYTES 8 /* of the kernel's sigset_t */

static const int handled_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};

/* Whether an instruction has raised the signal. Others have codes above 0, too: the exit signal of clone, F_SETSIG, and what
 * a process sends to itself. Then what stands in the place of si_addr is no address that the processor knows. */
static bool is_of_instruction(const siginfo_t *info, const ucontext_t *context)
{
    uintptr_t address = (uintptr_t)info->si_addr;
    if (info->si_code <= 0 || info->si_code == SI_KERNEL)
        return info->si_code > 0;
    bool of_access = info->si_signo == SIGSEGV || info->si_signo == SIGBUS;
    return address == (of_access ? mr_context_fault_address(context) : mr_context_pc(context));
}

/* ---- the guest's faults ---- */

/* The guest pc of the code that faulted: lifted code, a memory access it made through access.c, or the interpreter. */
static uint32_t guest_pc_of(const struct mr_state *s, uintptr_t host_pc)
{
    if (mr_library_contains(host_pc))
        return mr_library_guest_pc(host_pc);
    if (mr_host_thread.access_return != 0)
        return mr_library_guest_pc(mr_host_thread.access_return - 1);
    return s->pc;
}

/* What the state had of the registers in `bits`, before it got what the interrupted code has of them. */
struct replaced {
    uint32_t bits, values[MR_PLACE_REGISTERS];
};

/* Gives the state what the interrupted code has of the guest's registers elsewhere, as far as that is known. */
static struct replaced complete_state(struct mr_state *s, uintptr_t host_pc, const ucontext_t *context)
{
    struct mr_stack_range stack = mr_stack_used(mr_context_sp(context));
    struct mr_host_frame frame = {context, stack.low, stack.high};
    struct replaced old = {0};
    uint32_t found[MR_PLACE_REGISTERS];
    mr_baseline_fault(s, host_pc, context);
    old.bits = mr_library_registers(host_pc, &frame, found);
    for (unsigned n = 0; n < MR_PLACE_REGISTERS; n++)
        if ((old.bits >> n & 1) != 0) {
            old.values[n] = GPR(s, n);
            GPR(s, n) = found[n];
        }
    return old;
}

/* Recompiled code that goes on may count on what it has stored in the state. */
static void put_back(struct mr_state *s, const struct replaced *old)
{
    for (unsigned n = 0; n < MR_PLACE_REGISTERS; n++)
        if ((old->bits >> n & 1) != 0)
            GPR(s, n) = old->values[n];
}

uint32_t mr_interrupted_pc(struct mr_state *s, const void *context)
{
    uintptr_t host_pc = mr_context_pc(context);
    complete_state(s, host_pc, context);
    return guest_pc_of(s, host_pc);
}

/* Of the signal stack, too: what waits there is abandoned, and the host's kernel begins at its top again. */
static bool is_stack_overflow(uintptr_t host_address)
{
    return (host_address >= mr_host_thread.stack_guard_low && host_address < mr_host_thread.stack_low) ||
           mr_host_thread.signal_stack_low - host_address - 1 < MR_HOST_GUARD_BYTES;
}

/* Returns whether the fault is the guest's doing; then fills in *fault but for its pc. */
static bool classify(const struct mr_state *s, const siginfo_t *info, struct mr_access_fault *fault)
{
    uintptr_t host_address = (uintptr_t)info->si_addr;
    uint64_t into_window = (uint64_t)host_address - (uint64_t)(uintptr_t)mr_window;
    if ((info->si_signo != SIGSEGV && info->si_signo != SIGBUS) || info->si_code == SI_KERNEL)
        return false; /* SI_KERNEL: not a canonical address, which lifted code cannot form */
    bool in_window = into_window + MR_WINDOW_GUARD_BYTES < WINDOW_BYTES + 2 * MR_WINDOW_GUARD_BYTES;
    fault->address = in_window ? (uint32_t)into_window : GPR(s, MR_REG_SP); /* as if the guest's stack had ended here */
    fault->beyond_file = in_window && info->si_signo == SIGBUS;
    return in_window || is_stack_overflow(host_address);
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
        MR_TELL(sample_end);
        mr_die_of_host_signal(info->si_signo);
    }
    mr_signal_info_from_host(info, &guest_info);
    mr_signal_arrived(&guest_info, info->si_code == SI_TKILL, context);
}

static void on_guest_fault(struct mr_state *s, uintptr_t host_pc, const siginfo_t *info, ucontext_t *context,
                           struct mr_access_fault *fault)
{
    bool in_library = mr_library_contains(host_pc), overflows = is_stack_overflow((uintptr_t)info->si_addr);
    mr_host_thread.in_fault = true;
    struct replaced old = complete_state(s, host_pc, context);
    fault->pc = guest_pc_of(s, host_pc);
    if (in_library)
        fault->pc = mr_first_access(fault);
    mr_host_thread.in_fault = false;
    mr_context_resume_float(context);
    /* The state is exact for interpreted code, but frames of lifted code may be waiting for what it is part of. */
    bool frames_matter = in_library || mr_host_thread.nested_faults > 0;
    fault->host_bytes = in_library ? mr_accessed_bytes(host_pc) : 0;
    fault->registers_exact = !in_library && mr_host_thread.access_return == 0 && !overflows;
    if (!frames_matter || overflows)
        mr_fault_without_frames(fault);
    mr_fault_in_lifted_code(s, fault);
    put_back(s, &old);
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
    mr_context_resume_float(context);
    longjmp(*recovery, 1);
}

/* Whether the access is to be made again, of guest code or of the host on its behalf: the stack has grown. */
static bool has_grown(const siginfo_t *info)
{
    struct mr_access_fault fault;
    if (info->si_signo != SIGSEGV || mr_current == NULL || mr_host_thread.in_fault || !classify(mr_current, info, &fault) ||
        is_stack_overflow((uintptr_t)info->si_addr))
        return false;
    int saved_errno = errno;
    bool grown = mr_grow(fault.address);
    errno = saved_errno;
    return grown;
}

static void on_fault(int host_signal, siginfo_t *info, void *context)
{
    uintptr_t host_pc = mr_context_pc(context);
    struct mr_access_fault fault;
    if (!is_of_instruction(info, context)) {
        int saved_errno = errno;
        mr_take_sent(info, context);
        errno = saved_errno;
        return;
    }
    if (has_grown(info))
        return;
    if (mr_verifying) {
        mr_context_resume_float(context);
        mr_observe.host_fault((uintptr_t)info->si_addr);
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

/* ---- handlers ---- */

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
