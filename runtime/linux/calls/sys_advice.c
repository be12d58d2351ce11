/* Advice about memory, what of it is resident, and locking it: host calls on ranges that the guest really has. */
#include "base/lock.h"
#include "baseline/baseline.h"
#include "linux/calls/syscall.h"
#include "linux/host_call.h"
#include "memory/values.h"

#include <errno.h>
#include <linux/capability.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint32_t page_up(uint32_t bytes)
{
    return (bytes + MR_PAGE_BYTES - 1) & ~(MR_PAGE_BYTES - 1);
}

/* Sizes are rounded up to pages; one that so becomes 0 is none. */
static int check_range(uint32_t guest, uint32_t size_bytes)
{
    if (guest % MR_PAGE_BYTES || (size_bytes && !page_up(size_bytes)))
        return -EINVAL;
    return mr_accessible(guest, size_bytes, MR_MAPPED) ? 0 : -ENOMEM;
}

/* ---- advice ---- */

#define ADVICE_SOFT_OFFLINE 101

/* As the kernel: all that is mapped is advised, and holes are told of at the end. */
static int64_t advise(uint32_t guest, uint32_t size_bytes, int advice)
{
    int64_t error = 0;
    uint32_t end = guest + size_bytes;
    for (uint32_t from = guest, to; from < end; from = to) {
        bool mapped = mr_pages[from / MR_PAGE_BYTES];
        for (to = from + MR_PAGE_BYTES; to < end && (mr_pages[to / MR_PAGE_BYTES] != 0) == mapped; to += MR_PAGE_BYTES)
            ;
        if (mapped && madvise(mr_user(from, to - from), to - from, advice))
            return -errno;
        error = mapped ? error : -ENOMEM;
    }
    return error;
}

SYSCALL(4218, madvise, "pxd")
{
    uint32_t size_bytes = page_up(U32(1));
    int advice = INT(2);
    if (advice == MADV_HWPOISON || advice == ADVICE_SOFT_OFFLINE)
        return -EPERM; /* these break real memory of the host */
    if (madvise(mr_user(MR_LOWEST_GUEST, 0), 0, advice))
        return -errno; /* nobody knows it */
    if (U32(0) % MR_PAGE_BYTES || (U32(1) && !size_bytes) || U32(0) + size_bytes < U32(0))
        return -EINVAL;
    if ((uint64_t)U32(0) + size_bytes > MR_USER_END)
        return -ENOMEM;
    if (advice == MADV_DONTFORK || advice == MADV_DOFORK) /* a hole in the child's window would belong to nobody */
        return mr_accessible(U32(0), size_bytes, MR_MAPPED) ? 0 : -ENOMEM;
    int error = advise(U32(0), size_bytes, advice);
    if (mr_baseline_on && (advice == MADV_DONTNEED || advice == MADV_REMOVE)) { /* the page may have other contents */
        mr_lock();
        mr_baseline_forget(U32(0), size_bytes);
        mr_unlock();
    }
    return error;
}

SYSCALL(4144, msync, "pxx")
{
    if (U32(2) & ~(uint32_t)(MS_ASYNC | MS_INVALIDATE | MS_SYNC) || (U32(2) & MS_ASYNC && U32(2) & MS_SYNC))
        return -EINVAL;
    int error = check_range(U32(0), U32(1));
    return error ? error : mr_result(msync(mr_user(U32(0), U32(1)), U32(1), INT(2)));
}

SYSCALL(4217, mincore, "pxp")
{
    uint32_t page_count = U32(1) / MR_PAGE_BYTES + (U32(1) % MR_PAGE_BYTES != 0);
    int error = check_range(U32(0), U32(1));
    return error ? error : mr_result(mincore(mr_user(U32(0), U32(1)), U32(1), mr_user(U32(2), page_count)));
}

/* ---- locking ---- */

/* Locks what comes before the first hole, as the kernel does. */
static int64_t lock(uint32_t guest, uint32_t size_bytes, uint32_t flags, bool unlocks)
{
    uint32_t first = guest & ~(MR_PAGE_BYTES - 1), size = page_up(size_bytes + (guest - first)), mapped = 0;
    if (flags & ~(uint32_t)MLOCK_ONFAULT)
        return -EINVAL;
    if ((uint64_t)first + size > UINT32_MAX)
        return -EINVAL;
    while (mapped < size && mr_pages[(first + mapped) / MR_PAGE_BYTES])
        mapped += MR_PAGE_BYTES;
    void *host = mr_user(first, mapped);
    int64_t result = mr_result(unlocks ? munlock(host, mapped) : syscall(SYS_mlock2, host, mapped, flags));
    return result < 0 || mapped == size ? result : -ENOMEM;
}

SYSCALL(4154, mlock, "px") { return lock(U32(0), U32(1), 0, false); }
SYSCALL(4359, mlock2, "pxx") { return lock(U32(0), U32(1), U32(2), false); }
SYSCALL(4155, munlock, "px") { return lock(U32(0), U32(1), 0, true); }

static bool may_lock_anything(void)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2] = {{0, 0, 0}, {0, 0, 0}};
    return syscall(SYS_capget, &header, data) == 0 && data[0].effective >> CAP_IPC_LOCK & 1;
}

static uint64_t guest_bytes_mapped(void)
{
    uint64_t pages = 0;
    for (uint32_t page = 0; page < MR_USER_END / MR_PAGE_BYTES; page++)
        pages += mr_pages[page] != 0;
    return pages * MR_PAGE_BYTES;
}

/* The host's process is larger than the guest's by gigabytes of reserved tables, so this is a promise only. */
SYSCALL(4156, mlockall, "x")
{
    struct rlimit limit;
    if (U32(0) == 0 || U32(0) & ~(uint32_t)(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) || U32(0) == MCL_ONFAULT)
        return -EINVAL;
    if (getrlimit(RLIMIT_MEMLOCK, &limit) || may_lock_anything())
        return 0;
    if (limit.rlim_cur == 0)
        return -EPERM;
    return U32(0) & MCL_CURRENT && guest_bytes_mapped() > limit.rlim_cur ? -ENOMEM : 0;
}

SYSCALL(4157, munlockall, "") { return 0; }
