/* The guest's RLIMIT_AS and RLIMIT_DATA (guest_limits.c). The caller has mr_lock, once there are threads. */
#ifndef MR_LINUX_GUEST_LIMITS_H
#define MR_LINUX_GUEST_LIMITS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>

void mr_limits_start(const char *handed_on); /* what the host before this one says of them, or NULL */
bool mr_limit_is_guests(int limit);          /* RLIMIT_*: one of the two */
int64_t mr_limit_change(int limit, const struct rlimit *new, struct rlimit *old); /* either may be NULL; 0 or -errno */
const char *mr_limits_hand_on(void); /* for mr_limits_start of the next host, or NULL: they are those of the process */
/* Before the kernel executes something, and after it did not: whether the process has the guest's limits or the host's. */
void mr_limits_are_real(bool real);

#endif
