/* Sets of signals, and the queue of those that wait for a guest thread.
 *
 * Simplification: a queue holds QUEUE_LENGTH signals; a real-time signal beyond that is lost, as it is on a kernel at
 * RLIMIT_SIGPENDING.
 */
#include "linux/abi.h"
#include "linux/signal_parts.h"
#include "memory/values.h"
#include "run/upcalls.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define QUEUE_LENGTH 1024
#define FIRST_REALTIME 32

_Thread_local volatile uint32_t mr_signals_queued;
static _Thread_local struct mr_signal_info queue[QUEUE_LENGTH]; /* in order of arrival; changed with host signals blocked */

/* ---- sets ---- */

uint64_t mr_signal_set_to_host(const struct mr_signal_set *set)
{
    uint64_t host = 0;
    for (int mips = 1; mips <= 64; mips++) {
        int number = mr_signal_to_host(mips);
        if (mr_signal_in(set, mips) && number && !mr_signal_host_needs(number))
            host |= (uint64_t)1 << (number - 1);
    }
    return host;
}

struct mr_signal_set mr_signal_set_from_host(uint64_t host)
{
    struct mr_signal_set set = {{0, 0}};
    for (int number = 1; number <= 64; number++) {
        int mips = mr_signal_to_mips(number);
        if (host >> (number - 1) & 1 && mips)
            set.bits[(mips - 1) / 64] |= (uint64_t)1 << ((mips - 1) % 64);
    }
    return set;
}

int mr_get_signal_set(uint32_t guest, struct mr_signal_set *set)
{
    const uint8_t *from = mr_guest_bytes(guest, MR_SIGNAL_SET_BYTES, MR_READ);
    if (!from)
        return -EFAULT;
    for (int half = 0; half < 2; half++) /* an array of 32-bit words, in both byte orders */
        set->bits[half] = mr_get32(from + 8 * half) | (uint64_t)mr_get32(from + 8 * half + 4) << 32;
    return 0;
}

int mr_put_signal_set(uint32_t guest, const struct mr_signal_set *set)
{
    uint8_t *to = mr_guest_bytes(guest, MR_SIGNAL_SET_BYTES, MR_WRITE);
    if (!to)
        return -EFAULT;
    for (int half = 0; half < 2; half++) {
        mr_put32(to + 8 * half, (uint32_t)set->bits[half]);
        mr_put32(to + 8 * half + 4, (uint32_t)(set->bits[half] >> 32));
    }
    return 0;
}

/* ---- the queue ---- */

static bool is_queued(int mips_signal)
{
    for (uint32_t i = 0; i < mr_signals_queued; i++)
        if (queue[i].signal == mips_signal)
            return true;
    return false;
}

bool mr_signal_joins(struct mr_signal_info *waiting, const struct mr_signal_info *info)
{
    if (info->code != MIPS_SI_TIMER || waiting->code != MIPS_SI_TIMER || waiting->signal != info->signal ||
        waiting->words[0] != info->words[0])
        return false;
    waiting->words[1] += 1 + info->words[1];
    return true;
}

static bool joins_queued(const struct mr_signal_info *info)
{
    for (uint32_t i = 0; info->code == MIPS_SI_TIMER && i < mr_signals_queued; i++)
        if (mr_signal_joins(&queue[i], info))
            return true;
    return false;
}

bool mr_signal_append(const struct mr_signal_info *info)
{
    if (joins_queued(info))
        return false;
    if (mr_signals_queued == QUEUE_LENGTH || (info->signal < FIRST_REALTIME && is_queued(info->signal)))
        return false;
    queue[mr_signals_queued] = *info;
    mr_signals_queued++;
    if (mr_current != NULL)
        mr_current->signalled.value = 1;
    return true;
}

void mr_signal_queue(const struct mr_signal_info *info)
{
    uint64_t old = mr_signals_set_host_mask(MR_ALL_SIGNALS);
    mr_signal_append(info);
    mr_signals_set_host_mask(old);
}

/* Returns the position of the lowest signal that is wanted, or -1. */
static int find_wanted(const struct mr_signal_set *wanted)
{
    int found = -1;
    for (int i = 0; i < (int)mr_signals_queued; i++)
        if (mr_signal_in(wanted, queue[i].signal) && (found < 0 || queue[i].signal < queue[found].signal))
            found = i;
    return found;
}

int mr_signal_find_queued(const struct mr_signal_set *wanted)
{
    int found = find_wanted(wanted);
    return found < 0 ? 0 : queue[found].signal;
}

bool mr_signal_dequeue(struct mr_signal_set wanted, struct mr_signal_info *info)
{
    uint64_t old = mr_signals_set_host_mask(MR_ALL_SIGNALS);
    int found = find_wanted(&wanted);
    if (found >= 0) {
        *info = queue[found];
        mr_signals_queued--;
        memmove(&queue[found], &queue[found + 1], (mr_signals_queued - (uint32_t)found) * sizeof *queue);
    }
    mr_signals_set_host_mask(old);
    return found >= 0;
}

int mr_signal_lowest_queued(const struct mr_signal_set *wanted)
{
    uint64_t old = mr_signals_set_host_mask(MR_ALL_SIGNALS);
    int lowest = mr_signal_find_queued(wanted);
    mr_signals_set_host_mask(old);
    return lowest;
}

struct mr_signal_set mr_signals_pending(void)
{
    uint64_t host = 0;
    syscall(SYS_rt_sigpending, &host, MR_HOST_SET_BYTES);
    struct mr_signal_set set = mr_signal_set_from_host(host);
    for (uint32_t i = 0; i < mr_signals_queued; i++)
        set.bits[(queue[i].signal - 1) / 64] |= (uint64_t)1 << ((queue[i].signal - 1) % 64);
    mr_signals_add_waiting(&set);
    set.bits[0] &= mr_thread_signals.blocked.bits[0];
    set.bits[1] &= mr_thread_signals.blocked.bits[1];
    return set;
}
