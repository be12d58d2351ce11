/* System calls that make processes and wait for them.
 *
 * Simplifications: every new process has a copy of the memory, also after vfork and CLONE_VM|CLONE_VFORK, whose parent waits
 * as it should but does not see what the child wrote; threads are refused (EAGAIN would be retried: ENOSYS).
 */
#include "signals.h"
#include "syscall.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- making ---- */

/* A pipe whose writing end closes when the child runs another program or ends. */
static int wait_pipe[2];

static void await_child(void)
{
    char byte;
    close(wait_pipe[1]);
    while (read(wait_pipe[0], &byte, 1) < 0 && errno == EINTR)
        ;
    close(wait_pipe[0]);
}

static int64_t make_process(bool parent_waits)
{
    if (parent_waits && pipe2(wait_pipe, O_CLOEXEC))
        return -errno;
    pid_t child = fork();
    if (child == 0) {
        mr_signals_queued = 0;
        if (parent_waits)
            close(wait_pipe[0]);
        return 0;
    }
    int64_t result = mr_result(child);
    if (parent_waits)
        await_child();
    return result;
}

SYSCALL(4002, fork, "") { return make_process(false); }

/* Arguments in the order of CONFIG_CLONE_BACKWARDS: flags, stack, where the parent finds the child's number, TLS, and where
 * the child finds it. */
SYSCALL(4120, clone, "xpppp")
{
    uint32_t flags = U32(0);
    bool parent_waits = flags & CLONE_VFORK;
    if (flags & (CLONE_THREAD | CLONE_SIGHAND | CLONE_FS | CLONE_FILES) || (flags & CLONE_VM && !parent_waits))
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
    int64_t found = mr_result(wait4(process, &status, options, guest_usage ? &usage : NULL));
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
    if (syscall(SYS_waitid, INT(0), INT(1), &host_info, INT(3), U32(4) ? &usage : NULL))
        return -errno;
    if (host_info.si_signo)
        mr_signal_info_from_host(&host_info, &info);
    if (U32(2) && mr_put_signal_info(U32(2), &info))
        return -EFAULT;
    return U32(4) && mr_put_rusage(U32(4), &usage) ? -EFAULT : 0;
}
