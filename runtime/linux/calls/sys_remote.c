/* System calls on other processes: descriptors of processes, their memory, their resources.
 *
 * Addresses in another process are taken to be those of a guest whose window lies where this one's does. So it is for every
 * process that is made by fork, and for all whose window begins at host address 0.
 */
#include "linux/abi.h"
#include "linux/calls/layout.h"
#include "linux/calls/syscall.h"
#include "linux/descriptors.h"
#include "linux/host_call.h"
#include "linux/signals.h"
#include "memory/values.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef SYS_process_mrelease
#define SYS_process_mrelease 448
#endif

/* ---- descriptors of processes ---- */

SYSCALL(4434, pidfd_open, "df")
{
    int flags = mr_known_flags(U32(1), O_NONBLOCK | O_EXCL); /* PIDFD_NONBLOCK, PIDFD_THREAD */
    return flags < 0 ? flags : mr_result(syscall(SYS_pidfd_open, INT(0), flags));
}

SYSCALL(4438, pidfd_getfd, "DDx")
{
    return mr_descriptor_made(mr_result(syscall(SYS_pidfd_getfd, FD(0), FD(1), U32(2))), MR_FD_UNKNOWN);
}

/* The signal must be that of the call, and a code of the kernel's is for oneself only: the kernel is asked by signal 0. */
static int64_t get_signal_info(int fd, uint32_t guest, int mips_signal, siginfo_t *host_info)
{
    struct mr_signal_info info;
    siginfo_t question = {0};
    if (mr_get_signal_info(guest, &info))
        return -EFAULT;
    if (info.signal != mips_signal)
        return -EINVAL;
    question.si_code = mr_signal_code_to_host(info.code);
    bool to_self = info.code >= 0 || question.si_code == SI_TKILL;
    if (to_self && syscall(SYS_pidfd_send_signal, fd, 0, &question, 0))
        return -errno;
    mr_signal_info_to_host(&info, to_self, host_info);
    return 0;
}

SYSCALL(4424, pidfd_send_signal, "Dipx")
{
    siginfo_t info;
    int host_signal = mr_signal_to_host(INT(1));
    if (INT(1) && !host_signal)
        return -EINVAL;
    int64_t error = U32(2) ? get_signal_info(FD(0), U32(2), INT(1), &info) : 0;
    return error ? error : mr_result(syscall(SYS_pidfd_send_signal, FD(0), host_signal, U32(2) ? &info : NULL, U32(3)));
}

/* ---- memory ---- */

/* Addresses that no guest has stay such. */
static int get_remote_vector(uint32_t guest, uint32_t count, struct iovec *vector)
{
    if (count > MR_MOST_PIECES)
        return -EINVAL;
    const uint8_t *from = mr_guest_bytes(guest, 8 * count, MR_READ);
    if (!from)
        return -EFAULT;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = mr_get32(from + 8 * i), size_bytes = mr_get32(from + 8 * i + 4);
        if ((int32_t)size_bytes < 0)
            return -EINVAL;
        uintptr_t host = at < MR_USER_END ? (uintptr_t)mr_window + at : UINTPTR_MAX - MR_PAGE_BYTES + 1;
        vector[i] = (struct iovec){(void *)host, size_bytes};
    }
    return 0;
}

static int64_t copy_memory(struct mr_call *c, long host_number)
{
    struct iovec local[MR_MOST_PIECES], remote[MR_MOST_PIECES];
    if (U32(5))
        return -EINVAL;
    int error = mr_get_vector(U32(1), U32(2), local);
    if (!error)
        error = get_remote_vector(U32(3), U32(4), remote);
    if (error)
        return error;
    return mr_result(syscall(host_number, INT(0), local, (unsigned long)U32(2), remote, (unsigned long)U32(4), 0ul));
}

SYSCALL(4345, process_vm_readv, "dpupux") { return copy_memory(c, SYS_process_vm_readv); }
SYSCALL(4346, process_vm_writev, "dpupux") { return copy_memory(c, SYS_process_vm_writev); }

SYSCALL(4440, process_madvise, "Dpudx")
{
    struct iovec remote[MR_MOST_PIECES];
    int error = get_remote_vector(U32(1), U32(2), remote);
    return error ? error : mr_result(syscall(SYS_process_madvise, FD(0), remote, (size_t)U32(2), INT(3), U32(4)));
}

SYSCALL(4448, process_mrelease, "Dx") { return mr_result(syscall(SYS_process_mrelease, FD(0), U32(1))); }

/* ---- whether two processes share something ---- */

enum { COMPARE_FILE = 0, COMPARE_EPOLL = 7 }; /* KCMP_EPOLL_TFD: the last argument points to three numbers */

/* Whether a number is one of the host's own descriptors, in this process. */
static bool is_hosts(int process, uint32_t fd)
{
    return process == getpid() && mr_descriptor_is_host(fd);
}

SYSCALL(4347, kcmp, "dddxx")
{
    uint32_t slot[3];
    uint64_t second = U32(4);
    if (INT(2) == COMPARE_FILE && (is_hosts(INT(0), U32(3)) || is_hosts(INT(1), U32(4))))
        return -EBADF;
    if (INT(2) == COMPARE_EPOLL && mr_get_words(U32(4), slot, 3))
        return -EFAULT;
    if (INT(2) == COMPARE_EPOLL)
        second = MR_HOST(slot);
    return mr_result(syscall(SYS_kcmp, INT(0), INT(1), INT(2), (unsigned long)U32(3), second));
}
