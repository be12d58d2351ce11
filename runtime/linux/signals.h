/* The guest's signals, as the system calls and the frames share them.
 *
 * A guest signal arrives in one of two ways: a thread raises it at itself, or the host receives it. Both end in a queue of
 * the guest thread, which is emptied at system calls (mr_signals_take). What the guest ignores or leaves at its default, the
 * host ignores or leaves at its default too, and the host blocks what the guest blocks; so the host kernel does most of it.
 */
#ifndef MR_LINUX_SIGNALS_H
#define MR_LINUX_SIGNALS_H

#include "mr_state.h"

#include <stdbool.h>
#include <stdint.h>

enum mips_signal_number {
    MIPS_SIGILL = 4, MIPS_SIGTRAP = 5, MIPS_SIGABRT = 6, MIPS_SIGFPE = 8, MIPS_SIGKILL = 9, MIPS_SIGBUS = 10, MIPS_SIGSEGV = 11,
    MIPS_SIGCHLD = 18, MIPS_SIGWINCH = 20, MIPS_SIGURG = 21, MIPS_SIGSTOP = 23, MIPS_SIGTSTP = 24, MIPS_SIGCONT = 25,
    MIPS_SIGTTIN = 26, MIPS_SIGTTOU = 27,
};

/* Signal n is bit n - 1. The guest's sigset_t has 128 bits. */
struct mr_signal_set {
    uint64_t bits[2];
};
#define MR_SIGNAL_SET_BYTES 16u

enum { MR_SIG_DEFAULT = 0, MR_SIG_IGNORE = 1 }; /* values of `handler` that are no addresses */

struct mr_signal_action {
    uint32_t flags, handler;
    struct mr_signal_set mask;
};
enum {
    MR_SA_SIGINFO = 0x8, MR_SA_ONSTACK = 0x08000000, MR_SA_RESTART = 0x10000000, MR_SA_NODEFER = 0x40000000,
    MR_SA_NOCLDWAIT = 0x10000, MR_SA_NOCLDSTOP = 0x1,
};
#define MR_SA_RESETHAND 0x80000000u

/* siginfo_t of o32 is signal, code, error and 29 more words; which of them are used depends on the code. */
struct mr_signal_info {
    int signal, code, error;
    uint32_t words[5];
    bool asked; /* the debugger knows of it */
};
#define MR_SIGINFO_BYTES 128u
enum { MIPS_SI_TIMER = -3 };
/* A timer's signal waits once: returns true when it is one more of the timer that another, waiting one is of. */
bool mr_signal_joins(struct mr_signal_info *waiting, const struct mr_signal_info *info);

struct mr_alternate_stack {
    uint32_t sp, size_bytes, flags;
};
enum { MR_SS_ONSTACK = 1, MR_SS_DISABLE = 2 };
#define MR_SS_AUTODISARM 0x80000000u

/* What a guest thread has. */
struct mr_thread_signals {
    struct mr_signal_set blocked;
    struct mr_signal_set saved; /* during a call with a mask of its own: what `blocked` was before */
    bool saved_valid;
    struct mr_signal_set awaited; /* by sigtimedwait, while it waits */
    struct mr_alternate_stack stack;
};
extern _Thread_local struct mr_thread_signals mr_thread_signals;

/* ---- signal_state.c, signal_queue.c, signal_host.c, signal_delivery.c ---- */
/* If the guest has a handler, makes its frame, puts the handler's pc in *new_pc and returns true. */
bool mr_signal_deliver(struct mr_state *s, int mips_signal, int code, uint32_t pc, uint32_t address, uint32_t *new_pc);
/* Signals that the host needs for itself: faults of lifted code, samples, the carrier. It never blocks them, and has
 * handlers. */
bool mr_signal_host_needs(int host_signal);
/* Before the guest has a handler for signal 32 or 33, and before it has a second thread: the libc of the host puts handlers
 * of its own there with the first thread that it makes. From then on they are as the guest has them. Takes mr_lock. */
void mr_signals_own_reserved(void);
void mr_signals_keep_reserved(void); /* after each host thread that is made; the caller has mr_lock */
extern struct mr_signal_action mr_signal_actions[129]; /* changed under mr_lock; one member may be read without */

bool mr_signals_restart(void); /* whether the next one to be delivered goes to a handler with SA_RESTART, or to none */
void mr_signal_queue(const struct mr_signal_info *info); /* for this thread */
struct mr_signal_set mr_signals_pending(void);
bool mr_signal_dequeue(struct mr_signal_set wanted, struct mr_signal_info *info); /* the lowest one that is wanted */
bool mr_signal_is_ignored(int mips_signal); /* by its action, or by default */
int mr_signal_lowest_queued(const struct mr_signal_set *wanted);  /* or 0 */
void mr_signal_block(struct mr_signal_set blocked);      /* sets the mask of this thread, here and in the host */
void mr_signal_set_action(int mips_signal, const struct mr_signal_action *action);
struct mr_signal_action mr_signal_get_action(int mips_signal);
/* The host's own mask of this thread, all signals that the host's kernel knows; returns the old one. */
#define MR_ALL_SIGNALS (~(uint64_t)0)
uint64_t mr_signals_set_host_mask(uint64_t host_set);
void mr_signals_let_in_held(void); /* what the host blocks while the guest takes what came before */
void mr_signals_hold_none(bool none); /* whether it blocks nothing so from now on: an execve hands the host's mask on */
void mr_signals_mirror_all(void); /* the host's actions become those that the guest and the debugger want; takes mr_lock */
void mr_signal_host_default(int host_signal); /* the host's own action becomes the default */

static inline bool mr_signal_in(const struct mr_signal_set *set, int mips_signal)
{
    return set->bits[(mips_signal - 1) / 64] >> ((mips_signal - 1) % 64) & 1;
}

/* A mask that holds during one call that waits (sigsuspend, ppoll, pselect6). */
struct mr_signal_mask {
    uint64_t host; /* for the host's call */
};
int mr_signal_mask_for_wait(uint32_t guest_set, uint32_t set_bytes, struct mr_signal_mask *mask); /* 0 or -errno */
/* Ends it; mask may be NULL (there was none). Returns the result. After -EINTR the handler still runs under the mask. */
int64_t mr_signal_wait_done(const struct mr_signal_mask *mask, int64_t result);
void mr_signal_wait_abandoned(void); /* ends one, if there is any, that did not come to its end */
uint64_t mr_signal_set_to_host(const struct mr_signal_set *set);
int mr_get_signal_set(uint32_t guest, struct mr_signal_set *set); /* 0 or -EFAULT */
int mr_put_signal_set(uint32_t guest, const struct mr_signal_set *set);

/* ---- linux/signal_carrier.c: signals that the host does not have ---- */
#define MR_CARRIER_SIGNAL 64 /* the host's signal that brings them, and the guest's of this number */
static inline bool mr_signal_is_carried(int mips_signal)
{
    return mips_signal > MR_CARRIER_SIGNAL;
}
void mr_carrier_install(void);
void mr_carrier_thread_begins(void); /* called by each guest thread, once there are several */
void mr_carrier_thread_ends(void);
void mr_carrier_forked(void);
/* For kill and tkill, with their first arguments; group: -1 if it is not known. */
int64_t mr_send_carried(int32_t process, const struct mr_signal_info *info);
int64_t mr_send_carried_to_thread(int32_t group, int32_t thread, const struct mr_signal_info *info);
/* The sigval of a timer or a message queue that sends signal `upper` with this value. */
void *mr_carried_value(int upper, uint32_t value);
/* One for this process that the host does not send: to a thread that takes it, or it waits for one. */
void mr_signal_to_process(const struct mr_signal_info *info);
void mr_signals_take_waiting(void); /* those that this thread takes, to its queue */
void mr_signals_add_waiting(struct mr_signal_set *pending);
void mr_signals_drop_waiting(int mips_signal);
/* In a handler of the host that has got one, for its thread or for the whole process. */
void mr_signal_arrived(const struct mr_signal_info *info, bool of_thread, void *context);
/* Just before execve, the host's mask being the guest's: what waits goes to the next program. mr_faults_take_back undoes it. */
void mr_signals_hand_on(bool to_guest);

/* ---- signal_frame.c ---- */
bool mr_on_alternate_stack(const struct mr_alternate_stack *stack, uint32_t sp);
/* Pushes a frame and enters the handler. Returns the handler's pc, or 0 when the guest's stack is not there. */
uint32_t mr_signal_frame(struct mr_state *s, const struct mr_signal_action *action, const struct mr_signal_info *info,
                         uint32_t pc, const struct mr_signal_set *mask);
/* Restores what the frame at sp holds. Returns false when it is not there. */
bool mr_signal_return(struct mr_state *s, bool with_info, uint32_t *pc);

/* ---- signal_info.c ---- */
int mr_signal_code_to_mips(int code); /* si_code of a host's signal */
int mr_signal_code_to_host(int code); /* si_code */
void mr_signal_info_from_host(const void *host_siginfo, struct mr_signal_info *info);
/* to_self: to this process, which gets it back with all its words, whatever the code. */
void mr_signal_info_to_host(const struct mr_signal_info *info, bool to_self, void *host_siginfo);
bool mr_signal_raw_code(int host_code, int host_error, int *code); /* whether it came so; then the guest's code */
bool mr_signal_is_of_descriptor(int host_code, uint64_t band); /* not the end of a child: si_band is one of a descriptor */
int mr_get_signal_info(uint32_t guest, struct mr_signal_info *info); /* 0 or -EFAULT */
void mr_signal_info_to_bytes(uint8_t *to, const struct mr_signal_info *info); /* MR_SIGINFO_BYTES of them */
int mr_put_signal_info(uint32_t guest, const struct mr_signal_info *info); /* 0 or -EFAULT */
struct sigevent;
int mr_get_signal_event(uint32_t guest, struct sigevent *event); /* for the host's kernel; 0 or -EFAULT */
uint32_t mr_signal_event_word(uint32_t guest, bool of_value); /* sigev_value or sigev_signo as it stands there */

#endif
