/* Names below /proc that mean a guest where the host's kernel means the host: /proc/PID/exe is the guest's program.
 *
 * Every host keeps its guest's program open under a number right behind that of its own executable (descriptors.h). So the
 * program of another guest is found through /proc/PID/fd, also when its file was replaced or deleted; that is allowed to
 * those who may read /proc/PID/exe. What is there and no MIPS program is none: then the process is as the kernel says.
 */
#include "base/kernel_proc.h"
#include "linux/descriptors.h"
#include "linux/paths.h"
#include "linux/proc_made.h"
#include "linux/program.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

/* ---- names ---- */

/* A copy with neither "//" nor "/./". */
static bool simplify(const char *text, char to[PATH_MAX])
{
    size_t length = 0;
    while (*text) {
        size_t skip = strspn(text, "/"), size = strcspn(text + skip, "/");
        text += skip;
        if (size == 0)
            break;
        bool dot = size == 1 && *text == '.';
        if (!dot) {
            if (length + 1 + size >= PATH_MAX)
                return false;
            to[length] = '/';
            memcpy(to + length + 1, text, size);
            length += 1 + size;
        }
        text += size;
    }
    to[length] = 0;
    return true;
}

static const char *last_part(const char *text)
{
    const char *last = strrchr(text, '/');
    return last ? last + 1 : text;
}

static bool is_of_kernel(int directory)
{
    struct statfs system;
    return (directory == AT_FDCWD ? statfs(".", &system) : fstatfs(directory, &system)) == 0 && system.f_type == PROC_SUPER_MAGIC;
}

/* A relative name is one below /proc when the folder is. */
static bool join_folder(int directory, const char *text, char to[PATH_MAX])
{
    char folder[PATH_MAX], joined[PATH_MAX];
    if (strcmp(last_part(text), "exe") != 0 || !is_of_kernel(directory))
        return false;
    ssize_t length = directory == AT_FDCWD ? syscall(SYS_getcwd, folder, sizeof folder) - 1
                                           : mr_descriptor_link(directory, folder, sizeof folder);
    if (length < 5 || strncmp(folder, "/proc", 5) != 0)
        return false;
    folder[length] = 0;
    int all = snprintf(joined, sizeof joined, "%s/%s", folder, text);
    return all < (int)sizeof joined && simplify(joined, to);
}

bool mr_proc_name(int directory, const char *text, char to[PATH_MAX])
{
    if (text[0] != '/')
        return text[0] != 0 && join_folder(directory, text, to) && strncmp(to, "/proc/", 6) == 0;
    text += strspn(text, "/");
    return strncmp(text, "proc", 4) == 0 && simplify(text, to) && strncmp(to, "/proc/", 6) == 0;
}

/* Returns what follows a number and a slash, or NULL. */
static const char *skip_number(const char *text, long *number)
{
    char *end;
    if (!isdigit((unsigned char)*text))
        return NULL;
    *number = strtol(text, &end, 10);
    return *end == '/' ? end + 1 : NULL;
}

/* What follows task/TID/ of a process, or all. */
static const char *skip_task(const char *file)
{
    long thread;
    const char *after = strncmp(file, "task/", 5) == 0 ? skip_number(file + 5, &thread) : NULL;
    return after ? after : file;
}

/* Returns what follows /proc/PID/ (and task/TID/), and the PID: of this process for its other names. */
static const char *split(const char *proc_name, long *process)
{
    static const char *const own[] = {"self/", "thread-self/"};
    const char *at = proc_name + strlen("/proc/");
    *process = getpid();
    for (int i = 0; i < 2; i++)
        if (strncmp(at, own[i], strlen(own[i])) == 0)
            return skip_task(at + strlen(own[i]));
    at = skip_number(at, process);
    return at ? skip_task(at) : NULL;
}

/* Each thread has the name of a process, too. */
static bool is_own_thread(const char *mount, long number)
{
    char path[PATH_MAX + 40], own_path[MR_PROC_ROOM];
    int proc = mr_proc_at(own_path, "self/task/%ld", number);
    if (mount)
        snprintf(path, sizeof path, "%s/self/task/%ld", mount, number);
    return faccessat(mount ? AT_FDCWD : proc, mount ? path : own_path, F_OK, 0) == 0;
}

const char *mr_proc_own_file(const char *proc_name)
{
    long process;
    const char *file = split(proc_name, &process);
    return file && (process == getpid() || is_own_thread(NULL, process)) ? file : NULL;
}

/* ---- open files ---- */

static bool is_of_own_proc(int fd)
{
    struct stat one, own;
    return mr_kernel_proc >= 0 && fstat(fd, &one) == 0 && fstat(mr_kernel_proc, &own) == 0 && one.st_dev == own.st_dev;
}

/* Where the /proc that has a file is mounted; returns what follows there, a slash first, or NULL. */
static const char *below_mount(int fd, const char *path, char mount[PATH_MAX])
{
    char link[PATH_MAX + 8], self[32];
    if (strncmp(path, "/proc/", 6) == 0 && is_of_own_proc(fd)) {
        strcpy(mount, "/proc");
        return path + strlen("/proc");
    }
    for (const char *end = strchr(path + 1, '/'); end; end = strchr(end + 1, '/')) {
        snprintf(mount, PATH_MAX, "%.*s", (int)(end - path), path);
        snprintf(link, sizeof link, "%s/self", mount);
        if (readlink(link, self, sizeof self) > 0 && isdigit((unsigned char)self[0]))
            return end;
    }
    return NULL;
}

bool mr_proc_name_of(int fd, char to[PATH_MAX])
{
    char path[PATH_MAX], mount[PATH_MAX];
    struct statfs system;
    long process;
    if (fstatfs(fd, &system) != 0 || (system.f_type != PROC_SUPER_MAGIC && system.f_type != FUSE_SUPER_MAGIC))
        return false;
    mr_descriptor_link(fd, path, sizeof path);
    if (system.f_type == FUSE_SUPER_MAGIC && (strncmp(path, "/proc/", 6) != 0 || !mr_proc_is_kernels()))
        return false; /* lxcfs lies over files of the kernel's; another FUSE may be of any user */
    const char *below = path[0] == '/' ? below_mount(fd, path, mount) : NULL;
    if (!below || strlen(below) + sizeof "/proc/self" > PATH_MAX)
        return false;
    const char *rest = strcmp(mount, "/proc") == 0 ? NULL : skip_number(below + 1, &process);
    if (rest && !is_own_thread(mount, process)) /* it may count processes otherwise */
        return false;
    sprintf(to, rest ? "/proc/self/%s" : "/proc%s", rest ? rest : below);
    return true;
}

FILE *mr_proc_stream(int fd)
{
    FILE *stream = fd < 0 ? NULL : fdopen(fd, "re");
    if (fd >= 0 && !stream)
        close(fd);
    return stream;
}

/* ---- programs of guests ---- */

static bool read_link(int proc, const char *path, char to[PATH_MAX])
{
    ssize_t length = readlinkat(proc, path, to, PATH_MAX - 1);
    to[length < 0 ? 0 : length] = 0;
    return length > 0;
}

static bool descriptor_is(long process, int fd, const char *wanted)
{
    char path[MR_PROC_ROOM], link[PATH_MAX];
    int proc = mr_proc_at_process(path, "%ld/fd/%d", process, fd);
    return read_link(proc, path, link) && strcmp(link, wanted) == 0;
}

/* The number under which a process, whose executable is this host, keeps that open; or -1. */
static int find_host_descriptor(long process, const char *host)
{
    char path[MR_PROC_ROOM];
    int own = mr_own_descriptor(MR_OWN_HOST);
    if (own >= 0 && descriptor_is(process, own, host))
        return own;
    int proc = mr_proc_at_process(path, "%ld/fd", process), fds = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = fds < 0 ? NULL : fdopendir(fds);
    int found = -1;
    for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;) {
        int fd = isdigit((unsigned char)entry->d_name[0]) ? atoi(entry->d_name) : -1;
        if (fd > found && descriptor_is(process, fd, host))
            found = fd;
    }
    if (folder)
        closedir(folder);
    return found;
}

/* Takes an O_PATH descriptor over; returns one of the same file if it is a MIPS program, or -1. While that is open for reading
 * nobody gets a lease that would keep others waiting (fcntl(2)); nor can one have been there, as the guest's host reads it. What
 * may not be read is the guest's own trouble; a device or a pipe is not opened. */
static int program_of_path(int file)
{
    char path[MR_PROC_ROOM];
    struct stat status;
    int proc = mr_proc_at(path, "thread-self/fd/%d", file);
    bool is_regular = file >= 0 && fstat(file, &status) == 0 && S_ISREG(status.st_mode);
    int readable = is_regular ? mr_own_openat(proc, path, O_RDONLY | O_NONBLOCK) : -1;
    if (is_regular && readable < 0 && errno == EACCES)
        return file;
    if (file >= 0)
        close(file);
    if (readable < 0 || mr_is_mips_program(readable))
        return readable;
    close(readable);
    return -1;
}

static int open_own_program(void)
{
    char path[MR_PROC_ROOM];
    const char *name = mr_own_lost_name(MR_OWN_PROGRAM);
    int proc = name ? AT_FDCWD : mr_proc_at(path, "thread-self/fd/%d", mr_own_descriptor(MR_OWN_PROGRAM));
    return mr_own_openat(proc, name ? name : path, O_PATH);
}

/* The process that starts a host may have given it other descriptors, and may exchange them: what is looked at is what is
 * used. */
static int open_program(long process)
{
    char own_path[MR_PROC_ROOM], its_path[MR_PROC_ROOM], theirs[PATH_MAX], ours[PATH_MAX];
    if (process == getpid())
        return open_own_program();
    int proc = mr_proc_at(own_path, "self/exe"), other = mr_proc_at_process(its_path, "%ld/exe", process);
    if (!read_link(other, its_path, theirs) || !read_link(proc, own_path, ours) || strcmp(theirs, ours) != 0)
        return -1;
    int host = find_host_descriptor(process, ours);
    other = mr_proc_at_process(its_path, "%ld/fd/%d", process, host + 1);
    return host < 0 ? -1 : program_of_path(mr_own_openat(other, its_path, O_PATH));
}

int mr_proc_program(const char *proc_name)
{
    long process;
    const char *file = split(proc_name, &process);
    return file && strcmp(file, "exe") == 0 ? open_program(process) : -1;
}

/* Of any name that ends with "exe". */
static int program_of(int directory, const char *text)
{
    char name[PATH_MAX];
    if (strcmp(last_part(text), "exe") != 0)
        return -1;
    bool is_named = mr_proc_name(directory, text, name) && (text[0] != '/' || mr_proc_is_kernels());
    int program = is_named ? mr_proc_program(name) : -1;
    if (program >= 0)
        return program;
    int fd = mr_own_openat(directory, text, O_PATH | O_NOFOLLOW);
    program = fd >= 0 && mr_proc_name_of(fd, name) ? mr_proc_program(name) : -1;
    if (fd >= 0)
        close(fd);
    return program;
}

bool mr_proc_is_memory(const char *proc_name)
{
    long process;
    const char *file = split(proc_name, &process);
    if (!file || (strcmp(file, "mem") != 0 && strcmp(file, "pagemap") != 0))
        return false;
    int program = mr_proc_own_file(proc_name) ? -1 : open_program(process);
    if (program >= 0)
        close(program);
    return program >= 0 || mr_proc_own_file(proc_name) != NULL;
}

bool mr_proc_find_program(struct mr_path *path, int directory, const char *text, unsigned how)
{
    char name[MR_PROC_ROOM];
    int program = program_of(directory, text);
    if (program < 0)
        return false;
    path->opened = path->directory = program;
    path->text[0] = 0;
    path->name = path->text;
    path->empty_flag = how & MR_BY_DESCRIPTOR ? AT_EMPTY_PATH : 0;
    if (how & MR_BY_DESCRIPTOR)
        return true;
    bool by_path = mr_proc_is_kernels();
    int proc = mr_proc_at(name, "thread-self/fd/%d", program);
    snprintf(path->text, sizeof path->text, by_path ? "/proc/thread-self/fd/%d" : "thread-self/fd/%d", program);
    path->directory = by_path ? AT_FDCWD : proc;
    return true;
}
