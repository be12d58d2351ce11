/* What the calls that make threads and processes share. */
#ifndef MR_LINUX_CALLS_CLONE_H
#define MR_LINUX_CALLS_CLONE_H

#include "linux/calls/syscall.h"

#include <stdint.h>

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
void mr_vfork_child_exits(void); /* gives the parent the pages this process wrote, if it is a child of vfork. (sys_fork.c) */

#endif
