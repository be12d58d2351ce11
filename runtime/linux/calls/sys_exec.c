/* execve and execveat: another program takes this process over. A MIPS program re-enters this host with the same options;
 * everything else is left to the host's kernel. Scripts are resolved here, since their interpreter may be a MIPS program.
 *
 * The next host is this executable, by its descriptor, so that neither /proc nor a path is needed. It gets the program as an
 * open descriptor, and nothing in its environment but what the guest has given.
 */
#include "base/kernel_proc.h"
#include "base/observe.h"
#include "base/options.h"
#include "base/same_inode.h"
#include "linux/calls/syscall.h"
#include "linux/descriptors.h"
#include "linux/fault.h"
#include "linux/guest_limits.h"
#include "linux/host_call.h"
#include "linux/paths.h"
#include "linux/program.h"
#include "linux/signals.h"
#include "linux/threads.h"
#include "linux/upcalls.h"
#include "memory/values.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_STRINGS 0x100000u
#define MOST_WORDS (MR_OPTION_WORDS + 8) /* before the guest's arguments */
#define ROOM (MOST_WORDS + MR_CHAIN_ROOM)
#define STRING_COST 4u /* a pointer */
#define SPARE_BYTES 8192u /* of the next program's stack: a name, auxiliary vector, what scripts add */

/* ---- the guest's strings ---- */

/* Returns a NULL-terminated array of host pointers with room for `extra` more in front and one behind, or NULL and *error.
 * Adds to *bytes what they take on the next program's stack. */
static const char **get_strings(uint32_t guest, uint32_t extra, uint64_t *bytes, int *error)
{
    uint32_t count = 0, pointer = 0;
    *error = EFAULT;
    for (; guest; count++) {
        if (mr_read32(guest + 4 * count, &pointer))
            return NULL;
        if (!pointer)
            break;
        if (count == MOST_STRINGS) {
            *error = E2BIG;
            return NULL;
        }
    }
    const char **strings = calloc((size_t)extra + count + 2, sizeof *strings);
    for (uint32_t i = 0; strings && i < count; i++) {
        mr_read32(guest + 4 * i, &pointer);
        if ((strings[extra + i] = mr_guest_string(pointer)) == NULL) {
            free(strings);
            return NULL;
        }
        *bytes += strlen(strings[extra + i]) + 1 + STRING_COST;
    }
    if (!strings)
        *error = ENOMEM;
    return strings;
}

/* ---- what is executed ---- */

struct target {
    struct mr_path path; /* for the host's kernel */
    int directory, flags; /* of execveat */
    int fd;              /* the file, or -1: only the host's kernel may read it */
    char name[PATH_MAX]; /* as the program will know it (AT_EXECFN) */
    const char **strings, **environment; /* the arguments, from ROOM on; and the variables */
    uint64_t bytes;      /* that both take */
};

/* What /dev/fd calls a file that is given by a descriptor (alloc_bprm of fs/exec.c). */
static int set_name(struct target *target, int directory, const char *path)
{
    int length;
    if (path[0] == '/' || directory == AT_FDCWD)
        length = snprintf(target->name, sizeof target->name, "%s", path);
    else
        length = snprintf(target->name, sizeof target->name, "/dev/fd/%d%s%s", directory, *path ? "/" : "", path);
    return length >= (int)sizeof target->name ? -ENAMETOOLONG : 0;
}

static bool is_same_file(int fd, int other)
{
    struct stat one, two;
    return fstat(fd, &one) == 0 && fstat(other, &two) == 0 && mr_is_same_inode(&one, &two);
}

/* A readable descriptor of a file that the guest has open in whatever way, or -1. */
static int open_again(int fd)
{
    char path[MR_PROC_ROOM];
    int proc = mr_proc_at(path, "thread-self/fd/%d", fd), again = mr_own_openat(proc, path, O_RDONLY | O_NONBLOCK);
    bool found = again >= 0 && is_same_file(again, fd), missing = again >= 0 || errno == ENOENT || errno == EBADF;
    if (again >= 0 && !found)
        close(again);
    return found ? again : missing ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
}

/* Finds the file and looks whether it may be executed; the host's kernel is to answer for what cannot be opened. */
static int open_target(struct target *target, int directory, uint32_t guest_path, int flags)
{
    const char *path = mr_guest_string(guest_path);
    bool no_follow = flags & AT_SYMLINK_NOFOLLOW;
    if (!path)
        return -EFAULT;
    int error = set_name(target, directory, path);
    if (!error)
        error = mr_path_find_text(&target->path, directory, path, no_follow ? MR_NO_FOLLOW : MR_FOLLOW);
    if (error)
        return error;
    target->directory = directory;
    target->flags = flags;
    if (*path == 0 && flags & AT_EMPTY_PATH) {
        if (fcntl(directory, F_GETFD) < 0)
            return -errno;
        target->fd = open_again(directory);
        return 0;
    }
    if (*path == 0)
        return -ENOENT;
    target->fd = mr_own_open_file(target->path.directory, target->path.name,
                                  O_RDONLY | O_NONBLOCK | (no_follow ? O_NOFOLLOW : 0));
    return target->fd >= 0 || errno == EACCES || errno == ENXIO ? 0 : -errno;
}

/* A script that is executed by a descriptor is gone before its interpreter can open it. */
static bool is_unreachable_script(const struct target *target, const struct mr_chain *chain)
{
    return chain->depth > 0 && target->directory >= 0 && strncmp(target->name, "/dev/fd/", 8) == 0 &&
           fcntl(target->directory, F_GETFD) & FD_CLOEXEC;
}

/* ---- the next host ---- */

/* Has the next host get the descriptors that its options name, or not. */
static void hand_over(bool over, int program, int host)
{
    const int handed[] = {program, host, mr_own_descriptor(MR_OWN_MARKS)};
    for (size_t i = 0; i < sizeof handed / sizeof *handed; i++)
        if (handed[i] >= 0)
            fcntl(handed[i], F_SETFD, over ? 0 : FD_CLOEXEC);
}

/* first: the program's arguments, with MOST_WORDS free places before them. The guest may have left no number for the host; then
 * its name leads to it. */
static int64_t run_in_host(const struct target *target, int program, const char **first)
{
    char host_text[16], program_text[16];
    const char *words[MOST_WORDS];
    int host = mr_own_descriptor(MR_OWN_HOST);
    uint32_t count = 0;
    snprintf(host_text, sizeof host_text, "%d", host);
    snprintf(program_text, sizeof program_text, "%d", program);
    words[count++] = "mipsrec-host";
    count += mr_options_hand_on(words + count, mr_own_is(MR_OWN_PROGRAM, program));
    const char *const last[] = {"--executed", target->name, "--program-fd", program_text, "--host-fd", host_text, "--"};
    memcpy(words + count, last, sizeof last);
    count += sizeof last / sizeof *last;
    if (host < 0)
        words[(count -= 2) - 1] = "--";
    memcpy(first - count, words, count * sizeof *words);
    mr_threads_leave_robust_lists();
    mr_signals_hand_on(true);
    hand_over(true, program, host);
    syscall(SYS_execveat, host, host >= 0 ? "" : mr_own_lost_name(MR_OWN_HOST), first - count, target->environment,
            host >= 0 ? AT_EMPTY_PATH : 0);
    int error = errno;
    hand_over(false, program, host);
    return -error;
}

/* The host's kernel finds the file again, and reads `#!` lines itself. */
static int64_t run_in_kernel(const struct target *target, const char *header)
{
    bool may_be_program = target->fd < 0 || memcmp(header, ELFMAG, SELFMAG) == 0 || memcmp(header, "#!", 2) == 0;
    if (may_be_program)
        mr_threads_leave_robust_lists();
    mr_signals_hand_on(false);
    mr_limits_are_real(true);
    int64_t error = mr_result(syscall(SYS_execveat, target->path.directory, target->path.name, target->strings + ROOM,
                                      target->environment, target->flags));
    mr_limits_are_real(false);
    return error;
}

/* Only the kernel can give a setuid program its rights. It does when this host is registered with flag C. */
static bool gains_rights(int fd)
{
    struct stat status;
    return mr_options.registered && fstat(fd, &status) == 0 &&
           ((status.st_mode & S_ISUID && status.st_uid != geteuid()) ||
            ((status.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && status.st_gid != getegid()));
}

static int64_t run_mips(const struct target *target, const struct mr_chain *chain, const char **first)
{
    bool by_kernel = mr_own_descriptor(MR_OWN_HOST) < 0 && !mr_own_lost_name(MR_OWN_HOST);
    if (is_unreachable_script(target, chain))
        return -ENOENT;
    if (by_kernel || (chain->depth == 0 && gains_rights(chain->fd))) {
        int64_t error = run_in_kernel(target, ELFMAG);
        if (by_kernel || error != -ENOEXEC)
            return error;
    }
    return run_in_host(target, chain->fd, first);
}

static int64_t run(const struct target *target)
{
    struct mr_chain chain = {.fd = -1};
    const char **first = target->strings + ROOM;
    if (target->fd < 0)
        return run_in_kernel(target, "");
    int kind = mr_may_execute(target->fd);
    if (kind == 0)
        kind = mr_chain_follow(&chain, target->fd, target->name, &first);
    else
        close(target->fd);
    if (kind < 0)
        return kind;
    if (kind == MR_CHAIN_OTHER)
        return run_in_kernel(target, chain.headers[0]);
    int64_t error = run_mips(target, &chain, first);
    close(chain.fd);
    return error;
}

/* ---- the call ---- */

static int64_t execute(const struct target *target)
{
    if (!target->strings[ROOM])
        target->strings[ROOM] = ""; /* as the kernel does for an empty argv */
    if (target->bytes + SPARE_BYTES > mr_strings_most_bytes())
        return -E2BIG;
    MR_TELL(verify_executes);
    MR_TELL(sample_executes);
    MR_TELL(debug_executes);
    mr_faults_hand_on();
    int64_t result = run(target);
    mr_faults_take_back();
    MR_TELL(debug_executes_not);
    MR_TELL(sample_executes_not);
    return result;
}

static int64_t execute_path(int directory, uint32_t path, uint32_t guest_argv, uint32_t guest_envp, int flags)
{
    struct target target = {.fd = -1, .path.opened = -1};
    int error;
    target.strings = get_strings(guest_argv, ROOM, &target.bytes, &error);
    if (!target.strings)
        return -error;
    target.environment = get_strings(guest_envp, 0, &target.bytes, &error);
    int64_t result = target.environment ? open_target(&target, directory, path, flags) : -error;
    if (!result)
        result = execute(&target);
    else if (target.fd >= 0)
        close(target.fd);
    mr_path_done(&target.path);
    free(target.environment);
    free(target.strings);
    return result;
}

SYSCALL(4011, execve, "!spp") { return execute_path(AT_FDCWD, U32(0), U32(1), U32(2), 0); }

SYSCALL(4356, execveat, "!asppx")
{
    if (U32(4) & ~(uint32_t)(AT_EMPTY_PATH | AT_SYMLINK_NOFOLLOW))
        return -EINVAL;
    return execute_path(FD(0), U32(1), U32(2), U32(3), INT(4));
}
