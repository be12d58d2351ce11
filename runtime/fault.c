/* Synchronous signals: host faults become the guest's, guest exceptions become signals, and uncaught ones end the host.
 *
 * A host fault is the guest's when its address lies in the guest's window or in the guard below the host stack. The
 * handler then leaves all frames of this guest thread and raises the guest's signal from the outermost loop; the registers are
 * those last written to the state. Every other host fault is a bug of ours, and is reported as one.
 * Not done here: asynchronous signals, and how a guest's handler is called (sys_signal.c).
 */
#include "abi.h"
#include "control.h"
#include "signals.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#define SIGNAL_STACK_BYTES ((size_t)64 << 10)
#define WINDOW_BYTES ((uint64_t)1 << 32)
#define WINDOW_GUARD_BYTES ((uint64_t)64 << 10)
#define CODE_KERNEL 0x80 /* SI_KERNEL, as force_sig sends it */

static const int handled_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};

/* The fault that is being taken to the outermost loop. */
static _Thread_local struct {
    uint32_t pc, address;
    bool beyond_file; /* the page maps a file that does not reach so far */
} pending;

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

uint32_t mr_raise(struct mr_state *s, int mips_signal, int code, uint32_t pc, uint32_t address)
{
    uint32_t new_pc;
    s->ll_valid = 0;
    if (mr_signal_deliver(s, mips_signal, code, pc, address, &new_pc))
        return new_pc;
    mr_die_by_signal(s, mips_signal, pc, address);
}

uint32_t mr_raise_access(struct mr_state *s, uint32_t pc, uint32_t address)
{
    bool mapped = (mr_pages[address / MR_PAGE_BYTES] & MR_MAPPED) != 0;
    if (address >= 0x80000000u) /* the kernel's half is an address error: do_ade in arch/mips/kernel/unaligned.c */
        return mr_raise(s, MIPS_SIGBUS, CODE_KERNEL, pc, address);
    return mr_raise(s, MIPS_SIGSEGV, mapped ? SEGV_ACCERR : SEGV_MAPERR, pc, address);
}

static uint32_t raise_pending(struct mr_state *s)
{
    if (pending.beyond_file)
        return mr_raise(s, MIPS_SIGBUS, BUS_ADRERR, pending.pc, pending.address);
    return mr_raise_access(s, pending.pc, pending.address);
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

/* Fills in `pending` and returns true when the fault is the guest's doing. */
static bool classify(const struct mr_state *s, int host_signal, const siginfo_t *info)
{
    uintptr_t host_address = (uintptr_t)info->si_addr;
    uint64_t into_window = (uint64_t)host_address - (uint64_t)(uintptr_t)mr_window;
    if ((host_signal != SIGSEGV && host_signal != SIGBUS) || info->si_code == SI_KERNEL)
        return false; /* SI_KERNEL: not a canonical address, which lifted code cannot form */
    if (into_window + WINDOW_GUARD_BYTES < WINDOW_BYTES + 2 * WINDOW_GUARD_BYTES) {
        pending.address = (uint32_t)into_window;
        pending.beyond_file = host_signal == SIGBUS;
        return true;
    }
    if (host_address >= mr_host_thread.stack_guard_low && host_address < mr_host_thread.stack_low) {
        pending.address = GPR(s, MR_REG_SP); /* as if the guest's stack had ended here */
        pending.beyond_file = false;
        return true;
    }
    return false;
}

void mr_die_of_host_signal(int host_signal)
{
    struct rlimit no_core = {0, 0};
    sigset_t unblocked;
    if (getenv("MIPSREC_CORE") == NULL) /* a core of the host says little about the guest */
        setrlimit(RLIMIT_CORE, &no_core);
    signal(host_signal, SIG_DFL);
    sigemptyset(&unblocked);
    sigaddset(&unblocked, host_signal);
    sigprocmask(SIG_UNBLOCK, &unblocked, NULL);
    raise(host_signal);
    _exit(128 + host_signal); /* it did not end us: we are process 1 of a container, or it is one that does not */
}

static _Noreturn void internal_error(int host_signal, uintptr_t host_pc, uintptr_t host_address)
{
    char text[200];
    uint32_t guest_pc = mr_current == NULL ? 0 : guest_pc_of(mr_current, host_pc);
    uintptr_t library_pc = mr_library_contains(host_pc) ? host_pc - mr_library_bias : 0;
    int length = snprintf(text, sizeof text,
                          "mipsrec-host: internal error: host signal %d at host pc 0x%lx (0x%lx in the library), "
                          "address 0x%lx, guest pc 0x%08x\n",
                          host_signal, (unsigned long)host_pc, (unsigned long)library_pc,
                          (unsigned long)host_address, guest_pc);
    if (length > 0 && write(STDERR_FILENO, text, (size_t)length) < 0)
        _exit(128 + host_signal);
    mr_die_of_host_signal(host_signal);
}

/* A signal of these kinds that no instruction raised: kill, sigqueue and the like. */
static void take_sent(const siginfo_t *info)
{
    int mips_signal = mr_signal_to_mips(info->si_signo);
    uint32_t handler = mr_signal_actions[mips_signal].handler;
    struct mr_signal_info guest_info;
    if (handler == MR_SIG_IGNORE)
        return;
    if (mr_current == NULL ||
        (handler == MR_SIG_DEFAULT && !mr_signal_in(&mr_thread_signals.blocked, mips_signal)))
        mr_die_of_host_signal(info->si_signo);
    mr_signal_info_from_host(info, &guest_info);
    mr_signal_queue(&guest_info);
}

static void on_fault(int host_signal, siginfo_t *info, void *context)
{
    uintptr_t host_pc = host_pc_of(context);
    struct mr_state *s = mr_current;
    if (info->si_code <= 0) {
        int saved_errno = errno;
        take_sent(info);
        errno = saved_errno;
        return;
    }
    if (s == NULL || mr_host_thread.in_fault || !classify(s, host_signal, info)) {
        mr_host_thread.in_fault = true;
        signal(host_signal, SIG_DFL); /* whatever happens while the message is made */
        internal_error(host_signal, host_pc, (uintptr_t)info->si_addr);
    }
    mr_host_thread.in_fault = true;
    pending.pc = guest_pc_of(s, host_pc);
    mr_host_thread.in_fault = false;
    mr_restart_through(raise_pending);
}

/* SA_NODEFER: the handler leaves by a jump, and the mask it would have to restore is the guest's to change meanwhile. */
void mr_faults_install(void)
{
    struct sigaction action = {0};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof handled_signals / sizeof handled_signals[0]; i++)
        if (sigaction(handled_signals[i], &action, NULL) != 0)
            mr_fail("cannot install a handler for signal %d: %s", handled_signals[i], strerror(errno));
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
        mr_host_thread.stack_low = (uintptr_t)low;
        mr_host_thread.stack_guard_low = (uintptr_t)low - (guard_bytes > 0 ? guard_bytes : MR_HOST_GUARD_BYTES);
    }
    pthread_attr_destroy(&attributes);
}

void mr_faults_prepare_thread(void)
{
    stack_t stack = {0};
    if (mr_host_thread.stack_low == 0)
        find_stack_bounds();
    stack.ss_size = SIGNAL_STACK_BYTES;
    stack.ss_sp = mmap(NULL, stack.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack.ss_sp == MAP_FAILED || sigaltstack(&stack, NULL) != 0)
        mr_fail("cannot make a signal stack: %s", strerror(errno));
}

void mr_faults_leave_thread(void)
{
    stack_t stack = {0}, none = {0};
    none.ss_flags = SS_DISABLE;
    if (sigaltstack(&none, &stack) == 0 && (stack.ss_flags & SS_DISABLE) == 0)
        munmap(stack.ss_sp, stack.ss_size);
}

/* Linux, arch/mips/kernel/traps.c, do_trap_or_bp. */
static uint32_t raise_trap(struct mr_state *s, uint32_t pc, uint32_t trap_code, int si_code)
{
    enum { OVERFLOW = 6, DIVISION_BY_ZERO = 7 };
    if (trap_code == OVERFLOW)
        return mr_raise(s, MIPS_SIGFPE, FPE_INTOVF, pc, pc);
    if (trap_code == DIVISION_BY_ZERO)
        return mr_raise(s, MIPS_SIGFPE, FPE_INTDIV, pc, pc);
    return mr_raise(s, MIPS_SIGTRAP, si_code, pc, si_code == CODE_KERNEL ? 0 : pc);
}

/* Linux, do_bp: gas has always put the ten-bit code of `break` into the upper half of the field; both are understood. */
static uint32_t break_code(uint32_t word)
{
    uint32_t code = word >> 6 & 0xfffff;
    return code >= 0x400 ? (code & 0x3ff) << 10 | code >> 10 : code;
}

/* Linux, do_tr: the immediate forms carry no code. */
static uint32_t trap_code(uint32_t word)
{
    return word >> 26 == 0 ? word >> 6 & 0x3ff : 0;
}

/* Linux, force_fcr31_sig: the first enabled cause, in this order. */
static int float_code(const struct mr_state *s)
{
    uint32_t causes = s->fcsr >> 12 & s->fcsr >> 7 & 0x1f;
    return (causes & 0x10) != 0   ? FPE_FLTINV
           : (causes & 0x08) != 0 ? FPE_FLTDIV
           : (causes & 0x04) != 0 ? FPE_FLTOVF
           : (causes & 0x02) != 0 ? FPE_FLTUND
           : (causes & 0x01) != 0 ? FPE_FLTRES
                                  : 14 /* FPE_FLTUNK */;
}

uint32_t mr_exception(struct mr_state *s, uint32_t pc, uint32_t cause, uint32_t word)
{
    switch ((enum mr_cause)cause) {
    case MR_OVERFLOW:
        return mr_raise(s, MIPS_SIGFPE, FPE_INTOVF, pc, pc);
    case MR_TRAP:
        return raise_trap(s, pc, trap_code(word), CODE_KERNEL);
    case MR_BREAK:
        return raise_trap(s, pc, break_code(word), TRAP_BRKPT);
    case MR_ADDRESS: /* do_ade */
        return mr_raise(s, MIPS_SIGBUS, CODE_KERNEL, pc, 0);
    case MR_FPE:
        return mr_raise(s, MIPS_SIGFPE, float_code(s), pc, pc);
    case MR_RESERVED:
    case MR_COPROCESSOR:
        return mr_raise(s, MIPS_SIGILL, CODE_KERNEL, pc, 0);
    }
    mr_fail("internal error: exception cause %u at guest pc 0x%08x, word 0x%08x", cause, pc, word);
}
