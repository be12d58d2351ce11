/* System calls that tell about files, directories and file systems, in the structures of asm/stat.h and asm/statfs.h. */
#include "linux/calls/directories.h"
#include "linux/calls/layout.h"
#include "linux/calls/syscall.h"
#include "linux/host_call.h"
#include "linux/paths.h"
#include "memory/values.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* The kernel's new_encode_dev: a device number in 32 bits. */
static uint32_t encode_device(dev_t device)
{
    return (minor(device) & 0xff) | major(device) << 8 | (minor(device) & ~0xffu) << 12;
}

/* ---- stat ---- */

#define STAT_BYTES 144
#define STAT64_BYTES 104

static void put_stat_times(uint8_t *to, const struct stat *from)
{
    const struct timespec *times[] = {&from->st_atim, &from->st_mtim, &from->st_ctim};
    for (int i = 0; i < 3; i++) {
        mr_put32(to + 8 * i, (uint32_t)times[i]->tv_sec);
        mr_put32(to + 8 * i + 4, (uint32_t)times[i]->tv_nsec);
    }
}

/* Mode, link count, owner and group lie side by side in both structures. */
static void put_stat_owner(uint8_t *to, const struct stat *from)
{
    mr_put32(to, from->st_mode);
    mr_put32(to + 4, (uint32_t)from->st_nlink);
    mr_put32(to + 8, from->st_uid);
    mr_put32(to + 12, from->st_gid);
}

static int64_t put_stat(uint32_t guest, const struct stat *from)
{
    uint8_t *to = mr_guest_bytes(guest, STAT_BYTES, MR_WRITE);
    if (from->st_size > INT32_MAX)
        return -EOVERFLOW;
    if (!to)
        return -EFAULT;
    memset(to, 0, STAT_BYTES);
    mr_put32(to, encode_device(from->st_dev));
    mr_put32(to + 16, mr_narrow_inode(from->st_ino));
    put_stat_owner(to + 20, from);
    mr_put32(to + 36, encode_device(from->st_rdev));
    mr_put32(to + 48, (uint32_t)from->st_size);
    put_stat_times(to + 56, from);
    mr_put32(to + 80, (uint32_t)from->st_blksize);
    mr_put32(to + 84, (uint32_t)from->st_blocks);
    return 0;
}

static int64_t put_stat64(uint32_t guest, const struct stat *from)
{
    uint8_t *to = mr_guest_bytes(guest, STAT64_BYTES, MR_WRITE);
    if (!to)
        return -EFAULT;
    memset(to, 0, STAT64_BYTES);
    mr_put32(to, encode_device(from->st_dev));
    mr_put64(to + 16, from->st_ino);
    put_stat_owner(to + 24, from);
    mr_put32(to + 40, encode_device(from->st_rdev));
    mr_put64(to + 56, (uint64_t)from->st_size);
    put_stat_times(to + 64, from);
    mr_put32(to + 88, (uint32_t)from->st_blksize);
    mr_put64(to + 96, (uint64_t)from->st_blocks);
    return 0;
}

typedef int64_t (*stat_writer)(uint32_t, const struct stat *);

static unsigned path_how(uint32_t flags)
{
    return (flags & AT_SYMLINK_NOFOLLOW ? MR_NO_FOLLOW : MR_FOLLOW) | MR_BY_DESCRIPTOR;
}

static int64_t stat_path(int directory, uint32_t guest_path, int flags, stat_writer put, uint32_t to)
{
    struct stat status;
    struct mr_path path;
    int64_t result = mr_path_find(&path, directory, guest_path, path_how((uint32_t)flags));
    if (!result)
        result = mr_result(fstatat(path.directory, path.name, &status, flags | path.empty_flag));
    mr_path_done(&path);
    return result ? result : put(to, &status);
}

static int64_t stat_descriptor(int fd, stat_writer put, uint32_t to)
{
    struct stat status;
    return fstat(fd, &status) ? -errno : put(to, &status);
}

SYSCALL(4106, stat, "sp") { return stat_path(AT_FDCWD, U32(0), 0, put_stat, U32(1)); }
SYSCALL(4107, lstat, "sp") { return stat_path(AT_FDCWD, U32(0), AT_SYMLINK_NOFOLLOW, put_stat, U32(1)); }
SYSCALL(4108, fstat, "Dp") { return stat_descriptor(FD(0), put_stat, U32(1)); }
SYSCALL(4213, stat64, "sp") { return stat_path(AT_FDCWD, U32(0), 0, put_stat64, U32(1)); }
SYSCALL(4214, lstat64, "sp") { return stat_path(AT_FDCWD, U32(0), AT_SYMLINK_NOFOLLOW, put_stat64, U32(1)); }
SYSCALL(4215, fstat64, "Dp") { return stat_descriptor(FD(0), put_stat64, U32(1)); }
SYSCALL(4293, fstatat64, "aspx") { return stat_path(FD(0), U32(1), INT(3), put_stat64, U32(2)); }

/* ---- statx: the same structure everywhere, but for byte order ---- */

#define STATX_BYTES 256

#define TIMESTAMP "qw4b"
#define STATX "2wq3wh4q" TIMESTAMP TIMESTAMP TIMESTAMP TIMESTAMP "4wq2wq" /* up to the last one that kernels fill in */

SYSCALL(4366, statx, "asxxp")
{
    uint8_t status[STATX_BYTES];
    struct mr_path path;
    int64_t result = mr_path_find(&path, FD(0), U32(1), path_how(U32(2)));
    if (!result)
        result = mr_result(syscall(SYS_statx, path.directory, path.name, U32(2) | (uint32_t)path.empty_flag, U32(3), status));
    mr_path_done(&path);
    if (result)
        return result;
    void *to = mr_guest_bytes(U32(4), STATX_BYTES, MR_WRITE);
    if (!to)
        return -EFAULT;
    memcpy(to, status, STATX_BYTES);
    mr_layout_to_guest(STATX, status, MR_WHOLE, to, MR_WHOLE);
    return 0;
}

/* ---- file systems ---- */

#define STATFS_BYTES 64
#define STATFS64_BYTES 96

typedef int64_t (*statfs_writer)(uint32_t, const struct statfs *);

static int64_t put_statfs(uint32_t guest, const struct statfs *from)
{
    const uint64_t members[] = {
        (uint64_t)from->f_type, (uint64_t)from->f_bsize, (uint64_t)from->f_frsize,
        from->f_blocks, from->f_bfree, from->f_files, from->f_ffree, from->f_bavail,
        (uint32_t)from->f_fsid.__val[0], (uint32_t)from->f_fsid.__val[1],
        (uint64_t)from->f_namelen, (uint64_t)from->f_flags,
        0, 0, 0, 0,
    };
    if (!mr_guest_bytes(guest, STATFS_BYTES, MR_WRITE))
        return -EFAULT;
    for (int i = 3; i < 8; i++)
        if (members[i] > UINT32_MAX && members[i] != UINT64_MAX)
            return -EOVERFLOW;
    return mr_put_struct("16u", guest, members);
}

static int64_t put_statfs64(uint32_t guest, const struct statfs *from)
{
    const uint64_t members[] = {
        (uint64_t)from->f_type, (uint64_t)from->f_bsize, (uint64_t)from->f_frsize, 0,
        from->f_blocks, from->f_bfree, from->f_files, from->f_ffree, from->f_bavail,
        (uint32_t)from->f_fsid.__val[0], (uint32_t)from->f_fsid.__val[1],
        (uint64_t)from->f_namelen, (uint64_t)from->f_flags,
        0, 0, 0, 0, 0, 0,
    };
    return mr_put_struct("4u5q10u", guest, members);
}

static int64_t tell_path(uint32_t guest_path, statfs_writer put, uint32_t to)
{
    struct statfs status;
    struct mr_path path;
    int64_t result = mr_path_find(&path, AT_FDCWD, guest_path, MR_BY_DESCRIPTOR);
    if (!result)
        result = mr_result(path.empty_flag ? fstatfs(path.directory, &status) : statfs(path.name, &status));
    mr_path_done(&path);
    return result ? result : put(to, &status);
}

static int64_t tell_descriptor(int fd, statfs_writer put, uint32_t to)
{
    struct statfs status;
    return fstatfs(fd, &status) ? -errno : put(to, &status);
}

SYSCALL(4099, statfs, "sp") { return tell_path(U32(0), put_statfs, U32(1)); }
SYSCALL(4100, fstatfs, "Dp") { return tell_descriptor(FD(0), put_statfs, U32(1)); }

SYSCALL(4255, statfs64, "sup")
{
    return U32(1) == STATFS64_BYTES ? tell_path(U32(0), put_statfs64, U32(2)) : -EINVAL;
}

SYSCALL(4256, fstatfs64, "Dup")
{
    return U32(1) == STATFS64_BYTES ? tell_descriptor(FD(0), put_statfs64, U32(2)) : -EINVAL;
}
