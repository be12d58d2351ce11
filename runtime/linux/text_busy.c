/* Files that run are not written, and files that are open for writing are not executed: ETXTBSY, as deny_write_access and
 * do_open_execat of fs/exec.c have it.
 *
 * The host's kernel executes the host, not the guest's program, so it denies nothing by itself. Each host keeps a read lock on
 * one byte of its program, far behind any contents. The lock is of the open file description: it lasts as long as a process
 * made by fork has the program, and other hosts see it. Simplification: only guests are refused.
 */
#include "base/kernel_proc.h"
#include "linux/descriptors.h"
#include "linux/paths.h"
#include "linux/program.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MARKED_BYTE INT64_C(0x7ffffffffffffff0)
#define FUSE_MAGIC 0x65735546 /* no header has it */

/* A lock on a file of another machine may take long, or wait for good. */
static bool is_remote(int fd)
{
    struct statfs status;
    if (fstatfs(fd, &status))
        return true;
    switch ((uint32_t)status.f_type) {
    case NFS_SUPER_MAGIC:
    case SMB_SUPER_MAGIC:
    case SMB2_SUPER_MAGIC:
    case CIFS_SUPER_MAGIC:
    case V9FS_MAGIC:
    case FUSE_MAGIC: return true;
    default: return false;
    }
}

void mr_text_mark(int fd)
{
    struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = MARKED_BYTE, .l_len = 1};
    if (fd >= 0 && !is_remote(fd))
        fcntl(fd, F_OFD_SETLK, &lock); /* a file system without locks: nothing is refused */
}

/* Only these are marked. What the guest may write but not read counts as one. */
static bool may_be_program(int fd)
{
    char path[MR_PROC_ROOM];
    int proc = mr_proc_at(path, "thread-self/fd/%d", fd), readable = mr_own_openat(proc, path, O_RDONLY | O_NONBLOCK);
    bool may_be = readable < 0 || mr_is_mips_program(readable);
    if (readable >= 0)
        close(readable);
    return may_be;
}

/* The kernel does not say whose lock of an open file description it is: so it may be that of any program that can read the
 * file. */
static bool is_marked(int fd)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = MARKED_BYTE, .l_len = 1};
    bool locked = !is_remote(fd) && fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
    return locked && lock.l_start == MARKED_BYTE && lock.l_len == 1 && /* else it is a lock of the whole file */
           may_be_program(fd);
}

/* What runs has been executable; so only such files cost more than a look. */
static bool may_run(const struct stat *status)
{
    return S_ISREG(status->st_mode) && (status->st_mode & 0111) != 0;
}

int64_t mr_text_opened(int64_t fd, bool truncates)
{
    struct stat status;
    if (fd < 0 || fstat((int)fd, &status) || !S_ISREG(status.st_mode))
        return fd;
    int error = may_run(&status) && is_marked((int)fd) ? ETXTBSY : 0;
    if (!error && truncates && ftruncate((int)fd, 0))
        error = errno;
    if (error)
        close((int)fd);
    return error ? -error : fd;
}

bool mr_text_runs(const struct mr_path *path)
{
    struct stat status;
    if (fstatat(path->directory, path->name, &status, path->empty_flag) || !may_run(&status))
        return false;
    int fd = openat(path->directory, path->name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    bool marked = fd >= 0 && is_marked(fd);
    if (fd >= 0)
        close(fd);
    return marked;
}

/* The kernel opens the file, which is where it looks for writers, and then finds that it cannot load it: it does not know the
 * format (ENOEXEC), or who loads it, of a script or by binfmt_misc, could not open a descriptor that is closed on exec. */
int mr_text_is_written(int fd)
{
    char *const arguments[] = {(char *)"", NULL}, *const *none = arguments + 1;
    if (!(fcntl(fd, F_GETFD) & FD_CLOEXEC))
        return 0;
    syscall(SYS_execveat, fd, "", arguments, none, AT_EMPTY_PATH);
    return errno == ETXTBSY ? -ETXTBSY : 0;
}
