/* What a host thread has that runs a guest thread: the guest's registers, counters, and the way back from faults. */
#ifndef MR_BASE_HOST_THREAD_H
#define MR_BASE_HOST_THREAD_H

#include "mr_state.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>

#define GPR(s, n) ((s)->gpr[n].value)

/* The guest thread that the calling host thread runs, or NULL. `mipsrec profile --mix` reads it, and finds it by this name. */
extern _Thread_local struct mr_state *mr_current;
extern struct mr_state *mr_main_state; /* of the first guest thread */

/* Where the handler of a signal is called, and the sp above which it has surely left; see mr_interrupted_at. */
struct mr_interrupted {
    uint32_t pc, sp, stop_sp;
};

/* Whether pc is where the handler was called. It may come to the instruction by a call, too: then sp is another one. */
static inline bool mr_is_back(const struct mr_state *s, uint32_t pc, struct mr_interrupted interrupted)
{
    return pc == interrupted.pc && GPR(s, MR_REG_SP) == interrupted.sp;
}

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
    uintptr_t stack_high;                 /* frames of guest code lie below it */
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
    uintptr_t signal_stack_low;           /* 0 until mr_signal_stack_enter, unless the thread's maker has made it */
};
extern _Thread_local struct mr_host_thread mr_host_thread;

struct mr_counters {
    uint64_t interpreted, interpreter_runs; /* instructions, and how often it began at one */
    uint64_t dispatches;                    /* functions called, and runs of the interpreter, by mr_run */
    uint64_t baseline_entries;              /* runs of translated code from C */
    uint64_t syscalls, unknown_syscalls, unknown_ioctls;
};
extern _Thread_local struct mr_counters mr_counters;

/* What a thread's code outside the library works for: samples tell it. A frame that a jump leaves does not set it
 * back, so the function that begins something sets it, and the one that ends it sets it back. */
enum mr_activity { MR_FOR_LIFTED, MR_INTERPRETING, MR_FOR_CALL };
struct mr_doing {
    enum mr_activity activity;
    uint32_t pc; /* MR_FOR_CALL: that of the syscall instruction */
};
extern _Thread_local volatile struct mr_doing mr_doing;

#endif
