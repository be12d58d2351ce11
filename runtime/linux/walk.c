/* Resolves a guest's path below the sysroot, component by component, as a kernel would in a chroot: see walk.h. */
#include "linux/walk.h"

#include "base/kernel_proc.h"
#include "linux/descriptors.h"
#include "linux/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define MOST_LINKS 40 /* MAXSYMLINKS of the kernel */

/* Whether a component of the root is one that Linux itself provides. */
static bool is_kernels(const char *name, size_t length)
{
    return (length == 4 && memcmp(name, "proc", 4) == 0) ||
           (length == 3 && (memcmp(name, "sys", 3) == 0 || memcmp(name, "dev", 3) == 0));
}

bool mr_is_kernels_path(const char *absolute)
{
    const char *first = absolute + strspn(absolute, "/");
    return is_kernels(first, strcspn(first, "/"));
}

/* What follows /proc/PID/root, if that is this process: the guest's root is DIR. NULL: another name. `rest` follows /proc. */
static const char *after_own_root(const char *rest)
{
    char name[MR_PROC_ROOM];
    const char *at = rest + strspn(rest, "/");
    size_t length = strcspn(at, "/");
    if (length == 0 || snprintf(name, sizeof name, "/proc/%.*s/root", (int)length, at) >= (int)sizeof name ||
        mr_proc_own_file(name) == NULL)
        return NULL;
    at += length + strspn(at + length, "/");
    if (strncmp(at, "task/", 5) == 0) {
        at += 5 + strspn(at + 5, "/");
        at += strspn(at, "0123456789");
        at += strspn(at, "/");
    }
    return strncmp(at, "root", 4) == 0 && (at[4] == '/' || at[4] == 0) ? at + 4 : NULL;
}

const char *mr_below_own_root(const char *absolute, unsigned how)
{
    const char *first = absolute + strspn(absolute, "/");
    const char *rest = strncmp(first, "proc/", 5) == 0 ? after_own_root(first + 4) : NULL;
    return rest == NULL || (*rest == 0 && how & MR_NO_FOLLOW) ? NULL : *rest ? rest : "/";
}

static void step_back(struct mr_walk *walk)
{
    if (walk->length == walk->root_length) {
        walk->above = true;
        return;
    }
    while (walk->at[--walk->length] != '/')
        ;
    walk->at[walk->length] = 0;
}

/* Puts the target of a link before the rest. Returns 0 or -errno. */
static int take_link(struct mr_walk *walk, const char *target, size_t length)
{
    size_t rest_length = strlen(walk->rest);
    if (++walk->links > MOST_LINKS)
        return -ELOOP;
    if (length + 1 + rest_length >= sizeof walk->rest)
        return -ENAMETOOLONG;
    memmove(walk->rest + length + 1, walk->rest, rest_length + 1);
    memcpy(walk->rest, target, length);
    walk->rest[length] = '/';
    if (rest_length == 0)
        walk->rest[length] = 0;
    if (target[0] == '/')
        walk->at[walk->length = walk->root_length] = 0;
    else
        step_back(walk);
    return 0;
}

/* /proc/sys/fs/protected_symlinks; on where nobody can say. */
static bool protects_links(void)
{
    static int known = -1;
    char path[MR_PROC_ROOM], digit = '1';
    if (known < 0) {
        int proc = mr_proc_at(path, "sys/fs/protected_symlinks"), fd = mr_own_openat(proc, path, O_RDONLY);
        known = fd < 0 || read(fd, &digit, 1) != 1 || digit != '0';
        if (fd >= 0)
            close(fd);
    }
    return known;
}

/* What the kernel refuses to follow: a link of another user's at the end of a path, in a sticky folder that all can write, unless
 * it is of the folder's owner (proc_sys_fs(5)); and all links of a mount that says so (mount(8), nosymfollow). */
static int judge_link(const struct stat *link, const char *folder, bool is_last)
{
    const unsigned long no_links = 0x2000; /* ST_NOSYMFOLLOW, which older headers lack */
    const mode_t shared = S_ISVTX | S_IWOTH;
    struct statfs system;
    struct stat above;
    if (stat(folder, &above) != 0 || statfs(folder, &system) != 0)
        return -errno;
    bool is_own = link->st_uid == (uid_t)setfsuid((uid_t)-1) || link->st_uid == above.st_uid;
    if (is_last && !is_own && (above.st_mode & shared) == shared && protects_links())
        return -EACCES;
    return (unsigned long)system.f_flags & no_links ? -ELOOP : 0;
}

/* Reads a link that may be followed: what is judged is what is read, whatever has the name meanwhile, unless the guest has left
 * no descriptor. Returns the length of the target or -errno. */
static ssize_t read_judged(const char *path, bool is_last, char target[PATH_MAX])
{
    char folder[PATH_MAX];
    struct stat status;
    int link = mr_own_openat(AT_FDCWD, path, O_PATH | O_NOFOLLOW);
    bool by_name = link < 0 && (errno == EMFILE || errno == ENFILE);
    if (link < 0 && !by_name)
        return -errno;
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(path, '/') - path), path);
    int error = (by_name ? lstat(path, &status) : fstat(link, &status)) ? -errno : judge_link(&status, folder, is_last);
    ssize_t got = error ? error : by_name ? readlink(path, target, PATH_MAX) : readlinkat(link, "", target, PATH_MAX);
    if (!error && got < 0)
        got = -errno;
    if (link >= 0)
        close(link);
    return got == PATH_MAX ? -ENAMETOOLONG : got;
}

/* Goes down one component. *found says HIT as long as something is there; then what is left of it is in walk->rest. */
static int take_component(struct mr_walk *walk, unsigned how, enum mr_found *found)
{
    char name[NAME_MAX + 2], target[PATH_MAX];
    struct stat status;
    size_t skip = strspn(walk->rest, "/"), length = strcspn(walk->rest + skip, "/");
    if (length > NAME_MAX)
        return -ENAMETOOLONG;
    memcpy(name, walk->rest + skip, length);
    name[length] = 0;
    memmove(walk->rest, walk->rest + skip + length, strlen(walk->rest + skip + length) + 1);
    if (length == 0)
        return 0;
    if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
        if (lstat(walk->at, &status) == 0 && !S_ISDIR(status.st_mode))
            return -ENOTDIR;
        if (name[1])
            step_back(walk);
        return 0;
    }
    if (walk->length + 1 + length >= sizeof walk->at)
        return -ENAMETOOLONG;
    bool at_root = walk->length == walk->root_length;
    walk->at[walk->length] = '/';
    memcpy(walk->at + walk->length + 1, name, length + 1);
    walk->length += 1 + length;
    if (at_root && is_kernels(name, length)) {
        char whole[2 * PATH_MAX];
        snprintf(whole, sizeof whole, "/%s%s", name, walk->rest);
        const char *below = mr_below_own_root(whole, how);
        if (below == NULL) {
            *found = MR_HOSTS;
            return 0;
        }
        walk->at[walk->length = walk->root_length] = 0;
        strcpy(walk->rest, below);
        return ++walk->links > MOST_LINKS ? -ELOOP : 0;
    }
    ssize_t got = readlink(walk->at, target, sizeof target);
    if (got == sizeof target)
        return -ENAMETOOLONG;
    if (got > 0 && how & MR_NO_FOLLOW && walk->rest[0] == 0)
        return 0;
    if (got > 0) {
        got = read_judged(walk->at, walk->rest[strspn(walk->rest, "/")] == 0, target);
        return got < 0 ? (int)got : take_link(walk, target, (size_t)got);
    }
    if (errno == ENOTDIR)
        return -ENOTDIR; /* a file of the sysroot hides a folder of the host */
    if (errno == ENOENT)
        *found = MR_MISS;
    return 0; /* EINVAL: no link. All else the call itself will answer. */
}

int mr_walk(struct mr_walk *walk, const char *path, unsigned how, enum mr_found *found)
{
    if (strlen(path) >= sizeof walk->rest)
        return -ENAMETOOLONG;
    strcpy(walk->rest, path);
    strcpy(walk->at, mr_sysroot());
    walk->length = walk->root_length = strlen(walk->at);
    walk->links = 0;
    walk->above = false;
    *found = MR_HIT;
    while (*found == MR_HIT && walk->rest[strspn(walk->rest, "/")]) {
        int error = take_component(walk, how, found);
        if (error)
            return error;
    }
    return 0;
}
