/* fcntl: flags, locks, owners, leases, pipes, seals. Numbers and structures: asm/fcntl.h of MIPS. */
#include "linux/abi.h"
#include "linux/calls/layout.h"
#include "linux/calls/syscall.h"
#include "linux/descriptors.h"
#include "linux/host_call.h"
#include "memory/values.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>

/* Commands of fcntl, as asm/fcntl.h of MIPS numbers them. */
enum {
    CMD_DUPFD = 0, CMD_GETFD = 1, CMD_SETFD = 2, CMD_GETFL = 3, CMD_SETFL = 4, CMD_SETLK = 6, CMD_SETLKW = 7,
    CMD_SETSIG = 10, CMD_GETSIG = 11, CMD_GETLK = 14, CMD_SETOWN_EX = 15, CMD_GETOWN_EX = 16, CMD_GETOWN = 23,
    CMD_SETOWN = 24, CMD_GETLK64 = 33, CMD_SETLK64, CMD_SETLKW64, CMD_OFD_GETLK, CMD_OFD_SETLK, CMD_OFD_SETLKW,
};

/* struct flock64 as the host's struct flock: type, whence, start, length, process. */
#define WIDE_LOCK "2h2qw"
/* struct flock: the same, then a system's number before the process and four words. */
#define NARROW_LOCK "2h2wlw4w"

struct narrow_lock { /* on the host's side */
    int16_t type, whence;
    int32_t start, size_bytes;
    int64_t system;
    int32_t process, padding[4];
};

static int64_t make_lock_call(int fd, int host_command, struct flock *lock)
{
    return mr_wait_call(SYS_fcntl, (uint64_t)fd, (uint64_t)host_command, MR_HOST(lock), 0, 0, 0);
}

static int64_t lock_wide(int fd, int host_command, uint32_t guest)
{
    struct flock lock;
    if (mr_get_struct(WIDE_LOCK, guest, &lock))
        return -EFAULT;
    int64_t error = make_lock_call(fd, host_command, &lock);
    bool tells = host_command == F_GETLK || host_command == F_OFD_GETLK;
    return error || !tells ? error : mr_put_struct(WIDE_LOCK, guest, &lock);
}

static int64_t lock_narrow(int fd, int host_command, uint32_t guest)
{
    struct narrow_lock narrow;
    if (mr_get_struct(NARROW_LOCK, guest, &narrow))
        return -EFAULT;
    struct flock lock = {.l_type = narrow.type, .l_whence = narrow.whence, .l_start = narrow.start,
                         .l_len = narrow.size_bytes, .l_pid = narrow.process};
    int64_t error = make_lock_call(fd, host_command, &lock);
    if (error || host_command != F_GETLK)
        return error;
    if (lock.l_start > INT32_MAX || lock.l_len > INT32_MAX)
        return -EOVERFLOW;
    narrow = (struct narrow_lock){.type = lock.l_type, .whence = lock.l_whence, .start = (int32_t)lock.l_start,
                                  .size_bytes = (int32_t)lock.l_len, .process = lock.l_pid};
    return mr_put_struct(NARROW_LOCK, guest, &narrow);
}

static int64_t set_owner(int fd, uint32_t guest)
{
    struct f_owner_ex owner;
    return mr_get_struct("2w", guest, &owner) ? -EFAULT : mr_result(fcntl(fd, F_SETOWN_EX, &owner));
}

static int64_t get_owner(int fd, uint32_t guest)
{
    struct f_owner_ex owner;
    return fcntl(fd, F_GETOWN_EX, &owner) ? -errno : mr_put_struct("2w", guest, &owner);
}

/* A group is told as a negative number, which is an error when it is a small one; that is how the call is. */
static int64_t tell_owner(int fd)
{
    struct f_owner_ex owner;
    if (fcntl(fd, F_GETOWN_EX, &owner))
        return -errno;
    int64_t number = owner.type == F_OWNER_PGRP ? -(int64_t)owner.pid : owner.pid;
    return number < -4095 ? (int64_t)(uint32_t)number : number;
}

static int64_t set_signal(int fd, uint32_t mips_signal)
{
    int host_signal = mr_signal_to_host((int)mips_signal);
    if (mips_signal && !host_signal)
        return fcntl(fd, F_GETFD) < 0 ? -errno : -EINVAL;
    return mr_result(fcntl(fd, F_SETSIG, host_signal));
}

#define F_DUPFD_QUERY_COMMAND 1027 /* newer than many libcs */
#define F_CREATED_QUERY_COMMAND 1028

/* How long the contents of a file will live: one 64-bit number. */
static int64_t hint(int fd, uint32_t command, uint32_t guest)
{
    uint64_t value = 0;
    bool set = command == F_SET_RW_HINT || command == F_SET_FILE_RW_HINT;
    if (set && mr_read64(guest, &value))
        return -EFAULT;
    if (fcntl(fd, (int)command, &value))
        return -errno;
    return set ? 0 : mr_write64(guest, value);
}

static int64_t control(int fd, uint32_t command, uint32_t value)
{
    int64_t result;
    switch (command) {
    case CMD_DUPFD:
    case F_DUPFD_CLOEXEC: return mr_descriptor_copied(fd, mr_result(fcntl(fd, (int)command, value)));
    case CMD_GETFD:
    case CMD_SETFD: return mr_result(fcntl(fd, (int)command, value));
    case CMD_GETFL:
        result = mr_result(fcntl(fd, F_GETFL));
        return result < 0 ? result : mr_open_flags_to_mips((int)result);
    case CMD_SETFL: return mr_result(fcntl(fd, F_SETFL, mr_open_flags_to_host(value)));
    case CMD_GETLK: return lock_narrow(fd, F_GETLK, value);
    case CMD_SETLK: return lock_narrow(fd, F_SETLK, value);
    case CMD_SETLKW: return lock_narrow(fd, F_SETLKW, value);
    case CMD_SETSIG: return set_signal(fd, value);
    case CMD_GETSIG:
        result = mr_result(fcntl(fd, F_GETSIG));
        return result <= 0 ? result : mr_signal_to_mips((int)result);
    case CMD_SETOWN_EX: return set_owner(fd, value);
    case CMD_GETOWN_EX: return get_owner(fd, value);
    case CMD_GETOWN: return tell_owner(fd);
    case CMD_SETOWN: return mr_result(fcntl(fd, F_SETOWN, (int)value));
    case F_GET_RW_HINT:
    case F_SET_RW_HINT:
    case F_GET_FILE_RW_HINT:
    case F_SET_FILE_RW_HINT: return hint(fd, command, value);
    case F_SETLEASE:
    case F_GETLEASE:
    case F_NOTIFY:
    case F_DUPFD_QUERY_COMMAND:
    case F_CREATED_QUERY_COMMAND:
    case F_SETPIPE_SZ:
    case F_GETPIPE_SZ:
    case F_ADD_SEALS:
    case F_GET_SEALS: return mr_result(fcntl(fd, (int)command, value));
    default: return fcntl(fd, F_GETFD) < 0 ? -errno : -EINVAL;
    }
}

SYSCALL(4055, fcntl, "Ddx") { return control(FD(0), U32(1), U32(2)); }

/* The commands with 64-bit locks belong to this one only. */
SYSCALL(4220, fcntl64, "Ddx")
{
    static const int host_commands[] = {F_GETLK, F_SETLK, F_SETLKW, F_OFD_GETLK, F_OFD_SETLK, F_OFD_SETLKW};
    if (U32(1) >= CMD_GETLK64 && U32(1) <= CMD_OFD_SETLKW)
        return lock_wide(FD(0), host_commands[U32(1) - CMD_GETLK64], U32(2));
    return control(FD(0), U32(1), U32(2));
}
