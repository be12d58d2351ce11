/* Numbers that o32 and the host see differently: errno, signals, open flags, wait status. Facts: asm/errno.h, asm/signal.h
 * and asm/fcntl.h of the MIPS kernel headers. Times and resource usage in guest memory, with 32-bit members (the old
 * calls) or 64-bit ones (*_time64). */
#include "linux/abi.h"

#include "host/host.h"
#include "memory/values.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

/* ---- errno ---- */

struct error_row {
    int host, mips;
    const char *name;
};
#define E(NAME, MIPS) {NAME, MIPS, #NAME}
static const struct error_row error_rows[] = {
    E(EPERM, 1), E(ENOENT, 2), E(ESRCH, 3), E(EINTR, 4), E(EIO, 5), E(ENXIO, 6), E(E2BIG, 7), E(ENOEXEC, 8),
    E(EBADF, 9), E(ECHILD, 10), E(EAGAIN, 11), E(ENOMEM, 12), E(EACCES, 13), E(EFAULT, 14), E(ENOTBLK, 15),
    E(EBUSY, 16), E(EEXIST, 17), E(EXDEV, 18), E(ENODEV, 19), E(ENOTDIR, 20), E(EISDIR, 21), E(EINVAL, 22),
    E(ENFILE, 23), E(EMFILE, 24), E(ENOTTY, 25), E(ETXTBSY, 26), E(EFBIG, 27), E(ENOSPC, 28), E(ESPIPE, 29),
    E(EROFS, 30), E(EMLINK, 31), E(EPIPE, 32), E(EDOM, 33), E(ERANGE, 34), E(ENOMSG, 35), E(EIDRM, 36), E(ECHRNG, 37),
    E(EL2NSYNC, 38), E(EL3HLT, 39), E(EL3RST, 40), E(ELNRNG, 41), E(EUNATCH, 42), E(ENOCSI, 43), E(EL2HLT, 44),
    E(EDEADLK, 45), E(ENOLCK, 46), E(EBADE, 50), E(EBADR, 51), E(EXFULL, 52), E(ENOANO, 53), E(EBADRQC, 54),
    E(EBADSLT, 55), E(EBFONT, 59), E(ENOSTR, 60), E(ENODATA, 61), E(ETIME, 62), E(ENOSR, 63), E(ENONET, 64),
    E(ENOPKG, 65), E(EREMOTE, 66), E(ENOLINK, 67), E(EADV, 68), E(ESRMNT, 69), E(ECOMM, 70), E(EPROTO, 71),
    E(EDOTDOT, 73), E(EMULTIHOP, 74), E(EBADMSG, 77), E(ENAMETOOLONG, 78), E(EOVERFLOW, 79), E(ENOTUNIQ, 80),
    E(EBADFD, 81), E(EREMCHG, 82), E(ELIBACC, 83), E(ELIBBAD, 84), E(ELIBSCN, 85), E(ELIBMAX, 86), E(ELIBEXEC, 87),
    E(EILSEQ, 88), E(ENOSYS, 89), E(ELOOP, 90), E(ERESTART, 91), E(ESTRPIPE, 92), E(ENOTEMPTY, 93), E(EUSERS, 94),
    E(ENOTSOCK, 95), E(EDESTADDRREQ, 96), E(EMSGSIZE, 97), E(EPROTOTYPE, 98), E(ENOPROTOOPT, 99),
    E(EPROTONOSUPPORT, 120), E(ESOCKTNOSUPPORT, 121), E(EOPNOTSUPP, 122), E(EPFNOSUPPORT, 123), E(EAFNOSUPPORT, 124),
    E(EADDRINUSE, 125), E(EADDRNOTAVAIL, 126), E(ENETDOWN, 127), E(ENETUNREACH, 128), E(ENETRESET, 129),
    E(ECONNABORTED, 130), E(ECONNRESET, 131), E(ENOBUFS, 132), E(EISCONN, 133), E(ENOTCONN, 134), E(EUCLEAN, 135),
    E(ENOTNAM, 137), E(ENAVAIL, 138), E(EISNAM, 139), E(EREMOTEIO, 140), E(ESHUTDOWN, 143), E(ETOOMANYREFS, 144),
    E(ETIMEDOUT, 145), E(ECONNREFUSED, 146), E(EHOSTDOWN, 147), E(EHOSTUNREACH, 148), E(EALREADY, 149),
    E(EINPROGRESS, 150), E(ESTALE, 151), E(ECANCELED, 158), E(ENOMEDIUM, 159), E(EMEDIUMTYPE, 160), E(ENOKEY, 161),
    E(EKEYEXPIRED, 162), E(EKEYREVOKED, 163), E(EKEYREJECTED, 164), E(EOWNERDEAD, 165), E(ENOTRECOVERABLE, 166),
    E(ERFKILL, 167), E(EHWPOISON, 168), E(EDQUOT, 1133),
};
#undef E
#define ERROR_ROWS (sizeof error_rows / sizeof *error_rows)

static const struct error_row *find_error(int host_errno)
{
    for (size_t row = 0; row < ERROR_ROWS; row++)
        if (error_rows[row].host == host_errno)
            return &error_rows[row];
    return NULL;
}

int mr_errno_to_mips(int host_errno)
{
    const struct error_row *row = find_error(host_errno);
    return row ? row->mips : host_errno;
}

const char *mr_errno_name(int host_errno)
{
    const struct error_row *row = find_error(host_errno);
    return row ? row->name : "E?";
}

/* ---- signals ---- */

#ifndef SIGSTKFLT /* what MIPS calls SIGEMT; some hosts have that instead */
#define SIGSTKFLT SIGEMT
#endif
#define FIRST_REALTIME 32
#define LAST_HOST_REALTIME 64

struct signal_row {
    int host;
    const char *name;
};
static const struct signal_row signal_rows[FIRST_REALTIME] = {
    [1] = {SIGHUP, "SIGHUP"},      [2] = {SIGINT, "SIGINT"},        [3] = {SIGQUIT, "SIGQUIT"},
    [4] = {SIGILL, "SIGILL"},      [5] = {SIGTRAP, "SIGTRAP"},      [6] = {SIGABRT, "SIGABRT"},
    [7] = {SIGSTKFLT, "SIGEMT"},   [8] = {SIGFPE, "SIGFPE"},        [9] = {SIGKILL, "SIGKILL"},
    [10] = {SIGBUS, "SIGBUS"},     [11] = {SIGSEGV, "SIGSEGV"},     [12] = {SIGSYS, "SIGSYS"},
    [13] = {SIGPIPE, "SIGPIPE"},   [14] = {SIGALRM, "SIGALRM"},     [15] = {SIGTERM, "SIGTERM"},
    [16] = {SIGUSR1, "SIGUSR1"},   [17] = {SIGUSR2, "SIGUSR2"},     [18] = {SIGCHLD, "SIGCHLD"},
    [19] = {SIGPWR, "SIGPWR"},     [20] = {SIGWINCH, "SIGWINCH"},   [21] = {SIGURG, "SIGURG"},
    [22] = {SIGIO, "SIGIO"},       [23] = {SIGSTOP, "SIGSTOP"},     [24] = {SIGTSTP, "SIGTSTP"},
    [25] = {SIGCONT, "SIGCONT"},   [26] = {SIGTTIN, "SIGTTIN"},     [27] = {SIGTTOU, "SIGTTOU"},
    [28] = {SIGVTALRM, "SIGVTALRM"}, [29] = {SIGPROF, "SIGPROF"},   [30] = {SIGXCPU, "SIGXCPU"},
    [31] = {SIGXFSZ, "SIGXFSZ"},
};

int mr_signal_to_host(int mips_signal)
{
    if (mips_signal <= 0 || mips_signal > LAST_HOST_REALTIME)
        return 0;
    return mips_signal < FIRST_REALTIME ? signal_rows[mips_signal].host : mips_signal;
}

int mr_signal_to_mips(int host_signal)
{
    if (host_signal >= FIRST_REALTIME && host_signal <= LAST_HOST_REALTIME)
        return host_signal;
    for (int mips = 1; mips < FIRST_REALTIME; mips++)
        if (signal_rows[mips].host == host_signal)
            return mips;
    return 0;
}

const char *mr_signal_name(int mips_signal)
{
    return mips_signal > 0 && mips_signal < FIRST_REALTIME ? signal_rows[mips_signal].name : NULL;
}

int mr_wait_status_to_mips(int host_status)
{
    if (WIFSTOPPED(host_status)) /* the bits above are those of ptrace events */
        return (host_status & ~0xff00) | mr_signal_to_mips(WSTOPSIG(host_status)) << 8;
    if (WIFSIGNALED(host_status))
        return (host_status & ~0x7f) | mr_signal_to_mips(WTERMSIG(host_status));
    return host_status;
}

/* ---- bits ---- */

uint32_t mr_bits_to_host(const struct mr_bit *table, uint32_t mips)
{
    uint32_t host = 0;
    for (; table->name; table++)
        if ((mips & table->mips) == table->mips)
            host |= table->host;
    return host;
}

uint32_t mr_bits_to_mips(const struct mr_bit *table, uint32_t host)
{
    uint32_t mips = 0;
    for (; table->name; table++)
        if (table->host && (host & table->host) == table->host)
            mips |= table->mips;
    return mips;
}

/* A value with several bits (O_SYNC, O_TMPFILE) stands before those it contains. */
const struct mr_bit mr_open_bits[] = {
    {0x4010, O_SYNC, "O_SYNC"},
    {0x410000, O_TMPFILE, "O_TMPFILE"},
    {0x8, O_APPEND, "O_APPEND"},
    {0x10, O_DSYNC, "O_DSYNC"},
    {0x80, O_NONBLOCK, "O_NONBLOCK"},
    {0x100, O_CREAT, "O_CREAT"},
    {0x200, O_TRUNC, "O_TRUNC"},
    {0x400, O_EXCL, "O_EXCL"},
    {0x800, O_NOCTTY, "O_NOCTTY"},
    {0x1000, O_ASYNC, "FASYNC"},
    {0x2000, MR_HOST_LARGEFILE, "O_LARGEFILE"}, /* libc calls it 0 while F_GETFL shows it */
    {0x8000, O_DIRECT, "O_DIRECT"},
    {0x10000, O_DIRECTORY, "O_DIRECTORY"},
    {0x20000, O_NOFOLLOW, "O_NOFOLLOW"},
    {0x40000, O_NOATIME, "O_NOATIME"},
    {0x80000, O_CLOEXEC, "O_CLOEXEC"},
    {0x200000, O_PATH, "O_PATH"},
    {0, 0, NULL},
};

int mr_open_flags_to_host(uint32_t mips)
{
    return (int)(mr_bits_to_host(mr_open_bits, mips) | (mips & O_ACCMODE));
}

uint32_t mr_open_flags_to_mips(int host)
{
    return mr_bits_to_mips(mr_open_bits, (uint32_t)host) | ((uint32_t)host & O_ACCMODE);
}

/* ---- times ---- */

static int get_pair(uint32_t guest, enum mr_time_width width, int64_t pair[2])
{
    const uint8_t *from = mr_guest_bytes(guest, 2 * (uint32_t)width, MR_READ);
    if (!from)
        return -EFAULT;
    for (int i = 0; i < 2; i++, from += width)
        pair[i] = width == MR_TIME64 ? (int64_t)mr_get64(from) : (int32_t)mr_get32(from);
    return 0;
}

static int put_pair(uint32_t guest, enum mr_time_width width, int64_t first, int64_t second)
{
    uint8_t *to = mr_guest_bytes(guest, 2 * (uint32_t)width, MR_WRITE);
    if (!to)
        return -EFAULT;
    if (width == MR_TIME64) {
        mr_put64(to, (uint64_t)first);
        mr_put64(to + 8, (uint64_t)second);
    } else {
        mr_put32(to, (uint32_t)first);
        mr_put32(to + 4, (uint32_t)second);
    }
    return 0;
}

int mr_get_timespec(uint32_t guest, enum mr_time_width width, struct timespec *time)
{
    int64_t pair[2];
    if (get_pair(guest, width, pair))
        return -EFAULT;
    *time = (struct timespec){pair[0], (int32_t)pair[1]}; /* a 32-bit kernel keeps nanoseconds in a long */
    return 0;
}

int mr_put_timespec(uint32_t guest, enum mr_time_width width, const struct timespec *time)
{
    return put_pair(guest, width, time->tv_sec, time->tv_nsec);
}

int mr_get_timeval(uint32_t guest, struct timeval *time)
{
    int64_t pair[2];
    if (get_pair(guest, MR_TIME32, pair))
        return -EFAULT;
    *time = (struct timeval){pair[0], pair[1]};
    return 0;
}

int mr_put_timeval(uint32_t guest, const struct timeval *time)
{
    return put_pair(guest, MR_TIME32, time->tv_sec, time->tv_usec);
}

int mr_put_rusage(uint32_t guest, const struct rusage *usage)
{
    const long counts[] = {
        usage->ru_maxrss, usage->ru_ixrss,   usage->ru_idrss,  usage->ru_isrss,  usage->ru_minflt,
        usage->ru_majflt, usage->ru_nswap,   usage->ru_inblock, usage->ru_oublock, usage->ru_msgsnd,
        usage->ru_msgrcv, usage->ru_nsignals, usage->ru_nvcsw, usage->ru_nivcsw,
    };
    const uint32_t count = sizeof counts / sizeof *counts;
    uint8_t *to = mr_guest_bytes(guest, 16 + 4 * count, MR_WRITE);
    if (!to)
        return -EFAULT;
    mr_put_timeval(guest, &usage->ru_utime);
    mr_put_timeval(guest + 8, &usage->ru_stime);
    for (uint32_t i = 0; i < count; i++)
        mr_put32(to + 16 + 4 * i, (uint32_t)counts[i]);
    return 0;
}
