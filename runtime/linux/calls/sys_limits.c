/* System calls about limits, priorities and processors. */
#include "base/lock.h"
#include "linux/abi.h"
#include "linux/calls/layout.h"
#include "linux/calls/syscall.h"
#include "linux/descriptors.h"
#include "linux/guest_limits.h"
#include "linux/host_call.h"
#include "memory/values.h"

#include <errno.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- limits: asm/resource.h of MIPS numbers five of them differently ---- */

#define LIMIT_COUNT 16u
#define INFINITY32 0x7fffffffu
enum { LIMIT_NOFILE = 5, LIMIT_AS = 6, LIMIT_RSS = 7, LIMIT_NPROC = 8, LIMIT_MEMLOCK = 9 };

static int limit_to_host(uint32_t mips)
{
    switch (mips) {
    case LIMIT_NOFILE: return RLIMIT_NOFILE;
    case LIMIT_AS: return RLIMIT_AS;
    case LIMIT_RSS: return RLIMIT_RSS;
    case LIMIT_NPROC: return RLIMIT_NPROC;
    case LIMIT_MEMLOCK: return RLIMIT_MEMLOCK;
    default: return mips < LIMIT_COUNT ? (int)mips : -1;
    }
}

/* Either of `new` and `old` may be NULL. */
static int64_t change_limit(pid_t process, int limit, const struct rlimit *new, struct rlimit *old)
{
    if (limit < 0)
        return -EINVAL;
    if ((!mr_limit_is_guests(limit) && limit != RLIMIT_NOFILE) || (process != 0 && process != getpid()))
        return mr_result(prlimit(process, (enum __rlimit_resource)limit, new, old));
    mr_lock();
    int64_t error = limit == RLIMIT_NOFILE ? mr_result(prlimit(0, RLIMIT_NOFILE, new, old)) : mr_limit_change(limit, new, old);
    if (limit == RLIMIT_NOFILE && new && !error)
        mr_own_limit_changed();
    mr_unlock();
    return error;
}

static uint32_t narrow_limit(rlim_t value)
{
    return value >= INFINITY32 ? INFINITY32 : (uint32_t)value;
}

static rlim_t widen_limit(uint32_t value)
{
    return value >= INFINITY32 ? RLIM_INFINITY : value;
}

SYSCALL(4076, getrlimit, "dp")
{
    struct rlimit limit;
    int64_t error = change_limit(0, limit_to_host(U32(0)), NULL, &limit);
    if (error)
        return error;
    return mr_put_words(U32(1), (const uint32_t[]){narrow_limit(limit.rlim_cur), narrow_limit(limit.rlim_max)}, 2);
}

SYSCALL(4075, setrlimit, "dp")
{
    uint32_t words[2];
    if (mr_get_words(U32(1), words, 2))
        return -EFAULT;
    const struct rlimit limit = {widen_limit(words[0]), widen_limit(words[1])};
    return change_limit(0, limit_to_host(U32(0)), &limit, NULL);
}

SYSCALL(4338, prlimit64, "ddpp")
{
    struct rlimit new, old;
    if (U32(2) && mr_get_struct("2q", U32(2), &new))
        return -EFAULT;
    int64_t error = change_limit(INT(0), limit_to_host(U32(1)), U32(2) ? &new : NULL, &old);
    return error || !U32(3) ? error : mr_put_struct("2q", U32(3), &old);
}

/* ---- priorities ---- */

SYSCALL(4096, getpriority, "dd") { return mr_result(syscall(SYS_getpriority, INT(0), INT(1))); } /* 20 - nice */
SYSCALL(4097, setpriority, "ddd") { return mr_result(setpriority((__priority_which_t)INT(0), U32(1), INT(2))); }

SYSCALL(4034, nice, "d")
{
    errno = 0;
    return nice(INT(0)) == -1 && errno ? -errno : 0;
}

SYSCALL(4162, sched_yield, "") { return sched_yield(); }
SYSCALL(4163, sched_get_priority_max, "d") { return mr_result(sched_get_priority_max(INT(0))); }
SYSCALL(4164, sched_get_priority_min, "d") { return mr_result(sched_get_priority_min(INT(0))); }
SYSCALL(4161, sched_getscheduler, "d") { return mr_result(sched_getscheduler(INT(0))); }

SYSCALL(4160, sched_setscheduler, "ddp")
{
    struct sched_param parameters;
    if (mr_get_struct("w", U32(2), &parameters))
        return -EFAULT;
    return mr_result(sched_setscheduler(INT(0), INT(1), &parameters));
}

SYSCALL(4158, sched_setparam, "dp")
{
    struct sched_param parameters;
    return mr_get_struct("w", U32(1), &parameters) ? -EFAULT : mr_result(sched_setparam(INT(0), &parameters));
}

SYSCALL(4159, sched_getparam, "dp")
{
    struct sched_param parameters;
    return sched_getparam(INT(0), &parameters) ? -errno : mr_write32(U32(1), (uint32_t)parameters.sched_priority);
}

static int64_t tell_interval(struct mr_call *c, enum mr_time_width width)
{
    struct timespec interval;
    return sched_rr_get_interval(INT(0), &interval) ? -errno : mr_put_timespec(U32(1), width, &interval);
}

SYSCALL(4165, sched_rr_get_interval, "dp") { return tell_interval(c, MR_TIME32); }
SYSCALL(4423, sched_rr_get_interval_time64, "dp") { return tell_interval(c, MR_TIME64); }

/* ---- processors: a set is an array of 32-bit words ---- */

#define PROCESSOR_SET_BYTES 1024u

SYSCALL(4240, sched_getaffinity, "dup")
{
    _Alignas(uint64_t) uint32_t set[PROCESSOR_SET_BYTES / 4] = {0};
    if (U32(1) & 3 || !U32(1))
        return -EINVAL;
    int64_t size_bytes = mr_result(syscall(SYS_sched_getaffinity, INT(0), sizeof set, set));
    if (size_bytes < 0)
        return size_bytes;
    if (size_bytes > 4 && set[size_bytes / 4 - 1] == 0)
        size_bytes -= 4; /* a 64-bit kernel rounds up further than a 32-bit one */
    if (size_bytes > U32(1))
        return -EINVAL;
    return mr_put_words(U32(2), set, (uint32_t)size_bytes / 4) ? -EFAULT : size_bytes;
}

SYSCALL(4239, sched_setaffinity, "dup")
{
    _Alignas(uint64_t) uint32_t set[PROCESSOR_SET_BYTES / 4] = {0};
    if (mr_get_words(U32(2), set, (U32(1) > PROCESSOR_SET_BYTES ? PROCESSOR_SET_BYTES : U32(1)) / 4))
        return -EFAULT;
    return mr_result(syscall(SYS_sched_setaffinity, INT(0), sizeof set, set));
}

SYSCALL(4312, getcpu, "ppp")
{
    unsigned cpu, node;
    if (syscall(SYS_getcpu, &cpu, &node, NULL))
        return -errno;
    return (U32(0) && mr_write32(U32(0), cpu)) || (U32(1) && mr_write32(U32(1), node)) ? -EFAULT : 0;
}

SYSCALL(4314, ioprio_set, "ddd") { return mr_result(syscall(SYS_ioprio_set, INT(0), INT(1), INT(2))); }
SYSCALL(4315, ioprio_get, "dd") { return mr_result(syscall(SYS_ioprio_get, INT(0), INT(1))); }
