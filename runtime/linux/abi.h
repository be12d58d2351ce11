/* Numbers and structures that o32 and the host see differently. All guest addresses are checked; functions that touch guest
 * memory return 0 or -EFAULT unless they say otherwise.
 */
#ifndef MR_ABI_H
#define MR_ABI_H

#include <stdint.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <time.h>

/* ---- numbers ---- */
int mr_errno_to_mips(int host_errno);
const char *mr_errno_name(int host_errno);

#define MR_SIGNAL_COUNT 128 /* MIPS signals are 1 to 128; 128 itself is not used by any program */
int mr_signal_to_host(int mips_signal); /* 0: the host has none */
int mr_signal_to_mips(int host_signal); /* 0: the guest has none */
const char *mr_signal_name(int mips_signal); /* NULL for a real-time signal */
int mr_wait_status_to_mips(int host_status);

/* Bits that mean the same under different values. */
struct mr_bit {
    uint32_t mips, host;
    const char *name;
};
uint32_t mr_bits_to_host(const struct mr_bit *table, uint32_t mips); /* the table ends with a null name; others drop out */
uint32_t mr_bits_to_mips(const struct mr_bit *table, uint32_t host);
extern const struct mr_bit mr_open_bits[]; /* without the access mode */
int mr_open_flags_to_host(uint32_t mips);
uint32_t mr_open_flags_to_mips(int host);

/* ---- times in guest memory ---- */
enum mr_time_width { MR_TIME32 = 4, MR_TIME64 = 8 }; /* bytes of each of the two members */
int mr_get_timespec(uint32_t guest, enum mr_time_width width, struct timespec *time);
int mr_put_timespec(uint32_t guest, enum mr_time_width width, const struct timespec *time);
int mr_get_timeval(uint32_t guest, struct timeval *time);
int mr_put_timeval(uint32_t guest, const struct timeval *time);
int mr_put_rusage(uint32_t guest, const struct rusage *usage);

/* ---- timer_numbers.c: numbers of POSIX timers ---- */
struct sigevent;
int mr_timer_to_guest(int host); /* the guest's number of a timer; for handlers of signals, too */
int mr_timer_to_host(int guest); /* the host's; -1, which is none: the guest has no such timer */
/* Where the guest has numbers of its own: makes a timer, and puts its number into *number; 0 or -errno. */
int mr_timer_make_numbered(int clock, const struct sigevent *given, int *number);
void mr_timer_forget(int host);
void mr_timers_forked(void); /* in the child, which has none */

#endif
