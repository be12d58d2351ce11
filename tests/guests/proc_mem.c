/* /proc/self/mem: offsets are the program's own addresses, by each way to read, write and move there, and nothing else is there.
 * Given a number, reads that descriptor of the program that was before. Prints "ok", or the lines where something else came out. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096
#define EXPECT(got, wanted) expect(__LINE__, (long long)(got), (long long)(wanted))
#define FAILS(call, wanted) (errno = 0, EXPECT(call, -1), EXPECT(errno, wanted))

static char *room;
static int wrong;

static void expect(int line, long long got, long long wanted)
{
    if (got != wanted)
        wrong = 1, printf("line %d: %lld, not %lld\n", line, got, wanted);
}

static off64_t at(const void *address) { return (off64_t)(unsigned long)address; }

static void is_there(int fd) /* at the room: "memory of the program" */
{
    char first[8] = "", second[8] = "";
    struct iovec parts[] = {{first, 6}, {NULL, 0}, {second, 4}};
    EXPECT(pread64(fd, first, 6, at(room)), 6);
    EXPECT(strcmp(first, "memory"), 0);
    memset(first, 0, sizeof first);
    EXPECT(preadv64(fd, parts, 3, at(room)), 10);
    EXPECT(strcmp(first, "memory") || strcmp(second, " of "), 0);
    EXPECT(lseek64(fd, at(room) + 7, SEEK_SET), at(room) + 7);
    EXPECT(read(fd, second, 2), 2);
    EXPECT(lseek64(fd, -3, SEEK_CUR), at(room) + 6);
    EXPECT(readv(fd, parts, 3), 10);
    EXPECT(memcmp(first, " of th", 6) || memcmp(second, "e pr", 4), 0);
    EXPECT(lseek64(fd, 0, SEEK_CUR), at(room) + 16);
    FAILS(lseek64(fd, 0, SEEK_END), EINVAL);
}

static void writes(int fd)
{
    struct iovec parts[] = {{"ME", 2}, {"MO", 2}};
    EXPECT(pwritev64(fd, parts, 2, at(room)), 4);
    EXPECT(strcmp(room, "MEMOry of the program"), 0);
    EXPECT(pwrite64(fd, "mem", 3, at(room)), 3);
    EXPECT(lseek64(fd, at(room) + 3, SEEK_SET), at(room) + 3);
    EXPECT(write(fd, "o", 1), 1);
    EXPECT(writev(fd, parts, 1), 2);
    EXPECT(strcmp(room, "memoME of the program"), 0);
    memcpy(room, "memory", 6);
}

/* Above what the program may have, and where it has nothing; a page without protections is there. */
static void elsewhere(int fd)
{
    char word[8];
    char *pages = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pages[PAGE] = 7;
    for (int shift = 32; shift < 64; shift++) {
        FAILS(pread64(fd, word, 4, (1LL << shift) + at(room)), shift == 63 ? EINVAL : EIO);
        FAILS(pwrite64(fd, word, 4, (1LL << shift) + at(room)), shift == 63 ? EINVAL : EIO);
    }
    for (long long high = 0x80000000LL; high < 0x300000000LL; high += 0x20000000) {
        FAILS(pread64(fd, word, 4, high), EIO);
        EXPECT(lseek64(fd, high, SEEK_SET), high);
        FAILS(read(fd, word, 4), EIO);
    }
    EXPECT(mprotect(pages + PAGE, PAGE, PROT_NONE) || munmap(pages, PAGE) || munmap(pages + 2 * PAGE, PAGE), 0);
    FAILS(pread64(fd, word, 4, at(pages)), EIO);
    FAILS(pwrite64(fd, word, 4, at(pages)), EIO);
    FAILS(pread64(fd, word, 4, 0), EIO);
    EXPECT(pread64(fd, word, 4, at(pages) + PAGE), 4);
    EXPECT(word[0], 7);
    EXPECT(pread64(fd, word, 8, at(pages) + 2 * PAGE - 4), 4);
    EXPECT(pwrite64(fd, word, 8, at(pages) + 2 * PAGE - 4), 4);
    FAILS(pread64(fd, (char *)0x1000, 4, at(room)), EFAULT);
}

static void received(int fd) /* in a message */
{
    int ends[2];
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof fd)];
    } control = {.head = {CMSG_LEN(sizeof fd), SOL_SOCKET, SCM_RIGHTS}};
    char byte = 0;
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    socketpair(AF_UNIX, SOCK_DGRAM, 0, ends);
    memcpy(CMSG_DATA(&control.head), &fd, sizeof fd);
    EXPECT(sendmsg(ends[0], &message, 0), 1);
    EXPECT(recvmsg(ends[1], &message, 0), 1);
    memcpy(&fd, CMSG_DATA(&control.head), sizeof fd);
    is_there(fd);
}

static void in_child(int fd) /* it has changed its own memory, and looks at its parent's */
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        char name[40];
        strcpy(room, "changed");
        is_there(fd);
        sprintf(name, "/proc/%d/mem", getppid());
        is_there(open(name, O_RDONLY));
        FAILS(pread64(fd, name, 4, 0x100000000LL + at(room)), EIO);
        fflush(stdout);
        _exit(wrong);
    }
    waitpid(child, &status, 0);
    EXPECT(status, 0);
}

static void executed(const char *self) /* with a descriptor of what the process had before */
{
    char number[12];
    int status = 0;
    if (fork() == 0) {
        sprintf(number, "%d", open("/proc/self/mem", O_RDONLY));
        execl(self, self, number, NULL), _exit(99);
    }
    wait(&status);
    EXPECT(status, 0);
}

int main(int count, char **arguments)
{
    room = mmap((void *)0x20000000, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    strcpy(room, "memory of the program");
    if (count > 1) { /* of a program that is no more: not of this one */
        char byte;
        return pread64(atoi(arguments[1]), &byte, 1, at(room)) != 0;
    }
    int fd = open("/proc/self/mem", O_RDWR), again;
    is_there(fd), writes(fd), elsewhere(fd);
    is_there(dup(fd)), is_there(dup2(fd, 200)), is_there(fcntl(fd, F_DUPFD, 100));
    is_there(open("/proc/thread-self/mem", O_RDONLY));
    again = open("/proc/self", O_PATH);
    is_there(openat(again, "mem", O_RDONLY));
    again = open("/proc/self/../self/mem", O_WRONLY);
    FAILS(pread64(again, room, 1, at(room)), EBADF);
    writes(again);
    received(fd), in_child(fd), executed(arguments[0]);
    close(fd);
    EXPECT(open("/dev/zero", O_RDONLY), fd); /* nothing of the old file is left with the number */
    EXPECT(pread64(fd, room, 6, 0x100000000LL), 6);
    puts(wrong ? "" : "ok");
    return wrong;
}
