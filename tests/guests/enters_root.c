/* Enters a root, where another user may have made /proc, and goes on there: WAY ROOT PROGRAM. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROGRAM = 9, KERNELS_PROC = 10 };

/* Asks for descriptors, of which none may come: the host has made room for many then. */
static void ask_for_descriptors(void)
{
    char control[256];
    struct msghdr message = {.msg_control = control, .msg_controllen = sizeof control};
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0)
        recvmsg(ends[0], &message, MSG_DONTWAIT);
    close(ends[0]);
    close(ends[1]);
}

/* What a child of vfork has written is seen in its parent. */
static void have_child_fail(void)
{
    volatile int error = 0;
    pid_t child = vfork();
    if (child == 0) {
        execl("/none", "none", (char *)0);
        error = errno;
        _exit(0);
    }
    waitpid(child, 0, 0);
    printf("child: %d\n", error == ENOENT);
}

/* The folder of the kernel's /proc has the program; a file of that name in this root is a file. */
static void say_which(const char *name, int fd)
{
    char from[40], text[200];
    snprintf(from, sizeof from, "self/fd/%d", fd);
    ssize_t length = readlinkat(KERNELS_PROC, from, text, sizeof text - 1);
    text[length < 0 ? 0 : length] = 0;
    const char *last = strrchr(text, '/');
    printf("%s: %s\n", name, fd < 0 ? strerror(errno) : last ? last + 1 : text);
    close(fd);
}

/* A file of this root, where a path of the kernel's file leads to. */
static void make_file_of_process(void)
{
    char path[60];
    snprintf(path, sizeof path, "/proc/%d", getpid());
    mkdir(path, 0755);
    strcat(path, "/status");
    FILE *file = fopen(path, "w");
    fputs("evil\n", file);
    fclose(file);
}

static void say_first_word(const char *name, int fd)
{
    char text[8] = "";
    ssize_t length = read(fd, text, 5);
    printf("%s: %s\n", name, length < 0 ? strerror(errno) : text);
    close(fd);
}

static void open_programs(void)
{
    make_file_of_process();
    say_first_word("status", openat(KERNELS_PROC, "self/status", O_RDONLY));
    say_first_word("sums", openat(KERNELS_PROC, "self/smaps_rollup", O_RDONLY));
    int folder = openat(KERNELS_PROC, "self", O_RDONLY | O_DIRECTORY);
    say_which("of the kernel", openat(KERNELS_PROC, "self/exe", O_RDONLY));
    say_which("in a folder of the kernel", openat(folder, "exe", O_RDONLY));
    say_which("of the root", open("/proc/self/exe", O_RDONLY));
    if (chdir("/proc/self") == 0)
        say_which("in a folder of the root", open("exe", O_RDONLY));
}

int main(int count, char **words)
{
    if (count < 4 || dup2(open(words[3], O_RDONLY), PROGRAM) != PROGRAM)
        return 1;
    if (strcmp(words[1], "after many descriptors") == 0)
        ask_for_descriptors();
    dup2(open("/proc", O_RDONLY | O_DIRECTORY), KERNELS_PROC);
    if (chroot(words[2]) != 0 || chdir("/") != 0)
        return 2;
    if (strcmp(words[1], "vfork") == 0) {
        have_child_fail();
        return 0;
    }
    if (strcmp(words[1], "crash") == 0)
        *(volatile int *)0 = 0;
    if (strcmp(words[1], "files") == 0) {
        open_programs();
        return 0;
    }
    if (strcmp(words[1], "by name") == 0)
        execl("/genuine", "genuine", (char *)0);
    else
        syscall(SYS_execveat, PROGRAM, "", (char *[]){"program", 0}, (char *[]){0}, AT_EMPTY_PATH);
    printf("not executed: %s\n", strerror(errno));
    return 0;
}
