/* Descriptors that tell of events: eventfd and epoll. What is read from and written to an eventfd is a 64-bit number,
 * in guest byte order for the guest and in host order for the host: converted_io.c swaps it. */
#include "linux/abi.h"
#include "linux/calls/syscall.h"
#include "linux/descriptors.h"
#include "linux/host_call.h"
#include "linux/signals.h"
#include "memory/values.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>

/* ---- eventfd ---- */

static int64_t make_counter(uint32_t value, int flags)
{
    return mr_descriptor_made(mr_result(eventfd(value, flags)), MR_FD_NUMBER);
}

SYSCALL(4319, eventfd, "u") { return make_counter(U32(0), 0); }

SYSCALL(4325, eventfd2, "ux")
{
    int flags = mr_known_flags(U32(1) & ~(uint32_t)EFD_SEMAPHORE, EFD_CLOEXEC | EFD_NONBLOCK);
    return flags < 0 ? flags : make_counter(U32(0), flags | (INT(1) & EFD_SEMAPHORE));
}

/* ---- epoll: the events have the same values everywhere, the structure is 16 bytes; a host may pack it ---- */

#define EVENT_BYTES 16u
#define EVENT_DATA 8u
#define MOST_EVENTS 4096

SYSCALL(4248, epoll_create, "d") { return mr_result(epoll_create(INT(0))); }

SYSCALL(4326, epoll_create1, "f")
{
    int flags = mr_known_flags(U32(0), EPOLL_CLOEXEC);
    return flags < 0 ? flags : mr_result(epoll_create1(flags));
}

SYSCALL(4249, epoll_ctl, "DdDp")
{
    struct epoll_event event = {0};
    if (INT(1) == EPOLL_CTL_DEL)
        return mr_result(epoll_ctl(FD(0), INT(1), FD(2), &event));
    const uint8_t *from = mr_guest_bytes(U32(3), EVENT_BYTES, MR_READ);
    if (!from)
        return -EFAULT;
    event.events = mr_get32(from);
    memcpy(&event.data, from + EVENT_DATA, sizeof event.data); /* the guest's own, in its byte order */
    return mr_result(epoll_ctl(FD(0), INT(1), FD(2), &event));
}

/* How many of so many events the guest has room for, where memory ends among them: the kernel writes those. */
static uint32_t room_for_events(uint32_t guest, uint32_t most)
{
    while (most > 0 && !mr_accessible(guest, most * EVENT_BYTES, MR_WRITE))
        most--;
    return most;
}

static int64_t await_events(struct mr_call *c, const struct timespec *timeout, const struct mr_signal_mask *mask)
{
    static _Thread_local struct epoll_event events[MOST_EVENTS];
    if (INT(2) <= 0 || INT(2) > (int)(INT32_MAX / EVENT_BYTES))
        return -EINVAL;
    if ((uint64_t)U32(1) + U32(2) * EVENT_BYTES > MR_USER_END)
        return -EFAULT;
    uint32_t room = room_for_events(U32(1), INT(2) > MOST_EVENTS ? MOST_EVENTS : U32(2));
    int64_t count = mr_wait_call(SYS_epoll_pwait2, U32(0), MR_HOST(events), room ? room : 1, MR_HOST(timeout),
                                 mask ? MR_HOST(&mask->host) : 0, 8);
    if (count <= 0)
        return count;
    uint8_t *to = room ? mr_guest_bytes(U32(1), (uint32_t)count * EVENT_BYTES, MR_WRITE) : NULL;
    if (!to)
        return -EFAULT;
    for (int64_t i = 0; i < count; i++) {
        mr_put32(to + i * EVENT_BYTES, events[i].events);
        mr_put32(to + i * EVENT_BYTES + 4, 0);
        memcpy(to + i * EVENT_BYTES + EVENT_DATA, &events[i].data, sizeof events[i].data);
    }
    return count;
}

static int64_t await_events_under(struct mr_call *c, const struct timespec *timeout, uint32_t set, uint32_t set_bytes)
{
    struct mr_signal_mask mask;
    if (!set)
        return await_events(c, timeout, NULL);
    int error = mr_signal_mask_for_wait(set, set_bytes, &mask);
    return error ? error : mr_signal_wait_done(&mask, await_events(c, timeout, &mask));
}

static struct timespec milliseconds(int32_t count)
{
    return (struct timespec){count / 1000, (long)(count % 1000) * 1000000};
}

SYSCALL(4250, epoll_wait, "~Dpdd")
{
    struct timespec timeout = milliseconds(INT(3));
    return await_events(c, INT(3) < 0 ? NULL : &timeout, NULL);
}

SYSCALL(4313, epoll_pwait, "~Dpddpu")
{
    struct timespec timeout = milliseconds(INT(3));
    return await_events_under(c, INT(3) < 0 ? NULL : &timeout, U32(4), U32(5));
}

SYSCALL(4441, epoll_pwait2, "~Dpdppu")
{
    struct timespec timeout;
    if (U32(3) && mr_get_timespec(U32(3), MR_TIME64, &timeout))
        return -EFAULT;
    return await_events_under(c, U32(3) ? &timeout : NULL, U32(4), U32(5));
}
