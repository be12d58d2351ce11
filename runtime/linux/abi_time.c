/* Times and resource usage in guest memory, with 32-bit members (the old calls) or 64-bit ones (*_time64). */
#include "linux/abi.h"
#include "memory/values.h"

#include <errno.h>

int mr_get_timespec(uint32_t guest, enum mr_time_width width, struct timespec *time)
{
    const uint8_t *from = mr_guest_bytes(guest, 2 * (uint32_t)width, MR_READ);
    if (!from)
        return -EFAULT;
    if (width == MR_TIME64) {
        time->tv_sec = (int64_t)mr_get64(from);
        time->tv_nsec = (int32_t)mr_get64(from + 8); /* a 32-bit kernel keeps it in a long */
    } else {
        time->tv_sec = (int32_t)mr_get32(from);
        time->tv_nsec = (int32_t)mr_get32(from + 4);
    }
    return 0;
}

int mr_put_timespec(uint32_t guest, enum mr_time_width width, const struct timespec *time)
{
    uint8_t *to = mr_guest_bytes(guest, 2 * (uint32_t)width, MR_WRITE);
    if (!to)
        return -EFAULT;
    if (width == MR_TIME64) {
        mr_put64(to, (uint64_t)time->tv_sec);
        mr_put64(to + 8, (uint64_t)time->tv_nsec);
    } else {
        mr_put32(to, (uint32_t)time->tv_sec);
        mr_put32(to + 4, (uint32_t)time->tv_nsec);
    }
    return 0;
}

int mr_get_timeval(uint32_t guest, struct timeval *time)
{
    const uint8_t *from = mr_guest_bytes(guest, 8, MR_READ);
    if (!from)
        return -EFAULT;
    time->tv_sec = (int32_t)mr_get32(from);
    time->tv_usec = (int32_t)mr_get32(from + 4);
    return 0;
}

int mr_put_timeval(uint32_t guest, const struct timeval *time)
{
    uint8_t *to = mr_guest_bytes(guest, 8, MR_WRITE);
    if (!to)
        return -EFAULT;
    mr_put32(to, (uint32_t)time->tv_sec);
    mr_put32(to + 4, (uint32_t)time->tv_usec);
    return 0;
}

int mr_put_rusage(uint32_t guest, const struct rusage *usage)
{
    const long counts[] = {
        usage->ru_maxrss, usage->ru_ixrss,   usage->ru_idrss,  usage->ru_isrss,  usage->ru_minflt,
        usage->ru_majflt, usage->ru_nswap,   usage->ru_inblock, usage->ru_oublock, usage->ru_msgsnd,
        usage->ru_msgrcv, usage->ru_nsignals, usage->ru_nvcsw, usage->ru_nivcsw,
    };
    const uint32_t count = sizeof counts / sizeof *counts;
    uint8_t *to = mr_guest_bytes(guest, 16 + 4 * count, MR_WRITE);
    if (!to)
        return -EFAULT;
    mr_put_timeval(guest, &usage->ru_utime);
    mr_put_timeval(guest + 8, &usage->ru_stime);
    for (uint32_t i = 0; i < count; i++)
        mr_put32(to + 16 + 4 * i, (uint32_t)counts[i]);
    return 0;
}
