/* System calls that wait for descriptors: select and poll in their variants. */
#include "linux/abi.h"
#include "linux/calls/layout.h"
#include "linux/calls/syscall.h"
#include "linux/host_call.h"
#include "linux/signals.h"
#include "memory/values.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/select.h>
#include <sys/syscall.h>

/* ---- descriptor sets: words of 32 bits in guest order; the host's are the same bits in little-endian order ---- */

#define MOST_DESCRIPTORS 65536u

/* A number of the host's own counts as closed: EBADF. Bits from `count` on do not count. */
static bool has_hosts(const uint32_t *set, uint32_t count)
{
    for (uint32_t i = 0; 32 * i < count; i++)
        for (uint32_t rest = set[i]; rest; rest &= rest - 1) {
            int64_t fd = 32 * (int64_t)i + __builtin_ctz(rest);
            if (fd < count && mr_descriptor_is_host(fd))
                return true;
        }
    return false;
}

/* The time left comes back in *timeout, as the kernel's call has it. */
static int64_t select_with(struct mr_call *c, struct timespec *timeout, const struct mr_signal_mask *mask)
{
    static _Thread_local _Alignas(uint64_t) uint32_t sets[3][MOST_DESCRIPTORS / 32 + 2];
    uint64_t used[3];
    if (INT(0) < 0)
        return -EINVAL;
    uint32_t count = U32(0) > MOST_DESCRIPTORS ? MOST_DESCRIPTORS : U32(0), words = (count + 31) / 32;
    for (uint32_t i = 0; i < 3; i++) {
        if (U32(1 + i) && mr_get_words(U32(1 + i), sets[i], words))
            return -EFAULT;
        if (U32(1 + i) && has_hosts(sets[i], count))
            return -EBADF;
        sets[i][words] = 0; /* the rest of the host's last long */
        used[i] = U32(1 + i) ? MR_HOST(sets[i]) : 0;
    }
    struct { const void *mask; size_t size_bytes; } signals = {mask ? &mask->host : NULL, 8};
    int64_t ready = mr_wait_call(SYS_pselect6, count, used[0], used[1], used[2], MR_HOST(timeout), MR_HOST(&signals));
    for (uint32_t i = 0; ready >= 0 && i < 3; i++)
        if (U32(1 + i) && mr_put_words(U32(1 + i), sets[i], words))
            return -EFAULT;
    return ready;
}

SYSCALL(4142, _newselect, "~dpppp")
{
    struct timeval time;
    struct timespec timeout;
    if (!U32(4))
        return select_with(c, NULL, NULL);
    if (mr_get_timeval(U32(4), &time))
        return -EFAULT;
    if (time.tv_sec < 0 || time.tv_usec < 0)
        return -EINVAL;
    timeout = (struct timespec){time.tv_sec + time.tv_usec / 1000000, time.tv_usec % 1000000 * 1000};
    int64_t ready = select_with(c, &timeout, NULL);
    time = (struct timeval){timeout.tv_sec, timeout.tv_nsec / 1000};
    mr_put_timeval(U32(4), &time); /* the kernel does not mind either when it cannot write the rest */
    return ready;
}

/* The sixth argument points to the address and the size of a signal set. */
static int64_t select_with_mask(struct mr_call *c, enum mr_time_width width)
{
    struct timespec timeout;
    struct mr_signal_mask mask, *used = NULL;
    uint32_t set[2] = {0, 0}; /* and its size */
    if (U32(4) && mr_get_timespec(U32(4), width, &timeout))
        return -EFAULT;
    if (U32(5) && mr_get_words(U32(5), set, 2))
        return -EFAULT;
    if (set[0]) {
        int error = mr_signal_mask_for_wait(set[0], set[1], &mask);
        if (error)
            return error;
        used = &mask;
    }
    int64_t ready = select_with(c, U32(4) ? &timeout : NULL, used);
    if (U32(4))
        mr_put_timespec(U32(4), width, &timeout);
    return mr_signal_wait_done(used, ready);
}

SYSCALL(4301, pselect6, "~dppppp") { return select_with_mask(c, MR_TIME32); }
SYSCALL(4413, pselect6_time64, "~dppppp") { return select_with_mask(c, MR_TIME64); }

/* ---- poll: asm/poll.h of MIPS calls POLLWRNORM what others call POLLOUT, and POLLWRBAND is 0x100 ---- */

#define POLLWRBAND_GUEST 0x100

static short events_to_host(uint16_t events)
{
    return (short)((events & ~(POLLWRBAND_GUEST | POLLWRBAND)) | (events & POLLWRBAND_GUEST ? POLLWRBAND : 0));
}

static uint16_t events_to_mips(short events)
{
    return (uint16_t)((events & ~(POLLWRNORM | POLLWRBAND)) | (events & POLLWRBAND ? POLLWRBAND_GUEST : 0));
}

static int64_t poll_with(uint32_t guest, uint32_t count, struct timespec *timeout, const struct mr_signal_mask *mask)
{
    struct pollfd few[64], *polled = few;
    if (count > MOST_DESCRIPTORS)
        return -EINVAL;
    uint8_t *at = mr_guest_bytes(guest, 8 * count, MR_WRITE);
    if (!at)
        return -EFAULT;
    if (count > sizeof few / sizeof *few && (polled = calloc(count, sizeof *polled)) == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        int fd = (int32_t)mr_get32(at + 8 * i);
        fd = mr_descriptor_is_host(fd) ? INT_MAX : fd; /* which nothing has: POLLNVAL */
        polled[i] = (struct pollfd){fd, events_to_host(mr_get16(at + 8 * i + 4)), 0};
    }
    int64_t ready = mr_wait_call(SYS_ppoll, MR_HOST(polled), count, MR_HOST(timeout), mask ? MR_HOST(&mask->host) : 0, 8, 0);
    for (uint32_t i = 0; ready >= 0 && i < count; i++)
        mr_put16(at + 8 * i + 6, events_to_mips(polled[i].revents));
    if (polled != few)
        free(polled);
    return ready;
}

SYSCALL(4188, poll, "~pud")
{
    struct timespec timeout = {INT(2) / 1000, (long)(INT(2) % 1000) * 1000000};
    return poll_with(U32(0), U32(1), INT(2) < 0 ? NULL : &timeout, NULL);
}

static int64_t poll_with_mask(struct mr_call *c, enum mr_time_width width)
{
    struct timespec timeout;
    struct mr_signal_mask mask, *used = NULL;
    if (U32(2) && mr_get_timespec(U32(2), width, &timeout))
        return -EFAULT;
    if (U32(3)) {
        int error = mr_signal_mask_for_wait(U32(3), U32(4), &mask);
        if (error)
            return error;
        used = &mask;
    }
    int64_t ready = poll_with(U32(0), U32(1), U32(2) ? &timeout : NULL, used);
    if (U32(2))
        mr_put_timespec(U32(2), width, &timeout);
    return mr_signal_wait_done(used, ready);
}

SYSCALL(4302, ppoll, "~puppu") { return poll_with_mask(c, MR_TIME32); }
SYSCALL(4414, ppoll_time64, "~puppu") { return poll_with_mask(c, MR_TIME64); }
