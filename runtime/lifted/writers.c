/* Files that can have writers.
 *
 * The kernel dates write() when it comes. Of a shared mapping it dates only the first store to a page since that page was
 * written back: what is stored later changes the contents, and no time. So times tell of changes only from a moment on at
 * which nobody has the file open for writing; a mapping keeps it open. Who opens it later changes its times with the first
 * store.
 *
 * The kernel grants a read lease at such a moment only (fcntl(2), F_SETLEASE). Some files have none: those of other owners,
 * and those of some file systems. Their times tell when they are an hour old: a file system writes pages back within a
 * minute, and then dates the next store.
 *
 * A file system that keeps files in memory writes nothing back, and need not know of stores: not even the first one after a
 * read is dated. A process that opens a file there later can change it, and no time.
 *
 * When a process wants to write to a file with a lease, the kernel sends its holder SIGIO. The guest must see none, so the
 * holder is a process for the moment, with all signals blocked; it opens the file anew, for a lease belongs to an open file.
 */
#include "lifted/writers.h"

#include "base/kernel_proc.h"
#include "base/sanitizer.h"
#include "lifted/caches.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define OLD_SECONDS (60 * 60)
#define STACK_BYTES ((size_t)64 << 10)
#define SHARING (MR_ADDRESS_SANITIZER ? 0 : CLONE_VM | CLONE_VFORK) /* no page table is copied; no signal at its end */

enum writers { NO_WRITERS, CAN_HAVE_WRITERS, UNKNOWN };

struct question {
    int directory;
    const char *path;
    const struct stat *status;
};

/* In the process for the moment; returns its exit status. The file and the lease go with it. */
static int ask_for_lease(void *given)
{
    const struct question *question = given;
    struct stat status;
    int fd = openat(question->directory, question->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &status) != 0)
        return UNKNOWN;
    if (!mr_is_same_file(&status, question->status))
        return CAN_HAVE_WRITERS;
    if (fcntl(fd, F_SETLEASE, F_RDLCK) == 0)
        return NO_WRITERS;
    return errno == EAGAIN ? CAN_HAVE_WRITERS : UNKNOWN;
}

static enum writers writers_of(struct question *question)
{
    uint64_t all = ~(uint64_t)0, mask = 0;
    int result = -1;
    char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED)
        return UNKNOWN;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &mask, sizeof all);
    int child = clone(ask_for_lease, stack + STACK_BYTES, SHARING, question);
    if (child > 0)
        while (waitpid(child, &result, __WALL) < 0 && errno == EINTR)
            ;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof mask);
    munmap(stack, STACK_BYTES);
    return child > 0 && WIFEXITED(result) && WEXITSTATUS(result) < UNKNOWN ? WEXITSTATUS(result) : UNKNOWN;
}

static bool times_tell(int directory, const char *path, const struct stat *status)
{
    struct question question = {directory, path, status};
    if (!mr_is_settled(status))
        return false;
    enum writers writers = writers_of(&question);
    return writers == NO_WRITERS || (writers == UNKNOWN && mr_is_older(status, OLD_SECONDS));
}

bool mr_times_tell(const char *path, const struct stat *status)
{
    return times_tell(AT_FDCWD, path, status);
}

/* devtmpfs and descriptors of memfd_create are such as well. */
static bool is_in_memory(int fd)
{
    struct statfs system;
    return fstatfs(fd, &system) == 0 && (system.f_type == TMPFS_MAGIC || system.f_type == RAMFS_MAGIC ||
                                         system.f_type == HUGETLBFS_MAGIC);
}

bool mr_times_tell_of(int fd, const struct stat *status)
{
    char path[MR_PROC_ROOM];
    int proc = mr_proc_at(path, "thread-self/fd/%d", fd);
    return !is_in_memory(fd) && mr_has_kernels_dates(fd, status) && times_tell(proc, path, status);
}
