/* System calls on descriptors: opening, closing, duplicating, positions, sizes, locks, fcntl. */
#include "linux/descriptors.h"
#include "syscall.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- opening and closing ---- */

static int64_t open_file(int directory, uint32_t guest_path, uint32_t flags, uint32_t mode)
{
    const char *text = mr_guest_string(guest_path);
    int host_flags = mr_open_flags_to_host(flags);
    if (!text)
        return -EFAULT;
    int64_t made = mr_open_made_file(directory, text, host_flags);
    return made != -ENOENT ? made : mr_path_open(directory, guest_path, host_flags, mode);
}

SYSCALL(4005, open, "sfo") { return open_file(AT_FDCWD, U32(0), U32(1), U32(2)); }
SYSCALL(4288, openat, "asfo") { return open_file(FD(0), U32(1), U32(2), U32(3)); }
SYSCALL(4008, creat, "so") { return open_file(AT_FDCWD, U32(0), 0x301 /* O_CREAT|O_TRUNC|O_WRONLY */, U32(1)); }
SYSCALL(4006, close, "d") { return mr_is_own_descriptor(FD(0)) ? -EBADF : mr_result(close(FD(0))); }
SYSCALL(4436, close_range, "uux") { return mr_close_range(U32(0), U32(1), U32(2)); }
SYSCALL(4041, dup, "d") { return mr_result(dup(FD(0))); }

SYSCALL(4063, dup2, "dd")
{
    mr_own_make_way(FD(1));
    return mr_result(dup2(FD(0), FD(1)));
}

/* Flags for calls that refuse what they do not know: returns them for the host, or -EINVAL. */
static int strict_flags(uint32_t mips)
{
    int host = mr_open_flags_to_host(mips);
    return mr_open_flags_to_mips(host) == mips ? host : -EINVAL;
}

SYSCALL(4327, dup3, "ddf")
{
    int flags = strict_flags(U32(2));
    mr_own_make_way(FD(1));
    return flags < 0 ? flags : mr_result(dup3(FD(0), FD(1), flags));
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
    int ends[2], flags = strict_flags(U32(1));
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
    return name ? mr_result(syscall(SYS_memfd_create, name, U32(1))) : -EFAULT;
}

/* ---- positions and sizes ---- */

SYSCALL(4019, lseek, "ddd")
{
    off_t old = lseek(FD(0), 0, SEEK_CUR);
    int64_t position = mr_result(lseek(FD(0), INT(1), INT(2)));
    if (position <= INT32_MAX)
        return position;
    lseek(FD(0), old, SEEK_SET);
    return -EOVERFLOW;
}

SYSCALL(4140, _llseek, "dxxpd")
{
    int64_t offset = (int64_t)((uint64_t)U32(1) << 32 | U32(2));
    int64_t position = mr_result(lseek(FD(0), offset, INT(4)));
    return position < 0 ? position : mr_write64(U32(3), (uint64_t)position);
}

static int64_t truncate_path(uint32_t guest_path, int64_t size_bytes)
{
    struct mr_path path;
    int64_t result = mr_path_find(&path, AT_FDCWD, guest_path, MR_FOLLOW);
    return result ? result : mr_result(truncate(path.name, size_bytes));
}

SYSCALL(4092, truncate, "sd") { return truncate_path(U32(0), INT(1)); }
SYSCALL(4211, truncate64, "sq") { return truncate_path(U32(0), (int64_t)c->arg[1]); }
SYSCALL(4093, ftruncate, "dd") { return mr_result(ftruncate(FD(0), INT(1))); }
SYSCALL(4212, ftruncate64, "dq") { return mr_result(ftruncate(FD(0), (int64_t)c->arg[1])); }

SYSCALL(4320, fallocate, "dxqq")
{
    return mr_result(fallocate(FD(0), INT(1), (int64_t)c->arg[2], (int64_t)c->arg[3]));
}

SYSCALL(4254, fadvise64, "dqqd") /* the only one of MIPS has 64-bit offsets */
{
    return -posix_fadvise(FD(0), (int64_t)c->arg[1], (int64_t)c->arg[2], INT(3));
}

SYSCALL(4223, readahead, "dqu") { return mr_result(readahead(FD(0), (int64_t)c->arg[1], U32(2))); }
SYSCALL(4036, sync, "")
{
    sync();
    return 0;
}
SYSCALL(4118, fsync, "d") { return mr_result(fsync(FD(0))); }
SYSCALL(4152, fdatasync, "d") { return mr_result(fdatasync(FD(0))); }
SYSCALL(4342, syncfs, "d") { return mr_result(syncfs(FD(0))); }

SYSCALL(4305, sync_file_range, "dqqx")
{
    return mr_result(sync_file_range(FD(0), (int64_t)c->arg[1], (int64_t)c->arg[2], U32(3)));
}

SYSCALL(4143, flock, "dd") { return mr_wait_call(SYS_flock, U32(0), U32(1), 0, 0, 0, 0); }

/* ---- fcntl ---- */

/* Commands of fcntl, as asm/fcntl.h of MIPS numbers them. */
enum {
    CMD_DUPFD = 0, CMD_GETFD = 1, CMD_SETFD = 2, CMD_GETFL = 3, CMD_SETFL = 4, CMD_SETLK = 6, CMD_SETLKW = 7,
    CMD_SETSIG = 10, CMD_GETSIG = 11, CMD_GETLK = 14, CMD_SETOWN_EX = 15, CMD_GETOWN_EX = 16, CMD_GETOWN = 23,
    CMD_SETOWN = 24, CMD_GETLK64 = 33, CMD_SETLK64 = 34, CMD_SETLKW64 = 35, CMD_OFD_GETLK = 36, CMD_OFD_SETLK = 37,
    CMD_OFD_SETLKW = 38,
};

/* struct flock64: type, whence, start at 8, length at 16, pid at 24. */
static int64_t lock_wide(int fd, int host_command, uint32_t guest)
{
    uint8_t *at = mr_guest_bytes(guest, 32, MR_READ);
    if (!at)
        return -EFAULT;
    struct flock lock = {
        .l_type = (short)mr_get16(at),
        .l_whence = (short)mr_get16(at + 2),
        .l_start = (int64_t)mr_get64(at + 8),
        .l_len = (int64_t)mr_get64(at + 16),
        .l_pid = (int32_t)mr_get32(at + 24),
    };
    int64_t error = mr_wait_call(SYS_fcntl, (uint64_t)fd, (uint64_t)host_command, MR_HOST(&lock), 0, 0, 0);
    if (error || (host_command != F_GETLK && host_command != F_OFD_GETLK))
        return error;
    if (!mr_guest_bytes(guest, 32, MR_WRITE))
        return -EFAULT;
    mr_put16(at, (uint16_t)lock.l_type);
    mr_put16(at + 2, (uint16_t)lock.l_whence);
    mr_put64(at + 8, (uint64_t)lock.l_start);
    mr_put64(at + 16, (uint64_t)lock.l_len);
    mr_put32(at + 24, (uint32_t)lock.l_pid);
    return 0;
}

/* struct flock: type, whence, start at 4, length at 8, system id at 12, pid at 16, four words of padding. */
static int64_t lock_narrow(int fd, int host_command, uint32_t guest)
{
    uint8_t *at = mr_guest_bytes(guest, 36, MR_READ);
    if (!at)
        return -EFAULT;
    struct flock lock = {
        .l_type = (short)mr_get16(at),
        .l_whence = (short)mr_get16(at + 2),
        .l_start = (int32_t)mr_get32(at + 4),
        .l_len = (int32_t)mr_get32(at + 8),
    };
    int64_t error = mr_wait_call(SYS_fcntl, (uint64_t)fd, (uint64_t)host_command, MR_HOST(&lock), 0, 0, 0);
    if (error || host_command != F_GETLK)
        return error;
    if (lock.l_start > INT32_MAX || lock.l_len > INT32_MAX)
        return -EOVERFLOW;
    if (!mr_guest_bytes(guest, 36, MR_WRITE))
        return -EFAULT;
    mr_put16(at, (uint16_t)lock.l_type);
    mr_put16(at + 2, (uint16_t)lock.l_whence);
    mr_put32(at + 4, (uint32_t)lock.l_start);
    mr_put32(at + 8, (uint32_t)lock.l_len);
    mr_put32(at + 16, (uint32_t)lock.l_pid);
    return 0;
}

static int64_t set_owner(int fd, uint32_t guest)
{
    uint32_t type, pid;
    if (mr_read32(guest, &type) || mr_read32(guest + 4, &pid))
        return -EFAULT;
    const struct f_owner_ex owner = {(int)type, (int)pid};
    return mr_result(fcntl(fd, F_SETOWN_EX, &owner));
}

static int64_t get_owner(int fd, uint32_t guest)
{
    struct f_owner_ex owner;
    if (fcntl(fd, F_GETOWN_EX, &owner))
        return -errno;
    return mr_write32(guest, (uint32_t)owner.type) || mr_write32(guest + 4, (uint32_t)owner.pid) ? -EFAULT : 0;
}

/* The commands with 64-bit locks belong to fcntl64 only. */
static int64_t control_wide(int fd, uint32_t command, uint32_t value)
{
    switch (command) {
    case CMD_GETLK64: return lock_wide(fd, F_GETLK, value);
    case CMD_SETLK64: return lock_wide(fd, F_SETLK, value);
    case CMD_SETLKW64: return lock_wide(fd, F_SETLKW, value);
    case CMD_OFD_GETLK: return lock_wide(fd, F_OFD_GETLK, value);
    case CMD_OFD_SETLK: return lock_wide(fd, F_OFD_SETLK, value);
    case CMD_OFD_SETLKW: return lock_wide(fd, F_OFD_SETLKW, value);
    default: return -EINVAL;
    }
}

static int64_t control(int fd, uint32_t command, uint32_t value)
{
    int64_t result;
    switch (command) {
    case CMD_DUPFD:
    case CMD_GETFD:
    case CMD_SETFD: return mr_result(fcntl(fd, (int)command, value));
    case CMD_GETFL:
        result = mr_result(fcntl(fd, F_GETFL));
        return result < 0 ? result : mr_open_flags_to_mips((int)result);
    case CMD_SETFL: return mr_result(fcntl(fd, F_SETFL, mr_open_flags_to_host(value)));
    case CMD_GETLK: return lock_narrow(fd, F_GETLK, value);
    case CMD_SETLK: return lock_narrow(fd, F_SETLK, value);
    case CMD_SETLKW: return lock_narrow(fd, F_SETLKW, value);
    case CMD_SETSIG: return mr_result(fcntl(fd, F_SETSIG, mr_signal_to_host((int)value)));
    case CMD_GETSIG:
        result = mr_result(fcntl(fd, F_GETSIG));
        return result <= 0 ? result : mr_signal_to_mips((int)result);
    case CMD_SETOWN_EX: return set_owner(fd, value);
    case CMD_GETOWN_EX: return get_owner(fd, value);
    case CMD_GETOWN: return mr_result(syscall(SYS_fcntl, fd, F_GETOWN));
    case CMD_SETOWN: return mr_result(fcntl(fd, F_SETOWN, (int)value));
    case F_SETLEASE:
    case F_GETLEASE:
    case F_DUPFD_CLOEXEC:
    case F_SETPIPE_SZ:
    case F_GETPIPE_SZ:
    case F_ADD_SEALS:
    case F_GET_SEALS: return mr_result(fcntl(fd, (int)command, value));
    default: return fcntl(fd, F_GETFD) < 0 ? -errno : -EINVAL;
    }
}

SYSCALL(4055, fcntl, "ddx") { return control(FD(0), U32(1), U32(2)); }

SYSCALL(4220, fcntl64, "ddx")
{
    return U32(1) >= CMD_GETLK64 && U32(1) <= CMD_OFD_SETLKW ? control_wide(FD(0), U32(1), U32(2))
                                                             : control(FD(0), U32(1), U32(2));
}
