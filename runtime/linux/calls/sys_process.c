/* System calls about the process itself: who it is, what machine it runs on, how it ends. */
#include "base/observe.h"
#include "base/options.h"
#include "linux/calls/clone.h"
#include "linux/calls/layout.h"
#include "linux/host_call.h"
#include "linux/threads.h"
#include "linux/upcalls.h"
#include "memory/values.h"

#include <errno.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

/* ---- the end ---- */

SYSCALL(4246, exit_group, "!d")
{
    mr_threads_leave_robust_lists();
    mr_vfork_child_exits();
    mr_exit_guest(c->s, INT(0) & 0xff);
}

/* ---- identity. Of the calling thread: the host's libc would change all threads, which is for the guest's libc to do ---- */

SYSCALL(4020, getpid, "") { return getpid(); }
SYSCALL(4064, getppid, "") { return getppid(); }
SYSCALL(4024, getuid, "") { return getuid(); }
SYSCALL(4049, geteuid, "") { return geteuid(); }
SYSCALL(4047, getgid, "") { return getgid(); }
SYSCALL(4050, getegid, "") { return getegid(); }
SYSCALL(4023, setuid, "d") { return mr_rights_changed(mr_result(syscall(SYS_setuid, U32(0)))); }
SYSCALL(4046, setgid, "d") { return mr_rights_changed(mr_result(syscall(SYS_setgid, U32(0)))); }
SYSCALL(4070, setreuid, "dd") { return mr_rights_changed(mr_result(syscall(SYS_setreuid, U32(0), U32(1)))); }
SYSCALL(4071, setregid, "dd") { return mr_rights_changed(mr_result(syscall(SYS_setregid, U32(0), U32(1)))); }
SYSCALL(4185, setresuid, "ddd") { return mr_rights_changed(mr_result(syscall(SYS_setresuid, U32(0), U32(1), U32(2)))); }
SYSCALL(4190, setresgid, "ddd") { return mr_rights_changed(mr_result(syscall(SYS_setresgid, U32(0), U32(1), U32(2)))); }
SYSCALL(4138, setfsuid, "d") { return mr_rights_changed(setfsuid(U32(0))); }
SYSCALL(4139, setfsgid, "d") { return mr_rights_changed(setfsgid(U32(0))); }

static int64_t put_three(const uint32_t guest[3], const uint32_t values[3])
{
    for (int i = 0; i < 3; i++)
        if (mr_write32(guest[i], values[i]))
            return -EFAULT;
    return 0;
}

SYSCALL(4186, getresuid, "ppp")
{
    uid_t real, effective, saved;
    getresuid(&real, &effective, &saved);
    return put_three((uint32_t[]){U32(0), U32(1), U32(2)}, (uint32_t[]){real, effective, saved});
}

SYSCALL(4191, getresgid, "ppp")
{
    gid_t real, effective, saved;
    getresgid(&real, &effective, &saved);
    return put_three((uint32_t[]){U32(0), U32(1), U32(2)}, (uint32_t[]){real, effective, saved});
}

#define MOST_GROUPS 65536

SYSCALL(4080, getgroups, "dp")
{
    gid_t groups[MOST_GROUPS];
    int64_t count = mr_result(getgroups(INT(0) > MOST_GROUPS ? MOST_GROUPS : INT(0), groups));
    return INT(0) && count > 0 && mr_put_words(U32(1), groups, (uint32_t)count) ? -EFAULT : count;
}

SYSCALL(4081, setgroups, "up")
{
    gid_t groups[MOST_GROUPS];
    if (U32(0) > MOST_GROUPS)
        return -EINVAL;
    if (mr_get_words(U32(1), groups, U32(0)))
        return -EFAULT;
    return mr_rights_changed(mr_result(syscall(SYS_setgroups, U32(0), groups)));
}

/* ---- groups and sessions of processes ---- */

SYSCALL(4065, getpgrp, "") { return getpgrp(); }
SYSCALL(4132, getpgid, "d") { return mr_result(getpgid(INT(0))); }
SYSCALL(4057, setpgid, "dd") { return mr_result(setpgid(INT(0), INT(1))); }
SYSCALL(4151, getsid, "d") { return mr_result(getsid(INT(0))); }
SYSCALL(4066, setsid, "") { return mr_result(setsid()); }
SYSCALL(4111, vhangup, "") { return mr_result(vhangup()); }

/* ---- the machine ---- */

#define NAME_BYTES 65u /* of each of the six members of struct new_utsname */

SYSCALL(4122, uname, "p")
{
    struct utsname name;
    uint8_t *to = mr_guest_bytes(U32(0), 6 * NAME_BYTES, MR_WRITE);
    if (!to)
        return -EFAULT;
    uname(&name);
    const char *release = mr_options.kernel_release != NULL ? mr_options.kernel_release : name.release;
    const char *members[] = {name.sysname, name.nodename, release, name.version, "mips", name.domainname};
    memset(to, 0, 6 * NAME_BYTES);
    for (uint32_t i = 0; i < 6; i++)
        memcpy(to + i * NAME_BYTES, members[i], strnlen(members[i], NAME_BYTES - 1));
    return 0;
}

#define SYSINFO "l9uh2uw"
#define SYSINFO_BYTES 64 /* with unused ones at the end */

/* Sizes that do not fit 32 bits are told in larger units, as the kernel does for 32-bit programs (kernel/sys.c). */
SYSCALL(4116, sysinfo, "p")
{
    struct sysinfo now;
    uint8_t *to = mr_guest_bytes(U32(0), SYSINFO_BYTES, MR_WRITE);
    if (sysinfo(&now))
        return -errno;
    if (!to)
        return -EFAULT;
    unsigned shift = 0;
    if (now.totalram >> 32 || now.totalswap >> 32)
        for (; now.mem_unit < MR_PAGE_BYTES; shift++)
            now.mem_unit <<= 1;
    unsigned long *const sizes[] = {&now.totalram,  &now.freeram,  &now.sharedram, &now.bufferram,
                                    &now.totalswap, &now.freeswap, &now.totalhigh, &now.freehigh};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        *sizes[i] >>= shift;
    memset(to, 0, SYSINFO_BYTES);
    mr_layout_to_guest(SYSINFO, &now, MR_WHOLE, to, MR_WHOLE);
    return 0;
}

/* Remembered, and not the host's: its bits would change how the host itself is mapped. */
SYSCALL(4136, personality, "x")
{
    static uint32_t now;
    uint32_t old = now;
    if (U32(0) != UINT32_MAX)
        now = U32(0);
    return old;
}

/* ---- what a thread tells the kernel once ---- */

SYSCALL(4283, set_thread_area, "p")
{
    c->s->tls = U32(0);
    return 0;
}
