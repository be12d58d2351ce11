/* System calls that take path names and no file contents: links, directories, permissions, times of files. */
#include "syscall.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

#define PATH(n, name)                              \
    const char *name = mr_host_path(U32(n));       \
    if (!name)                                     \
        return -EFAULT

/* ---- names that mean the guest, not the host ---- */

bool mr_is_own_exe(const char *path)
{
    char own[48];
    snprintf(own, sizeof own, "/proc/%d/exe", (int)getpid());
    return strcmp(path, "/proc/self/exe") == 0 || strcmp(path, "/proc/thread-self/exe") == 0 || strcmp(path, own) == 0;
}

const char *mr_host_path(uint32_t guest)
{
    const char *path = mr_guest_string(guest);
    return path && path[0] == '/' && path[1] == 'p' && mr_is_own_exe(path) ? mr_options.program_name : path;
}

static int64_t read_link(int directory, uint32_t guest_path, uint32_t guest_to, uint32_t size_bytes)
{
    const char *path = mr_guest_string(guest_path);
    if (!path)
        return -EFAULT;
    if ((int32_t)size_bytes <= 0)
        return -EINVAL;
    if (!mr_is_own_exe(path))
        return mr_result(readlinkat(directory, path, mr_user(guest_to, size_bytes), size_bytes));
    const char *name = mr_options.program_name;
    size_t length = strlen(name) < size_bytes ? strlen(name) : size_bytes;
    void *to = mr_guest_bytes(guest_to, (uint32_t)length, MR_WRITE);
    if (!to)
        return -EFAULT;
    memcpy(to, name, length);
    return (int64_t)length;
}

SYSCALL(4085, readlink, "sBu") { return read_link(AT_FDCWD, U32(0), U32(1), U32(2)); }
SYSCALL(4298, readlinkat, "asBu") { return read_link(FD(0), U32(1), U32(2), U32(3)); }

/* ---- access and permissions ---- */

static int64_t check_access(int directory, uint32_t guest_path, uint32_t mode, uint32_t flags)
{
    const char *path = mr_host_path(guest_path);
    if (!path)
        return -EFAULT;
    return mr_result(flags ? syscall(SYS_faccessat2, directory, path, mode, flags)
                           : syscall(SYS_faccessat, directory, path, mode));
}

SYSCALL(4033, access, "sd") { return check_access(AT_FDCWD, U32(0), U32(1), 0); }
SYSCALL(4300, faccessat, "asd") { return check_access(FD(0), U32(1), U32(2), 0); }
SYSCALL(4439, faccessat2, "asdx") { return check_access(FD(0), U32(1), U32(2), U32(3)); }

SYSCALL(4015, chmod, "so")
{
    PATH(0, path);
    return mr_result(chmod(path, U32(1)));
}

SYSCALL(4299, fchmodat, "aso")
{
    PATH(1, path);
    return mr_result(fchmodat(FD(0), path, U32(2), 0));
}

SYSCALL(4094, fchmod, "do") { return mr_result(fchmod(FD(0), U32(1))); }
SYSCALL(4060, umask, "o") { return umask(U32(0)); }

SYSCALL(4202, chown, "sdd")
{
    PATH(0, path);
    return mr_result(chown(path, U32(1), U32(2)));
}

SYSCALL(4016, lchown, "sdd")
{
    PATH(0, path);
    return mr_result(lchown(path, U32(1), U32(2)));
}

SYSCALL(4291, fchownat, "asddx")
{
    PATH(1, path);
    return mr_result(fchownat(FD(0), path, U32(2), U32(3), INT(4)));
}

SYSCALL(4095, fchown, "ddd") { return mr_result(fchown(FD(0), U32(1), U32(2))); }

/* ---- links and names ---- */

static int64_t make_link(int from_directory, uint32_t from, int to_directory, uint32_t to, int flags)
{
    const char *from_path = mr_guest_string(from), *to_path = mr_guest_string(to);
    return from_path && to_path ? mr_result(linkat(from_directory, from_path, to_directory, to_path, flags)) : -EFAULT;
}

SYSCALL(4009, link, "ss") { return make_link(AT_FDCWD, U32(0), AT_FDCWD, U32(1), 0); }
SYSCALL(4296, linkat, "asasx") { return make_link(FD(0), U32(1), FD(2), U32(3), INT(4)); }

static int64_t make_symbolic_link(uint32_t target, int directory, uint32_t name)
{
    const char *target_path = mr_guest_string(target), *name_path = mr_guest_string(name);
    return target_path && name_path ? mr_result(symlinkat(target_path, directory, name_path)) : -EFAULT;
}

SYSCALL(4083, symlink, "ss") { return make_symbolic_link(U32(0), AT_FDCWD, U32(1)); }
SYSCALL(4297, symlinkat, "sas") { return make_symbolic_link(U32(0), FD(1), U32(2)); }

static int64_t rename_file(int from_directory, uint32_t from, int to_directory, uint32_t to, uint32_t flags)
{
    const char *from_path = mr_guest_string(from), *to_path = mr_guest_string(to);
    if (!from_path || !to_path)
        return -EFAULT;
    return mr_result(syscall(SYS_renameat2, from_directory, from_path, to_directory, to_path, flags));
}

SYSCALL(4038, rename, "ss") { return rename_file(AT_FDCWD, U32(0), AT_FDCWD, U32(1), 0); }
SYSCALL(4295, renameat, "asas") { return rename_file(FD(0), U32(1), FD(2), U32(3), 0); }
SYSCALL(4351, renameat2, "asasx") { return rename_file(FD(0), U32(1), FD(2), U32(3), U32(4)); }

static int64_t unlink_file(int directory, uint32_t guest_path, int flags)
{
    const char *path = mr_guest_string(guest_path);
    return path ? mr_result(unlinkat(directory, path, flags)) : -EFAULT;
}

SYSCALL(4010, unlink, "s") { return unlink_file(AT_FDCWD, U32(0), 0); }
SYSCALL(4040, rmdir, "s") { return unlink_file(AT_FDCWD, U32(0), AT_REMOVEDIR); }
SYSCALL(4294, unlinkat, "asx") { return unlink_file(FD(0), U32(1), INT(2)); }

/* ---- directories and nodes ---- */

static int64_t make_directory(int directory, uint32_t guest_path, uint32_t mode)
{
    const char *path = mr_guest_string(guest_path);
    return path ? mr_result(mkdirat(directory, path, mode)) : -EFAULT;
}

SYSCALL(4039, mkdir, "so") { return make_directory(AT_FDCWD, U32(0), U32(1)); }
SYSCALL(4289, mkdirat, "aso") { return make_directory(FD(0), U32(1), U32(2)); }

/* A device number in 32 bits: the kernel's new_encode_dev, which glibc's 64-bit dev_t agrees with for small numbers. */
static int64_t make_node(int directory, uint32_t guest_path, uint32_t mode, uint32_t device)
{
    const char *path = mr_guest_string(guest_path);
    return path ? mr_result(syscall(SYS_mknodat, directory, path, mode, device)) : -EFAULT;
}

SYSCALL(4014, mknod, "sox") { return make_node(AT_FDCWD, U32(0), U32(1), U32(2)); }
SYSCALL(4290, mknodat, "asox") { return make_node(FD(0), U32(1), U32(2), U32(3)); }

SYSCALL(4012, chdir, "s")
{
    const char *path = mr_guest_string(U32(0));
    return path ? mr_result(chdir(path)) : -EFAULT;
}

SYSCALL(4061, chroot, "s")
{
    const char *path = mr_guest_string(U32(0));
    return path ? mr_result(chroot(path)) : -EFAULT;
}

SYSCALL(4133, fchdir, "d") { return mr_result(fchdir(FD(0))); }
SYSCALL(4203, getcwd, "Bu") { return mr_result(syscall(SYS_getcwd, mr_user(U32(0), U32(1)), U32(1))); }

/* ---- times of files ---- */

/* A path of NULL sets the times of the descriptor itself. */
static int64_t set_file_times(int directory, uint32_t guest_path, const struct timespec *times, int flags)
{
    const char *path = guest_path ? mr_guest_string(guest_path) : NULL;
    if (guest_path && !path)
        return -EFAULT;
    return mr_result(syscall(SYS_utimensat, directory, path, times, flags));
}

static int64_t set_times_of_width(struct mr_call *c, enum mr_time_width width)
{
    struct timespec times[2];
    uint32_t from = U32(2);
    if (from && (mr_get_timespec(from, width, &times[0]) || mr_get_timespec(from + 2 * width, width, &times[1])))
        return -EFAULT;
    return set_file_times(FD(0), U32(1), from ? times : NULL, INT(3));
}

SYSCALL(4316, utimensat, "aspx") { return set_times_of_width(c, MR_TIME32); }
SYSCALL(4412, utimensat_time64, "aspx") { return set_times_of_width(c, MR_TIME64); }

static int64_t set_times_from_timevals(int directory, uint32_t guest_path, uint32_t from)
{
    struct timespec times[2];
    for (uint32_t i = 0; from && i < 2; i++) {
        struct timeval time;
        if (mr_get_timeval(from + 8 * i, &time))
            return -EFAULT;
        if (time.tv_usec < 0 || time.tv_usec >= 1000000)
            return -EINVAL;
        times[i] = (struct timespec){time.tv_sec, time.tv_usec * 1000};
    }
    return set_file_times(directory, guest_path, from ? times : NULL, 0);
}

SYSCALL(4267, utimes, "sp") { return set_times_from_timevals(AT_FDCWD, U32(0), U32(1)); }
SYSCALL(4292, futimesat, "asp") { return set_times_from_timevals(FD(0), U32(1), U32(2)); }

SYSCALL(4030, utime, "sp")
{
    uint32_t seconds[2] = {0, 0};
    if (U32(1) && (mr_read32(U32(1), &seconds[0]) || mr_read32(U32(1) + 4, &seconds[1])))
        return -EFAULT;
    const struct timespec times[2] = {{(int32_t)seconds[0], 0}, {(int32_t)seconds[1], 0}};
    return set_file_times(AT_FDCWD, U32(0), U32(1) ? times : NULL, 0);
}
