/* Which user this process is, and is alone.
 *
 * A process that can become another user again, by its saved one, runs code for both. One that has given rights up may have
 * kept more than its user could have: files, memory. It trusts root alone until it executes another program.
 *
 * In a user namespace, one number stands for all users who have none there: the process itself may have that number, and so
 * has what anybody owns outside. Python has the same rule (mipsrec/files/this_user.py).
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

static uid_t first_user;
static gid_t first_group;

__attribute__((constructor)) static void begin(void)
{
    first_user = geteuid();
    first_group = getegid();
}

bool mr_is_this_user(uid_t user)
{
    uid_t real, effective, saved;
    gid_t real_group, group, saved_group;
    return getresuid(&real, &effective, &saved) == 0 && getresgid(&real_group, &group, &saved_group) == 0 &&
           user == effective && user == real && user == saved && user == first_user && group == real_group &&
           group == saved_group && group == first_group && (user != MR_OVERFLOW_ID || has_all_users());
}

bool mr_is_trusted_owner(uid_t owner)
{
    return owner == 0 || mr_is_this_user(owner);
}
