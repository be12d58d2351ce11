/* POSIX timers, and setting the clock. Timers are the host's, with its numbers; the signals that they send are converted
 * when they arrive (signal_frame.c).
 */
#include "signals.h"
#include "syscall.h"

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <unistd.h>

/* ---- timers ---- */

SYSCALL(4257, timer_create, "dpp")
{
    struct sigevent event;
    int number;
    if (U32(1) && mr_get_signal_event(U32(1), &event))
        return -EFAULT;
    if (syscall(SYS_timer_create, INT(0), U32(1) ? &event : NULL, &number))
        return -errno;
    if (mr_write32(U32(2), (uint32_t)number) == 0)
        return 0;
    syscall(SYS_timer_delete, number);
    return -EFAULT;
}

static int get_times(uint32_t guest, enum mr_time_width width, struct itimerspec *times)
{
    return mr_get_timespec(guest, width, &times->it_interval) ||
                   mr_get_timespec(guest + 2 * (uint32_t)width, width, &times->it_value)
               ? -EFAULT
               : 0;
}

static int put_times(uint32_t guest, enum mr_time_width width, const struct itimerspec *times)
{
    return mr_put_timespec(guest, width, &times->it_interval) ||
                   mr_put_timespec(guest + 2 * (uint32_t)width, width, &times->it_value)
               ? -EFAULT
               : 0;
}

static int64_t set_timer(const struct mr_call *c, enum mr_time_width width)
{
    struct itimerspec new, old;
    if (!U32(2))
        return -EINVAL;
    if (get_times(U32(2), width, &new))
        return -EFAULT;
    if (syscall(SYS_timer_settime, INT(0), INT(1), &new, &old))
        return -errno;
    return U32(3) ? put_times(U32(3), width, &old) : 0;
}

SYSCALL(4258, timer_settime, "dxpp") { return set_timer(c, MR_TIME32); }
SYSCALL(4409, timer_settime64, "dxpp") { return set_timer(c, MR_TIME64); }

static int64_t tell_timer(const struct mr_call *c, enum mr_time_width width)
{
    struct itimerspec now;
    return syscall(SYS_timer_gettime, INT(0), &now) ? -errno : put_times(U32(1), width, &now);
}

SYSCALL(4259, timer_gettime, "dp") { return tell_timer(c, MR_TIME32); }
SYSCALL(4408, timer_gettime64, "dp") { return tell_timer(c, MR_TIME64); }
SYSCALL(4260, timer_getoverrun, "d") { return mr_result(syscall(SYS_timer_getoverrun, INT(0))); }
SYSCALL(4261, timer_delete, "d") { return mr_result(syscall(SYS_timer_delete, INT(0))); }
