/* System calls that make processes and wait for them.
 *
 * Every new process has a copy of the memory. After vfork and CLONE_VM|CLONE_VFORK the parent waits until the child runs
 * another program or ends, and in the latter case takes over the pages that the child wrote: that is how posix_spawn
 * learns that a program could not be run. Simplification: what a child writes before a successful execve is lost.
 * With threads, only the one that called is in the child (sys_thread.c makes threads).
 */
#include "profile.h"
#include "signals.h"
#include "syscall.h"
#include "thread.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- pages that a vfork child hands to its parent ---- */

#define PAGEMAP_EXCLUSIVE ((uint64_t)1 << 56) /* mapped by this process only: of a forked child, what it has written */
#define PAGEMAP_CHUNK 512u

struct page_record {
    uint32_t page;
    uint8_t bytes[MR_PAGE_BYTES];
};

static int to_parent = -1; /* in a vfork child: the pipe to the parent; closes with execve and exit */

/* The guest may close any descriptor below, or use its number. */
static int move_out_of_the_way(int fd)
{
    enum { FIRST = 900 };
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, FIRST);
    if (moved < 0)
        return fd;
    close(fd);
    return moved;
}

static bool send_page(uint32_t page)
{
    static struct page_record record;
    const uint8_t *from = mr_guest_bytes(page * MR_PAGE_BYTES, MR_PAGE_BYTES, MR_WRITE);
    record.page = page;
    memcpy(record.bytes, from, MR_PAGE_BYTES);
    for (size_t sent = 0; sent < sizeof record;) {
        ssize_t count = write(to_parent, (const uint8_t *)&record + sent, sizeof record - sent);
        if (count < 0 && errno != EINTR)
            return false;
        sent += count < 0 ? 0 : (size_t)count;
    }
    return true;
}

static bool any_mapped(uint32_t first, uint32_t count)
{
    for (uint32_t page = first; page < first + count; page++)
        if (mr_pages[page])
            return true;
    return false;
}

void mr_vfork_child_exits(void)
{
    uint64_t entries[PAGEMAP_CHUNK];
    if (to_parent < 0)
        return;
    int map = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    for (uint32_t first = 0; map >= 0 && first < MR_USER_END / MR_PAGE_BYTES; first += PAGEMAP_CHUNK) {
        if (!any_mapped(first, PAGEMAP_CHUNK))
            continue;
        uint64_t host_page = ((uintptr_t)mr_window + (uint64_t)first * MR_PAGE_BYTES) / MR_PAGE_BYTES;
        if (pread(map, entries, sizeof entries, (off_t)(host_page * sizeof *entries)) != (ssize_t)sizeof entries)
            break;
        for (uint32_t i = 0; i < PAGEMAP_CHUNK; i++)
            if (mr_pages[first + i] & MR_WRITE && entries[i] & PAGEMAP_EXCLUSIVE && !send_page(first + i))
                break;
    }
    if (map >= 0)
        close(map);
    close(to_parent);
}

/* Returns when the child's end of the pipe is closed. */
static void await_child(int from_child)
{
    struct page_record record;
    size_t got = 0;
    for (;;) {
        ssize_t count = read(from_child, (uint8_t *)&record + got, sizeof record - got);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            break;
        got += (size_t)count;
        if (got < sizeof record)
            continue;
        got = 0;
        void *to = mr_guest_bytes(record.page * MR_PAGE_BYTES, MR_PAGE_BYTES, MR_WRITE);
        if (to)
            memcpy(to, record.bytes, MR_PAGE_BYTES);
    }
    close(from_child);
}

/* ---- making ---- */

static int64_t make_process(bool parent_waits)
{
    int ends[2] = {-1, -1};
    mr_lock(); /* the child finds all that is shared as it should be, and has no end of another child's pipe */
    if (parent_waits && pipe2(ends, O_CLOEXEC)) {
        mr_unlock();
        return -errno;
    }
    pid_t child = fork();
    int error = errno;
    if (child != 0 && parent_waits)
        close(ends[1]);
    mr_unlock();
    if (child == 0) {
        mr_threads_forked();
        mr_profile_forked();
        mr_signals_queued = 0;
        if (to_parent >= 0)
            close(to_parent); /* a vfork child's own children are none */
        to_parent = -1;
        if (parent_waits) {
            close(ends[0]);
            to_parent = move_out_of_the_way(ends[1]);
        }
        return 0;
    }
    if (parent_waits)
        await_child(ends[0]);
    return child < 0 ? -error : child;
}

SYSCALL(4002, fork, "") { return make_process(false); }

/* Arguments in the order of CONFIG_CLONE_BACKWARDS: flags, stack, where the parent finds the child's number, TLS, and where
 * the child finds it. */
SYSCALL(4120, clone, "xpppp")
{
    uint32_t flags = U32(0);
    bool parent_waits = flags & CLONE_VFORK;
    if (flags & CLONE_THREAD)
        return mr_thread_make(c);
    if (flags & (CLONE_SIGHAND | CLONE_FS | CLONE_FILES) || (flags & CLONE_VM && !parent_waits))
        return -ENOSYS;
    int64_t child = make_process(parent_waits);
    if (child < 0)
        return child;
    if (child > 0) {
        if (flags & CLONE_PARENT_SETTID)
            mr_write32(U32(2), (uint32_t)child);
        return child;
    }
    if (U32(1))
        GPR(c->s, MR_REG_SP) = U32(1);
    if (flags & CLONE_SETTLS)
        c->s->tls = U32(3);
    if (flags & CLONE_CHILD_SETTID)
        mr_write32(U32(4), (uint32_t)getpid());
    return 0;
}

/* ---- waiting ---- */

static int64_t wait_for(int32_t process, uint32_t guest_status, int options, uint32_t guest_usage)
{
    int status = 0;
    struct rusage usage;
    int64_t found = mr_wait_call(SYS_wait4, (uint64_t)(int64_t)process, MR_HOST(&status), (uint64_t)options,
                                 guest_usage ? MR_HOST(&usage) : 0, 0, 0);
    if (found <= 0)
        return found;
    if (guest_status && mr_write32(guest_status, (uint32_t)mr_wait_status_to_mips(status)))
        return -EFAULT;
    return guest_usage && mr_put_rusage(guest_usage, &usage) ? -EFAULT : found;
}

SYSCALL(4007, waitpid, "dpx") { return wait_for(INT(0), U32(1), INT(2), 0); }
SYSCALL(4114, wait4, "dpxp") { return wait_for(INT(0), U32(1), INT(2), U32(3)); }

SYSCALL(4278, waitid, "ddpxp")
{
    siginfo_t host_info;
    struct rusage usage;
    struct mr_signal_info info = {0};
    memset(&host_info, 0, sizeof host_info);
    int64_t error = mr_wait_call(SYS_waitid, U32(0), U32(1), MR_HOST(&host_info), U32(3),
                                 U32(4) ? MR_HOST(&usage) : 0, 0);
    if (error)
        return error;
    if (host_info.si_signo)
        mr_signal_info_from_host(&host_info, &info);
    if (U32(2) && mr_put_signal_info(U32(2), &info))
        return -EFAULT;
    return U32(4) && mr_put_rusage(U32(4), &usage) ? -EFAULT : 0;
}
