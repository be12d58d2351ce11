/* Paths and the sysroot: see paths.h for the rules.
 *
 * The host's kernel resolves what is below DIR with openat2 and RESOLVE_IN_ROOT. That costs a descriptor for a moment, which
 * another thread could take for one of its own; so with several threads, and where openat2 is missing, the path is walked
 * here, link by link (walk.c). Both agree on every path that a test knows.
 */
#include "linux/paths.h"

#include "base/kernel_proc.h"
#include "base/messages.h"
#include "base/observe.h"
#include "base/options.h"
#include "lifted/caches.h"
#include "linux/descriptors.h"
#include "linux/host_call.h"
#include "linux/program.h"
#include "linux/threads.h"
#include "linux/walk.h"
#include "memory/values.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static char root[PATH_MAX]; /* DIR; empty: there is none */
static size_t root_length;
static bool cwd_below;
static bool no_openat2; /* the kernel, or a filter, has none */

/* ---- the sysroot ---- */

void mr_sysroot_start(const char *folder)
{
    if (folder == NULL || *folder == 0)
        return;
    if (realpath(folder, root) == NULL)
        mr_fail("--sysroot %s: %s", folder, strerror(errno));
    root_length = strlen(root);
    int fd = mr_own_openat(AT_FDCWD, root, O_PATH | O_DIRECTORY);
    if (fd < 0)
        mr_fail("--sysroot %s: %s", folder, strerror(errno));
    if (root_length == 1) { /* "/": the same as none */
        mr_sysroot_leave();
        close(fd);
        return;
    }
    mr_own_keep(MR_OWN_SYSROOT, fd);
    mr_cwd_changed();
}

const char *mr_sysroot(void)
{
    return root_length ? root : NULL;
}

void mr_root_changes(void)
{
    MR_TELL(growth_ends);
    mr_own_come_back();
    mr_options.compile_server = NULL;
    mr_options.library_path = NULL;
    mr_options.trust_library = false;
    if (mr_options.gdb_on_crash != NULL && mr_options.gdb_on_crash[strspn(mr_options.gdb_on_crash, "0123456789")])
        mr_options.gdb_on_crash = NULL;
    mr_notes_open(NULL);
}

void mr_sysroot_leave(void)
{
    root_length = 0;
    root[0] = 0;
    cwd_below = false;
    mr_own_drop(MR_OWN_SYSROOT);
}

static bool is_below_root(const char *path, size_t length)
{
    return root_length && length >= root_length && memcmp(path, root, root_length) == 0 &&
           (length == root_length || path[root_length] == '/');
}

size_t mr_guest_name(char *path, size_t length)
{
    if (!is_below_root(path, length))
        return length;
    if (length == root_length) {
        path[0] = '/';
        return 1;
    }
    memmove(path, path + root_length, length - root_length);
    return length - root_length;
}

void mr_cwd_changed(void)
{
    char cwd[PATH_MAX];
    long length = root_length ? syscall(SYS_getcwd, cwd, sizeof cwd) : 0;
    cwd_below = length > 0 && is_below_root(cwd, (size_t)length - 1);
}

/* ---- results ---- */

static int set_text(struct mr_path *path, const char *one, const char *two)
{
    int length = snprintf(path->text, sizeof path->text, "%s%s", one, two);
    path->name = path->text;
    path->directory = AT_FDCWD;
    return length >= (int)sizeof path->text ? -ENAMETOOLONG : 0;
}

/* Whether the host has the folder that a path's last component is, or would be, in. */
static bool host_has_folder_of(const char *path)
{
    char folder[PATH_MAX];
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        length--;
    while (length > 0 && path[length - 1] != '/')
        length--;
    if (length == 0 || length >= sizeof folder)
        return true;
    memcpy(folder, path, length);
    folder[length] = 0;
    return access(folder, F_OK) == 0;
}

static bool host_has(const char *path)
{
    return faccessat(AT_FDCWD, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

/* A link of the sysroot led to what is not there. Whether the host's file of the name as the guest gave it is meant, and not of
 * the name that the link led to: one that exists is, else one in a folder that exists. */
static bool is_as_given(const char *given, const struct mr_walk *walk, unsigned how)
{
    char led_to[2 * PATH_MAX];
    snprintf(led_to, sizeof led_to, "%s%s", walk->at + walk->root_length, walk->rest);
    if (host_has(led_to) || host_has(given))
        return !host_has(led_to);
    return how & MR_CREATE && !host_has_folder_of(led_to) && host_has_folder_of(given);
}

/* What a walk has found, as a path for the host. `path` stays as it is, the guest's own, where that means the same. */
static int take_walk(struct mr_path *path, const struct mr_walk *walk, enum mr_found found, bool relative, unsigned how)
{
    bool plain = walk->links == 0 && !walk->above;
    if (found == MR_HIT)
        return relative && plain ? 0 : set_text(path, walk->at, walk->rest);
    bool last = found == MR_MISS && walk->rest[strspn(walk->rest, "/")] == 0;
    bool stays_below = how & MR_CREATE && last && (relative || how & MR_BELOW);
    if (found == MR_MISS && !plain && !relative && !stays_below && is_as_given(path->name, walk, how))
        return 0;
    if (how & MR_CREATE && last && (relative || how & MR_BELOW || !host_has_folder_of(walk->at + root_length)))
        return relative && plain ? 0 : set_text(path, walk->at, walk->rest);
    return plain && found == MR_MISS ? 0 : set_text(path, walk->at + root_length, walk->rest);
}

static int find_by_walk(struct mr_path *path, const char *absolute, bool relative, unsigned how)
{
    struct mr_walk walk;
    enum mr_found found;
    int error = mr_walk(&walk, absolute, how, &found); /* which is path->name, but for relative ones */
    return error ? error : take_walk(path, &walk, found, relative, how);
}

/* ---- the kernel's help ---- */

static int look(int directory, const char *name, unsigned how, uint64_t resolve)
{
    struct open_how open_how = {.flags = O_PATH | O_CLOEXEC | (how & MR_NO_FOLLOW ? O_NOFOLLOW : 0), .resolve = resolve};
    int fd = (int)syscall(SYS_openat2, directory, name, &open_how, sizeof open_how);
    if (fd < 0 && (errno == ENOSYS || errno == EPERM || errno == EINVAL))
        no_openat2 = true;
    return fd < 0 ? -errno : fd;
}

static bool can_look(void)
{
    return !no_openat2 && !mr_threads_several();
}

/* What a descriptor just opened is, as the call wants it. False: ask the walk. */
static bool take_descriptor(struct mr_path *path, int fd, unsigned how)
{
    if (how & MR_BY_DESCRIPTOR) {
        path->opened = path->directory = fd;
        path->name = "";
        path->empty_flag = AT_EMPTY_PATH;
        return true;
    }
    ssize_t length = mr_descriptor_link(fd, path->text, sizeof path->text);
    close(fd);
    if (length <= 0 || length == sizeof path->text - 1 || path->text[0] != '/')
        return false;
    path->name = path->text;
    path->directory = AT_FDCWD;
    return true;
}

/* An absolute guest path. `relative`: it was made so for a path that is not. */
static int find_absolute(struct mr_path *path, const char *absolute, bool relative, unsigned how)
{
    int root_fd = mr_own_descriptor(MR_OWN_SYSROOT);
    if (!can_look() || root_fd < 0)
        return find_by_walk(path, absolute, relative, how);
    if (!(how & MR_MISSED)) {
        int fd = look(root_fd, absolute, how, RESOLVE_IN_ROOT);
        if (fd >= 0 && take_descriptor(path, fd, how))
            return 0;
        if (fd == -EACCES || fd == -ELOOP)
            return fd;
        if (fd != -ENOENT)
            return find_by_walk(path, absolute, relative, how);
    }
    if (!(how & MR_CREATE) && !relative) {
        int fd = look(root_fd, absolute, MR_NO_FOLLOW, RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS);
        if (fd >= 0)
            close(fd);
        if (fd == -ENOENT)
            return 0; /* no link is involved, so nothing but the host's */
    }
    return find_by_walk(path, absolute, relative, how);
}

/* ---- relative paths ---- */

/* The host path of a folder, if it is below the sysroot. */
static bool folder_below(int directory, char host[PATH_MAX])
{
    if (directory == AT_FDCWD)
        return cwd_below && syscall(SYS_getcwd, host, PATH_MAX) > 0 && is_below_root(host, strlen(host));
    ssize_t length = mr_descriptor_link(directory, host, PATH_MAX);
    return length > 0 && is_below_root(host, (size_t)length);
}

static int find_relative(struct mr_path *path, const char *text, unsigned how)
{
    char joined[PATH_MAX];
    bool may_be_kernels = mr_is_kernels_path(text);
    bool in_place = how & MR_NO_FOLLOW && strchr(text, '/') == NULL && strcmp(text, "..") != 0 && !may_be_kernels;
    if (in_place || *text == 0 || (path->directory == AT_FDCWD && !cwd_below))
        return 0;
    if (can_look() && !(how & MR_MISSED) && !may_be_kernels) {
        int fd = look(path->directory, text, how, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
        if (fd >= 0)
            close(fd);
        if (fd >= 0 || fd == -ENOENT)
            return 0;
    }
    if (!folder_below(path->directory, joined))
        return 0;
    size_t length = strlen(joined);
    if (length - root_length + 1 + strlen(text) >= sizeof joined)
        return -ENAMETOOLONG;
    memmove(joined, joined + root_length, length - root_length);
    joined[length - root_length] = '/';
    strcpy(joined + length - root_length + 1, text);
    return find_absolute(path, joined, true, how & ~(unsigned)MR_MISSED);
}

bool mr_path_is_below(const struct mr_path *path)
{
    char folder[PATH_MAX];
    if (!root_length)
        return false;
    return path->name[0] == '/' ? is_below_root(path->name, strlen(path->name)) : folder_below(path->directory, folder);
}

/* ---- the door ---- */

static int find_with_root(struct mr_path *path, const char *text, unsigned how)
{
    char copy[PATH_MAX]; /* other threads may change the guest's */
    if (strnlen(text, sizeof copy) == sizeof copy)
        return -ENAMETOOLONG;
    strcpy(copy, text);
    if (copy[0] != '/')
        return find_relative(path, copy, how);
    const char *below = mr_below_own_root(copy, how);
    if (below != NULL)
        return find_by_walk(path, below, false, how);
    return mr_is_kernels_path(copy) ? 0 : find_absolute(path, copy, false, how);
}

int mr_path_find_text(struct mr_path *path, int directory, const char *text, unsigned how)
{
    path->directory = directory;
    path->name = text;
    path->empty_flag = 0;
    path->opened = -1;
    if ((how & MR_NAME) == MR_NAME && root_length)
        return mr_path_find_name(path, directory, text, how);
    if (!(how & MR_NO_FOLLOW) && mr_proc_find_program(path, directory, text, how))
        return 0;
    int error = root_length ? find_with_root(path, text, how) : 0;
    if (path->opened < 0 && mr_descriptor_is_host(path->directory))
        path->directory = -1; /* the guest has none there: what had made way has come back just now */
    return error;
}

int mr_path_find(struct mr_path *path, int directory, uint32_t guest, unsigned how)
{
    const char *text = mr_guest_string(guest);
    path->opened = -1;
    return text ? mr_path_find_text(path, directory, text, how) : -EFAULT;
}

void mr_path_done(struct mr_path *path)
{
    int error = errno;
    if (path->opened >= 0)
        close(path->opened);
    path->opened = -1;
    errno = error;
}

/* ---- opening ---- */

/* Opens in one call what is below the folder, as most is. Returns -ENOENT where a closer look is needed. */
static int64_t open_below(int folder, const char *text, int host_flags, uint32_t mode, uint64_t resolve)
{
    const uint64_t of_path = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC; /* openat2 wants no others with it */
    uint64_t flags = (uint64_t)(unsigned)host_flags;
    if (flags & O_PATH)
        flags &= of_path;
    struct open_how how = {.flags = flags, .mode = flags & O_CREAT ? mode & 07777 : 0, .resolve = resolve};
    int64_t fd = mr_wait_call(SYS_openat2, (uint64_t)(int64_t)folder, MR_HOST(text), MR_HOST(&how), sizeof how, 0, 0);
    switch (fd) {
    case -ENOSYS:
    case -EPERM:
    case -EINVAL:
    case -ENOTDIR:
    case -ELOOP:
    case -EXDEV:
    case -EAGAIN: return -ENOENT;
    default: return fd;
    }
}

static bool is_missing(int root_fd, const char *text, unsigned how)
{
    int fd = look(root_fd, text, how, RESOLVE_IN_ROOT);
    if (fd >= 0)
        close(fd);
    return fd == -ENOENT;
}

static int64_t open_path(int directory, uint32_t guest, int host_flags, uint32_t mode)
{
    struct mr_path path;
    const char *text = mr_guest_string(guest);
    bool exclusive = host_flags & O_CREAT && host_flags & O_EXCL;
    unsigned how = (exclusive ? MR_NAME : host_flags & O_NOFOLLOW ? MR_NO_FOLLOW : MR_FOLLOW) |
                   (host_flags & O_CREAT || (host_flags & O_TMPFILE) == O_TMPFILE ? MR_CREATE : 0);
    if (!text)
        return -EFAULT;
    int root_fd = mr_own_descriptor(MR_OWN_SYSROOT);
    bool direct = root_length && root_fd >= 0 && !no_openat2 && text[0] == '/' && !exclusive && !mr_is_kernels_path(text) &&
                  (host_flags & O_TMPFILE) != O_TMPFILE;
    if (direct && host_flags & O_CREAT) /* one that is there is opened with the flag: the kernel looks whose it is then */
        direct = can_look() && !is_missing(root_fd, text, how);
    if (direct) {
        int64_t fd = open_below(root_fd, text, host_flags, mode, RESOLVE_IN_ROOT);
        if (fd != -ENOENT)
            return fd;
        how |= MR_MISSED;
    }
    int64_t result = mr_path_find_text(&path, directory, text, how);
    if (!result)
        result = mr_wait_call(SYS_openat, (uint64_t)(int64_t)path.directory, MR_HOST(path.name), (uint64_t)host_flags, mode,
                              0, 0);
    mr_path_done(&path);
    return result;
}

/* A new file, and what is only looked at, need no closer look. */
int64_t mr_path_open(int directory, uint32_t guest, int host_flags, uint32_t mode)
{
    bool exclusive = host_flags & O_CREAT && host_flags & O_EXCL;
    if ((host_flags & O_ACCMODE) == O_RDONLY || host_flags & O_PATH || exclusive)
        return open_path(directory, guest, host_flags, mode);
    int64_t fd = open_path(directory, guest, host_flags & ~O_TRUNC, mode);
    return mr_text_opened(fd, (host_flags & O_TRUNC) != 0);
}
