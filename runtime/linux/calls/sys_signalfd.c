/* signalfd: signals read from a descriptor, in struct signalfd_siginfo with the guest's numbers and byte order.
 *
 * Signals that wait because the guest blocks them wait in the host's kernel, and a host's signalfd reads them. Those that
 * the host has none of, or needs for itself, wait in the runtime's queue; the guest's set for these is kept with the
 * descriptor and its copies. Simplification: poll does not see the latter, and a program that execve has begun neither.
 */
#include "base/lock.h"
#include "linux/abi.h"
#include "linux/calls/converted_io.h"
#include "linux/calls/layout.h"
#include "linux/calls/syscall.h"
#include "linux/descriptors.h"
#include "linux/host_call.h"
#include "linux/signals.h"
#include "run/upcalls.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <unistd.h>

/* signo, errno, code, pid, uid, fd, tid, band, overrun, trapno, status, int, ptr, utime, stime, addr, addr_lsb, syscall,
 * call_addr, arch; the same everywhere. */
#define INFO_LAYOUT "12w4q2hwqw28b"
#define INFO_BYTES ((size_t)128)
_Static_assert(sizeof(struct signalfd_siginfo) == INFO_BYTES, "the kernel's");

/* ---- the guest's set ---- */

struct wanted {
    struct mr_descriptor_data data;
    struct mr_signal_set set;
};

static void free_wanted(struct mr_descriptor_data *data)
{
    free(data);
}

static struct mr_signal_set wanted_by(int fd)
{
    struct mr_signal_set set = {{0, 0}};
    mr_lock();
    const struct mr_descriptor_data *data = mr_descriptor_data(fd);
    if (data && data->free == free_wanted)
        set = ((const struct wanted *)data)->set;
    mr_unlock();
    return set;
}

static void want(int fd, const struct mr_signal_set *set)
{
    mr_lock();
    struct mr_descriptor_data *data = mr_descriptor_data(fd);
    struct wanted *wanted = data && data->free == free_wanted ? (struct wanted *)data : calloc(1, sizeof *wanted);
    if (wanted)
        wanted->set = *set;
    if (wanted && &wanted->data != data) {
        wanted->data = (struct mr_descriptor_data){1, free_wanted};
        mr_descriptor_set_data(fd, &wanted->data);
    }
    mr_unlock();
}

/* ---- making ---- */

static int64_t make(int fd, uint32_t guest_set, uint32_t set_bytes, uint32_t flags)
{
    struct mr_signal_set set;
    int host_flags = mr_known_flags(flags, SFD_CLOEXEC | SFD_NONBLOCK);
    if (set_bytes != MR_SIGNAL_SET_BYTES)
        return -EINVAL;
    if (mr_get_signal_set(guest_set, &set))
        return -EFAULT;
    if (host_flags < 0)
        return host_flags;
    uint64_t host_set = mr_signal_set_to_host(&set);
    int64_t made = mr_result(syscall(SYS_signalfd4, fd, &host_set, sizeof host_set, host_flags));
    if (made >= 0 && fd != made)
        mr_descriptor_made(made, MR_FD_SIGNALS);
    if (made >= 0)
        want((int)made, &set);
    return made;
}

SYSCALL(4317, signalfd, "Dpu") { return make(FD(0), U32(1), U32(2), 0); }
SYSCALL(4324, signalfd4, "Dpuf") { return make(FD(0), U32(1), U32(2), U32(3)); }

/* ---- reading ---- */

/* Which members a siginfo_t has: siginfo_layout of kernel/signal.c. */
enum layout { OF_SENDER, WITH_VALUE, OF_TIMER, OF_DESCRIPTOR, OF_CHILD, OF_FAULT };

static enum layout layout_of(int signal, int code)
{
    if (code <= 0)
        return code == MIPS_SI_TIMER ? OF_TIMER : code == SI_SIGIO ? OF_DESCRIPTOR : code < 0 ? WITH_VALUE : OF_SENDER;
    switch (signal) {
    case MIPS_SIGILL: return code <= 11 ? OF_FAULT : OF_SENDER; /* NSIGILL and so on */
    case MIPS_SIGFPE: return code <= 15 ? OF_FAULT : OF_SENDER;
    case MIPS_SIGSEGV: return code <= 10 ? OF_FAULT : OF_SENDER;
    case MIPS_SIGBUS: return code <= 5 ? OF_FAULT : OF_SENDER;
    case MIPS_SIGTRAP: return code <= 6 ? OF_FAULT : OF_SENDER;
    case MIPS_SIGCHLD: return code <= 6 ? OF_CHILD : OF_SENDER;
    default: return code <= POLL_HUP ? OF_DESCRIPTOR : OF_SENDER;
    }
}

static void put_info(const struct mr_signal_info *info, uint8_t *to)
{
    const uint32_t *words = info->words;
    struct signalfd_siginfo host = {
        .ssi_signo = (uint32_t)info->signal, .ssi_errno = info->error, .ssi_code = info->code
    };
    enum layout layout = layout_of(info->signal, info->code);
    if (layout == OF_FAULT) {
        host.ssi_addr = (uint64_t)(int64_t)(int32_t)words[0]; /* a pointer of 32 bits */
    } else if (layout == OF_DESCRIPTOR) {
        host.ssi_band = words[0];
        host.ssi_fd = (int32_t)words[1];
    } else if (layout == OF_TIMER) {
        host.ssi_tid = words[0];
        host.ssi_overrun = words[1];
    } else {
        host.ssi_pid = words[0];
        host.ssi_uid = words[1];
    }
    if (layout == WITH_VALUE || layout == OF_TIMER) {
        host.ssi_int = (int32_t)words[2];
        host.ssi_ptr = (uint64_t)(int64_t)(int32_t)words[2];
    } else if (layout == OF_CHILD) {
        host.ssi_status = (int32_t)words[2];
        host.ssi_utime = words[3];
        host.ssi_stime = words[4];
    }
    mr_layout_to_guest(INFO_LAYOUT, &host, MR_WHOLE, to, MR_WHOLE);
}

/* What the host's kernel says of a signal, as members of a siginfo_t. It shows the end of a child as the state of a descriptor
 * if the signal is not SIGCHLD; then the child's user, which it leaves out, is assumed to be this one. */
static void take_info(const struct signalfd_siginfo *from, struct mr_signal_info *info)
{
    int code = from->ssi_code;
    bool raw = mr_signal_raw_code(from->ssi_code, from->ssi_errno, &code);
    *info = (struct mr_signal_info){.signal = mr_signal_to_mips((int)from->ssi_signo),
                                    .code = raw ? code : mr_signal_code_to_mips(code)};
    enum layout layout = raw ? WITH_VALUE : layout_of(info->signal, info->code);
    if (!raw && from->ssi_errno)
        info->error = mr_errno_to_mips(from->ssi_errno);
    if (layout == OF_CHILD) {
        bool exited = from->ssi_code == CLD_EXITED;
        info->words[2] = (uint32_t)(exited ? from->ssi_status : mr_signal_to_mips(from->ssi_status));
        info->words[3] = (uint32_t)from->ssi_utime;
        info->words[4] = (uint32_t)from->ssi_stime;
    } else {
        info->words[2] = (uint32_t)from->ssi_int;
    }
    info->words[0] = from->ssi_pid;
    info->words[1] = from->ssi_uid;
    if (layout == OF_TIMER) {
        info->words[0] = (uint32_t)mr_timer_to_guest((int)from->ssi_tid);
        info->words[1] = from->ssi_overrun;
    } else if (layout == OF_DESCRIPTOR) {
        info->words[0] = from->ssi_band;
        info->words[1] = mr_signal_is_of_descriptor(from->ssi_code, from->ssi_band) ? (uint32_t)from->ssi_fd : getuid();
    }
}

/* Those of the runtime's queue; returns how many bytes. */
static size_t take_queued(struct mr_signal_set set, uint8_t *to, size_t size_bytes)
{
    struct mr_signal_info info;
    size_t used = 0;
    while (used + INFO_BYTES <= size_bytes && mr_signals_waiting() && mr_signal_dequeue(set, &info)) {
        put_info(&info, to + used);
        used += INFO_BYTES;
    }
    return used;
}

int64_t mr_read_signals(int fd, uint8_t *to, size_t size_bytes)
{
    struct signalfd_siginfo got[64];
    struct mr_signal_set set = wanted_by(fd);
    set.bits[0] &= mr_thread_signals.blocked.bits[0]; /* what is not blocked goes to its handler */
    set.bits[1] &= mr_thread_signals.blocked.bits[1];
    size_t used = take_queued(set, to, size_bytes);
    if (used > 0)
        return (int64_t)used;
    size_t room = size_bytes < sizeof got ? size_bytes : sizeof got;
    int64_t size = mr_wait_call(SYS_read, (uint64_t)(int64_t)fd, MR_HOST(got), room, 0, 0, 0);
    if (size == -EINTR && (used = take_queued(set, to, size_bytes)) > 0) /* one that the host needs: it came to its handler */
        return (int64_t)used;
    for (int64_t i = 0; i < size / (int64_t)INFO_BYTES; i++) {
        struct mr_signal_info info;
        take_info(&got[i], &info);
        put_info(&info, to + i * (int64_t)INFO_BYTES);
    }
    return size;
}
