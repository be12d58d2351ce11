/* System calls that tell or wait for time. */
#include "linux/abi.h"
#include "linux/calls/layout.h"
#include "linux/calls/syscall.h"
#include "linux/host_call.h"
#include "memory/values.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/times.h>
#include <unistd.h>

/* ---- clocks ---- */

SYSCALL(4013, time, "p")
{
    uint32_t now = (uint32_t)time(NULL);
    return U32(0) && mr_write32(U32(0), now) ? -EFAULT : (int64_t)now;
}

SYSCALL(4078, gettimeofday, "pp")
{
    struct timeval now;
    const uint32_t no_zone[2] = {0, 0};
    gettimeofday(&now, NULL);
    if (U32(0) && mr_put_timeval(U32(0), &now))
        return -EFAULT;
    return U32(1) ? mr_put_words(U32(1), no_zone, 2) : 0;
}

static int64_t tell_clock(struct mr_call *c, enum mr_time_width width)
{
    struct timespec now;
    return clock_gettime(INT(0), &now) ? -errno : mr_put_timespec(U32(1), width, &now);
}

SYSCALL(4263, clock_gettime, "dp") { return tell_clock(c, MR_TIME32); }
SYSCALL(4403, clock_gettime64, "dp") { return tell_clock(c, MR_TIME64); }

static int64_t tell_resolution(struct mr_call *c, enum mr_time_width width)
{
    struct timespec resolution;
    if (clock_getres(INT(0), &resolution))
        return -errno;
    return U32(1) ? mr_put_timespec(U32(1), width, &resolution) : 0;
}

SYSCALL(4264, clock_getres, "dp") { return tell_resolution(c, MR_TIME32); }
SYSCALL(4406, clock_getres_time64, "dp") { return tell_resolution(c, MR_TIME64); }

static int64_t set_clock(struct mr_call *c, enum mr_time_width width)
{
    struct timespec time;
    return mr_get_timespec(U32(1), width, &time) ? -EFAULT : mr_result(clock_settime(INT(0), &time));
}

SYSCALL(4262, clock_settime, "dp") { return set_clock(c, MR_TIME32); }
SYSCALL(4404, clock_settime64, "dp") { return set_clock(c, MR_TIME64); }

SYSCALL(4043, times, "p")
{
    struct tms times_now;
    uint32_t elapsed = (uint32_t)times(&times_now);
    return U32(0) && mr_put_struct("4l", U32(0), &times_now) ? -EFAULT : (int64_t)elapsed;
}

SYSCALL(4077, getrusage, "dp")
{
    struct rusage usage;
    return getrusage(INT(0), &usage) ? -errno : mr_put_rusage(U32(1), &usage);
}

/* ---- waiting ---- */

static int64_t sleep_on(int clock, int flags, uint32_t from, uint32_t to, enum mr_time_width width)
{
    struct timespec wanted, left = {0, 0};
    if (mr_get_timespec(from, width, &wanted))
        return -EFAULT;
    int64_t error = mr_wait_call(SYS_clock_nanosleep, (uint64_t)clock, (uint64_t)flags, MR_HOST(&wanted), MR_HOST(&left),
                                 0, 0);
    if (error == -EINTR && to && !(flags & TIMER_ABSTIME) && mr_put_timespec(to, width, &left))
        return -EFAULT;
    return error;
}

SYSCALL(4166, nanosleep, "~pp") { return sleep_on(CLOCK_MONOTONIC, 0, U32(0), U32(1), MR_TIME32); }
SYSCALL(4265, clock_nanosleep, "~dxpp") { return sleep_on(INT(0), INT(1), U32(2), U32(3), MR_TIME32); }
SYSCALL(4407, clock_nanosleep_time64, "~dxpp") { return sleep_on(INT(0), INT(1), U32(2), U32(3), MR_TIME64); }

/* ---- timers that send signals ---- */

SYSCALL(4027, alarm, "u") { return alarm(U32(0)); }

static int put_interval_timer(uint32_t guest, const struct itimerval *timer)
{
    return mr_put_timeval(guest, &timer->it_interval) || mr_put_timeval(guest + 8, &timer->it_value) ? -EFAULT : 0;
}

SYSCALL(4105, getitimer, "dp")
{
    struct itimerval now;
    return syscall(SYS_getitimer, INT(0), &now) ? -errno : put_interval_timer(U32(1), &now);
}

SYSCALL(4104, setitimer, "dpp")
{
    struct itimerval new = {0}, old;
    if (U32(1) && (mr_get_timeval(U32(1), &new.it_interval) || mr_get_timeval(U32(1) + 8, &new.it_value)))
        return -EFAULT;
    if (syscall(SYS_setitimer, INT(0), &new, &old))
        return -errno;
    return U32(2) ? put_interval_timer(U32(2), &old) : 0;
}
