/* System calls that take path names and no file contents: links, directories, permissions, times of files. */
#include "base/kernel_proc.h"
#include "base/options.h"
#include "linux/abi.h"
#include "linux/calls/layout.h"
#include "linux/calls/syscall.h"
#include "linux/descriptors.h"
#include "linux/host_call.h"
#include "linux/paths.h"
#include "memory/values.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

/* Runs a call with the path of argument n: its `path.directory`, `path.name` and `path.empty_flag`. */
#define WITH_PATH(directory_, guest_path, how, call)                             \
    struct mr_path path;                                                         \
    int64_t result = mr_path_find(&path, directory_, guest_path, how);           \
    if (!result)                                                                 \
        result = mr_result(call);                                                \
    mr_path_done(&path);                                                         \
    return result

/* ---- links that mean the guest, not the host ---- */

/* Copies what a link leads to. */
static int64_t put_target(const char *target, size_t length, uint32_t guest_to, uint32_t size_bytes)
{
    if (length > size_bytes)
        length = size_bytes;
    void *to = mr_guest_bytes(guest_to, (uint32_t)length, MR_WRITE);
    if (!to)
        return -EFAULT;
    memcpy(to, target, length);
    return (int64_t)length;
}

/* The name of the program that a link of /proc leads to, if it is such a link of a guest; returns its length, or that of the
 * target which the host's kernel has told. */
static size_t name_program(const char *proc_name, char target[PATH_MAX], size_t length)
{
    int program = mr_proc_program(proc_name);
    if (program < 0)
        return length;
    ssize_t found = mr_descriptor_link(program, target, PATH_MAX);
    close(program);
    return found < 0 ? 0 : (size_t)found;
}

/* Of a file that is no link, the kernel says ENOENT when it is given by its descriptor. */
static ssize_t host_readlink(const struct mr_path *path, char *to, size_t size_bytes)
{
    ssize_t length = readlinkat(path->directory, path->name, to, size_bytes);
    if (length < 0 && errno == ENOENT && path->empty_flag)
        errno = EINVAL;
    return length;
}

/* A link of the host's that may be one of /proc, by whatever name: those lead to files as the host knows them. */
static int64_t read_any_link(const struct mr_path *path, uint32_t guest_to, uint32_t size_bytes)
{
    char target[PATH_MAX], name[PATH_MAX];
    ssize_t length = host_readlink(path, target, sizeof target);
    if (length < 0)
        return -errno;
    bool opens = target[0] == '/' && *path->name;
    int fd = opens ? mr_own_openat(path->directory, path->name, O_PATH | O_NOFOLLOW) : path->directory;
    bool is_of_proc = target[0] == '/' && fd >= 0 && mr_proc_name_of(fd, name);
    if (opens && fd >= 0)
        close(fd);
    if (is_of_proc)
        length = (ssize_t)mr_guest_name(target, name_program(name, target, (size_t)length));
    return put_target(target, (size_t)length, guest_to, size_bytes);
}

static int64_t read_link(int directory, uint32_t guest_path, uint32_t guest_to, uint32_t size_bytes)
{
    struct mr_path path;
    char name[PATH_MAX];
    const char *text = mr_guest_string(guest_path);
    if (!text)
        return -EFAULT;
    if ((int32_t)size_bytes <= 0)
        return -EINVAL;
    int64_t result = mr_path_find(&path, directory, guest_path, MR_NO_FOLLOW | MR_BY_DESCRIPTOR);
    if (result == 0)
        result = read_any_link(&path, guest_to, size_bytes);
    mr_path_done(&path);
    const char *own = result < 0 && mr_proc_name(directory, text, name) ? mr_proc_own_file(name) : NULL;
    bool is_lost = own && strcmp(own, "exe") == 0; /* there may be no /proc */
    return is_lost ? put_target(mr_options.program_name, strlen(mr_options.program_name), guest_to, size_bytes) : result;
}

SYSCALL(4085, readlink, "sBu") { return read_link(AT_FDCWD, U32(0), U32(1), U32(2)); }
SYSCALL(4298, readlinkat, "asBu") { return read_link(FD(0), U32(1), U32(2), U32(3)); }

/* ---- access and permissions ---- */

/* Only the second call knows flags. */
static long host_access(const struct mr_path *path, uint32_t mode, uint32_t flags)
{
    return flags ? syscall(SYS_faccessat2, path->directory, path->name, mode, flags)
                 : syscall(SYS_faccessat, path->directory, path->name, mode);
}

static int64_t check_access(int directory, uint32_t guest_path, uint32_t mode, uint32_t flags)
{
    unsigned how = (flags & AT_SYMLINK_NOFOLLOW ? MR_NO_FOLLOW : MR_FOLLOW) | MR_BY_DESCRIPTOR;
    WITH_PATH(directory, guest_path, how, host_access(&path, mode, flags | (uint32_t)path.empty_flag));
}

SYSCALL(4033, access, "sd") { return check_access(AT_FDCWD, U32(0), U32(1), 0); }
SYSCALL(4300, faccessat, "asd") { return check_access(FD(0), U32(1), U32(2), 0); }
SYSCALL(4439, faccessat2, "asdx") { return check_access(FD(0), U32(1), U32(2), U32(3)); }

SYSCALL(4015, chmod, "so")
{
    WITH_PATH(AT_FDCWD, U32(0), MR_FOLLOW, syscall(SYS_fchmodat, path.directory, path.name, U32(1)));
}

SYSCALL(4299, fchmodat, "aso")
{
    WITH_PATH(FD(0), U32(1), MR_FOLLOW, syscall(SYS_fchmodat, path.directory, path.name, U32(2)));
}

SYSCALL(4094, fchmod, "Do") { return mr_result(fchmod(FD(0), U32(1))); }
SYSCALL(4060, umask, "o") { return umask(U32(0)); }

static int64_t change_owner(int directory, uint32_t guest_path, uint32_t user, uint32_t group, int flags)
{
    unsigned how = (flags & AT_SYMLINK_NOFOLLOW ? MR_NO_FOLLOW : MR_FOLLOW) | MR_BY_DESCRIPTOR;
    WITH_PATH(directory, guest_path, how, fchownat(path.directory, path.name, user, group, flags | path.empty_flag));
}

SYSCALL(4202, chown, "sdd") { return change_owner(AT_FDCWD, U32(0), U32(1), U32(2), 0); }
SYSCALL(4016, lchown, "sdd") { return change_owner(AT_FDCWD, U32(0), U32(1), U32(2), AT_SYMLINK_NOFOLLOW); }
SYSCALL(4291, fchownat, "asddx") { return change_owner(FD(0), U32(1), U32(2), U32(3), INT(4)); }
SYSCALL(4095, fchown, "Ddd") { return mr_result(fchown(FD(0), U32(1), U32(2))); }

/* ---- links and names ---- */

/* Of a call with two paths: the second is made. Both are given to `call` as two structs. */
typedef int64_t (*two_path_call)(const struct mr_path *from, const struct mr_path *to, uint32_t flags);

static int64_t with_two_paths(int from_directory, uint32_t from, unsigned from_how, int to_directory, uint32_t to,
                              uint32_t flags, two_path_call call)
{
    struct mr_path from_path, to_path = {.opened = -1};
    int64_t result = mr_path_find(&from_path, from_directory, from, from_how);
    if (!result)
        result = mr_path_find(&to_path, to_directory, to,
                              MR_NAME | MR_CREATE | (mr_path_is_below(&from_path) ? MR_BELOW : 0));
    if (!result)
        result = call(&from_path, &to_path, flags);
    mr_path_done(&to_path);
    mr_path_done(&from_path);
    return result;
}

static int64_t host_link(const struct mr_path *from, const struct mr_path *to, uint32_t flags)
{
    return mr_result(linkat(from->directory, from->name, to->directory, to->name, (int)flags));
}

static int64_t make_link(int from_directory, uint32_t from, int to_directory, uint32_t to, uint32_t flags)
{
    unsigned how = flags & AT_SYMLINK_FOLLOW ? MR_FOLLOW : MR_NO_FOLLOW;
    return with_two_paths(from_directory, from, how, to_directory, to, flags, host_link);
}

SYSCALL(4009, link, "ss") { return make_link(AT_FDCWD, U32(0), AT_FDCWD, U32(1), 0); }
SYSCALL(4296, linkat, "asasx") { return make_link(FD(0), U32(1), FD(2), U32(3), U32(4)); }

/* What the new link says is the guest's affair. */
static int64_t make_symbolic_link(uint32_t target, int directory, uint32_t name)
{
    const char *text = mr_guest_string(target);
    if (!text)
        return -EFAULT;
    WITH_PATH(directory, name, MR_NAME | MR_CREATE, symlinkat(text, path.directory, path.name));
}

SYSCALL(4083, symlink, "ss") { return make_symbolic_link(U32(0), AT_FDCWD, U32(1)); }
SYSCALL(4297, symlinkat, "sas") { return make_symbolic_link(U32(0), FD(1), U32(2)); }

static int64_t host_rename(const struct mr_path *from, const struct mr_path *to, uint32_t flags)
{
    return mr_result(syscall(SYS_renameat2, from->directory, from->name, to->directory, to->name, flags));
}

static int64_t rename_file(int from_directory, uint32_t from, int to_directory, uint32_t to, uint32_t flags)
{
    return with_two_paths(from_directory, from, MR_NAME, to_directory, to, flags, host_rename);
}

SYSCALL(4038, rename, "ss") { return rename_file(AT_FDCWD, U32(0), AT_FDCWD, U32(1), 0); }
SYSCALL(4295, renameat, "asas") { return rename_file(FD(0), U32(1), FD(2), U32(3), 0); }
SYSCALL(4351, renameat2, "asasx") { return rename_file(FD(0), U32(1), FD(2), U32(3), U32(4)); }

static int64_t unlink_file(int directory, uint32_t guest_path, int flags)
{
    WITH_PATH(directory, guest_path, MR_NAME, unlinkat(path.directory, path.name, flags));
}

SYSCALL(4010, unlink, "s") { return unlink_file(AT_FDCWD, U32(0), 0); }
SYSCALL(4040, rmdir, "s") { return unlink_file(AT_FDCWD, U32(0), AT_REMOVEDIR); }
SYSCALL(4294, unlinkat, "asx") { return unlink_file(FD(0), U32(1), INT(2)); }

/* ---- directories and nodes ---- */

static int64_t make_directory(int directory, uint32_t guest_path, uint32_t mode)
{
    WITH_PATH(directory, guest_path, MR_NAME | MR_CREATE, mkdirat(path.directory, path.name, mode));
}

SYSCALL(4039, mkdir, "so") { return make_directory(AT_FDCWD, U32(0), U32(1)); }
SYSCALL(4289, mkdirat, "aso") { return make_directory(FD(0), U32(1), U32(2)); }

/* A device number in 32 bits: the kernel's new_encode_dev, which glibc's 64-bit dev_t agrees with for small numbers. */
static int64_t make_node(int directory, uint32_t guest_path, uint32_t mode, uint32_t device)
{
    WITH_PATH(directory, guest_path, MR_NAME | MR_CREATE,
              syscall(SYS_mknodat, path.directory, path.name, mode, device));
}

SYSCALL(4014, mknod, "sox") { return make_node(AT_FDCWD, U32(0), U32(1), U32(2)); }
SYSCALL(4290, mknodat, "asox") { return make_node(FD(0), U32(1), U32(2), U32(3)); }

/* ---- the folder and the root of the process ---- */

static int64_t changed(int64_t result)
{
    if (!result && mr_sysroot())
        mr_cwd_changed();
    return result;
}

static int64_t change_folder(uint32_t guest_path)
{
    WITH_PATH(AT_FDCWD, guest_path, MR_BY_DESCRIPTOR, path.empty_flag ? fchdir(path.directory) : chdir(path.name));
}

SYSCALL(4012, chdir, "s") { return changed(change_folder(U32(0))); }
SYSCALL(4133, fchdir, "D") { return changed(mr_result(fchdir(FD(0)))); }

/* The sysroot itself is what the guest has as its root already. Of any other root, what follows is below it alone. */
SYSCALL(4061, chroot, "s")
{
    struct mr_path path;
    int64_t result = mr_path_find(&path, AT_FDCWD, U32(0), MR_FOLLOW);
    if (!result) {
        bool same = mr_sysroot() && strcmp(path.name, mr_sysroot()) == 0;
        if (!same)
            mr_root_changes();
        result = mr_result(chroot(same ? "/" : path.name));
        if (!result && !same)
            mr_sysroot_leave();
    }
    mr_path_done(&path);
    return result;
}

SYSCALL(4203, getcwd, "Bu")
{
    char cwd[PATH_MAX];
    if (!mr_sysroot())
        return mr_result(syscall(SYS_getcwd, mr_user(U32(0), U32(1)), U32(1)));
    long length = syscall(SYS_getcwd, cwd, sizeof cwd);
    if (length < 0)
        return -errno;
    length = (long)mr_guest_name(cwd, (size_t)length - 1);
    cwd[length++] = 0;
    return (uint32_t)length > U32(1) ? -ERANGE : put_target(cwd, (size_t)length, U32(0), U32(1));
}

/* ---- times of files ---- */

/* A path of NULL sets the times of the descriptor itself. */
static int64_t set_file_times(int directory, uint32_t guest_path, const struct timespec *times, int flags)
{
    unsigned how = (flags & AT_SYMLINK_NOFOLLOW ? MR_NO_FOLLOW : MR_FOLLOW) | MR_BY_DESCRIPTOR;
    if (!guest_path)
        return mr_result(syscall(SYS_utimensat, directory, NULL, times, flags));
    WITH_PATH(directory, guest_path, how,
              syscall(SYS_utimensat, path.directory, path.name, times, flags | path.empty_flag));
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
    if (U32(1) && mr_get_words(U32(1), seconds, 2))
        return -EFAULT;
    const struct timespec times[2] = {{(int32_t)seconds[0], 0}, {(int32_t)seconds[1], 0}};
    return set_file_times(AT_FDCWD, U32(0), U32(1) ? times : NULL, 0);
}
