/* Carries out what its arguments say, one call each, and prints what comes back: `paths stat /etc chdir /usr cwd ...`.
 * A name with a leading '@' is looked up in the folder that `folder PATH` has opened. */
#define _FILE_OFFSET_BITS 64
#include "show.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/xattr.h>

static int folder = AT_FDCWD;
static char **next;

/* The descriptor that a name starts at. */
static int start_of(const char **name)
{
    if (**name != '@')
        return AT_FDCWD;
    ++*name;
    return folder;
}

static void print(const char *command, const char *name, long result)
{
    printf("%s %s: %s", command, name, result < 0 ? strerrorname_np(errno) : "ok");
}

static void read_file(const char *name, int flags)
{
    char text[200] = {0};
    const char *given = name;
    int start = start_of(&name), fd = openat(start, name, flags, 0644);
    print("open", given, fd);
    if (fd >= 0 && read(fd, text, sizeof text - 1) > 0) {
        text[strcspn(text, "\n")] = 0;
        printf(" [%s]", text);
    }
    if (fd >= 0)
        close(fd);
}

static void write_file(const char *name, int flags)
{
    const char *given = name, *text = *++next;
    int start = start_of(&name), fd = openat(start, name, O_WRONLY | flags, 0644);
    print("write", given, fd);
    if (fd >= 0) {
        dprintf(fd, "%s\n", text);
        close(fd);
    }
}

static void show_status(const char *command, const char *name, int flags)
{
    struct stat status;
    const char *given = name;
    int start = start_of(&name), result = fstatat(start, name, &status, flags);
    print(command, given, result);
    if (result == 0)
        printf(" %o %lld", status.st_mode & S_IFMT, S_ISREG(status.st_mode) ? (long long)status.st_size : 0);
}

static void show_link(const char *name)
{
    char text[300] = {0};
    const char *given = name;
    int start = start_of(&name);
    print("readlink", given, readlinkat(start, name, text, sizeof text - 1));
    printf(" %s", text);
}

static void list(const char *name)
{
    DIR *open_folder = opendir(name);
    int count = 0;
    print("list", name, open_folder ? 0 : -1);
    while (open_folder && readdir(open_folder))
        count++;
    printf(" %d", count);
    if (open_folder)
        closedir(open_folder);
}

static void with_attribute(const char *name)
{
    char text[20] = {0};
    int set = setxattr(name, "user.guest", "value", 5, 0);
    print("xattr", name, set);
    if (set == 0)
        printf(" %d %s %d", (int)getxattr(name, "user.guest", text, sizeof text - 1), text,
               removexattr(name, "user.guest"));
}

static void *wait_forever(void *nothing)
{
    pause();
    return nothing;
}

static int make_thread(void)
{
    pthread_t thread;
    return pthread_create(&thread, NULL, wait_forever, NULL) ? -1 : 0;
}

static int run(const char *name)
{
    static char *const words[] = {"run", "cwd", "readlink", "/proc/self/exe", NULL};
    fflush(stdout);
    return execv(name, words);
}

/* Commands of one path whose result is only whether they fail. */
static int simple(const char *command, const char *name)
{
    struct statfs system;
    const struct timeval times[2] = {{1000, 0}, {2000, 0}};
    int start = start_of(&name);
    if (strcmp(command, "access") == 0)
        return faccessat(start, name, R_OK, 0);
    if (strcmp(command, "chdir") == 0)
        return chdir(name);
    if (strcmp(command, "folder") == 0)
        return folder = open(name, O_RDONLY | O_DIRECTORY);
    if (strcmp(command, "fchdir") == 0)
        return fchdir(folder);
    if (strcmp(command, "statfs") == 0)
        return statfs(name, &system);
    if (strcmp(command, "truncate") == 0)
        return truncate(name, 3);
    if (strcmp(command, "chmod") == 0)
        return chmod(name, 0600);
    if (strcmp(command, "chown") == 0)
        return chown(name, -1, -1);
    if (strcmp(command, "times") == 0)
        return utimes(name, times);
    if (strcmp(command, "mkdir") == 0)
        return mkdirat(start, name, 0755);
    if (strcmp(command, "mknod") == 0)
        return mknodat(start, name, S_IFIFO | 0600, 0);
    if (strcmp(command, "unlink") == 0)
        return unlinkat(start, name, 0);
    if (strcmp(command, "rmdir") == 0)
        return unlinkat(start, name, AT_REMOVEDIR);
    if (strcmp(command, "exec") == 0)
        return run(name);
    if (strcmp(command, "chroot") == 0)
        return chroot(name);
    return errno = ENOSYS, -1;
}

static int double_command(const char *command, const char *from, const char *to)
{
    int from_start = start_of(&from), to_start = start_of(&to);
    if (strcmp(command, "rename") == 0)
        return renameat(from_start, from, to_start, to);
    if (strcmp(command, "link") == 0)
        return linkat(from_start, from, to_start, to, 0);
    return symlinkat(from, to_start, to);
}

static void carry_out(const char *command)
{
    char cwd[4096];
    const char *name;
    if (strcmp(command, "cwd") == 0) {
        printf("cwd %s", getcwd(cwd, sizeof cwd) ? cwd : "none");
        return;
    }
    if (strcmp(command, "thread") == 0) {
        printf("thread %d", make_thread());
        return;
    }
    name = *++next;
    if (strcmp(command, "open") == 0)
        read_file(name, O_RDONLY);
    else if (strcmp(command, "open-no-follow") == 0)
        read_file(name, O_RDONLY | O_NOFOLLOW);
    else if (strcmp(command, "open-new") == 0)
        read_file(name, O_RDWR | O_CREAT | O_EXCL);
    else if (strcmp(command, "write") == 0)
        write_file(name, O_CREAT | O_TRUNC);
    else if (strcmp(command, "write-old") == 0)
        write_file(name, O_TRUNC);
    else if (strcmp(command, "stat") == 0)
        show_status(command, name, 0);
    else if (strcmp(command, "lstat") == 0)
        show_status(command, name, AT_SYMLINK_NOFOLLOW);
    else if (strcmp(command, "readlink") == 0)
        show_link(name);
    else if (strcmp(command, "list") == 0)
        list(name);
    else if (strcmp(command, "xattr") == 0)
        with_attribute(name);
    else if (strcmp(command, "rename") == 0 || strcmp(command, "link") == 0 || strcmp(command, "symlink") == 0) {
        const char *to = *++next;
        print(command, name, double_command(command, name, to));
        printf(" %s", to);
    } else
        print(command, name, simple(command, name));
}

int main(int count, char **words)
{
    (void)count;
    for (next = words + 1; *next; next++) {
        carry_out(*next);
        printf("\n");
    }
    return 0;
}
