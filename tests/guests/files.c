/* Descriptors, positions, sizes, vectors, locks, links, times, directories. Runs in an empty folder. */
#include "show.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <utime.h>

static void print_file(const char *path)
{
    char text[256];
    int fd = open(path, O_RDONLY);
    ssize_t size = read(fd, text, sizeof text);
    printf("%s: ", path);
    for (ssize_t i = 0; i < size; i++)
        printf(text[i] ? "%c" : "\\0", text[i]);
    printf("\n");
    close(fd);
}

static void opening(void)
{
    int fd = SHOW(open("a", O_RDWR | O_CREAT | O_EXCL, 0640));
    SHOW(open("a", O_RDWR | O_CREAT | O_EXCL, 0640));
    SHOW(open("none", O_RDONLY));
    SHOW(open("a/b", O_RDONLY));
    SHOW(open(BAD, O_RDONLY));
    SHOW(open(".", O_WRONLY));
    SHOW(write(fd, "hello world\n", 12));
    SHOW(write(fd, BAD, 12));
    SHOW(lseek(fd, 6, SEEK_SET));
    SHOW(read(fd, BAD, 12));
    SHOW(read(99, &fd, 4));
    char text[32] = {0};
    SHOW(read(fd, text, sizeof text));
    printf("%s", text);
    SHOW(lseek(fd, -3, SEEK_END));
    SHOW(lseek(fd, -30, SEEK_CUR));
    SHOW(lseek64(fd, 0x123456789LL, SEEK_SET));
    SHOW(write(fd, "x", 1));
    SHOW(lseek64(fd, 0, SEEK_CUR));
    SHOW(ftruncate64(fd, 0x100000005LL));
    struct stat64 wide;
    SHOW(fstat64(fd, &wide));
    printf("size %lld mode %o\n", (long long)wide.st_size, wide.st_mode);
    SHOW(ftruncate(fd, 12));
    SHOW(truncate64("a", 13));
    SHOW(pwrite64(fd, "HELLO", 5, 0));
    SHOW(pread64(fd, text, 4, 3));
    printf("%.4s\n", text);
    SHOW(fcntl(fd, F_GETFL) & (O_ACCMODE | O_APPEND | O_NONBLOCK | O_SYNC) & O_RDWR);
    SHOW(fcntl(fd, F_SETFL, O_APPEND | O_NONBLOCK));
    printf("flags %d %d %d\n", !!(fcntl(fd, F_GETFL) & O_APPEND), !!(fcntl(fd, F_GETFL) & O_NONBLOCK),
           !!(fcntl(fd, F_GETFL) & O_DIRECT));
    SHOW(write(fd, "tail", 4));
    int other = SHOW(fcntl(fd, F_DUPFD, 20));
    SHOW(fcntl(other, F_GETFD));
    SHOW(fcntl(other, F_SETFD, FD_CLOEXEC));
    SHOW(fcntl(other, F_GETFD));
    SHOW(dup2(fd, 30));
    SHOW(dup3(fd, 31, O_CLOEXEC));
    SHOW(fcntl(31, F_GETFD));
    SHOW(dup3(fd, fd, 0));
    SHOW(dup(fd));
    SHOW(close(other));
    SHOW(close(other));
    SHOW(fsync(fd));
    SHOW(fdatasync(fd));
    SHOW(posix_fadvise64(fd, 0, 100, POSIX_FADV_WILLNEED));
    SHOW(posix_fadvise64(fd, 0, 100, 77));
    SHOW(fallocate64(fd, 0, 0, 100));
    print_file("a");
}

static void vectors(void)
{
    char one[4] = "abc", two[4] = "def", in[3] = {0}, more[10] = {0};
    const struct iovec out[] = {{one, 3}, {two, 3}};
    struct iovec into[] = {{in, 3}, {more, 9}};
    const struct iovec bad[] = {{one, 3}, {BAD, 3}};
    int fd = open("v", O_RDWR | O_CREAT | O_TRUNC, 0600);
    SHOW(writev(fd, out, 2));
    SHOW(writev(fd, bad, 2));
    SHOW(writev(fd, out, -1));
    SHOW(writev(fd, BAD, 2));
    SHOW(pwritev64(fd, out, 2, 0x10));
    lseek(fd, 0, SEEK_SET);
    SHOW(readv(fd, into, 2));
    printf("%.3s %.9s\n", in, more);
    SHOW(preadv64(fd, into, 2, 0x11));
    printf("%.3s %.2s\n", in, more);
    int to = open("w", O_RDWR | O_CREAT | O_TRUNC, 0600);
    off_t offset = 2;
    SHOW(sendfile(to, fd, &offset, 3));
    printf("offset %ld\n", (long)offset);
    off64_t wide = 1;
    SHOW(sendfile64(to, fd, &wide, 3));
    printf("offset %lld\n", (long long)wide);
    off64_t from_at = 0, to_at = 8;
    SHOW(copy_file_range(fd, &from_at, to, &to_at, 4, 0));
    printf("offsets %lld %lld\n", (long long)from_at, (long long)to_at);
    print_file("w");
}

static void locks(void)
{
    int fd = open("l", O_RDWR | O_CREAT, 0600);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 10, .l_len = 5};
    struct flock64 wide = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0x200000000LL, .l_len = 5};
    SHOW(fcntl(fd, F_SETLK, &lock));
    SHOW(fcntl(fd, F_SETLK64, &wide));
    fflush(stdout);
    if (fork() == 0) {
        struct flock probe = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0};
        SHOW(fcntl(fd, F_GETLK, &probe));
        printf("type %d start %ld length %ld mine %d\n", probe.l_type, (long)probe.l_start, (long)probe.l_len,
               probe.l_pid == getppid());
        struct flock64 wide_probe = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = 0x100000000LL, .l_len = 0};
        SHOW(fcntl(fd, F_GETLK64, &wide_probe));
        printf("type %d start %llx length %llx\n", wide_probe.l_type, (long long)wide_probe.l_start,
               (long long)wide_probe.l_len);
        SHOW(fcntl(fd, F_SETLK, &lock));
        fflush(stdout);
        _exit(0);
    }
    int status;
    SHOW(wait(&status) > 0);
    SHOW(flock(fd, LOCK_EX | LOCK_NB));
    SHOW(flock(fd, LOCK_UN));
    SHOW(fcntl(fd, 12345));
}

static void names(void)
{
    char text[64] = {0};
    SHOW(mkdir("d", 0755));
    SHOW(mkdir("d", 0755));
    SHOW(mkdirat(AT_FDCWD, "d/e", 0700));
    SHOW(rmdir("d"));
    SHOW(symlink("target", "s"));
    SHOW(readlink("s", text, sizeof text));
    printf("%s\n", text);
    SHOW(readlink("s", text, 3));
    SHOW(readlink("a", text, sizeof text));
    SHOW(link("a", "hard"));
    SHOW(rename("hard", "d/moved"));
    SHOW(renameat2(AT_FDCWD, "d/moved", AT_FDCWD, "a", RENAME_NOREPLACE));
    SHOW(access("a", R_OK));
    SHOW(access("none", F_OK));
    SHOW(faccessat(AT_FDCWD, "a", W_OK, AT_EACCESS));
    SHOW(chmod("a", 0604));
    SHOW(fchmodat(AT_FDCWD, "d", 0711, 0));
    SHOW(chown("a", -1, -1));
    SHOW(lchown("s", -1, -1));
    SHOW(umask(027));
    SHOW(umask(022));
    struct stat status;
    SHOW(stat("a", &status));
    printf("%o %d %ld\n", status.st_mode, (int)status.st_nlink, (long)status.st_size);
    SHOW(lstat("s", &status));
    printf("%o %ld\n", status.st_mode & S_IFMT, (long)status.st_size);
    SHOW(stat("s", &status));
    SHOW(fstatat(AT_FDCWD, "d", &status, 0));
    printf("%o\n", status.st_mode);
    SHOW(stat("/dev/null", &status));
    printf("%o %x\n", status.st_mode & S_IFMT, (unsigned)status.st_rdev);
    SHOW(chdir("d"));
    SHOW(getcwd(text, 2));
    printf("%s\n", strrchr(getcwd(NULL, 0), '/'));
    SHOW(chdir(".."));
    SHOW(unlink("d/moved"));
    SHOW(unlinkat(AT_FDCWD, "d/e", AT_REMOVEDIR));
    SHOW(rmdir("d"));
    SHOW(mknod("fifo", S_IFIFO | 0600, 0));
}

static void times_of_files(void)
{
    const struct timespec times[2] = {{1000000000, 123456789}, {1100000000, 987654321}};
    struct stat status;
    SHOW(utimensat(AT_FDCWD, "a", times, 0));
    stat("a", &status);
    printf("%ld.%09ld %ld.%09ld\n", (long)status.st_atim.tv_sec, status.st_atim.tv_nsec, (long)status.st_mtim.tv_sec,
           status.st_mtim.tv_nsec);
    const struct timeval coarse[2] = {{900000000, 1}, {900000001, 2}};
    SHOW(utimes("a", coarse));
    stat("a", &status);
    printf("%ld.%09ld\n", (long)status.st_mtim.tv_sec, status.st_mtim.tv_nsec);
    const struct utimbuf coarser = {800000000, 800000001};
    SHOW(utime("a", &coarser));
    stat("a", &status);
    printf("%ld %ld\n", (long)status.st_atime, (long)status.st_mtime);
    const struct timespec omit[2] = {{0, UTIME_OMIT}, {5, UTIME_OMIT}};
    SHOW(utimensat(AT_FDCWD, "a", omit, 0));
    const struct timespec wrong[2] = {{0, -5}, {5, 0}};
    SHOW(utimensat(AT_FDCWD, "a", wrong, 0));
}

static int by_name(const struct dirent64 **one, const struct dirent64 **two)
{
    return strcmp((*one)->d_name, (*two)->d_name);
}

static void directories(void)
{
    struct dirent64 **entries;
    int count = scandir64(".", &entries, NULL, by_name);
    for (int i = 0; i < count; i++)
        printf("%d %s\n", entries[i]->d_type, entries[i]->d_name);
    struct statfs64 system;
    SHOW(statfs64("/proc", &system));
    printf("%lx %ld %ld\n", (long)system.f_type, (long)system.f_bsize, (long)system.f_namelen);
    struct statfs narrow;
    SHOW(statfs("/proc", &narrow));
    printf("%lx %ld %ld\n", (long)narrow.f_type, (long)narrow.f_bsize, (long)narrow.f_namelen);
}

static void pipes(void)
{
    int ends[2];
    char text[8];
    SHOW(pipe(ends));
    SHOW(write(ends[1], "12345", 5));
    SHOW(read(ends[0], text, 3));
    SHOW(pipe2(ends, O_NONBLOCK | O_CLOEXEC));
    SHOW(read(ends[0], text, 3));
    printf("%d %d\n", fcntl(ends[0], F_GETFD), !!(fcntl(ends[0], F_GETFL) & O_NONBLOCK));
    SHOW(pipe2(ends, 0x40000000));
    SHOW(pipe(BAD));
    SHOW(fcntl(ends[1], F_GETPIPE_SZ));
}

int main(void)
{
    opening();
    vectors();
    locks();
    names();
    times_of_files();
    directories();
    pipes();
    return 0;
}
