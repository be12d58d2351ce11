/* What dispatch.c, fault.c, library.c, lines.c, access.c, call.c and main.c share among themselves. */
#ifndef MR_CONTROL_H
#define MR_CONTROL_H

#include "host.h"

#include <setjmp.h>
#include <signal.h>

#if defined(__SANITIZE_ADDRESS__)
#define MR_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MR_ADDRESS_SANITIZER 1
#endif
#endif
#ifndef MR_ADDRESS_SANITIZER
#define MR_ADDRESS_SANITIZER 0
#endif

/* ---- options.c ---- */
enum mr_window_choice { MR_WINDOW_AUTO, MR_WINDOW_IDENTITY, MR_WINDOW_ANY };
extern enum mr_window_choice mr_window_choice;
extern char **mr_call_arguments; /* of --call, mr_call_argument_count of them, checked to be numbers */
extern int mr_call_argument_count;
void mr_options_parse(int argc, char **argv);
bool mr_parse_integer(const char *text, uint32_t *value); /* decimal, 0x and negative; 32 bits */
bool mr_parse_address(const char *text, uint32_t *value); /* hexadecimal, with or without 0x */

/* ---- dispatch.c ---- */
void mr_dispatch_reserve(void);
/* Makes table entries [low_pc, high_pc) writable; both multiples of 4 below 2^31. */
void mr_dispatch_open(uint32_t low_pc, uint32_t high_pc);

/* Where the handler of a signal is called, and the sp above which it has surely left; see mr_interrupted_at. */
struct mr_interrupted {
    uint32_t pc, sp, stop_sp;
};

/* Frames of lifted code wait for the handler of a fault they raised. */
struct mr_waiting_frames {
    sigjmp_buf handler; /* abandons all frames above these; then the handler goes on at pc */
    uint32_t pc;
    struct mr_interrupted interrupted;
    unsigned polls;
    uint64_t stop; /* as mr_host_thread's */
    struct mr_waiting_frames *outer;
};

/* What the host thread of a guest thread needs for coming back from faults. */
struct mr_host_thread {
    uintptr_t stack_low, stack_guard_low; /* the guard lies between stack_guard_low and stack_low */
    uintptr_t access_return;              /* access.c: where in lifted code the access under way came from, or 0 */
    volatile bool in_fault;               /* a fault is being looked into: a second one is our bug */
    jmp_buf *recovery;                    /* where the host goes on when an access of its own to guest memory faults, or NULL */
    bool registers_stale;                 /* the fault being raised is of lifted code, which may not have flushed all */
    unsigned nested_faults;               /* how many handlers run above frames of lifted code that wait for them */
    unsigned nested_polls;                /* how many handlers run above frames of lifted code that go on afterwards */
    uint64_t stop;                        /* of the innermost mr_run: stop_sp, and stop_pc in the lower half */
    struct mr_waiting_frames *waiting;    /* the innermost of these, or NULL */
    bool leave_lifted;                    /* code of frames on this stack is stale: abandon them at the end of the call */
    uint32_t times_set_aside;             /* mr_times_set_aside, when frames of lifted code were last abandoned for that */
    uintptr_t signal_stack_low;           /* 0 until mr_faults_prepare_thread, unless the thread's maker has made it */
};
extern _Thread_local struct mr_host_thread mr_host_thread;

/* As mr_run, on a host thread that has no frames of this guest yet: the place mr_restart comes back to. */
uint32_t mr_run_outermost(struct mr_state *s, uint32_t pc, uint32_t stop_pc);
/* Once sp is the handler's. */
struct mr_interrupted mr_interrupted_at(const struct mr_state *s, uint32_t pc, uint32_t sp);
/* Runs from pc until the handler is done or goes elsewhere; returns the pc then. */
uint32_t mr_run_handler(struct mr_state *s, uint32_t pc, struct mr_interrupted interrupted);
bool mr_same_registers(const struct mr_state *a, const struct mr_state *b); /* what a handler can restore */
/* As mr_restart, with the pc that resume returns; resume runs when the frames are gone. */
_Noreturn void mr_restart_through(uint32_t (*resume)(struct mr_state *));

/* ---- host_stack.c ---- */
uintptr_t mr_stack_make(size_t size_bytes); /* its lowest address, with a guard below; 0 when there is no address space */
void mr_stack_free(uintptr_t low, size_t size_bytes);
struct mr_host_stack {
    uintptr_t low; /* 0 when there is no address space for it */
    size_t size_bytes;
};
struct mr_host_stack mr_host_stack_make(uint32_t guest_sp); /* for the frames of a guest thread that begins with this sp */
/* Calls body on it. Not under AddressSanitizer, which must know every stack. */
void mr_on_host_stack(struct mr_host_stack stack, void (*body)(void *), void *argument);

/* ---- fault.c ---- */
void mr_faults_prepare_thread(void); /* signal stack and stack bounds of the calling host thread */
void mr_faults_leave_thread(void);
uintptr_t mr_signal_stack_make(void); /* 0 when there is no address space for it */
void mr_signal_stack_free(uintptr_t low);

/* A guest access that cannot be made, by the instruction at pc. */
struct mr_access_fault {
    uint32_t pc, address; /* the effective address, or the first byte that is not there */
    bool beyond_file;     /* the page maps a file that does not reach so far */
    bool registers_exact; /* the state has all registers as they were before the instruction */
};
/* Raises the signal for a fault of lifted code. Returns when the guest's handler has come back to the instruction with all
 * registers as they were: then the access is to be tried again. Otherwise goes on wherever the guest does. */
void mr_fault_in_lifted_code(struct mr_state *s, const struct mr_access_fault *fault);
_Noreturn void mr_die_of_host_signal(int host_signal);
/* In a handler of the host: makes the registers as exact as the interrupted code has them; returns the guest's pc. */
uint32_t mr_interrupted_pc(struct mr_state *s, const void *context);
void mr_take_sent(const siginfo_t *info, void *context); /* a signal that the host needs for itself, but somebody sent */

/* ---- report.c ---- */
int mr_messages_fd(void);    /* what --stats, --strace and --report say goes there */
void mr_messages_open(void); /* makes it another one than the guest's */
void mr_print_error(const char *format, ...) __attribute__((format(printf, 1, 2))); /* one write, no stdio buffers */

/* ---- exception.c ---- */
/* Returns the MIPS signal for a fault, and its si_code; fault->address becomes its si_addr. */
int mr_access_signal(const struct mr_state *s, struct mr_access_fault *fault, int *code);
uint32_t mr_raise_access(struct mr_state *s, struct mr_access_fault fault); /* raises that, as mr_raise */

/* Returns the pc of the instruction that faulted first, of a load and a store that recompiled code makes as one: where memory
 * cannot be read, no store can fault that a load of the same place stands before. */
uint32_t mr_first_access(const struct mr_access_fault *fault);

/* ---- main.c ---- */
bool mr_image_fr(const struct mr_image *image); /* Status.FR as Linux sets it for this program */

/* ---- call.c ---- */
_Noreturn void mr_call_function(struct mr_state *s); /* mipsrec call */

#endif
