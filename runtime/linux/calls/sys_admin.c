/* System calls of administrators: names of the machine, its clock, its log, its end. The host's kernel checks the rights. */
#include "linux/abi.h"
#include "linux/calls/layout.h"
#include "linux/calls/syscall.h"
#include "linux/host_call.h"
#include "memory/values.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <unistd.h>

/* ---- names: the kernel looks at the rights, then at the length, then at the memory ---- */

#define LONGEST_NAME 64u

static int64_t set_name(long number, uint32_t guest, int32_t length)
{
    uint32_t readable = (uint32_t)length > LONGEST_NAME ? 0 : (uint32_t)length;
    return mr_result(syscall(number, mr_user(guest, readable), (long)length));
}

SYSCALL(4074, sethostname, "sd") { return set_name(SYS_sethostname, U32(0), INT(1)); }
SYSCALL(4121, setdomainname, "sd") { return set_name(SYS_setdomainname, U32(0), INT(1)); }

/* ---- clocks ---- */

/* struct timex: with longs in the old calls, with 64 bits in those of time64. */
#define TIMEX "w4lw8lw5lw11w"
#define TIMEX64 "w4qw8qw5qw11w"

static int64_t adjust(int clock, uint32_t guest, const char *layout)
{
    struct timex values;
    memset(&values, 0, sizeof values);
    if (mr_get_struct(layout, guest, &values))
        return -EFAULT;
    int64_t state = mr_result(syscall(SYS_clock_adjtime, clock, &values));
    if (state < 0)
        return state;
    return mr_put_struct(layout, guest, &values) ? -EFAULT : state;
}

SYSCALL(4124, adjtimex, "p") { return adjust(CLOCK_REALTIME, U32(0), TIMEX); }
SYSCALL(4341, clock_adjtime, "dp") { return adjust(INT(0), U32(1), TIMEX); }
SYSCALL(4405, clock_adjtime64, "dp") { return adjust(INT(0), U32(1), TIMEX64); }

SYSCALL(4079, settimeofday, "pp")
{
    struct timeval time;
    struct timezone zone;
    if ((U32(0) && mr_get_timeval(U32(0), &time)) || (U32(1) && mr_get_struct("2w", U32(1), &zone)))
        return -EFAULT;
    return mr_result(syscall(SYS_settimeofday, U32(0) ? &time : NULL, U32(1) ? &zone : NULL));
}

SYSCALL(4025, stime, "p")
{
    uint32_t seconds;
    if (mr_read32(U32(0), &seconds))
        return -EFAULT;
    return mr_result(clock_settime(CLOCK_REALTIME, &(const struct timespec){(int32_t)seconds, 0}));
}

/* ---- the kernel's log, restarting ---- */

SYSCALL(4103, syslog, "dpd")
{
    void *buffer = U32(1) ? mr_user(U32(1), INT(2) < 0 ? 0 : U32(2)) : NULL;
    return mr_wait_call(SYS_syslog, U32(0), MR_HOST(buffer), (uint64_t)(int64_t)INT(2), 0, 0, 0);
}

SYSCALL(4088, reboot, "xxxp") { return mr_result(syscall(SYS_reboot, U32(0), U32(1), U32(2), mr_user(U32(3), 0))); }

/* ---- file systems the kernel has ---- */

enum { INDEX_OF_NAME = 1, NAME_OF_INDEX = 2 };

SYSCALL(4135, sysfs, "dxx")
{
    const void *first = mr_user(U32(1), 0), *second = mr_user(U32(2), 0);
    if (INT(0) == INDEX_OF_NAME)
        return mr_result(syscall(SYS_sysfs, INT(0), first));
    if (INT(0) == NAME_OF_INDEX)
        return mr_result(syscall(SYS_sysfs, INT(0), U32(1), second));
    return mr_result(syscall(SYS_sysfs, INT(0)));
}

/* struct ustat: free blocks, free inodes, two names. */
SYSCALL(4062, ustat, "xp")
{
    uint64_t status[4] = {0};
    return syscall(SYS_ustat, U32(0), status) ? -errno : mr_put_struct("wu12b", U32(1), status);
}
