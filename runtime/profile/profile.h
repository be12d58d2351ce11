/* Where a program spends its processor time, as samples: what the parts of the host tell profile.c, and what it needs of them.
 *
 * Everything here does nothing, or next to it, unless the host runs with --profile.
 */
#ifndef MR_PROFILE_H
#define MR_PROFILE_H

#include "base/host.h"

#include <signal.h>

/* A signal that comes when a thread has used a sampling period. Every signal of the host is one of the guest's, and this one
 * is its SIGEMT, which Linux never raises. One that is sent reaches the guest all the same. */
#define MR_SAMPLE_SIGNAL SIGSTKFLT

/* What a thread's code outside the library works for. Whoever is left by a jump leaves it as it was, so who begins
 * something sets it, and who ends it sets it back. */
enum mr_activity { MR_FOR_LIFTED, MR_INTERPRETING, MR_FOR_CALL };
struct mr_doing {
    enum mr_activity activity;
    uint32_t pc; /* MR_FOR_CALL: that of the syscall instruction */
};
extern _Thread_local volatile struct mr_doing mr_doing;

extern bool mr_profiling; /* samples go to a file */
extern bool mr_samples_held; /* between mr_profile_hold and mr_profile_release; else they disturb no call */
extern bool mr_sampling;  /* there are samples, for a file or for growth/hot.c */
void mr_profile_start(const struct mr_image *image); /* after the library is open; fails where the file cannot be made */
void mr_profile_thread_begins(void);
void mr_profile_thread_ends(void);
void mr_profile_forked(void);     /* in the child */
void mr_profile_executes(void);   /* another program is about to take over */
void mr_profile_executes_not(void);
void mr_profile_end(void);        /* this process ends; for handlers of signals, too */

/* Whether the signal would end the process unseen, so that a handler must: mr_profile_on_end. */
bool mr_profile_takes_end(int host_signal);
void mr_profile_on_end(int host_signal, siginfo_t *info, void *context);

/* No samples between the two: so that a call that waits is not interrupted by one, and no write is cut short, as kernels do
 * that send the signal from the clock's interrupt (Linux before 5.9). What has been used meanwhile counts as used at the end. */
uint64_t mr_profile_hold_bit(void); /* of a host's mask, or 0 */
void mr_profile_hold(void);
void mr_profile_release(void);

#endif
