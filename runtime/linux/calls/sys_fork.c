/* System calls that make processes and wait for them.
 *
 * Every new process has a copy of the memory. After vfork and CLONE_VM|CLONE_VFORK the parent waits until the child runs
 * another program or ends, and in the latter case takes over what the child wrote: that is how posix_spawn learns that a
 * program could not be run. Simplification: what a child writes before a successful execve is lost, and of what it writes
 * while its parent has other threads, all but the variables of the program and the stack.
 * With threads, only the one that called is in the child (sys_thread.c makes threads; linux/calls/sys_clone.c has the calls).
 */
#include "base/kernel_proc.h"
#include "base/lock.h"
#include "base/observe.h"
#include "base/options.h"
#include "lifted/caches.h"
#include "linux/abi.h"
#include "linux/calls/clone.h"
#include "linux/calls/layout.h"
#include "linux/descriptors.h"
#include "linux/host_call.h"
#include "linux/paths.h"
#include "linux/program.h"
#include "linux/signals.h"
#include "linux/threads.h"
#include "memory/values.h"
#include "run/upcalls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- what a vfork child hands to its parent ---- */

#define PAGEMAP_EXCLUSIVE ((uint64_t)1 << 56) /* mapped by this process only: of a forked child, what it has written */
#define PAGEMAP_CHUNK 512u
#define COPIED_STACK_BYTES 0x40000u /* above sp; posix_spawn's child tells its error in the frame of the caller */
#define COPIED_DATA_BYTES 0x100000u /* below the heap: the program's variables */

struct piece {
    uint32_t guest, size_bytes;
    uint8_t bytes[MR_PAGE_BYTES];
};

/* Pages as a vfork child found them. */
struct copy {
    uint32_t guest, size_bytes;
    uint8_t *bytes;
};

static int to_parent = -1; /* in a vfork child: the pipe to the parent; closes with execve and exit */
static bool threads_go_on; /* in a vfork child: other threads write the parent's memory meanwhile */
static struct copy copy_of_stack, copy_of_data;

static bool send_piece(uint32_t guest, const uint8_t *from, uint32_t size_bytes)
{
    static struct piece piece;
    piece.guest = guest;
    piece.size_bytes = size_bytes;
    memcpy(piece.bytes, from, size_bytes);
    for (size_t sent = 0, all = offsetof(struct piece, bytes) + size_bytes; sent < all;) {
        ssize_t count = write(to_parent, (const uint8_t *)&piece + sent, all - sent);
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

/* While the parent's only thread waits, what is this process's alone is what it has written. */
static void send_written_pages(void)
{
    uint64_t entries[PAGEMAP_CHUNK];
    char path[MR_PROC_ROOM];
    int proc = mr_proc_at(path, "self/pagemap"), map = mr_own_openat(proc, path, O_RDONLY);
    for (uint32_t first = 0; map >= 0 && first < MR_USER_END / MR_PAGE_BYTES; first += PAGEMAP_CHUNK) {
        if (!any_mapped(first, PAGEMAP_CHUNK))
            continue;
        uint64_t host_page = ((uintptr_t)mr_window + (uint64_t)first * MR_PAGE_BYTES) / MR_PAGE_BYTES;
        if (pread(map, entries, sizeof entries, (off_t)(host_page * sizeof *entries)) != (ssize_t)sizeof entries)
            break;
        for (uint32_t i = 0; i < PAGEMAP_CHUNK; i++) {
            uint32_t guest = (first + i) * MR_PAGE_BYTES;
            if (mr_pages[first + i] & MR_WRITE && entries[i] & PAGEMAP_EXCLUSIVE &&
                !send_piece(guest, mr_guest_bytes(guest, MR_PAGE_BYTES, MR_WRITE), MR_PAGE_BYTES))
                break;
        }
    }
    if (map >= 0)
        close(map);
}

/* ---- the same beside other threads: only bytes that the child has changed, or theirs would come back ---- */

/* Copies the pages from guest on that can be written, up to the first that cannot. */
static void take_copy(struct copy *copy, uint32_t guest, uint32_t most_bytes)
{
    uint32_t size = 0;
    guest &= ~(MR_PAGE_BYTES - 1);
    while (size < most_bytes && mr_accessible(guest + size, MR_PAGE_BYTES, MR_WRITE))
        size += MR_PAGE_BYTES;
    *copy = (struct copy){guest, size, malloc(size)};
    if (copy->bytes)
        memcpy(copy->bytes, mr_guest_bytes(guest, size, MR_READ), size);
}

static void take_copies(uint32_t sp)
{
    uint32_t data = mr_brk_start;
    while (mr_brk_start - data < COPIED_DATA_BYTES && mr_accessible(data - MR_PAGE_BYTES, MR_PAGE_BYTES, MR_WRITE))
        data -= MR_PAGE_BYTES;
    take_copy(&copy_of_data, data, mr_brk_start - data);
    take_copy(&copy_of_stack, sp, COPIED_STACK_BYTES);
}

static void send_changes(const struct copy *copy)
{
    for (uint32_t at = 0; copy->bytes && at < copy->size_bytes; at += MR_PAGE_BYTES) {
        const uint8_t *now = mr_guest_bytes(copy->guest + at, MR_PAGE_BYTES, MR_READ), *before = copy->bytes + at;
        for (uint32_t i = 0, end; now && i < MR_PAGE_BYTES; i = end + 1) {
            for (end = i; end < MR_PAGE_BYTES && now[end] != before[end];)
                end++;
            if (end > i && !send_piece(copy->guest + at + i, now + i, end - i))
                return;
        }
    }
}

static void close_pipe(void)
{
    close(to_parent);
    mr_descriptor_give_up(to_parent);
    to_parent = -1;
}

void mr_vfork_child_exits(void)
{
    if (to_parent < 0)
        return;
    if (threads_go_on) {
        send_changes(&copy_of_data);
        send_changes(&copy_of_stack);
    } else {
        send_written_pages();
    }
    close_pipe();
}

/* ---- the parent ---- */

static bool receive(int from_child, void *to, size_t size_bytes)
{
    for (size_t got = 0; got < size_bytes;) {
        ssize_t count = read(from_child, (uint8_t *)to + got, size_bytes - got);
        if (count == 0 || (count < 0 && errno != EINTR))
            return false;
        got += count < 0 ? 0 : (size_t)count;
    }
    return true;
}

/* Returns when the child's end of the pipe is closed. */
static void await_child(int from_child)
{
    struct piece piece;
    while (receive(from_child, &piece, offsetof(struct piece, bytes)) && receive(from_child, piece.bytes, piece.size_bytes)) {
        void *to = mr_guest_bytes(piece.guest, piece.size_bytes, MR_WRITE);
        if (to)
            memcpy(to, piece.bytes, piece.size_bytes);
    }
    close(from_child);
}

/* ---- making ---- */

/* As flush_signal_handlers of kernel/signal.c: what is ignored stays so. */
static void forget_handlers(void)
{
    const struct mr_signal_action none = {0};
    for (int number = 1; number <= MR_SIGNAL_COUNT; number++)
        if (mr_signal_actions[number].handler > MR_SIG_IGNORE)
            mr_signal_set_action(number, &none);
}

/* What waits for the parent is not the child's; what is sent to the child from its first moment on is. */
static void begin_process(const struct mr_clone *clone, uint64_t host_mask)
{
    mr_threads_forked(clone->flags & CLONE_CHILD_CLEARTID ? clone->child_tid : 0);
    MR_TELL(growth_forked);
    mr_notes_forked();
    if (clone->flags & (CLONE_NEWNS | CLONE_NEWUSER))
        mr_root_changes();
    MR_TELL(sample_forked);
    mr_timers_forked();
    MR_TELL(debug_forked);
    mr_signals_queued = 0;
    mr_carrier_forked();
    mr_signals_set_host_mask(host_mask);
    mr_signals_let_in_held();
}

static void begin_child(struct mr_state *s, const struct mr_clone *clone, const int ends[2], bool several)
{
    if (to_parent >= 0 && !(clone->flags & CLONE_FILES))
        close_pipe(); /* a vfork child's own children are none */
    to_parent = -1;
    if (clone->flags & CLONE_VFORK) {
        close(ends[0]);
        to_parent = mr_own_moved(ends[1]);
        mr_descriptor_keep(to_parent); /* the parent waits until it is closed */
        threads_go_on = several;
        if (several)
            take_copies(GPR(s, MR_REG_SP));
    }
    if (clone->flags & MR_CLONE_CLEAR_SIGHAND)
        forget_handlers();
    if (clone->stack)
        GPR(s, MR_REG_SP) = clone->stack;
    if (clone->flags & CLONE_SETTLS)
        s->tls = clone->tls;
    if (clone->flags & CLONE_CHILD_SETTID)
        mr_write32(clone->child_tid, (uint32_t)gettid());
}

/* What the host's kernel is to do; memory, signals and registers are done here. */
#define HOST_FLAGS                                                                                                      \
    ((uint64_t)(CLONE_FS | CLONE_FILES | CLONE_PARENT | CLONE_PIDFD | CLONE_SYSVSEM | CLONE_NEWNS | CLONE_NEWUTS |       \
                CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWCGROUP | CLONE_NEWTIME) |          \
     (uint64_t)(uint32_t)CLONE_IO | MR_CLONE_INTO_CGROUP)

/* Each of two processes with one root changes it for the other, and for what that executes later. */
static void share_root(void)
{
    mr_options.shares_root = true;
    mr_root_changes();
}

/* The libc's fork sees to the libc's locks and memory; whatever it cannot do the kernel is asked for. Then a lock that another
 * thread has at this moment, as that of malloc, stays locked in the child; it is for the host's own code, which takes few. */
static int64_t host_process(const struct mr_clone *clone, int *pidfd)
{
    struct clone_args arguments = {
        .flags = clone->flags & HOST_FLAGS,
        .pidfd = MR_HOST(pidfd),
        .exit_signal = (uint64_t)clone->exit_signal,
        .set_tid = MR_HOST(clone->set_tid),
        .set_tid_size = clone->set_tid_count,
        .cgroup = clone->cgroup,
    };
    if (arguments.flags == 0 && clone->exit_signal == SIGCHLD && clone->set_tid_count == 0)
        return mr_result(fork());
    if (clone->set_tid_count == 0 && !(arguments.flags & (MR_CLONE_INTO_CGROUP | CLONE_NEWTIME)))
        return mr_result(syscall(SYS_clone, arguments.flags | arguments.exit_signal, NULL, pidfd, NULL, 0));
    return mr_result(syscall(SYS_clone3, &arguments, sizeof arguments));
}

int64_t mr_process_make(struct mr_state *s, const struct mr_clone *clone)
{
    int ends[2] = {-1, -1}, pidfd = -1;
    bool several = mr_threads_several(), parent_waits = clone->flags & CLONE_VFORK;
    if (clone->flags & CLONE_FS)
        share_root();
    mr_lock(); /* the child finds all that is shared as it should be, and has no end of another child's pipe */
    if (parent_waits && mr_own_pipe(ends)) {
        mr_unlock();
        return -errno;
    }
    uint64_t host_mask = mr_signals_set_host_mask(MR_ALL_SIGNALS);
    int64_t child = host_process(clone, &pidfd);
    if (child != 0)
        mr_signals_set_host_mask(host_mask);
    if (child != 0 && parent_waits)
        close(ends[1]);
    mr_unlock();
    if (child == 0) {
        begin_process(clone, host_mask);
        begin_child(s, clone, ends, several);
        return 0;
    }
    if (child > 0 && clone->flags & CLONE_PARENT_SETTID)
        mr_write32(clone->parent_tid, (uint32_t)child);
    if (child > 0 && clone->flags & CLONE_PIDFD)
        mr_write32(clone->pidfd, (uint32_t)pidfd);
    if (parent_waits)
        await_child(ends[0]);
    return child;
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
    int which = INT(0) == P_PIDFD ? FD(1) : INT(1);
    int64_t error = mr_wait_call(SYS_waitid, U32(0), (uint64_t)(int64_t)which, MR_HOST(&host_info), U32(3),
                                 U32(4) ? MR_HOST(&usage) : 0, 0);
    if (error)
        return error;
    if (host_info.si_signo)
        mr_signal_info_from_host(&host_info, &info);
    if (host_info.si_signo && U32(4) && mr_put_rusage(U32(4), &usage))
        return -EFAULT;
    const uint32_t words[] = {(uint32_t)info.signal, (uint32_t)info.code, 0, info.words[0], info.words[1], info.words[2]};
    return U32(2) && mr_put_words(U32(2), words, 6) ? -EFAULT : 0; /* the kernel writes no more */
}
