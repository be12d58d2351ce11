/* What the parts of the host share about guest threads: each is a host thread with a state of its own (sys_thread.c). */
#ifndef MR_THREAD_H
#define MR_THREAD_H

#include "linux/syscall.h"

/* What clone, clone3, fork and their like ask for. */
struct mr_clone {
    uint64_t flags;       /* CLONE_*, without the signal of the old call */
    int exit_signal;      /* the host's number */
    uint32_t stack, tls;  /* the new sp, or 0 */
    uint32_t parent_tid, child_tid, pidfd; /* guest addresses */
    const int32_t *set_tid;
    uint32_t set_tid_count;
    uint64_t cgroup;
};
#define MR_CLONE_CLEAR_SIGHAND 0x100000000u
#define MR_CLONE_INTO_CGROUP 0x200000000u

/* With CLONE_THREAD; returns the new thread's number, or -errno. */
int64_t mr_thread_make(struct mr_call *c, const struct mr_clone *clone);
/* Without it: the new process's number; 0 in that, with the registers that it begins with; or -errno. (sys_fork.c) */
int64_t mr_process_make(struct mr_state *s, const struct mr_clone *clone);
/* Whether there are more threads than the calling one. */
bool mr_threads_several(void);
int mr_threads_numbers(pid_t *numbers, int most); /* of all guest threads; returns how many it has written */
/* In a child of fork: the other threads are not there. clear_tid: of this one. */
void mr_threads_forked(uint32_t clear_tid);
/* Before the process ends, or becomes another program: mutexes that its threads have are told so. */
void mr_threads_leave_robust_lists(void);
uint32_t mr_thread_clear_tid(void); /* of the calling thread, as set_tid_address has it */
/* Of a big-endian guest: FUTEX_LOCK_PI and its relatives; the timeout, an absolute one, may be NULL. */
int64_t mr_futex_pi(const struct mr_call *c, const struct timespec *timeout);
/* The counters of all threads, those that have ended too. */
struct mr_counters mr_threads_counters(void);

#endif
