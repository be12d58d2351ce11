/* ioctl of terminals whose structures or values differ: attributes, modem lines, modes of consoles.
 * Facts: asm/termbits.h and asm/termios.h of MIPS. */
#include "linux/abi.h"
#include "linux/calls/ioctl.h"
#include "linux/calls/layout.h"
#include "linux/host_call.h"
#include "memory/values.h"

#include <asm/termbits.h>
#include <errno.h>
#include <linux/vt.h>
#include <string.h>
#include <sys/ioctl.h>

/* ---- attributes ---- */

/* struct termios: four words of flags, line discipline, control characters. struct termios2 has two speeds after it. */
#define TERMIOS_BYTES 40u
#define TERMIOS2_BYTES 48u
#define TERMIO_BYTES 17u /* struct termio: the same with flags of 16 bits; the kernel uses 8 of its characters */
enum { OFFSET_INPUT = 0, OFFSET_OUTPUT = 4, OFFSET_CONTROL = 8, OFFSET_LOCAL = 12, OFFSET_LINE = 16, OFFSET_CC = 17 };
enum { OFFSET_INPUT_SPEED = 40, OFFSET_OUTPUT_SPEED = 44 };
enum { TERMIO_LINE = 8, TERMIO_CC = 9, TERMIO_CC_COUNT = 8 };

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

static void get_characters(const uint8_t *from, int count, cc_t *to)
{
    for (int n = 0; n < count; n++)
        if (cc_to_host[n] >= 0)
            to[cc_to_host[n]] = from[n];
}

static void put_characters(uint8_t *to, int count, const cc_t *from)
{
    for (int n = 0; n < count; n++)
        if (cc_to_host[n] >= 0)
            to[n] = from[cc_to_host[n]];
}

static void get_termios(const uint8_t *from, struct termios2 *to)
{
    to->c_iflag = mr_get32(from + OFFSET_INPUT);
    to->c_oflag = mr_get32(from + OFFSET_OUTPUT);
    to->c_cflag = mr_get32(from + OFFSET_CONTROL);
    to->c_lflag = mr_bits_to_host(local_bits, mr_get32(from + OFFSET_LOCAL));
    to->c_line = from[OFFSET_LINE];
    get_characters(from + OFFSET_CC, GUEST_CC_COUNT, to->c_cc);
}

static void put_termios(uint8_t *to, const struct termios2 *from)
{
    memset(to, 0, TERMIOS_BYTES);
    mr_put32(to + OFFSET_INPUT, from->c_iflag);
    mr_put32(to + OFFSET_OUTPUT, from->c_oflag);
    mr_put32(to + OFFSET_CONTROL, from->c_cflag);
    mr_put32(to + OFFSET_LOCAL, mr_bits_to_mips(local_bits, from->c_lflag));
    to[OFFSET_LINE] = from->c_line;
    put_characters(to + OFFSET_CC, GUEST_CC_COUNT, from->c_cc);
}

static void get_speeds(const uint8_t *from, struct termios2 *to)
{
    get_termios(from, to);
    to->c_ispeed = mr_get32(from + OFFSET_INPUT_SPEED);
    to->c_ospeed = mr_get32(from + OFFSET_OUTPUT_SPEED);
}

static void put_speeds(uint8_t *to, const struct termios2 *from)
{
    put_termios(to, from);
    mr_put32(to + OFFSET_INPUT_SPEED, from->c_ispeed);
    mr_put32(to + OFFSET_OUTPUT_SPEED, from->c_ospeed);
}

/* What the old structure has no room for stays as it is. */
static void get_termio(const uint8_t *from, struct termios2 *to)
{
    tcflag_t *const flags[] = {&to->c_iflag, &to->c_oflag, &to->c_cflag, &to->c_lflag};
    uint32_t local = mr_bits_to_mips(local_bits, to->c_lflag);
    for (int i = 0; i < 3; i++)
        *flags[i] = (*flags[i] & 0xffff0000u) | mr_get16(from + 2 * i);
    to->c_lflag = mr_bits_to_host(local_bits, (local & 0xffff0000u) | mr_get16(from + 6));
    to->c_line = from[TERMIO_LINE];
    get_characters(from + TERMIO_CC, TERMIO_CC_COUNT, to->c_cc);
}

static void put_termio(uint8_t *to, const struct termios2 *from)
{
    memset(to, 0, TERMIO_BYTES);
    mr_put16(to, (uint16_t)from->c_iflag);
    mr_put16(to + 2, (uint16_t)from->c_oflag);
    mr_put16(to + 4, (uint16_t)from->c_cflag);
    mr_put16(to + 6, (uint16_t)mr_bits_to_mips(local_bits, from->c_lflag));
    to[TERMIO_LINE] = from->c_line;
    put_characters(to + TERMIO_CC, TERMIO_CC_COUNT, from->c_cc);
}

struct attributes {
    uint32_t size_bytes;
    void (*get)(const uint8_t *, struct termios2 *);
    void (*put)(uint8_t *, const struct termios2 *);
};

/* A row that gives attributes has the host's number of TCGETS2. The others have that of a call that sets the same. */
static int64_t attributes(int fd, const struct mr_ioctl_row *row, uint32_t argument, const struct attributes *kind)
{
    struct termios2 terminal;
    int64_t error = mr_ioctl_host(fd, TCGETS2, MR_HOST(&terminal)); /* for setting, too: for what the guest does not say */
    if (error)
        return error;
    bool tells = row->host == TCGETS2;
    uint8_t *at = mr_guest_bytes(argument, kind->size_bytes, tells ? MR_WRITE : MR_READ);
    if (!at)
        return -EFAULT;
    if (!tells) {
        kind->get(at, &terminal);
        return mr_ioctl_host(fd, row->host, MR_HOST(&terminal));
    }
    kind->put(at, &terminal);
    return 0;
}

int64_t mr_ioctl_termios(int fd, const struct mr_ioctl_row *row, uint32_t argument)
{
    return attributes(fd, row, argument, &(const struct attributes){TERMIOS_BYTES, get_termios, put_termios});
}

int64_t mr_ioctl_termios2(int fd, const struct mr_ioctl_row *row, uint32_t argument)
{
    return attributes(fd, row, argument, &(const struct attributes){TERMIOS2_BYTES, get_speeds, put_speeds});
}

int64_t mr_ioctl_termio(int fd, const struct mr_ioctl_row *row, uint32_t argument)
{
    return attributes(fd, row, argument, &(const struct attributes){TERMIO_BYTES, get_termio, put_termio});
}

/* ---- modem lines ---- */

static const struct mr_bit modem_bits[] = {
    {0x1, 0x1, "LE"},     {0x2, 0x2, "DTR"},   {0x4, 0x4, "RTS"},    {0x10, 0x8, "ST"},       {0x20, 0x10, "SR"},
    {0x40, 0x20, "CTS"},  {0x100, 0x40, "CAR"}, {0x200, 0x80, "RNG"}, {0x400, 0x100, "DSR"},   {0x2000, 0x2000, "OUT1"},
    {0x4000, 0x4000, "OUT2"}, {0x8000, 0x8000, "LOOP"}, {0, 0, NULL},
};

int64_t mr_ioctl_modem(int fd, const struct mr_ioctl_row *row, uint32_t argument)
{
    uint32_t bits = 0, guest_bits;
    if (row->host != TIOCMGET) {
        if (mr_read32(argument, &guest_bits))
            return -EFAULT;
        bits = mr_bits_to_host(modem_bits, guest_bits);
    }
    int64_t error = mr_ioctl_host(fd, row->host, MR_HOST(&bits));
    if (error || row->host != TIOCMGET)
        return error;
    return mr_write32(argument, mr_bits_to_mips(modem_bits, bits));
}

int64_t mr_ioctl_modem_wait(int fd, const struct mr_ioctl_row *row, uint32_t argument)
{
    return mr_ioctl_host(fd, row->host, mr_bits_to_host(modem_bits, argument));
}

/* ---- values that have other numbers ---- */

int64_t mr_ioctl_open_flags(int fd, const struct mr_ioctl_row *row, uint32_t argument)
{
    return mr_ioctl_host(fd, row->host, (uint32_t)mr_open_flags_to_host(argument));
}

int64_t mr_ioctl_signal(int fd, const struct mr_ioctl_row *row, uint32_t argument)
{
    int host_signal = mr_signal_to_host((int)argument);
    return host_signal ? mr_ioctl_host(fd, row->host, (uint64_t)host_signal) : -EINVAL;
}

/* struct vt_mode: mode, whether to wait, and three signals. */
int64_t mr_ioctl_console_mode(int fd, const struct mr_ioctl_row *row, uint32_t argument)
{
    struct vt_mode mode = {0};
    short *const signals[] = {&mode.relsig, &mode.acqsig, &mode.frsig};
    bool set = row->host == VT_SETMODE;
    if (set && mr_get_struct("2b3h", argument, &mode))
        return -EFAULT;
    for (int i = 0; set && i < 3; i++)
        *signals[i] = (short)mr_signal_to_host(*signals[i]);
    int64_t error = mr_ioctl_host(fd, row->host, MR_HOST(&mode));
    if (error || set)
        return error;
    for (int i = 0; i < 3; i++)
        *signals[i] = (short)mr_signal_to_mips(*signals[i]);
    return mr_put_struct("2b3h", argument, &mode);
}
