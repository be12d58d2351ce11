/* Guest threads: each is a host thread with a state of its own. */
#ifndef MR_LINUX_THREADS_H
#define MR_LINUX_THREADS_H

#include "base/host_thread.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Whether there are more threads than the calling one. */
bool mr_threads_several(void);
int mr_threads_numbers(pid_t *numbers, int most); /* of all guest threads; returns how many it has written */
/* In a child of fork: the other threads are not there. clear_tid: of this one. */
void mr_threads_forked(uint32_t clear_tid);
/* Before the process ends, or becomes another program: mutexes that its threads have are told so. */
void mr_threads_leave_robust_lists(void);
uint32_t mr_thread_clear_tid(void); /* of the calling thread, as set_tid_address has it */
/* The counters of all threads, those that have ended too. */
struct mr_counters mr_threads_counters(void);

/* ---- for those that make and end threads; under mr_lock, but for mr_thread_release ---- */
void mr_thread_enlist(void); /* the calling one */
void mr_thread_delist(void);
bool mr_thread_is_last(void);
bool mr_threads_are_listed(void); /* from the second one on */
/* What others wait for at the end of a thread (mm_release of kernel/fork.c). Its guest stack may be gone afterwards. */
void mr_thread_release(void);
void mr_thread_set_clear_tid(uint32_t guest);
void mr_thread_set_robust_list(uint32_t head);
int64_t mr_thread_find_robust_list(int32_t number, uint32_t *head); /* 0 or -errno */

/* Makes a thread of the host's own, as sys_thread.c makes guest threads: the libc's first one takes signals that are the guest's.
 * The body first blocks all signals (mr_signals_set_host_mask): the libc lets signal 32 in. Returns 0 or an error number. */
int mr_own_thread_make(void *(*body)(void *), size_t stack_bytes);

#endif
