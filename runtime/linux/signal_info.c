/* siginfo_t: the guest's of 32 bits, and the host's of 64; and struct sigevent, which says what a siginfo_t will hold.
 *
 * The host's kernel tells its own by si_code and number, as siginfo_layout of kernel/signal.c does. What a guest makes up and
 * sends to itself may have any code and any words, and comes back as they were: it travels under a code of this host's own.
 */
#include "linux/abi.h"
#include "linux/signals.h"
#include "memory/values.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>

int mr_signal_code_to_mips(int code)
{
    return code == SI_TIMER ? -3 : code == SI_MESGQ ? -4 : code == SI_ASYNCIO ? -2 : code;
}

int mr_signal_code_to_host(int code)
{
    return code == -3 ? SI_TIMER : code == -4 ? SI_MESGQ : code == -2 ? SI_ASYNCIO : code;
}

/* ---- what a guest sends to itself ---- */

/* Negative, since others are for the kernel alone; what a signalfd shows of it is where it is in any other. */
#define RAW_CODE (-0x4d53)

struct raw { /* the 48 bytes of kernel_siginfo */
    int32_t signal, code_of_guest, raw_code, padding; /* si_errno is second */
    uint32_t words[5], error;
};
_Static_assert(sizeof(struct raw) <= 48, "more would be lost");

/* Codes that mean something to hosts, of which this is one: what a guest says so must not. */
static bool is_hosts(int code)
{
    return code >= -0x4d5f && code <= -0x4d50;
}

static void make_raw(siginfo_t *to, int host_signal, const struct mr_signal_info *info)
{
    struct raw raw = {host_signal, info->code, RAW_CODE, 0, {0}, (uint32_t)info->error};
    memcpy(raw.words, info->words, sizeof raw.words);
    memcpy(to, &raw, sizeof raw);
}

static void take_raw(const siginfo_t *from, struct mr_signal_info *info)
{
    struct raw raw;
    memcpy(&raw, from, sizeof raw);
    info->code = raw.code_of_guest;
    info->error = (int)raw.error;
    memcpy(info->words, raw.words, sizeof raw.words);
}

bool mr_signal_raw_code(int host_code, int host_error, int *code)
{
    if (host_code == RAW_CODE)
        *code = host_error;
    return host_code == RAW_CODE;
}

int mr_get_signal_info(uint32_t guest, struct mr_signal_info *info)
{
    const uint8_t *from = mr_guest_bytes(guest, MR_SIGINFO_BYTES, MR_READ);
    if (!from)
        return -EFAULT;
    *info = (struct mr_signal_info){(int)mr_get32(from), (int)mr_get32(from + 4), (int)mr_get32(from + 8), {0}, false};
    for (int i = 0; i < 5; i++)
        info->words[i] = mr_get32(from + 12 + 4 * i);
    return 0;
}

void mr_signal_info_to_host(const struct mr_signal_info *info, bool to_self, void *host_siginfo)
{
    siginfo_t *to = host_siginfo;
    memset(to, 0, sizeof *to);
    bool ordinary = info->code == SI_QUEUE && !info->error && !info->words[3] && !info->words[4];
    if ((to_self && !ordinary) || is_hosts(info->code)) {
        make_raw(to, mr_signal_to_host(info->signal), info);
        return;
    }
    to->si_signo = mr_signal_to_host(info->signal);
    to->si_code = mr_signal_code_to_host(info->code);
    to->si_pid = (pid_t)info->words[0];
    to->si_uid = info->words[1];
    to->si_value.sival_int = (int)info->words[2];
}

/* ---- what the host's kernel sends ---- */

enum layout { OF_SENDER, OF_CHILD, OF_DESCRIPTOR, OF_TIMER, OF_KERNEL };

bool mr_signal_is_of_descriptor(int host_code, uint64_t band)
{
    static const uint64_t bands[] = { /* band_table of fs/fcntl.c, from POLL_IN on */
        POLLIN | POLLRDNORM, POLLOUT | POLLWRNORM | POLLWRBAND, POLLIN | POLLRDNORM | POLLMSG, POLLERR,
        POLLPRI | POLLRDBAND, POLLHUP | POLLERR,
    };
    for (int i = 0; i < POLL_HUP; i++)
        if (band == bands[i] && (host_code == POLL_IN + i || host_code == SI_SIGIO))
            return true;
    return false;
}

/* F_SETSIG and the exit signal of clone may choose any number, and have the same codes then: what a descriptor's state is
 * says which it is. */
static enum layout layout_of(const siginfo_t *from)
{
    if (from->si_code == SI_TIMER)
        return OF_TIMER;
    if (from->si_code == SI_KERNEL)
        return OF_KERNEL;
    if (from->si_signo != SIGCHLD || from->si_code == SI_SIGIO)
        if (mr_signal_is_of_descriptor(from->si_code, (uint64_t)from->si_band))
            return OF_DESCRIPTOR;
    return from->si_code >= CLD_EXITED && from->si_code <= CLD_CONTINUED ? OF_CHILD : OF_SENDER;
}

void mr_signal_info_from_host(const void *host_siginfo, struct mr_signal_info *info)
{
    const siginfo_t *from = host_siginfo;
    enum layout layout = layout_of(from);
    *info = (struct mr_signal_info){mr_signal_to_mips(from->si_signo), mr_signal_code_to_mips(from->si_code), 0, {0}, false};
    if (from->si_code == RAW_CODE) {
        take_raw(from, info);
        return;
    }
    if (from->si_errno)
        info->error = mr_errno_to_mips(from->si_errno);
    if (layout == OF_KERNEL)
        return;
    info->words[0] = layout == OF_TIMER ? (uint32_t)mr_timer_to_guest(from->si_timerid) : (uint32_t)from->si_pid;
    info->words[1] = layout == OF_DESCRIPTOR ? (uint32_t)from->si_fd : (uint32_t)from->si_uid;
    if (layout == OF_CHILD) {
        info->words[2] = (uint32_t)(from->si_code == CLD_EXITED ? from->si_status : mr_signal_to_mips(from->si_status));
        info->words[3] = (uint32_t)from->si_utime;
        info->words[4] = (uint32_t)from->si_stime;
    } else if (layout != OF_DESCRIPTOR) {
        info->words[2] = (uint32_t)from->si_value.sival_int;
    }
}

/* ---- the guest's memory ---- */

void mr_signal_info_to_bytes(uint8_t *to, const struct mr_signal_info *info)
{
    memset(to, 0, MR_SIGINFO_BYTES);
    mr_put32(to, (uint32_t)info->signal);
    mr_put32(to + 4, (uint32_t)info->code); /* MIPS has code and errno the other way round */
    mr_put32(to + 8, (uint32_t)info->error);
    for (int i = 0; i < 5; i++)
        mr_put32(to + 12 + 4 * i, info->words[i]);
}

int mr_put_signal_info(uint32_t guest, const struct mr_signal_info *info)
{
    uint8_t *to = mr_guest_bytes(guest, MR_SIGINFO_BYTES, MR_WRITE);
    if (!to)
        return -EFAULT;
    mr_signal_info_to_bytes(to, info);
    return 0;
}

/* ---- struct sigevent (asm-generic/siginfo.h): how a timer or a message queue tells what has happened ---- */

enum { EVENT_VALUE = 0, EVENT_SIGNAL = 4, EVENT_NOTIFY = 8, EVENT_THREAD = 12, EVENT_BYTES = 64 };

int mr_get_signal_event(uint32_t guest, struct sigevent *event)
{
    const uint8_t *from = mr_guest_bytes(guest, EVENT_BYTES, MR_READ);
    if (!from)
        return -EFAULT;
    uint32_t value = mr_get32(from + EVENT_VALUE);
    int number = (int)mr_get32(from + EVENT_SIGNAL);
    memset(event, 0, sizeof *event);
    event->sigev_notify = (int)mr_get32(from + EVENT_NOTIFY);
    event->_sigev_un._tid = (pid_t)mr_get32(from + EVENT_THREAD);
    event->sigev_value.sival_ptr = mr_carried_value(0, value);
    event->sigev_signo = number;
    if (event->sigev_notify == SIGEV_NONE)
        return 0;
    if (mr_signal_is_carried(number) && number <= MR_SIGNAL_COUNT) {
        event->sigev_value.sival_ptr = mr_carried_value(number, value);
        event->sigev_signo = MR_CARRIER_SIGNAL;
    } else {
        event->sigev_signo = mr_signal_to_host(number);
    }
    return 0;
}

uint32_t mr_signal_event_word(uint32_t guest, bool of_value)
{
    uint32_t word = 0;
    mr_read32(guest + (of_value ? EVENT_VALUE : EVENT_SIGNAL), &word);
    return word;
}
