/* Reads files of its own /proc by every name that leads there: proc_spellings FOLDER. Prints a line for each name, with what
 * it found: the guest's, the host's, or an error. FOLDER is for symbolic links. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static char own[PATH_MAX], links[PATH_MAX];

/* A mapping of a 32-bit program has addresses of eight digits. */
static const char *whose(int fd)
{
    static char text[1 << 20];
    size_t length = 0;
    ssize_t got;
    if (fd < 0)
        return strerror(errno);
    while (length < sizeof text - 1 && (got = read(fd, text + length, sizeof text - 1 - length)) > 0)
        length += (size_t)got;
    text[length] = 0;
    if (close(fd) != 0 || length == 0)
        return "nothing";
    for (char *line = text, *end; *line; line = end + (*end == '\n')) {
        end = line + strcspn(line, "\n");
        size_t digits = strspn(line, "0123456789abcdef");
        if (digits > 8 && (line[digits] == '-' || line[digits] == ' '))
            return "the host's";
    }
    return "the guest's";
}

static void say(const char *name, int fd)
{
    printf("%s: %s\n", name, whose(fd));
}

static void by_path(const char *name, const char *path)
{
    say(name, open(path, O_RDONLY));
}

static void by_number(const char *name, const char *format, int number)
{
    char path[100];
    snprintf(path, sizeof path, format, number, number);
    by_path(name, path);
}

static void by_folder(const char *name, const char *folder, const char *path)
{
    int directory = open(folder, O_RDONLY | O_DIRECTORY);
    say(name, openat(directory, path, O_RDONLY));
    close(directory);
}

static void by_link(const char *name, const char *target, const char *rest)
{
    char link[PATH_MAX + 20], path[PATH_MAX + 60];
    snprintf(link, sizeof link, "%s/%s", links, "link");
    unlink(link);
    if (symlink(target, link) != 0)
        printf("%s: %s\n", name, strerror(errno));
    snprintf(path, sizeof path, "%s%s", link, rest);
    by_path(name, path);
}

static void again(const char *name, const char *format)
{
    int fd = open("/proc/self/maps", O_PATH);
    by_number(name, format, fd);
    close(fd);
}

static void by_openat2(const char *name, int directory, const char *path, uint64_t resolve)
{
    uint64_t how[3] = {O_RDONLY, 0, resolve};
    int fd;
    do
        fd = (int)syscall(4437, directory, path, how, sizeof how);
    while (fd < 0 && errno == EAGAIN); /* another process has renamed or mounted something (openat2(2)) */
    say(name, fd);
}

static void in_folder(const char *name, const char *folder, const char *path)
{
    if (chdir(folder) == 0)
        by_path(name, path);
    if (chdir("/") != 0)
        printf("%s: %s\n", name, strerror(errno));
}

static void *in_thread(void *argument)
{
    by_path("thread-self", "/proc/thread-self/maps");
    by_number("the thread as a process", "/proc/%d/maps", (int)syscall(SYS_gettid));
    by_number("the thread in its folder", "/proc/self/task/%d/maps", (int)syscall(SYS_gettid));
    return argument;
}

static int is_own(int fd)
{
    struct stat opened, program;
    int is = fstat(fd, &opened) == 0 && stat(own, &program) == 0 && opened.st_ino == program.st_ino;
    close(fd);
    return is;
}

static void programs(void)
{
    static const char *const names[] = {"/proc/self/exe", "/proc/self/../self/exe", "/proc/self/root/proc/self/exe"};
    char target[PATH_MAX];
    for (int i = 0; i < 3; i++) {
        ssize_t length = readlink(names[i], target, sizeof target - 1);
        target[length < 0 ? 0 : length] = 0;
        printf("%s: %s\n", names[i], strcmp(target, own) == 0 ? "the guest's" : target);
        printf("%s, opened: %s\n", names[i], is_own(open(names[i], O_RDONLY)) ? "the guest's" : "the host's");
    }
}

int main(int count, char **words)
{
    static const char *const files[] = {"maps", "smaps", "smaps_rollup", "numa_maps"};
    char path[100];
    pthread_t thread;
    if (count < 2 || !realpath(words[0], own) || !realpath(words[1], links) || chdir("/") != 0)
        return 1;
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "/proc/self/%s", files[i]);
        by_path(files[i], path);
    }
    by_path("dots", "//proc/./self//maps");
    by_path("back", "/proc/self/../self/maps");
    by_path("back from another folder", "/proc/sys/../self/task/../maps");
    by_path("into /proc", "/dev/../proc/self/maps");
    by_path("through the root", "/proc/self/root/proc/self/maps");
    by_path("through the folder", "/proc/self/cwd/proc/self/maps");
    by_number("by number", "/proc/%d/maps", getpid());
    by_number("by its thread", "/proc/%d/task/%d/maps", getpid());
    by_folder("relative", "/proc/self", "maps");
    by_folder("relative and back", "/proc/self/task", "../maps");
    by_folder("relative to /", "/", "proc/self/maps");
    by_link("a link", "/proc/self/maps", "");
    by_link("a link to the folder", "/proc/self", "/maps");
    by_link("a link to /proc", "/proc", "/self/maps");
    again("opened again", "/proc/self/fd/%d");
    again("opened again as a device", "/dev/fd/%d");
    by_openat2("openat2", AT_FDCWD, "/proc/self/../self/maps", 0);
    by_openat2("openat2 without links out", open("/proc", O_PATH), "self/../self/maps", 8);
    in_folder("inside", "/proc/self", "maps");
    in_folder("inside and back", "/proc/self/fd", "../maps");
    pthread_create(&thread, NULL, in_thread, NULL);
    pthread_join(thread, NULL);
    programs();
    return 0;
}
