/* POSIX timers, and timers that are descriptors (what is read from those: converted_io.c). Timers are the host's; the
 * signals that they send are converted when they arrive (signal_frame.c). */
#include "base/observe.h"
#include "linux/abi.h"
#include "linux/calls/syscall.h"
#include "linux/descriptors.h"
#include "linux/host_call.h"
#include "linux/signals.h"
#include "memory/values.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

static int make_timer(int clock, const struct sigevent *event, int *number)
{
    if (mr_sampling)
        return mr_timer_make_numbered(clock, event, number);
    return syscall(SYS_timer_create, clock, event, number) != 0 ? -errno : 0;
}

static int64_t delete_timer(int guest)
{
    int host = mr_timer_to_host(guest);
    int64_t result = mr_result(syscall(SYS_timer_delete, host));
    if (result == 0)
        mr_timer_forget(host);
    return result;
}

SYSCALL(4257, timer_create, "dpp")
{
    struct sigevent event;
    int number;
    if (U32(1) && mr_get_signal_event(U32(1), &event))
        return -EFAULT;
    int error = make_timer(INT(0), U32(1) ? &event : NULL, &number);
    if (error != 0)
        return error;
    if (mr_write32(U32(2), (uint32_t)number) == 0)
        return 0;
    delete_timer(number);
    return -EFAULT;
}

static int get_times(uint32_t guest, enum mr_time_width width, struct itimerspec *times)
{
    int error = mr_get_timespec(guest, width, &times->it_interval);
    return error ? error : mr_get_timespec(guest + 2 * (uint32_t)width, width, &times->it_value);
}

static int put_times(uint32_t guest, enum mr_time_width width, const struct itimerspec *times)
{
    int error = mr_put_timespec(guest, width, &times->it_interval);
    return error ? error : mr_put_timespec(guest + 2 * (uint32_t)width, width, &times->it_value);
}

static int64_t set_timer(const struct mr_call *c, enum mr_time_width width)
{
    struct itimerspec new, old;
    if (!U32(2))
        return -EINVAL;
    if (get_times(U32(2), width, &new))
        return -EFAULT;
    if (syscall(SYS_timer_settime, mr_timer_to_host(INT(0)), INT(1), &new, &old))
        return -errno;
    return U32(3) ? put_times(U32(3), width, &old) : 0;
}

SYSCALL(4258, timer_settime, "dxpp") { return set_timer(c, MR_TIME32); }
SYSCALL(4409, timer_settime64, "dxpp") { return set_timer(c, MR_TIME64); }

static int64_t tell_timer(const struct mr_call *c, enum mr_time_width width)
{
    struct itimerspec now;
    return syscall(SYS_timer_gettime, mr_timer_to_host(INT(0)), &now) ? -errno : put_times(U32(1), width, &now);
}

SYSCALL(4259, timer_gettime, "dp") { return tell_timer(c, MR_TIME32); }
SYSCALL(4408, timer_gettime64, "dp") { return tell_timer(c, MR_TIME64); }
SYSCALL(4260, timer_getoverrun, "d") { return mr_result(syscall(SYS_timer_getoverrun, mr_timer_to_host(INT(0)))); }
SYSCALL(4261, timer_delete, "d") { return delete_timer(INT(0)); }

/* ---- timers that are descriptors ---- */

SYSCALL(4321, timerfd_create, "df")
{
    int flags = mr_known_flags(U32(1), TFD_CLOEXEC | TFD_NONBLOCK);
    return flags < 0 ? flags : mr_descriptor_made(mr_result(timerfd_create(INT(0), flags)), MR_FD_NUMBER);
}

static int64_t set_timer_descriptor(struct mr_call *c, enum mr_time_width width)
{
    struct itimerspec new, old;
    if (get_times(U32(2), width, &new))
        return -EFAULT;
    if (timerfd_settime(FD(0), INT(1), &new, &old))
        return -errno;
    return U32(3) ? put_times(U32(3), width, &old) : 0;
}

static int64_t get_timer_descriptor(struct mr_call *c, enum mr_time_width width)
{
    struct itimerspec now;
    return timerfd_gettime(FD(0), &now) ? -errno : put_times(U32(1), width, &now);
}

SYSCALL(4323, timerfd_settime, "Dxpp") { return set_timer_descriptor(c, MR_TIME32); }
SYSCALL(4411, timerfd_settime64, "Dxpp") { return set_timer_descriptor(c, MR_TIME64); }
SYSCALL(4322, timerfd_gettime, "Dp") { return get_timer_descriptor(c, MR_TIME32); }
SYSCALL(4410, timerfd_gettime64, "Dp") { return get_timer_descriptor(c, MR_TIME64); }
