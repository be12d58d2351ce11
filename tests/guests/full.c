/* A program that takes every descriptor that it may have, closes them, and lowers and raises its limit; what it says then. */
#include "show.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static int spares; /* whether a host has numbers besides */
static const char *path; /* below the sysroot, and nowhere else */
extern char **environ;

static int limit(void)
{
    struct rlimit now;
    getrlimit(RLIMIT_NOFILE, &now);
    return now.rlim_cur;
}

static void look(const char *when)
{
    struct stat status;
    printf("%s: ", when);
    SHOW(stat(path, &status));
}

static int status_of(pid_t child)
{
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void execute(void)
{
    char *words[] = {"again", "executed", NULL}, *plain[] = {"true", NULL};
    pid_t child;
    fflush(stdout);
    if ((child = fork()) == 0) {
        execv("/proc/self/exe", words);
        _exit(100);
    }
    printf("executed: %d\n", status_of(child));
    if ((child = vfork()) == 0) {
        execv("/proc/self/exe", words);
        _exit(100);
    }
    SHOW(status_of(child));
    SHOW(posix_spawn(&child, "/proc/self/exe", NULL, NULL, words, environ));
    SHOW(status_of(child));
    SHOW(posix_spawn(&child, "/no/such", NULL, NULL, plain, environ));
}

static void receive(int sockets[2])
{
    int sent[4] = {0, 1, 2, 0};
    _Alignas(struct cmsghdr) char room[CMSG_SPACE(sizeof sent)];
    char byte = 0;
    struct iovec piece = {&byte, 1};
    struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    *header = (struct cmsghdr){.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof sent)};
    memcpy(CMSG_DATA(header), sent, sizeof sent);
    SHOW(sendmsg(sockets[0], &message, 0));
    memset(room, 0, sizeof room);
    SHOW(recvmsg(sockets[1], &message, 0));
    header = CMSG_FIRSTHDR(&message);
    int count = header ? (int)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int)) : 0;
    printf("received %d, cut off %d\n", count, !!(message.msg_flags & MSG_CTRUNC));
    memcpy(sent, CMSG_DATA(header), count * sizeof(int));
    for (int i = 0; i < count; i++)
        printf(" %d of %d\n", sent[i] < 12 ? sent[i] : sent[i] - limit(), limit());
    for (int i = 0; i < count; i++)
        close(sent[i]);
}

static void fill(int by_number)
{
    int most = limit(), failed = 0, fd, last = -1, odd = 0, first = -1;
    if (by_number)
        for (fd = 3; fd < most; fd++)
            failed += dup2(1, fd) != fd;
    else
        for (fd = 3; (last = dup(1)) >= 0; fd++)
            odd += last != fd;
    printf("by number %d: %d failed, %d odd, %d missing; ", by_number, failed, odd, most - fd);
    SHOW(open("/", O_RDONLY));
    SHOW(dup2(1, most));
    SHOW(fcntl(1, F_DUPFD, most));
    look("full");
    if (spares)
        execute();
    if (by_number == 2)
        SHOW(syscall(SYS_close_range, 3, ~0u, 0));
    for (fd = 3; fd < most; fd++)
        close(fd);
    look("closed");
    execute();
    SHOW((first = open("/", O_RDONLY)) == 3);
    close(first);
}

static void change(int to)
{
    struct rlimit now;
    getrlimit(RLIMIT_NOFILE, &now);
    now.rlim_cur = to;
    SHOW(setrlimit(RLIMIT_NOFILE, &now));
    SHOW(limit());
    fill(0);
    fill(1);
}

int main(int count, char **words)
{
    int sockets[2], most = limit();
    if (count > 1 && strcmp(words[1], "executed") == 0)
        return 5;
    path = words[1];
    spares = count > 2;
    look("begun");
    SHOW(limit());
    fill(0);
    fill(1);
    fill(2);
    if (most >= 6) {
        SHOW(socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets));
        receive(sockets);
        while (dup(1) >= 0)
            ;
        close(limit() - 1);
        receive(sockets);
        SHOW(syscall(SYS_close_range, 3, ~0u, 0));
        change(6);
        change(most);
    }
    return 0;
}
