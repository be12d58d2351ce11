/* Scheduling by attributes, and barriers in all threads. */
#include "linux/calls/layout.h"
#include "linux/calls/syscall.h"
#include "linux/host_call.h"
#include "memory/values.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

/* struct sched_attr of linux/sched/types.h: size, policy, flags, nice value, priority; runtime, deadline, period; least
 * and most utilization. The same everywhere but for the byte order. */
#define LAYOUT "2wq2w3q2w"
enum { FIRST_BYTES = 48, ALL_BYTES = 56 };

/* As sched_copy_attr of kernel/sched/core.c: the size is that of what the program knows; more of it must be zero. */
static int64_t read_attributes(uint32_t guest, uint32_t attributes[ALL_BYTES / 4])
{
    uint32_t size_bytes;
    if (mr_read32(guest, &size_bytes))
        return -EFAULT;
    size_bytes = size_bytes ? size_bytes : FIRST_BYTES;
    bool fits = size_bytes >= FIRST_BYTES && size_bytes <= MR_PAGE_BYTES;
    const uint8_t *from = fits ? mr_guest_bytes(guest, size_bytes, MR_READ) : NULL;
    if (fits && !from)
        return -EFAULT;
    for (uint32_t i = ALL_BYTES; fits && i < size_bytes; i++)
        fits = from[i] == 0;
    if (!fits)
        return mr_write32(guest, ALL_BYTES) ? -EFAULT : -E2BIG;
    size_bytes = size_bytes < ALL_BYTES ? FIRST_BYTES : ALL_BYTES;
    mr_layout_to_host(LAYOUT, from, size_bytes, attributes, ALL_BYTES);
    attributes[0] = size_bytes;
    return 0;
}

SYSCALL(4349, sched_setattr, "dpx")
{
    uint32_t attributes[ALL_BYTES / 4] = {0};
    if (!U32(1) || INT(0) < 0 || U32(2))
        return -EINVAL;
    int64_t error = read_attributes(U32(1), attributes);
    return error ? error : mr_result(syscall(SYS_sched_setattr, INT(0), attributes, U32(2)));
}

SYSCALL(4350, sched_getattr, "dpux")
{
    uint32_t attributes[ALL_BYTES / 4] = {0};
    uint32_t size_bytes = U32(2) < ALL_BYTES ? FIRST_BYTES : ALL_BYTES;
    if (!U32(1) || INT(0) < 0 || U32(2) < FIRST_BYTES || U32(2) > MR_PAGE_BYTES || U32(3))
        return -EINVAL;
    if (syscall(SYS_sched_getattr, INT(0), attributes, size_bytes, U32(3)))
        return -errno;
    uint8_t *to = mr_guest_bytes(U32(1), size_bytes, MR_WRITE);
    if (!to)
        return -EFAULT;
    mr_layout_to_guest(LAYOUT, attributes, size_bytes, to, size_bytes);
    return 0;
}

/* ---- barriers ---- */

enum { QUERY = 0, EXPEDITED_RSEQ = 1 << 7, REGISTER_RSEQ = 1 << 8 };

/* Guest threads are the host's. There are no restartable sequences, so there are no barriers for them. */
SYSCALL(4358, membarrier, "dxd")
{
    if (INT(0) == EXPEDITED_RSEQ || INT(0) == REGISTER_RSEQ)
        return -EINVAL;
    int64_t result = mr_result(syscall(SYS_membarrier, INT(0), U32(1), INT(2)));
    return INT(0) == QUERY && result > 0 ? result & ~(EXPEDITED_RSEQ | REGISTER_RSEQ) : result;
}
