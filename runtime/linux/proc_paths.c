/* Names below /proc that mean a guest where the host's kernel means the host: /proc/PID/exe is the guest's program.
 *
 * Every host keeps its guest's program open under a number right behind that of its own executable (descriptors.h). So the
 * program of another guest is found through /proc/PID/fd, also when its file was replaced or deleted; that is allowed to
 * those who may read /proc/PID/exe.
 */
#include "linux/descriptors.h"
#include "linux/paths.h"
#include "linux/proc_made.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
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

/* Names that are not what the host's kernel has there. */
static bool is_special(const char *last)
{
    static const char *const names[] = {"exe", "cwd", "maps", "smaps", "cmdline", "auxv", "environ", "stat", "statm",
                                        "status", "limits", "cpuinfo"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(last, names[i]) == 0)
            return true;
    return mr_is_net_table(last);
}

/* A relative name is one below /proc when the folder is. */
static bool join_folder(int directory, const char *text, char to[PATH_MAX])
{
    char folder[PATH_MAX], joined[PATH_MAX], link[40];
    const char *last = strrchr(text, '/');
    if (!is_special(last ? last + 1 : text))
        return false;
    snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
    ssize_t length = directory == AT_FDCWD ? syscall(SYS_getcwd, folder, sizeof folder) - 1
                                           : readlink(link, folder, sizeof folder - 1);
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

const char *mr_proc_own_file(const char *proc_name)
{
    long process;
    const char *file = split(proc_name, &process);
    return file && process == getpid() ? file : NULL;
}

/* ---- programs of guests ---- */

static bool read_link(const char *path, char *to, size_t size_bytes)
{
    ssize_t length = readlink(path, to, size_bytes - 1);
    to[length < 0 ? 0 : length] = 0;
    return length > 0;
}

static bool descriptor_is(long process, int fd, const char *wanted)
{
    char path[64], link[PATH_MAX];
    snprintf(path, sizeof path, "/proc/%ld/fd/%d", process, fd);
    return read_link(path, link, sizeof link) && strcmp(link, wanted) == 0;
}

/* The number under which a process, whose executable is this host, keeps that open; or -1. */
static int find_host_descriptor(long process, const char *host)
{
    char path[40];
    int own = mr_own_descriptor(MR_OWN_HOST);
    if (own >= 0 && descriptor_is(process, own, host))
        return own;
    snprintf(path, sizeof path, "/proc/%ld/fd", process);
    DIR *folder = opendir(path);
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

static int program_descriptor(long process)
{
    char path[40], theirs[PATH_MAX], ours[PATH_MAX];
    if (process == getpid())
        return mr_own_descriptor(MR_OWN_PROGRAM);
    snprintf(path, sizeof path, "/proc/%ld/exe", process);
    if (!read_link(path, theirs, sizeof theirs) || !read_link("/proc/self/exe", ours, sizeof ours) ||
        strcmp(theirs, ours) != 0)
        return -1;
    int host = find_host_descriptor(process, ours);
    return host < 0 ? -1 : host + 1;
}

bool mr_proc_program(const char *proc_name, char to[PATH_MAX])
{
    long process;
    const char *file = split(proc_name, &process);
    if (!file || strcmp(file, "exe") != 0)
        return false;
    const char *name = process == getpid() ? mr_own_lost_name(MR_OWN_PROGRAM) : NULL;
    if (name)
        snprintf(to, PATH_MAX, "%s", name);
    int fd = name ? -1 : program_descriptor(process);
    if (fd >= 0)
        snprintf(to, PATH_MAX, "/proc/%ld/fd/%d", process, fd);
    return name || fd >= 0;
}
