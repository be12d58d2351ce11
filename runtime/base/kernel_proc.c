/* The kernel's /proc: see kernel_proc.h.
 *
 * A guest may change its root, and a host may begin in one that another user has filled: "/proc/self/exe" is a file of
 * that user there. So nothing below /proc is found by a path from the root. The host keeps the folder open from its start, if
 * the kernel says that it is its own. While the guest has taken that number as well (own.c), the path is asked of the kernel
 * each time; who executes what he finds compares it with what he means.
 */
#include "base/kernel_proc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

int mr_kernel_proc = -1;

/* What a folder of it that is mounted at /proc has not. */
static bool has_processes(int fd)
{
    char text[16];
    return readlinkat(fd, "self", text, sizeof text) > 0;
}

int mr_kernel_proc_open(void)
{
    struct statfs system;
    int fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0 || (fstatfs(fd, &system) == 0 && system.f_type == PROC_SUPER_MAGIC && has_processes(fd)))
        return fd;
    close(fd);
    return -1;
}

bool mr_proc_is_kernels(void)
{
    struct statfs system;
    return statfs("/proc", &system) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

/* Whether a process has the number there that it has for this one: not in a new namespace of numbers. */
static bool counts_alike(int proc)
{
    char text[16];
    ssize_t length = proc < 0 ? -1 : readlinkat(proc, "self", text, sizeof text - 1);
    text[length < 0 ? 0 : length] = 0;
    return length > 0 && atol(text) == getpid();
}

static int find(char path[MR_PROC_ROOM], int proc, const char *format, va_list arguments)
{
    char name[MR_PROC_ROOM];
    vsnprintf(name, sizeof name, format, arguments);
    bool by_path = proc < 0 && mr_proc_is_kernels();
    snprintf(path, MR_PROC_ROOM, by_path ? "/proc/%.70s" : "%.70s", name);
    return by_path ? AT_FDCWD : proc;
}

int mr_proc_at(char path[MR_PROC_ROOM], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int proc = find(path, mr_kernel_proc, format, arguments);
    va_end(arguments);
    return proc;
}

int mr_proc_at_process(char path[MR_PROC_ROOM], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int proc = find(path, counts_alike(mr_kernel_proc) ? mr_kernel_proc : -1, format, arguments);
    va_end(arguments);
    return proc;
}

int mr_open_regular(const char *path)
{
    const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    char link[MR_PROC_ROOM];
    struct stat status;
    int file = open(path, O_PATH | O_CLOEXEC);
    if (file < 0)
        return -1;
    bool is_regular = fstat(file, &status) == 0 && S_ISREG(status.st_mode);
    int proc = mr_proc_at(link, "thread-self/fd/%d", file);
    int fd = is_regular ? openat(proc, link, flags) : -1;
    int error = is_regular ? errno : EINVAL;
    close(file);
    errno = error;
    return fd < 0 && is_regular && error != EACCES ? open(path, flags) : fd; /* there may be no /proc */
}

ssize_t mr_descriptor_link(int fd, char *to, size_t room)
{
    char path[MR_PROC_ROOM];
    int proc = mr_proc_at(path, "thread-self/fd/%d", fd);
    ssize_t length = readlinkat(proc, path, to, room - 1);
    to[length < 0 ? 0 : length] = 0;
    return length;
}
