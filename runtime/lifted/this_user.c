/* Which user this process is, and is alone.
 *
 * In a user namespace, one number stands for all users who have none there: the process itself may have that number, and so
 * has what anybody owns outside. Python has the same rule (mipsrec/this_user.py).
 */
#include "lifted/this_user.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/vfs.h>
#include <unistd.h>

/* Whether each number stands for a user of its own. A made-up file says nothing; to see that of another process, in another
 * namespace, is no help: the kernel translates what it says. */
static bool has_all_users(void)
{
    char text[80];
    struct statfs system;
    int fd = open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    ssize_t length = fd >= 0 && fstatfs(fd, &system) == 0 && system.f_type == PROC_SUPER_MAGIC ? read(fd, text, sizeof text - 1) : -1;
    unsigned first, outside, count;
    if (fd >= 0)
        close(fd);
    text[length > 0 ? length : 0] = 0;
    return sscanf(text, "%u %u %u", &first, &outside, &count) == 3 && first == 0 && outside == 0 && count == UINT32_MAX;
}

bool mr_is_this_user(uid_t user)
{
    return user == geteuid() && user == getuid() && getegid() == getgid() && (user != MR_OVERFLOW_ID || has_all_users());
}

bool mr_is_trusted_owner(uid_t owner)
{
    return owner == 0 || mr_is_this_user(owner);
}
