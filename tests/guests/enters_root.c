/* Enters a root, where another user may have made /proc, and goes on there: WAY ROOT PROGRAM. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define PROGRAM 9

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

int main(int count, char **words)
{
    if (count < 4 || dup2(open(words[3], O_RDONLY), PROGRAM) != PROGRAM)
        return 1;
    if (strcmp(words[1], "after many descriptors") == 0)
        ask_for_descriptors();
    if (chroot(words[2]) != 0 || chdir("/") != 0)
        return 2;
    if (strcmp(words[1], "vfork") == 0) {
        have_child_fail();
        return 0;
    }
    if (strcmp(words[1], "by name") == 0)
        execl("/genuine", "genuine", (char *)0);
    else
        syscall(SYS_execveat, PROGRAM, "", (char *[]){"program", 0}, (char *[]){0}, AT_EMPTY_PATH);
    printf("not executed: %s\n", strerror(errno));
    return 0;
}
