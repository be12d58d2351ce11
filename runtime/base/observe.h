/* Who looks on while the guest runs: verify, the debugger, samples, growth and --strace.
 *
 * The lower folders call them through one table, which is empty when nobody looks on. Each fills in its part before the
 * guest's first instruction, and nobody changes the table afterwards, so that threads read it without a lock. A flag beside
 * the table says whether to call now; where there is none, MR_TELL calls each observer that is there.
 */
#ifndef MR_BASE_OBSERVE_H
#define MR_BASE_OBSERVE_H

#include "mr_state.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mr_call;
struct mr_signal_info;

/* Where lifted code and the interpreter are compared (verify). */
enum mr_point_kind {
    MR_AT_START,
    MR_AT_CALL,      /* lifted code calls pc */
    MR_AT_PLACE,     /* control is at pc: after a return, a jump out of a function; detail MR_FOR_SIGNAL: signals wait */
    MR_AT_SYSCALL,   /* the system call at pc is next */
    MR_AT_EXCEPTION, /* the instruction at pc raises exception `detail`, enum mr_cause */
    MR_AT_FAULT,     /* the instruction at pc may not access guest address `detail` */
};

enum { MR_FOR_SIGNAL = 1 };

struct mr_point {
    enum mr_point_kind kind;
    uint32_t pc, detail;
};

struct mr_observe {
    /* ---- verify; with mr_verifying ---- */
    /* The same operations on the interpreter's memory, after they worked on the other. */
    void (*map)(uint32_t guest, uint64_t size_bytes, int protection, int host_flags, int fd, uint64_t offset);
    void (*release)(uint32_t guest, uint64_t size_bytes);
    void (*protect)(uint32_t guest, uint64_t size_bytes, int protection);
    void (*grow)(uint32_t guest, uint64_t old_size, uint64_t new_size);
    void (*move)(uint32_t guest, uint64_t old_size, uint64_t new_size, uint32_t to);
    void (*range)(uint32_t guest, uint32_t size_bytes); /* bytes that system calls are about to read or write */
    /* Lifted code, or the interpreter in its stead, is at a point where nothing is shared. */
    void (*point)(struct mr_state *s, enum mr_point_kind kind, uint32_t pc);
    /* Begins what happens once: brings the interpreter to this point. Nested beginnings count as one with the outermost. Does
     * not return when it is the interpreter that comes here. */
    void (*begin_once)(struct mr_state *s, struct mr_point point);
    /* Ends it: the interpreter goes on at pc with the registers and memory that are there now. Returns pc. */
    uint32_t (*end_once)(struct mr_state *s, uint32_t pc);
    /* A host fault. Does not return when it is the interpreter's or that of a comparison; host_address as in siginfo. */
    void (*host_fault)(uintptr_t host_address);
    void (*verify_executes)(void); /* the guest is about to become another program */

    /* ---- the debugger; with mr_debugging ---- */
    void (*debug_thread_begins)(struct mr_state *s);
    void (*debug_thread_ends)(void);
    /* As mr_interpret, until the debugger leaves. */
    uint32_t (*debug_run)(struct mr_state *s, uint32_t pc, uint32_t stop_pc, uint32_t stop_sp);
    /* Before a system call: whether the thread is to stop first; then the call is made again. */
    bool (*debug_holds_call)(struct mr_state *s);
    /* After one: whether the debugger has changed the thread's registers; then it goes on at *pc with those. */
    bool (*debug_moved)(struct mr_state *s, uint32_t *pc);
    /* The debugger is asked before the guest sees a signal. It may change *info and *pc; info->signal 0: none. */
    void (*debug_ask_signal)(struct mr_state *s, struct mr_signal_info *info, uint32_t *pc);
    /* The same in a handler of the host, when the thread waits in a system call: whether the guest gets the signal. */
    bool (*debug_ask_in_call)(struct mr_signal_info *info, void *context);

    /* After a call that may have changed the calling thread's rights: returns when the debugger's thread has no more. */
    void (*debug_rights_changed)(void);

    /* ---- the debugger, whether it has this process or not ---- */
    void (*debug_forked)(void); /* in the child, which nobody debugs */
    /* Whether the host must take a signal although the guest ignores it, or leaves it at its default. */
    bool (*debug_takes)(int mips_signal);
    /* In the handler of the carrier. Returns whether the signal was a request to stop. */
    bool (*debug_kicked)(const siginfo_t *info, void *context);
    void (*debug_executes)(void);     /* another program is about to take over */
    void (*debug_executes_not)(void); /* it did not */

    /* ---- samples ---- */
    void (*sample_thread_begins)(void);
    void (*sample_thread_ends)(void);
    void (*sample_forked)(void); /* in the child */
    void (*sample_executes)(void); /* another program is about to take over */
    void (*sample_executes_not)(void);
    void (*sample_end)(void); /* this process ends; for handlers of signals, too */
    /* Whether the signal would end the process unseen, so that a handler must: the other one. */
    bool (*sample_takes_end)(int host_signal);
    void (*sample_on_end)(int host_signal, siginfo_t *info, void *context);

    /* ---- growth ---- */
    void (*growth_arrived)(uint32_t pc); /* control has come to pc, for the last time of many */
    void (*growth_step)(void);           /* with mr_growth_due */
    void (*growth_forked)(void);         /* in the child */
    void (*growth_ends)(void);           /* from now on no server is asked or started */

    /* ---- --strace ---- */
    void (*trace_enter)(const struct mr_call *c);                 /* what is known before the call */
    void (*trace_leave)(const struct mr_call *c, int64_t result); /* the rest of the line */
    void (*trace_signal)(const struct mr_signal_info *info, uint32_t pc); /* one that goes to a handler */
};
extern struct mr_observe mr_observe;

#define MR_TELL(who, ...)                   \
    do {                                    \
        if (mr_observe.who != NULL)         \
            mr_observe.who(__VA_ARGS__);    \
    } while (0)

extern bool mr_verifying;          /* mipsrec verify */
extern bool mr_debugging;          /* a debugger has this process */
extern bool mr_sampling;           /* there are samples, for a file or for growth/hot.c */
extern bool mr_samples_held;       /* from mr_samples_hold to mr_samples_release; else they disturb no call */
extern _Atomic bool mr_growth_due; /* where the guest's state is complete, and no lock is held: call growth_step */

/* Around each call of the guest that may change its thread's rights. */
static inline int64_t mr_rights_changed(int64_t result)
{
    if (mr_debugging)
        mr_observe.debug_rights_changed();
    return result;
}

static inline bool mr_debug_takes(int mips_signal)
{
    return mr_observe.debug_takes != NULL && mr_observe.debug_takes(mips_signal);
}

#endif
