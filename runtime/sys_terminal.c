/* ioctl: those of terminals, and a few on any descriptor. Numbers and structures: asm/ioctls.h, asm/termbits.h of MIPS. */
#include "linux/calls/socket.h"
#include "syscall.h"

#include <asm/termbits.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* ---- struct termios ---- */

#define TERMIOS_BYTES 40u
enum { OFFSET_INPUT = 0, OFFSET_OUTPUT = 4, OFFSET_CONTROL = 8, OFFSET_LOCAL = 12, OFFSET_LINE = 16, OFFSET_CC = 17 };

/* Local flags; those of input, output and control have the same values everywhere. */
static const struct mr_bit local_bits[] = {
    {0x1, ISIG, "ISIG"},       {0x2, ICANON, "ICANON"},     {0x4, XCASE, "XCASE"},        {0x8, ECHO, "ECHO"},
    {0x10, ECHOE, "ECHOE"},    {0x20, ECHOK, "ECHOK"},      {0x40, ECHONL, "ECHONL"},     {0x80, NOFLSH, "NOFLSH"},
    {0x100, IEXTEN, "IEXTEN"}, {0x200, ECHOCTL, "ECHOCTL"}, {0x400, ECHOPRT, "ECHOPRT"},  {0x800, ECHOKE, "ECHOKE"},
    {0x2000, FLUSHO, "FLUSHO"}, {0x4000, PENDIN, "PENDIN"}, {0x8000, TOSTOP, "TOSTOP"},   {0x10000, EXTPROC, "EXTPROC"},
    {0, 0, NULL},
};

/* The host's index of each control character, by the guest's; -1: nothing. */
#define GUEST_CC_COUNT 23
static const int8_t cc_to_host[GUEST_CC_COUNT] = {
    VINTR,  VQUIT, VERASE,   VKILL,    VMIN,    VTIME,  VEOL2, VSWTC, VSTART, VSTOP, VSUSP, -1,
    VREPRINT, VDISCARD, VWERASE, VLNEXT, VEOF, VEOL, -1, -1, -1, -1, -1,
};

static void get_termios(const uint8_t *from, struct termios *to)
{
    to->c_iflag = mr_get32(from + OFFSET_INPUT);
    to->c_oflag = mr_get32(from + OFFSET_OUTPUT);
    to->c_cflag = mr_get32(from + OFFSET_CONTROL);
    to->c_lflag = mr_bits_to_host(local_bits, mr_get32(from + OFFSET_LOCAL));
    to->c_line = from[OFFSET_LINE];
    for (int n = 0; n < GUEST_CC_COUNT; n++)
        if (cc_to_host[n] >= 0)
            to->c_cc[cc_to_host[n]] = from[OFFSET_CC + n];
}

static void put_termios(uint8_t *to, const struct termios *from)
{
    memset(to, 0, TERMIOS_BYTES);
    mr_put32(to + OFFSET_INPUT, from->c_iflag);
    mr_put32(to + OFFSET_OUTPUT, from->c_oflag);
    mr_put32(to + OFFSET_CONTROL, from->c_cflag);
    mr_put32(to + OFFSET_LOCAL, mr_bits_to_mips(local_bits, from->c_lflag));
    to[OFFSET_LINE] = from->c_line;
    for (int n = 0; n < GUEST_CC_COUNT; n++)
        if (cc_to_host[n] >= 0)
            to[OFFSET_CC + n] = from->c_cc[cc_to_host[n]];
}

/* ---- the table ---- */

enum argument { NOTHING, VALUE, INT_IN, INT_OUT, WIDE_OUT, WINDOW_IN, WINDOW_OUT, TERMIOS_IN, TERMIOS_OUT };

static const struct request {
    uint32_t mips;
    unsigned long host;
    enum argument argument;
} requests[] = {
    {0x540d, TCGETS, TERMIOS_OUT},
    {0x540e, TCSETS, TERMIOS_IN},
    {0x540f, TCSETSW, TERMIOS_IN},
    {0x5410, TCSETSF, TERMIOS_IN},
    {0x5405, TCSBRK, VALUE},
    {0x5406, TCXONC, VALUE},
    {0x5407, TCFLSH, VALUE},
    {0x5486, TCSBRKP, VALUE},
    {0x40087468, TIOCGWINSZ, WINDOW_OUT},
    {0x80087467, TIOCSWINSZ, WINDOW_IN},
    {0x40047477, TIOCGPGRP, INT_OUT},
    {0x80047476, TIOCSPGRP, INT_IN},
    {0x7416, TIOCGSID, INT_OUT},
    {0x5480, TIOCSCTTY, VALUE},
    {0x5471, TIOCNOTTY, NOTHING},
    {0x740d, TIOCEXCL, NOTHING},
    {0x740e, TIOCNXCL, NOTHING},
    {0x5427, TIOCSBRK, NOTHING},
    {0x5428, TIOCCBRK, NOTHING},
    {0x7472, TIOCOUTQ, INT_OUT},
    {0x467f, FIONREAD, INT_OUT},
    {0x741d, TIOCMGET, INT_OUT},
    {0x741a, TIOCMSET, INT_IN},
    {0x741b, TIOCMBIS, INT_IN},
    {0x741c, TIOCMBIC, INT_IN},
    {0x7400, TIOCGETD, INT_OUT},
    {0x7401, TIOCSETD, INT_IN},
    {0x5470, TIOCPKT, INT_IN},
    {0x40045430, TIOCGPTN, INT_OUT},
    {0x80045431, TIOCSPTLCK, INT_IN},
    {0x40045439, TIOCGPTLCK, INT_OUT},
    {0x20005441, TIOCGPTPEER, VALUE},
    {0x667e, FIONBIO, INT_IN},
    {0x667d, FIOASYNC, INT_IN},
    {0x6601, FIOCLEX, NOTHING},
    {0x6602, FIONCLEX, NOTHING},
    {0x667f, FIOQSIZE, WIDE_OUT},
    {0x80049409, 0x40049409, VALUE}, /* FICLONE */
    {0x40046601, 0x80086601, INT_OUT}, /* FS_IOC_GETFLAGS */
    {0x80046602, 0x40086602, INT_IN},  /* FS_IOC_SETFLAGS */
    {0x20001260, 0x1260, INT_OUT},     /* BLKGETSIZE */
    {0x20001268, 0x1268, INT_OUT},     /* BLKSSZGET */
    {0x40041272, 0x80081272, WIDE_OUT}, /* BLKGETSIZE64 */
};

static const struct request *find_request(uint32_t mips)
{
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        if (requests[i].mips == mips)
            return &requests[i];
    return NULL;
}

/* ---- the call ---- */

static int64_t ioctl_window(int fd, const struct request *request, uint32_t guest)
{
    struct winsize window;
    uint16_t *members[] = {&window.ws_row, &window.ws_col, &window.ws_xpixel, &window.ws_ypixel};
    bool in = request->argument == WINDOW_IN;
    uint8_t *at = mr_guest_bytes(guest, 8, in ? MR_READ : MR_WRITE);
    if (in && !at)
        return -EFAULT;
    for (int i = 0; in && i < 4; i++)
        *members[i] = mr_get16(at + 2 * i);
    if (ioctl(fd, request->host, &window))
        return -errno;
    if (!at)
        return -EFAULT;
    for (int i = 0; !in && i < 4; i++)
        mr_put16(at + 2 * i, *members[i]);
    return 0;
}

static int64_t ioctl_termios(int fd, const struct request *request, uint32_t guest)
{
    struct termios terminal;
    if (ioctl(fd, TCGETS, &terminal)) /* for setting, too: what the guest's structure does not have stays as it is */
        return -errno;
    bool in = request->argument == TERMIOS_IN;
    uint8_t *at = mr_guest_bytes(guest, TERMIOS_BYTES, in ? MR_READ : MR_WRITE);
    if (!at)
        return -EFAULT;
    if (!in) {
        put_termios(at, &terminal);
        return 0;
    }
    get_termios(at, &terminal);
    return mr_result(ioctl(fd, request->host, &terminal));
}

static int64_t ioctl_number(int fd, const struct request *request, uint32_t guest)
{
    int64_t value = 0; /* room for those that write a long */
    uint32_t word;
    if (request->argument == INT_IN) {
        if (mr_read32(guest, &word))
            return -EFAULT;
        int in[2] = {(int)word, 0};
        return mr_result(ioctl(fd, request->host, in));
    }
    if (ioctl(fd, request->host, &value))
        return -errno;
    if (request->argument == WIDE_OUT)
        return mr_write64(guest, (uint64_t)value);
    memcpy(&word, &value, sizeof word); /* most write an int */
    return mr_write32(guest, word);
}

SYSCALL(4054, ioctl, "dxx")
{
    int64_t result;
    if (mr_ioctl_socket(FD(0), U32(1), U32(2), &result))
        return result;
    const struct request *request = find_request(U32(1));
    if (!request) {
        struct termios ignored;
        return ioctl(FD(0), TCGETS, &ignored) && errno == EBADF ? -EBADF : -ENOTTY;
    }
    switch (request->argument) {
    case NOTHING: return mr_result(ioctl(FD(0), request->host, 0));
    case VALUE: return mr_result(ioctl(FD(0), request->host, (unsigned long)U32(2)));
    case WINDOW_IN:
    case WINDOW_OUT: return ioctl_window(FD(0), request, U32(2));
    case TERMIOS_IN:
    case TERMIOS_OUT: return ioctl_termios(FD(0), request, U32(2));
    default: return ioctl_number(FD(0), request, U32(2));
    }
}
