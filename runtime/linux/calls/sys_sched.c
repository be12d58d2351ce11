/* Scheduling by attributes, and barriers in all threads. */
#include "linux/calls/syscall.h"
#include "linux/host_call.h"
#include "memory/values.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* struct sched_attr of linux/sched/types.h: the same everywhere but for the byte order. */
struct attributes {
    uint32_t size_bytes, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
    uint32_t least_utilization, most_utilization;
};
enum { FIRST_BYTES = 48, ALL_BYTES = 56 };
_Static_assert(sizeof(struct attributes) == ALL_BYTES, "struct sched_attr");

static void get_attributes(const uint8_t *from, struct attributes *to)
{
    to->policy = mr_get32(from + 4);
    to->flags = mr_get64(from + 8);
    to->nice = (int32_t)mr_get32(from + 16);
    to->priority = mr_get32(from + 20);
    to->runtime = mr_get64(from + 24);
    to->deadline = mr_get64(from + 32);
    to->period = mr_get64(from + 40);
    if (to->size_bytes < ALL_BYTES)
        return;
    to->least_utilization = mr_get32(from + 48);
    to->most_utilization = mr_get32(from + 52);
}

static void put_attributes(uint8_t *to, const struct attributes *from, uint32_t size_bytes)
{
    mr_put32(to, from->size_bytes);
    mr_put32(to + 4, from->policy);
    mr_put64(to + 8, from->flags);
    mr_put32(to + 16, (uint32_t)from->nice);
    mr_put32(to + 20, from->priority);
    mr_put64(to + 24, from->runtime);
    mr_put64(to + 32, from->deadline);
    mr_put64(to + 40, from->period);
    if (size_bytes < ALL_BYTES)
        return;
    mr_put32(to + 48, from->least_utilization);
    mr_put32(to + 52, from->most_utilization);
}

/* As sched_copy_attr of kernel/sched/core.c: the size is that of what the program knows; more of it must be zero. */
static int64_t read_attributes(uint32_t guest, struct attributes *attributes)
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
    memset(attributes, 0, sizeof *attributes);
    attributes->size_bytes = size_bytes < ALL_BYTES ? FIRST_BYTES : ALL_BYTES;
    get_attributes(from, attributes);
    return 0;
}

SYSCALL(4349, sched_setattr, "dpx")
{
    struct attributes attributes;
    if (!U32(1) || INT(0) < 0 || U32(2))
        return -EINVAL;
    int64_t error = read_attributes(U32(1), &attributes);
    return error ? error : mr_result(syscall(SYS_sched_setattr, INT(0), &attributes, U32(2)));
}

SYSCALL(4350, sched_getattr, "dpux")
{
    struct attributes attributes = {0};
    uint32_t size_bytes = U32(2) < ALL_BYTES ? FIRST_BYTES : ALL_BYTES;
    if (!U32(1) || INT(0) < 0 || U32(2) < FIRST_BYTES || U32(2) > MR_PAGE_BYTES || U32(3))
        return -EINVAL;
    if (syscall(SYS_sched_getattr, INT(0), &attributes, size_bytes, U32(3)))
        return -errno;
    uint8_t *to = mr_guest_bytes(U32(1), size_bytes, MR_WRITE);
    if (!to)
        return -EFAULT;
    put_attributes(to, &attributes, size_bytes);
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
