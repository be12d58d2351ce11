/* What the parts of the host share about guest threads: each is a host thread with a state of its own (sys_thread.c). */
#ifndef MR_THREAD_H
#define MR_THREAD_H

#include "syscall.h"

/* clone with CLONE_THREAD; returns the new thread's number, or -errno. */
int64_t mr_thread_make(struct mr_call *c);
/* Whether there are more threads than the calling one. */
bool mr_threads_several(void);
/* In a child of fork: the other threads are not there. */
void mr_threads_forked(void);
/* Before the process ends, or becomes another program: mutexes that its threads have are told so. */
void mr_threads_leave_robust_lists(void);
/* Of a big-endian guest: FUTEX_LOCK_PI and its relatives; the timeout, an absolute one, may be NULL. */
int64_t mr_futex_pi(const struct mr_call *c, const struct timespec *timeout);
/* The counters of all threads, those that have ended too. */
struct mr_counters mr_threads_counters(void);

#endif
