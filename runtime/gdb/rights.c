/* The server's thread has the rights of the guest: what a guest thread gives up, the server gives up before the call returns.
 *
 * The kernel keeps rights by the thread, and a guest's libc changes those of the guest's threads alone. A thread of the host's
 * that kept more would open files for the debugger that the guest may not open. It would also run, with those rights, in
 * memory that other processes of the guest's new user may write. So the guest thread waits until the server has its rights,
 * or fewer; a server that can give up no more ends the process.
 */
#include "base/messages.h"
#include "base/observe.h"
#include "gdb/parts.h"
#include "linux/descriptors.h"

#include <linux/capability.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_GROUPS 65536 /* NGROUPS_MAX of the kernel */
#define ALL ((uid_t)-1)

enum { REAL, EFFECTIVE, SAVED, FILES, KINDS };

struct rights {
    uid_t users[KINDS];
    gid_t groups[KINDS];
    struct __user_cap_data_struct capabilities[_LINUX_CAPABILITY_U32S_3];
    int count;
    gid_t others[MOST_GROUPS];
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool asked, over; /* a thread waits; the server takes no more */
    struct rights wanted;
} change = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};

/* ---- of the calling thread ---- */

static long capabilities(long call, struct __user_cap_data_struct *data)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    return syscall(call, &header, data);
}

static void get(struct rights *to)
{
    memset(to, 0, sizeof *to);
    getresuid(&to->users[REAL], &to->users[EFFECTIVE], &to->users[SAVED]);
    getresgid(&to->groups[REAL], &to->groups[EFFECTIVE], &to->groups[SAVED]);
    to->users[FILES] = (uid_t)setfsuid(ALL); /* no user: says what is */
    to->groups[FILES] = (gid_t)setfsgid(ALL);
    to->count = getgroups(MOST_GROUPS, to->others);
    capabilities(SYS_capget, to->capabilities);
}

/* What the thread may not have of `wanted`, it does not get. */
static void set(const struct rights *wanted, struct rights *now)
{
    syscall(SYS_setgroups, wanted->count, wanted->others);
    syscall(SYS_setresgid, wanted->groups[REAL], wanted->groups[EFFECTIVE], wanted->groups[SAVED]);
    setfsgid(wanted->groups[FILES]);
    prctl(PR_SET_KEEPCAPS, 1ul); /* those that the guest has kept */
    syscall(SYS_setresuid, wanted->users[REAL], wanted->users[EFFECTIVE], wanted->users[SAVED]);
    prctl(PR_SET_KEEPCAPS, 0ul);
    setfsuid(wanted->users[FILES]);
    capabilities(SYS_capget, now->capabilities);
    for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++) {
        struct __user_cap_data_struct *own = &now->capabilities[i];
        own->permitted &= wanted->capabilities[i].permitted;
        own->effective = wanted->capabilities[i].effective & own->permitted;
        own->inheritable &= wanted->capabilities[i].inheritable;
    }
    capabilities(SYS_capset, now->capabilities);
    get(now);
}

/* A thread that has laid its rights aside for a moment takes them up again, to become another user. */
static void take_up_again(struct rights *now)
{
    syscall(SYS_setresuid, ALL, 0, ALL);
    capabilities(SYS_capget, now->capabilities);
    for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
        now->capabilities[i].effective = now->capabilities[i].permitted;
    capabilities(SYS_capset, now->capabilities);
}

static bool all_among(const uint32_t some[KINDS], const uint32_t wanted[KINDS])
{
    for (int i = 0; i < KINDS; i++) {
        bool found = false;
        for (int j = 0; j < KINDS; j++)
            found |= some[i] == wanted[j];
        if (!found)
            return false;
    }
    return true;
}

static bool is_more(const struct rights *now, const struct rights *wanted)
{
    bool same_others = now->count == wanted->count && memcmp(now->others, wanted->others, sizeof now->others) == 0;
    for (int i = 0; i < _LINUX_CAPABILITY_U32S_3; i++)
        if (now->capabilities[i].permitted & ~wanted->capabilities[i].permitted)
            return true;
    return !all_among(now->users, wanted->users) || !all_among(now->groups, wanted->groups) || (now->count > 0 && !same_others);
}

/* ---- the guest's thread asks, the server takes ---- */

void mr_debug_rights_start(void)
{
    mr_own_keep(MR_OWN_DEBUGGER_WAKE, eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
}

static void wake_server(void)
{
    const uint64_t one = 1;
    if (write(mr_own_descriptor(MR_OWN_DEBUGGER_WAKE), &one, sizeof one) < 0)
        mr_fail("--gdb: cannot wake the debugger's thread, which is to give up rights with the program");
}

void mr_debug_rights_changed(void)
{
    pthread_mutex_lock(&change.lock);
    while (change.asked && !change.over)
        pthread_cond_wait(&change.changed, &change.lock);
    if (!change.over) {
        get(&change.wanted);
        change.asked = true;
        wake_server();
    }
    while (change.asked && !change.over)
        pthread_cond_wait(&change.changed, &change.lock);
    pthread_mutex_unlock(&change.lock);
}

static void take(const struct rights *wanted)
{
    static struct rights now;
    get(&now);
    for (int i = 0; i < 2 && memcmp(&now, wanted, sizeof now) != 0; i++) {
        if (i > 0)
            take_up_again(&now);
        set(wanted, &now);
    }
    if (is_more(&now, wanted))
        mr_fail("--gdb: the debugger's thread cannot give up rights as the program has; debug it as the user that it becomes");
}

void mr_debug_take_rights(bool last)
{
    uint64_t times;
    pthread_mutex_lock(&change.lock);
    (void)!read(mr_own_descriptor(MR_OWN_DEBUGGER_WAKE), &times, sizeof times); /* it is empty where nobody has asked */
    if (change.asked)
        take(&change.wanted);
    change.asked = false;
    change.over = last;
    pthread_cond_broadcast(&change.changed);
    pthread_mutex_unlock(&change.lock);
}
