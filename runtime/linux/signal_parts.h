/* What the files of the guest's signals share. */
#ifndef MR_LINUX_SIGNAL_PARTS_H
#define MR_LINUX_SIGNAL_PARTS_H

#include "linux/signals.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#define MR_HOST_SET_BYTES 8 /* of the kernel's sigset_t */

struct mr_signal_set mr_signal_set_from_host(uint64_t host);
struct mr_signal_set mr_signals_unblocked(void); /* of this thread */

/* ---- signal_queue.c ---- */
/* Called with host signals blocked. A signal that is no real-time one waits once. Returns whether it is one more that waits. */
bool mr_signal_append(const struct mr_signal_info *info);
/* The lowest queued one that is wanted, or 0; in a thread that blocks host signals, or does not mind more. */
int mr_signal_find_queued(const struct mr_signal_set *wanted);

/* ---- signal_carrier.c: packets, each of which carries a signal ---- */
enum { MR_PACKET_OF_THREAD = 0x200 }; /* a flag */
void mr_packet_make(siginfo_t *packet, const struct mr_signal_info *info, int flags);
int64_t mr_packet_to_thread(pid_t process, pid_t thread, const siginfo_t *packet); /* 0 or -errno */
int64_t mr_packet_to_process(pid_t process, const siginfo_t *packet);

/* ---- signal_host.c ---- */
enum { MR_FIRST_RESERVED = 32, MR_LAST_RESERVED = 33 }; /* those that the host's libc keeps for itself */
static inline bool mr_signal_is_reserved(int mips_signal)
{
    return mips_signal == MR_FIRST_RESERVED || mips_signal == MR_LAST_RESERVED;
}
void mr_signal_mirror(int mips_signal, const struct mr_signal_action *action); /* under mr_lock */

/* ---- signal_state.c ---- */
bool mr_signal_ignored_by_default(int mips_signal);

#endif
