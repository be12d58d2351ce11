/* The calls that make threads and processes: what they are asked for, in one form (struct mr_clone of clone.h). */
#include "linux/abi.h"
#include "linux/calls/clone.h"
#include "memory/values.h"

#include <errno.h>
#include <linux/sched.h>
#include <signal.h>
#include <string.h>

#define EXIT_SIGNAL_BITS 0xffu /* CSIGNAL */
#define LEGACY_FLAGS ((uint64_t)0xffffffff)

/* What a new process cannot have: the memory of this one while this one goes on, or its handlers. */
static bool cannot_be_shared(const struct mr_clone *clone)
{
    bool waits = clone->flags & CLONE_VFORK;
    return clone->flags & CLONE_SIGHAND || (clone->flags & CLONE_VM && !waits) || (waits && clone->flags & CLONE_FILES);
}

static int64_t make(struct mr_call *c, const struct mr_clone *clone)
{
    if (clone->flags & CLONE_SIGHAND && !(clone->flags & CLONE_VM))
        return -EINVAL;
    if (clone->flags & CLONE_FS && clone->flags & (CLONE_NEWNS | CLONE_NEWUSER))
        return -EINVAL;
    if (clone->flags & CLONE_THREAD)
        return mr_thread_make(c, clone);
    return cannot_be_shared(clone) ? -ENOSYS : mr_process_make(c->s, clone);
}

SYSCALL(4002, fork, "")
{
    const struct mr_clone clone = {.exit_signal = SIGCHLD};
    return make(c, &clone);
}

/* Arguments in the order of CONFIG_CLONE_BACKWARDS: flags, stack, where the parent finds the child's number, TLS, and where
 * the child finds it. */
SYSCALL(4120, clone, "xpppp")
{
    int exit_signal = (int)(U32(0) & EXIT_SIGNAL_BITS);
    const struct mr_clone clone = {
        .flags = U32(0) & ~EXIT_SIGNAL_BITS, .exit_signal = mr_signal_to_host(exit_signal), .stack = U32(1),
        .parent_tid = U32(2), .pidfd = U32(2), .tls = U32(3), .child_tid = U32(4),
    };
    if (exit_signal && !clone.exit_signal)
        return -EINVAL; /* the host does not have it */
    if (clone.flags & CLONE_PIDFD && clone.flags & (CLONE_PARENT_SETTID | CLONE_DETACHED))
        return -EINVAL;
    return make(c, &clone);
}

/* ---- clone3: struct clone_args of linux/sched.h, all of 64 bits ---- */

enum { FLAGS, PIDFD, CHILD_TID, PARENT_TID, EXIT_SIGNAL, STACK, STACK_SIZE, TLS, SET_TID, SET_TID_SIZE, CGROUP, FIELDS };
#define FIRST_FIELDS 8u
#define MOST_NUMBERS 32u /* MAX_PID_NS_LEVEL */

static int64_t get_fields(uint32_t guest, uint32_t size_bytes, uint64_t fields[FIELDS])
{
    if (size_bytes > MR_PAGE_BYTES)
        return -E2BIG;
    if (size_bytes < 8 * FIRST_FIELDS)
        return -EINVAL;
    const uint8_t *from = mr_guest_bytes(guest, size_bytes, MR_READ);
    if (!from)
        return -EFAULT;
    memset(fields, 0, FIELDS * sizeof *fields);
    for (uint32_t at = 0; at < size_bytes; at++)
        if (at >= 8 * FIELDS && from[at])
            return -E2BIG;
    for (uint32_t i = 0; i < FIELDS && 8 * i + 8 <= size_bytes; i++)
        fields[i] = mr_get64(from + 8 * i);
    return 0;
}

/* clone3_args_valid of kernel/fork.c, and what it asks before. */
static bool valid(const uint64_t fields[FIELDS], uint32_t size_bytes)
{
    uint64_t flags = fields[FLAGS], known = LEGACY_FLAGS | MR_CLONE_CLEAR_SIGHAND | MR_CLONE_INTO_CGROUP;
    if (flags & ~known || flags & (CLONE_DETACHED | (EXIT_SIGNAL_BITS & ~(uint64_t)CLONE_NEWTIME)))
        return false;
    if ((flags & (CLONE_SIGHAND | MR_CLONE_CLEAR_SIGHAND)) == (CLONE_SIGHAND | MR_CLONE_CLEAR_SIGHAND))
        return false;
    if (flags & (CLONE_THREAD | CLONE_PARENT) && fields[EXIT_SIGNAL])
        return false;
    if (fields[EXIT_SIGNAL] > MR_SIGNAL_COUNT || fields[SET_TID_SIZE] > MOST_NUMBERS ||
        (fields[SET_TID] == 0) != (fields[SET_TID_SIZE] == 0))
        return false;
    if (flags & MR_CLONE_INTO_CGROUP && (fields[CGROUP] > INT32_MAX || size_bytes < 8 * FIELDS))
        return false;
    return fields[STACK] ? fields[STACK_SIZE] && fields[STACK] + fields[STACK_SIZE] <= MR_USER_END
                         : fields[STACK_SIZE] == 0;
}

SYSCALL(4435, clone3, "px")
{
    uint64_t fields[FIELDS];
    int32_t numbers[MOST_NUMBERS];
    int64_t error = get_fields(U32(0), U32(1), fields);
    if (error)
        return error;
    if (!valid(fields, U32(1)))
        return -EINVAL;
    if (fields[FLAGS] & MR_CLONE_INTO_CGROUP && mr_descriptor_is_host((int64_t)fields[CGROUP]))
        return -EBADF;
    for (uint32_t i = 0; i < fields[SET_TID_SIZE]; i++)
        if (mr_read32((uint32_t)fields[SET_TID] + 4 * i, (uint32_t *)&numbers[i]))
            return -EFAULT;
    const struct mr_clone clone = {
        .flags = fields[FLAGS], .exit_signal = mr_signal_to_host((int)fields[EXIT_SIGNAL]),
        .stack = (uint32_t)(fields[STACK] + fields[STACK_SIZE]), .tls = (uint32_t)fields[TLS],
        .parent_tid = (uint32_t)fields[PARENT_TID], .child_tid = (uint32_t)fields[CHILD_TID],
        .pidfd = (uint32_t)fields[PIDFD], .set_tid = fields[SET_TID_SIZE] ? numbers : NULL,
        .set_tid_count = (uint32_t)fields[SET_TID_SIZE], .cgroup = fields[CGROUP],
    };
    if (fields[EXIT_SIGNAL] && !clone.exit_signal)
        return -EINVAL;
    return make(c, &clone);
}
