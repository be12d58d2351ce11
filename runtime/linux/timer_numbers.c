/* Numbers of POSIX timers.
 *
 * The kernel counts the timers of a process from 0 on. The samples' timers (profile.c) count as well: with them, the guest
 * has numbers of its own.
 */
#include "linux/abi.h"

#include "base/lock.h"
#include "base/observe.h"
#include "linux/signals.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

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

int mr_timer_to_host(int guest)
{
    if (!mr_sampling)
        return guest;
    for (unsigned at = 0; at < atomic_load(&timers_high); at++)
        if (atomic_load(&timers[at].host) != 0 && atomic_load(&timers[at].guest) == guest)
            return atomic_load(&timers[at].host) - 1;
    return -1;
}

void mr_timer_forget(int host)
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

int mr_timer_make_numbered(int clock, const struct sigevent *given, int *number)
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
