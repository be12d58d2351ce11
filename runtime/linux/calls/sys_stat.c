/* System calls that tell about files, directories and file systems, in the structures of asm/stat.h and asm/statfs.h. */
#include "linux/calls/directories.h"
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
SYSCALL(4108, fstat, "dp") { return stat_descriptor(FD(0), put_stat, U32(1)); }
SYSCALL(4213, stat64, "sp") { return stat_path(AT_FDCWD, U32(0), 0, put_stat64, U32(1)); }
SYSCALL(4214, lstat64, "sp") { return stat_path(AT_FDCWD, U32(0), AT_SYMLINK_NOFOLLOW, put_stat64, U32(1)); }
SYSCALL(4215, fstat64, "dp") { return stat_descriptor(FD(0), put_stat64, U32(1)); }
SYSCALL(4293, fstatat64, "aspx") { return stat_path(FD(0), U32(1), INT(3), put_stat64, U32(2)); }

/* ---- statx: the same structure everywhere, but for byte order ---- */

#define STATX_BYTES 256

/* Offset and size of each member, linux/stat.h. */
static const uint8_t statx_members[][2] = {
    {0, 4},   {4, 4},   {8, 8},   {16, 4},  {20, 4},  {24, 4},  {28, 2},  {32, 8},  {40, 8},
    {48, 8},  {56, 8},  {64, 8},  {72, 4},  {80, 8},  {88, 4},  {96, 8},  {104, 4}, {112, 8},
    {120, 4}, {128, 4}, {132, 4}, {136, 4}, {140, 4}, {144, 8}, {152, 4}, {156, 4}, {160, 8},
};

static void swap_statx(uint8_t *bytes)
{
    for (size_t i = 0; i < sizeof statx_members / sizeof *statx_members; i++) {
        uint8_t *at = bytes + statx_members[i][0];
        uint16_t half;
        uint32_t word;
        uint64_t pair;
        switch (statx_members[i][1]) {
        case 2: memcpy(&half, at, 2), mr_put16(at, half); break;
        case 4: memcpy(&word, at, 4), mr_put32(at, word); break;
        default: memcpy(&pair, at, 8), mr_put64(at, pair); break;
        }
    }
}

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
    swap_statx(status);
    memcpy(to, status, STATX_BYTES);
    return 0;
}

/* ---- file systems ---- */

#define STATFS_BYTES 64
#define STATFS64_BYTES 96

static int64_t put_statfs(uint32_t guest, const struct statfs *from)
{
    const uint64_t counts[] = {from->f_blocks, from->f_bfree, from->f_files, from->f_ffree, from->f_bavail};
    uint8_t *to = mr_guest_bytes(guest, STATFS_BYTES, MR_WRITE);
    if (!to)
        return -EFAULT;
    for (int i = 0; i < 5; i++)
        if (counts[i] > UINT32_MAX && counts[i] != UINT64_MAX)
            return -EOVERFLOW;
    memset(to, 0, STATFS_BYTES);
    mr_put32(to, (uint32_t)from->f_type);
    mr_put32(to + 4, (uint32_t)from->f_bsize);
    mr_put32(to + 8, (uint32_t)from->f_frsize);
    for (int i = 0; i < 5; i++)
        mr_put32(to + 12 + 4 * i, (uint32_t)counts[i]);
    mr_put32(to + 32, (uint32_t)from->f_fsid.__val[0]);
    mr_put32(to + 36, (uint32_t)from->f_fsid.__val[1]);
    mr_put32(to + 40, (uint32_t)from->f_namelen);
    mr_put32(to + 44, (uint32_t)from->f_flags);
    return 0;
}

static int64_t put_statfs64(uint32_t guest, const struct statfs *from)
{
    const uint64_t counts[] = {from->f_blocks, from->f_bfree, from->f_files, from->f_ffree, from->f_bavail};
    uint8_t *to = mr_guest_bytes(guest, STATFS64_BYTES, MR_WRITE);
    if (!to)
        return -EFAULT;
    memset(to, 0, STATFS64_BYTES);
    mr_put32(to, (uint32_t)from->f_type);
    mr_put32(to + 4, (uint32_t)from->f_bsize);
    mr_put32(to + 8, (uint32_t)from->f_frsize);
    for (int i = 0; i < 5; i++)
        mr_put64(to + 16 + 8 * i, counts[i]);
    mr_put32(to + 56, (uint32_t)from->f_fsid.__val[0]);
    mr_put32(to + 60, (uint32_t)from->f_fsid.__val[1]);
    mr_put32(to + 64, (uint32_t)from->f_namelen);
    mr_put32(to + 68, (uint32_t)from->f_flags);
    return 0;
}

static int64_t statfs_path(uint32_t guest_path, struct statfs *status)
{
    struct mr_path path;
    int64_t result = mr_path_find(&path, AT_FDCWD, guest_path, MR_BY_DESCRIPTOR);
    if (!result)
        result = mr_result(path.empty_flag ? fstatfs(path.directory, status) : statfs(path.name, status));
    mr_path_done(&path);
    return result;
}

SYSCALL(4099, statfs, "sp")
{
    struct statfs status;
    int64_t error = statfs_path(U32(0), &status);
    return error ? error : put_statfs(U32(1), &status);
}

SYSCALL(4100, fstatfs, "dp")
{
    struct statfs status;
    return fstatfs(FD(0), &status) ? -errno : put_statfs(U32(1), &status);
}

SYSCALL(4255, statfs64, "sup")
{
    struct statfs status;
    if (U32(1) != STATFS64_BYTES)
        return -EINVAL;
    int64_t error = statfs_path(U32(0), &status);
    return error ? error : put_statfs64(U32(2), &status);
}

SYSCALL(4256, fstatfs64, "dup")
{
    struct statfs status;
    if (U32(1) != STATFS64_BYTES)
        return -EINVAL;
    return fstatfs(FD(0), &status) ? -errno : put_statfs64(U32(2), &status);
}
