/* Calls that only o32 has, or that libc no longer makes, in the kernel's structures. Compared with qemu-user only. */
#include "show.h"

#define stat kernel_stat
#define stat64 kernel_stat64
#define statfs kernel_statfs
#define statfs64 kernel_statfs64
#include <asm/stat.h>
#include <asm/statfs.h>
#undef stat
#undef stat64
#undef statfs
#undef statfs64
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <linux/stat.h>

#undef st_atime
#undef st_mtime
#undef st_ctime

#if __BYTE_ORDER == __BIG_ENDIAN
#define PAIR(value) (int)((value) >> 32), (int)(value)
#else
#define PAIR(value) (int)(value), (int)((value) >> 32)
#endif
#define CALL(name, ...) syscall(__NR_##name, ##__VA_ARGS__)

static void stat_calls(void)
{
    struct kernel_stat old;
    struct kernel_stat64 wide;
    struct statx extended;
    int fd = open("file", O_RDWR | O_CREAT | O_TRUNC, 0640);
    write(fd, "12345", 5);
    SHOW(CALL(stat, "file", &old));
    SHOW(CALL(stat64, "file", &wide));
    SHOW(CALL(statx, AT_FDCWD, "file", 0, STATX_BASIC_STATS | STATX_BTIME, &extended));
    printf("%o %d %ld | %o %d %lld | %o %d %lld\n", old.st_mode, old.st_nlink, old.st_size, wide.st_mode, wide.st_nlink,
           wide.st_size, extended.stx_mode, extended.stx_nlink, extended.stx_size);
    printf("%d %d %d %d\n", old.st_ino == wide.st_ino, wide.st_ino == extended.stx_ino, old.st_dev == wide.st_dev,
           old.st_uid == extended.stx_uid && old.st_gid == wide.st_gid);
    printf("%d %d %d %d\n", old.st_mtime == wide.st_mtime, wide.st_mtime == extended.stx_mtime.tv_sec,
           old.st_ctime_nsec == wide.st_ctime_nsec, wide.st_atime_nsec == extended.stx_atime.tv_nsec);
    printf("%d %d %d\n", old.st_blksize == wide.st_blksize, old.st_blocks == wide.st_blocks,
           wide.st_blocks == extended.stx_blocks);
    SHOW(CALL(fstat, fd, &old));
    SHOW(CALL(lstat, "/dev/null", &old));
    printf("%o %x %x\n", old.st_mode, old.st_rdev, old.st_rdev >> 8);
    SHOW(CALL(lstat64, "/dev/null", &wide));
    printf("%o %lx\n", wide.st_mode, wide.st_rdev);
    SHOW(CALL(fstatat64, AT_FDCWD, "/dev/null", &wide, 0));
    SHOW(CALL(stat, "file", BAD));
    SHOW(CALL(stat64, BAD, &wide));
    SHOW(CALL(ftruncate64, fd, 0, PAIR(0x100000000LL)));
    SHOW(CALL(fstat64, fd, &wide));
    printf("%llx\n", wide.st_size);
    SHOW(CALL(ftruncate64, fd, 0, PAIR(5LL)));
    struct kernel_statfs narrow;
    struct kernel_statfs64 large;
    SHOW(CALL(statfs, "/proc", &narrow));
    SHOW(CALL(statfs64, "/proc", sizeof large, &large));
    SHOW(CALL(fstatfs64, 0, sizeof large, BAD));
    printf("%lx %x %lld %d\n", narrow.f_type, large.f_type, (long long)large.f_blocks, large.f_namelen);
    close(fd);
}

static void directory_calls(void)
{
    mkdir("d", 0700);
    close(open("d/one", O_CREAT, 0600));
    close(open("d/three", O_CREAT, 0600));
    for (int wide = 0; wide < 2; wide++) {
        char buffer[1024];
        int fd = open("d", O_RDONLY | O_DIRECTORY), sum = 0, kinds = 0, count = 0;
        int size = wide ? CALL(getdents64, fd, buffer, sizeof buffer) : CALL(getdents, fd, buffer, sizeof buffer);
        for (int at = 0; at < size; count++) {
            int length = *(unsigned short *)(buffer + at + (wide ? 16 : 8));
            const char *name = buffer + at + (wide ? 19 : 10);
            sum += strlen(name);
            kinds += wide ? buffer[at + 18] : buffer[at + length - 1];
            at += length;
        }
        printf("%d entries, names of %d, kinds %d\n", count, sum, kinds);
        SHOW(wide ? CALL(getdents64, fd, buffer, sizeof buffer) : CALL(getdents, fd, buffer, sizeof buffer));
        lseek(fd, 0, SEEK_SET);
        SHOW(wide ? CALL(getdents64, fd, buffer, 3) : CALL(getdents, fd, buffer, 3));
        close(fd);
    }
}

static void position_calls(void)
{
    int fd = open("file", O_RDWR);
    unsigned long long position = 0;
    SHOW(CALL(_llseek, fd, 1, 5, &position, SEEK_SET));
    printf("%llx\n", position);
    SHOW(CALL(_llseek, fd, 0, 3, &position, SEEK_SET));
    SHOW(CALL(lseek, fd, 0, SEEK_CUR));
    SHOW(CALL(_llseek, fd, 0, 3, BAD, SEEK_SET));
    char text[8] = {0};
    SHOW(CALL(pread64, fd, text, 3, 0, PAIR(2LL)));
    printf("%s\n", text);
    SHOW(CALL(pwrite64, fd, "ab", 2, 0, PAIR(1LL)));
    SHOW(CALL(preadv, fd, BAD, 1, 0, 0));
    SHOW(CALL(creat, "made", 0600) >= 0);
    SHOW(syscall(4000, __NR_lseek, fd, 1, SEEK_SET));
    SHOW(syscall(4000, __NR_pread64, fd, text, 4, 0, PAIR(1LL))); /* aligned after the shift */
    printf("%s\n", text);
    SHOW(syscall(4000, 4000));
    SHOW(syscall(4018));
    SHOW(syscall(4999));
    SHOW(syscall(12));
    char *at = (char *)CALL(mmap, NULL, 4096, 1, 2, fd, 0);
    printf("%.5s\n", at);
    SHOW(CALL(mmap, NULL, 4096, 1, 2, fd, 100));
    SHOW(CALL(munmap, at, 4096));
}

static void time_calls(void)
{
    struct { int seconds, part; } old;
    struct { long long seconds, part; } wide;
    long now = CALL(time, NULL);
    SHOW(CALL(clock_gettime, CLOCK_REALTIME, &old));
    SHOW(CALL(clock_gettime64, CLOCK_REALTIME, &wide));
    printf("%d %d %d\n", old.seconds - now < 2, wide.seconds - now < 2, wide.part < 1000000000 && wide.part >= 0);
    SHOW(CALL(clock_getres_time64, CLOCK_REALTIME, &wide));
    printf("%lld %lld\n", wide.seconds, wide.part);
    old.seconds = 0, old.part = 1000;
    SHOW(CALL(nanosleep, &old, NULL));
    SHOW(CALL(clock_nanosleep, CLOCK_MONOTONIC, 0, &old, NULL));
    wide.seconds = 0, wide.part = 1000;
    SHOW(CALL(clock_nanosleep_time64, CLOCK_MONOTONIC, 0, &wide, NULL));
    const struct { long long seconds, part; } both[2] = {{5000000000LL, 7}, {5000000001LL, 8}};
    SHOW(CALL(utimensat_time64, AT_FDCWD, "file", both, 0));
    struct statx status;
    CALL(statx, AT_FDCWD, "file", 0, STATX_BASIC_STATS, &status);
    printf("%lld.%d %lld.%d\n", status.stx_atime.tv_sec, status.stx_atime.tv_nsec, status.stx_mtime.tv_sec,
           status.stx_mtime.tv_nsec);
    unsigned word = 5;
    SHOW(CALL(futex, &word, 0, 6, NULL, NULL, 0));
    old.seconds = 0, old.part = 1000;
    SHOW(CALL(futex, &word, 0, 5, &old, NULL, 0));
    SHOW(CALL(futex_time64, &word, 0, 5, &wide, NULL, 0));
    SHOW(CALL(futex, &word, 1, 5, NULL, NULL, 0));
    unsigned other = 10;
    SHOW(CALL(futex, &word, 4, 1, 1, &other, 6));
    SHOW(CALL(futex, &word, 4, 1, 1, &other, 5));
}

static void signal_calls(void)
{
    unsigned set = 1 << (SIGUSR1 - 1), old = 1;
    SHOW(CALL(sigprocmask, SIG_BLOCK, &set, &old));
    SHOW(old);
    raise(SIGUSR1);
    SHOW(CALL(sigpending, &old));
    printf("%x\n", old);
    SHOW(CALL(rt_sigprocmask, SIG_BLOCK, &set, NULL, 8));
    struct { unsigned flags, handler, mask[4]; } action = {0x10000000, 1, {1, 2, 3, 4}}, got;
    SHOW(CALL(rt_sigaction, SIGUSR2, &action, NULL, 16));
    SHOW(CALL(rt_sigaction, SIGUSR2, NULL, &got, 16));
    printf("%x %x %x %x %x %x\n", got.flags, got.handler, got.mask[0], got.mask[1], got.mask[2], got.mask[3]);
    SHOW(CALL(rt_sigaction, SIGUSR2, NULL, &got, 8));
    SHOW(CALL(tkill, getpid(), 0));
    SHOW(CALL(tgkill, getpid(), getpid(), 0));
    SHOW(CALL(tgkill, getpid(), getpid(), 200));
}

static void odd_calls(void)
{
    struct { int soft, hard; } limit;
    SHOW(CALL(getrlimit, 0, &limit));
    printf("%x %x\n", limit.soft, limit.hard);
    SHOW(CALL(cacheflush, &limit, 64, 3));
    SHOW(CALL(personality, -1));
    char name[6 * 65];
    SHOW(CALL(uname, name));
    printf("%s\n", name + 4 * 65);
    unsigned char random[16] = {0};
    SHOW(CALL(getrandom, random, 16, 0));
    SHOW(CALL(getrandom, BAD, 16, 0));
    SHOW(CALL(getrandom, random, 16, 99));
    SHOW(CALL(getcwd, name, 1));
}

/* What the kernel does and qemu-user 7.2 does not; the test knows the answers. */
static void exact_calls(void)
{
    struct kernel_statfs64 large;
    unsigned long long position = 0;
    unsigned word = 5, other = 10;
    int fd = open("file", O_RDWR | O_CREAT, 0600);
    SHOW(CALL(statfs64, "/proc", sizeof large - 1, &large));
    SHOW(CALL(_llseek, fd, 1, 5, &position, SEEK_SET));
    SHOW(CALL(lseek, fd, 0, SEEK_CUR));
    struct kernel_stat old;
    SHOW(CALL(ftruncate64, fd, 0, PAIR(0x100000000LL)));
    SHOW(CALL(fstat, fd, &old));
    SHOW(CALL(futex, &word, 5, 1, 1, &other, 1 << 28 | 4 << 24 | 7 << 12 | 9)); /* other += 7, wake if it was > 9 */
    printf("%u\n", other);
    SHOW(CALL(prctl, 46));
    SHOW(CALL(prctl, 45, 0));
    SHOW(CALL(cacheflush, &word, 64, 99));
    SHOW(CALL(set_robust_list, BAD, 13));
    SHOW(CALL(set_robust_list, BAD, 12));
    SHOW(CALL(rseq, BAD, 32, 0, 0));
    SHOW(CALL(pipe2, BAD, 0));
    SHOW(CALL(pipe2, BAD, 0x40000000));
    SHOW(CALL(madvise, 0, 4096, 0));
    SHOW(CALL(mmap2, 0x1000, 4096, 3, 0x812, -1, 0));
    SHOW(CALL(mmap2, 0x7fff0000, 4096, 3, 0x812, -1, 0));
}

int main(int count, char **words)
{
    if (count > 1) {
        exact_calls();
        return 0;
    }
    stat_calls();
    directory_calls();
    position_calls();
    time_calls();
    signal_calls();
    odd_calls();
    return 0;
}
