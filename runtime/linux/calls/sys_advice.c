/* Advice about memory, what of it is resident, and locking it: host calls on ranges that the guest really has. */
#include "lifted/module.h"
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

/* Returns the bytes from guest on, at most size_bytes, that are all mapped or all free, as the first page is. */
static uint32_t alike(uint32_t guest, uint32_t size_bytes)
{
    uint32_t same = 0, page = guest / MR_PAGE_BYTES;
    while (same < size_bytes && (mr_pages[page + same / MR_PAGE_BYTES] != 0) == (mr_pages[page] != 0))
        same += MR_PAGE_BYTES;
    return same;
}

static uint32_t mapped_before_hole(uint32_t guest, uint32_t size_bytes)
{
    return size_bytes && mr_pages[guest / MR_PAGE_BYTES] ? alike(guest, size_bytes) : 0;
}

/* As the kernel: calls it for all that is mapped, and tells of holes at the end. */
static int64_t call_for_mapped(uint32_t guest, uint32_t size_bytes, int (*call)(void *, size_t, int), int detail)
{
    int64_t error = 0;
    uint32_t end = guest + size_bytes;
    for (uint32_t from = guest, size; from < end; from += size) {
        bool mapped = mr_pages[from / MR_PAGE_BYTES];
        size = alike(from, end - from);
        if (mapped && call(mr_user(from, size), size, detail))
            return -errno;
        error = mapped ? error : -ENOMEM;
    }
    return error;
}

/* ---- advice ---- */

#define ADVICE_SOFT_OFFLINE 101

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
    int error = call_for_mapped(U32(0), size_bytes, madvise, advice);
    if (advice == MADV_DONTNEED || advice == MADV_REMOVE) /* the page may have other contents */
        mr_code_flushed(U32(0), size_bytes);
    return error;
}

SYSCALL(4144, msync, "pxx")
{
    uint32_t size_bytes = page_up(U32(1)); /* 0 where that wraps, which is fine */
    if (U32(2) & ~(uint32_t)(MS_ASYNC | MS_INVALIDATE | MS_SYNC) || (U32(2) & MS_ASYNC && U32(2) & MS_SYNC) ||
        U32(0) % MR_PAGE_BYTES)
        return -EINVAL;
    if (U32(0) + size_bytes < U32(0))
        return -ENOMEM;
    return call_for_mapped(U32(0), size_bytes, msync, INT(2));
}

SYSCALL(4217, mincore, "pxp")
{
    uint32_t page_count = U32(1) / MR_PAGE_BYTES + (U32(1) % MR_PAGE_BYTES != 0);
    if (U32(0) % MR_PAGE_BYTES)
        return -EINVAL;
    if ((uint64_t)U32(0) + U32(1) > MR_USER_END)
        return -ENOMEM;
    uint32_t mapped = mapped_before_hole(U32(0), page_up(U32(1)));
    if ((uint64_t)U32(2) + page_count > MR_USER_END)
        return -EFAULT;
    if (mapped && mincore(mr_user(U32(0), mapped), mapped, mr_user(U32(2), page_count)))
        return -errno;
    return mapped < U32(1) ? -ENOMEM : 0;
}

/* ---- locking ---- */

/* Locks what comes before the first hole, as the kernel does. */
static int64_t lock(uint32_t guest, uint32_t size_bytes, uint32_t flags, bool unlocks)
{
    uint32_t first = guest & ~(MR_PAGE_BYTES - 1), size = page_up(size_bytes + (guest - first)), mapped;
    if (flags & ~(uint32_t)MLOCK_ONFAULT)
        return -EINVAL;
    if ((uint64_t)first + size > UINT32_MAX)
        return -EINVAL;
    mapped = mapped_before_hole(first, size);
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
