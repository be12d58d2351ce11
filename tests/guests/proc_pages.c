/* /proc/self/pagemap: words of the program's own pages, and no others. And /proc/self/syscall, which names no call of the
 * host's. Prints "ok", or the lines where something else came out. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096
#define EXPECT(got, wanted) expect(__LINE__, (long long)(got), (long long)(wanted))
#define FAILS(call, wanted) (errno = 0, EXPECT(call, -1), EXPECT(errno, wanted))

enum { ABSENT = 0, PRESENT = 1 };
static const off64_t END = (off64_t)0x7fff0000 / PAGE * 8; /* where the stack ends */
static int wrong;

static void expect(int line, long long got, long long wanted)
{
    if (got != wanted)
        wrong = 1, printf("line %d: %lld, not %lld\n", line, got, wanted);
}

static off64_t at(const void *address) { return (off64_t)((unsigned long)address / PAGE * 8); }

static int is_present(uint64_t word) { return (int)(word >> 63); }

static void words(int fd, char *room)
{
    uint64_t found[4] = {1, 1, 1, 1};
    struct iovec parts[] = {{found, 8}, {found + 1, 16}};
    EXPECT(pread64(fd, found, 32, at(room)), 32);
    EXPECT(is_present(found[0]), PRESENT);
    EXPECT(found[1], 0); /* unmapped */
    EXPECT(is_present(found[2]), PRESENT);
    EXPECT(is_present(found[3]), ABSENT); /* never touched */
    EXPECT(lseek64(fd, at(room), SEEK_SET), at(room));
    EXPECT(readv(fd, parts, 2), 24);
    EXPECT(is_present(found[0]) && found[1] == 0 && is_present(found[2]), 1);
    EXPECT(lseek64(fd, 0, SEEK_CUR), at(room) + 24);
}

static void limits(int fd, char *room)
{
    static uint64_t many[3000];
    EXPECT(pread64(fd, many, sizeof many, 0), sizeof many);
    for (int page = 0; page < 256; page++)
        EXPECT(many[page], 0); /* a program begins above */
    EXPECT(pread64(fd, many, 64, END - 16), 16);
    EXPECT(pread64(fd, many, 64, END), 0);
    EXPECT(pread64(fd, many, 64, (off64_t)1 << 40), 0);
    FAILS(pread64(fd, many, 12, 0), EINVAL);
    FAILS(pread64(fd, many, 8, 4), EINVAL);
    FAILS(pread64(fd, room + PAGE, 8, at(room)), EFAULT);
    EXPECT(pread64(fd, room + PAGE, 0, at(room)), 0);
}

int main(void)
{
    char *room = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char text[100] = "";
    int fd = open("/proc/self/pagemap", O_RDONLY), calls = open("/proc/self/syscall", O_RDONLY), status = 1;
    if (room == MAP_FAILED || fd < 0)
        return 1;
    room[0] = room[PAGE] = room[2 * PAGE] = 1;
    munmap(room + PAGE, PAGE);
    words(fd, room);
    limits(fd, room);
    if (fork() == 0) {
        words(dup(fd), room); /* still those of the parent */
        return wrong;
    }
    EXPECT(wait(&status) > 0 && status == 0, 1);
    if (calls >= 0 && read(calls, text, sizeof text - 1) >= 0)
        EXPECT(strcmp(text, "running\n"), 0);
    if (!wrong)
        puts("ok");
    return wrong;
}
