/* Files by other means than a path: handles of files, and openat2 with what a path may lead through. */
#include "linux/abi.h"
#include "linux/calls/layout.h"
#include "linux/calls/made_files.h"
#include "linux/calls/syscall.h"
#include "linux/descriptors.h"
#include "linux/host_call.h"
#include "linux/paths.h"
#include "memory/values.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* struct file_handle: how many bytes, their type, and the bytes, which only the kernel understands. */
#define HANDLE_HEAD_BYTES 8u
#define MOST_HANDLE_BYTES 128u
#define WIDE_MOUNT_ID 1u /* AT_HANDLE_MNT_ID_UNIQUE */

struct handle {
    uint32_t size_bytes;
    int32_t type;
    uint8_t bytes[MOST_HANDLE_BYTES];
};

static int put_mount(uint32_t guest, uint64_t mount, bool wide)
{
    return wide ? mr_write64(guest, mount) : mr_write32(guest, (uint32_t)mount);
}

SYSCALL(4339, name_to_handle_at, "asppx")
{
    struct handle handle = {0};
    uint64_t mount = 0;
    struct mr_path path;
    if (mr_read32(U32(2), &handle.size_bytes))
        return -EFAULT;
    if (handle.size_bytes > MOST_HANDLE_BYTES)
        return -EINVAL;
    int64_t result = mr_path_find(&path, FD(0), U32(1), INT(4) & AT_SYMLINK_FOLLOW ? MR_FOLLOW : MR_NO_FOLLOW);
    if (!result)
        result = mr_result(syscall(SYS_name_to_handle_at, path.directory, path.name, &handle, &mount, INT(4)));
    mr_path_done(&path);
    if (result < 0 && result != -EOVERFLOW)
        return result;
    uint32_t written = result == 0 ? handle.size_bytes : 0;
    uint8_t *to = mr_guest_bytes(U32(2), HANDLE_HEAD_BYTES + written, MR_WRITE);
    if (!to || put_mount(U32(3), mount, U32(4) & WIDE_MOUNT_ID))
        return -EFAULT;
    mr_put32(to, handle.size_bytes);
    mr_put32(to + 4, (uint32_t)handle.type);
    memcpy(to + HANDLE_HEAD_BYTES, handle.bytes, written);
    return result;
}

SYSCALL(4340, open_by_handle_at, "Dpf")
{
    struct handle handle;
    if (mr_get_struct("2w", U32(1), &handle))
        return -EFAULT;
    if (handle.size_bytes == 0 || handle.size_bytes > MOST_HANDLE_BYTES)
        return -EINVAL;
    const void *bytes = mr_guest_bytes(U32(1) + HANDLE_HEAD_BYTES, handle.size_bytes, MR_READ);
    if (!bytes)
        return -EFAULT;
    memcpy(handle.bytes, bytes, handle.size_bytes);
    int flags = mr_open_flags_to_host(U32(2));
    return mr_descriptor_made(mr_result(syscall(SYS_open_by_handle_at, FD(0), &handle, flags)), MR_FD_PLAIN);
}

/* ---- openat2 ---- */

/* struct open_how: flags, mode, resolve; a larger one must have zeros at its end. */
#define HOW_BYTES 24u

static int64_t get_how(uint32_t guest, uint32_t size_bytes, uint64_t how[3])
{
    if (size_bytes < HOW_BYTES)
        return -EINVAL;
    if (size_bytes > MR_PAGE_BYTES)
        return -E2BIG;
    const uint8_t *bytes = mr_guest_bytes(guest, size_bytes, MR_READ);
    if (!bytes)
        return -EFAULT;
    for (uint32_t i = HOW_BYTES; i < size_bytes; i++)
        if (bytes[i])
            return -E2BIG;
    mr_layout_to_host("3q", bytes, HOW_BYTES, how, HOW_BYTES);
    uint32_t flags = (uint32_t)how[0];
    if (how[0] >> 32 || mr_open_flags_to_mips(mr_open_flags_to_host(flags)) != flags)
        return -EINVAL;
    how[0] = (uint32_t)mr_open_flags_to_host(flags);
    /* The kernel checks the structure before it looks for the file, and none has an empty name. */
    return syscall(SYS_openat2, AT_FDCWD, "", how, HOW_BYTES) < 0 && errno != ENOENT ? -errno : 0;
}

SYSCALL(4437, openat2, "aspu")
{
    uint64_t how[3];
    int64_t error = get_how(U32(2), U32(3), how);
    const char *path = error ? NULL : mr_guest_string(U32(1));
    if (error || !path)
        return error ? error : -EFAULT;
    int64_t fd;
    if (how[2] == 0)
        fd = mr_path_open(FD(0), U32(1), (int)how[0], (uint32_t)how[1]);
    else /* where a path may lead is for the kernel to see to, so it gets the guest's own */
        fd = mr_wait_call(SYS_openat2, (uint64_t)(int64_t)FD(0), MR_HOST(path), MR_HOST(how), sizeof how, 0, 0);
    return mr_guest_opened(fd, (int)how[0]);
}
