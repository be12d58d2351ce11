/* System calls on descriptors: opening, closing, duplicating, positions, sizes, flock. */
#include "base/host_thread.h"
#include "linux/abi.h"
#include "linux/calls/directories.h"
#include "linux/calls/made_files.h"
#include "linux/calls/syscall.h"
#include "linux/descriptors.h"
#include "linux/host_call.h"
#include "linux/paths.h"
#include "linux/program.h"
#include "memory/values.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- opening and closing ---- */

static int64_t open_file(int directory, uint32_t guest_path, uint32_t flags, uint32_t mode)
{
    int host_flags = mr_open_flags_to_host(flags);
    int64_t fd = mr_path_open(directory, guest_path, host_flags, mode);
    return mr_guest_opened(fd, host_flags);
}

SYSCALL(4005, open, "sfo") { return open_file(AT_FDCWD, U32(0), U32(1), U32(2)); }
SYSCALL(4288, openat, "asfo") { return open_file(FD(0), U32(1), U32(2), U32(3)); }
SYSCALL(4008, creat, "so") { return open_file(AT_FDCWD, U32(0), 0x301 /* O_CREAT|O_TRUNC|O_WRONLY */, U32(1)); }

SYSCALL(4006, close, "D")
{
    int fd = FD(0);
    int64_t result = mr_result(close(fd));
    mr_descriptor_closed(fd);
    return result;
}

#define CLOSE_RANGE_ONLY_MARKS 4u /* CLOSE_RANGE_CLOEXEC */

/* One past the last descriptor, from `first` on, before one of the host's own. */
static uint64_t end_of_range(uint64_t first, uint64_t last)
{
    while (first <= last && !mr_descriptor_is_host((int64_t)first))
        first = first < MR_FD_TABLE ? first + 1 : last + 1;
    return first;
}

SYSCALL(4436, close_range, "uux")
{
    uint64_t first = U32(0), last = U32(1), end;
    if (first > last)
        return mr_result(syscall(SYS_close_range, U32(0), U32(1), U32(2)));
    for (; first <= last; first = end + 1) {
        end = end_of_range(first, last);
        if (end > first && syscall(SYS_close_range, (uint32_t)first, (uint32_t)(end - 1), U32(2)))
            return -errno;
    }
    if (!(U32(2) & CLOSE_RANGE_ONLY_MARKS))
        mr_descriptors_closed(U32(0), U32(1));
    return 0;
}

/* dup2 and dup3 close what has the new number. */
static int64_t copy_to(int from, int to, int flags, bool old_call)
{
    mr_own_make_way(to);
    if (mr_descriptor_is_host(to))
        return -EBADF;
    return mr_descriptor_copied(from, mr_result(old_call ? dup2(from, to) : dup3(from, to, flags)));
}

SYSCALL(4041, dup, "D") { return mr_descriptor_copied(FD(0), mr_result(dup(FD(0)))); }
SYSCALL(4063, dup2, "Dd") { return copy_to(FD(0), INT(1), 0, true); }

int mr_known_flags(uint32_t mips, int known)
{
    int host = mr_open_flags_to_host(mips);
    return host & ~known || mr_open_flags_to_mips(host) != mips ? -EINVAL : host;
}

SYSCALL(4327, dup3, "Ddf")
{
    int flags = mr_known_flags(U32(2), ~0);
    return flags < 0 ? flags : copy_to(FD(0), INT(1), flags, false);
}

/* The old call answers in v0 and v1 instead of in memory. */
SYSCALL(4042, pipe, "")
{
    int ends[2];
    if (pipe(ends))
        return -errno;
    GPR(c->s, MR_REG_V1) = (uint32_t)ends[1];
    return ends[0];
}

SYSCALL(4328, pipe2, "pf")
{
    int ends[2], flags = mr_known_flags(U32(1), ~0);
    if (flags < 0)
        return flags;
    if (!mr_guest_bytes(U32(0), 8, MR_WRITE))
        return -EFAULT;
    if (pipe2(ends, flags))
        return -errno;
    mr_poke32(U32(0), (uint32_t)ends[0]);
    mr_poke32(U32(0) + 4, (uint32_t)ends[1]);
    return 0;
}

SYSCALL(4354, memfd_create, "sx")
{
    const char *name = mr_guest_string(U32(0));
    return name ? mr_descriptor_made(mr_result(syscall(SYS_memfd_create, name, U32(1))), MR_FD_PLAIN) : -EFAULT;
}

/* ---- positions and sizes ---- */

/* A directory's positions are those that getdents has told (sys_directory.c). */
static int64_t seek(int fd, int64_t offset, int whence)
{
    bool wide = mr_descriptor_kind_of(fd) == MR_FD_WIDE_DIRECTORY;
    int64_t position = mr_result(lseek(fd, wide && whence == SEEK_SET ? mr_directory_wide(fd, offset) : offset, whence));
    return wide ? mr_directory_narrow(fd, position) : position;
}

SYSCALL(4019, lseek, "Ddd")
{
    off_t old = lseek(FD(0), 0, SEEK_CUR);
    int64_t position = seek(FD(0), INT(1), INT(2));
    if (position <= INT32_MAX)
        return position;
    lseek(FD(0), old, SEEK_SET);
    return -EOVERFLOW;
}

SYSCALL(4140, _llseek, "Dxxpd")
{
    int64_t position = seek(FD(0), (int64_t)((uint64_t)U32(1) << 32 | U32(2)), INT(4));
    return position < 0 ? position : mr_write64(U32(3), (uint64_t)position);
}

static int64_t truncate_path(uint32_t guest_path, int64_t size_bytes)
{
    struct mr_path path;
    int64_t result = mr_path_find(&path, AT_FDCWD, guest_path, MR_FOLLOW);
    if (!result)
        result = mr_text_runs(&path) ? -ETXTBSY : mr_result(truncate(path.name, size_bytes));
    mr_path_done(&path);
    return result;
}

SYSCALL(4092, truncate, "sd") { return truncate_path(U32(0), INT(1)); }
SYSCALL(4211, truncate64, "sq") { return truncate_path(U32(0), (int64_t)c->arg[1]); }
SYSCALL(4093, ftruncate, "Dd") { return mr_result(ftruncate(FD(0), INT(1))); }
SYSCALL(4212, ftruncate64, "Dq") { return mr_result(ftruncate(FD(0), (int64_t)c->arg[1])); }

SYSCALL(4320, fallocate, "Dxqq")
{
    return mr_result(fallocate(FD(0), INT(1), (int64_t)c->arg[2], (int64_t)c->arg[3]));
}

SYSCALL(4254, fadvise64, "Dqqd") /* the only one of MIPS has 64-bit offsets */
{
    return -posix_fadvise(FD(0), (int64_t)c->arg[1], (int64_t)c->arg[2], INT(3));
}

SYSCALL(4223, readahead, "Dqu") { return mr_result(readahead(FD(0), (int64_t)c->arg[1], U32(2))); }
SYSCALL(4036, sync, "")
{
    sync();
    return 0;
}
SYSCALL(4118, fsync, "D") { return mr_result(fsync(FD(0))); }
SYSCALL(4152, fdatasync, "D") { return mr_result(fdatasync(FD(0))); }
SYSCALL(4342, syncfs, "D") { return mr_result(syncfs(FD(0))); }

SYSCALL(4305, sync_file_range, "Dqqx")
{
    return mr_result(sync_file_range(FD(0), (int64_t)c->arg[1], (int64_t)c->arg[2], U32(3)));
}

SYSCALL(4143, flock, "Dd") { return mr_wait_call(SYS_flock, U32(0), U32(1), 0, 0, 0, 0); }
