/* POSIX timers, and setting the clock. Timers are the host's; the signals that they send are converted when they arrive
 * (signal_frame.c). So are their numbers, but where the host has timers of its own.
 */
#include "run/control.h"
#include "profile/profile.h"
#include "linux/signals.h"
#include "linux/syscall.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <unistd.h>

/* ---- numbers ----
 * The kernel counts the timers of a process from 0 on. The samples' timers (profile.c) count as well: with them, the guest
 * has numbers of its own.
 */

#define MOST_TIMERS 65536u
static struct {
    _Atomic int host; /* its number and 1; 0: this is free */
    _Atomic int guest;
} timers[MOST_TIMERS];
static _Atomic unsigned timers_high; /* all from here on are free */
static int next_number;

/* Under mr_lock. Returns false where there are too many timers. */
static bool note_timer(int host, int guest)
{
    unsigned at = 0;
    while (at < MOST_TIMERS && atomic_load(&timers[at].host) != 0)
        at++;
    if (at == MOST_TIMERS)
        return false;
    atomic_store(&timers[at].guest, guest);
    atomic_store(&timers[at].host, host + 1);
    if (at >= atomic_load(&timers_high))
        atomic_store(&timers_high, at + 1);
    return true;
}

/* The host's number of a timer; -1, which is none: the guest has no such timer. */
static int host_timer(int guest)
{
    if (!mr_sampling)
        return guest;
    for (unsigned at = 0; at < atomic_load(&timers_high); at++)
        if (atomic_load(&timers[at].host) != 0 && atomic_load(&timers[at].guest) == guest)
            return atomic_load(&timers[at].host) - 1;
    return -1;
}

static void forget_timer(int host)
{
    for (unsigned at = 0; mr_sampling && at < atomic_load(&timers_high); at++)
        if (atomic_load(&timers[at].host) == host + 1)
            atomic_store(&timers[at].host, 0);
}

int mr_timer_to_guest(int host)
{
    for (unsigned at = 0; mr_sampling && at < atomic_load(&timers_high); at++)
        if (atomic_load(&timers[at].host) == host + 1)
            return atomic_load(&timers[at].guest);
    return host;
}

void mr_timers_forked(void)
{
    for (unsigned at = 0; at < atomic_load(&timers_high); at++)
        atomic_store(&timers[at].host, 0);
    atomic_store(&timers_high, 0);
    next_number = 0;
}

/* Makes a timer that the guest knows by a number of its own. */
static int make_numbered(int clock, const struct sigevent *given, int *number)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGALRM};
    int host;
    mr_lock();
    *number = next_number;
    event.sigev_value.sival_ptr = mr_carried_value(0, (uint32_t)*number);
    int error = syscall(SYS_timer_create, clock, given != NULL ? given : &event, &host) != 0 ? -errno : 0;
    if (error == 0 && !note_timer(host, *number)) {
        syscall(SYS_timer_delete, host);
        error = -EAGAIN;
    }
    next_number += error == 0;
    mr_unlock();
    return error;
}

/* ---- timers ---- */

static int make_timer(int clock, const struct sigevent *event, int *number)
{
    if (mr_sampling)
        return make_numbered(clock, event, number);
    return syscall(SYS_timer_create, clock, event, number) != 0 ? -errno : 0;
}

static int64_t delete_timer(int guest)
{
    int host = host_timer(guest);
    int64_t result = mr_result(syscall(SYS_timer_delete, host));
    if (result == 0)
        forget_timer(host);
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
    if (syscall(SYS_timer_settime, host_timer(INT(0)), INT(1), &new, &old))
        return -errno;
    return U32(3) ? put_times(U32(3), width, &old) : 0;
}

SYSCALL(4258, timer_settime, "dxpp") { return set_timer(c, MR_TIME32); }
SYSCALL(4409, timer_settime64, "dxpp") { return set_timer(c, MR_TIME64); }

static int64_t tell_timer(const struct mr_call *c, enum mr_time_width width)
{
    struct itimerspec now;
    return syscall(SYS_timer_gettime, host_timer(INT(0)), &now) ? -errno : put_times(U32(1), width, &now);
}

SYSCALL(4259, timer_gettime, "dp") { return tell_timer(c, MR_TIME32); }
SYSCALL(4408, timer_gettime64, "dp") { return tell_timer(c, MR_TIME64); }
SYSCALL(4260, timer_getoverrun, "d") { return mr_result(syscall(SYS_timer_getoverrun, host_timer(INT(0)))); }
SYSCALL(4261, timer_delete, "d") { return delete_timer(INT(0)); }
