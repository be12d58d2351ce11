/* The guest's program as a file, and the host's own: opened once, at the start.
 *
 * Enters: mr_options, as the command line or the host before this one filled them in. Leaves: the descriptors of
 * descriptors.h; program_name, which /proc/self/exe is for the guest; the arguments, after the `#!` lines of a script.
 */
#include "linux/program.h"

#include "base/kernel_proc.h"
#include "base/messages.h"
#include "base/options.h"
#include "lifted/caches.h"
#include "linux/descriptors.h"
#include "linux/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- this host ---- */

extern const char __ehdr_start[] __attribute__((visibility("hidden"))); /* the linker's: where the ELF header is mapped */
#define COMPARED_BYTES 64 /* an ELF header: entry point and place of the section headers differ from build to build */

static bool is_this_host(int fd)
{
    char bytes[COMPARED_BYTES];
    return pread(fd, bytes, sizeof bytes, 0) == sizeof bytes && memcmp(bytes, __ehdr_start, sizeof bytes) == 0;
}

/* Whether the link is the kernel's own: nothing is mounted over it, or on the way. */
static bool is_kernels_link(int proc, const char *path)
{
    struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC, .resolve = RESOLVE_NO_XDEV};
    int fd = (int)syscall(SYS_openat2, proc, path, &how, sizeof how);
    if (fd >= 0)
        close(fd);
    return fd >= 0 || errno == ENOSYS || errno == EPERM;
}

/* A chroot may have no /proc, or one that is a folder of another user. Then the name that the host was started by will do,
 * where nobody else could choose what that is; with binfmt_misc it is the guest's, and argv[0] may be nowhere. If there is
 * no own executable, execve leaves MIPS programs to the host's kernel. */
static int open_this_host(void)
{
    char path[MR_PROC_ROOM], real[PATH_MAX];
    const char *const names[] = {(const char *)getauxval(AT_EXECFN), mr_options.host_name};
    if (mr_kernel_proc >= 0) {
        int proc = mr_proc_at(path, "self/exe");
        return is_kernels_link(proc, path) ? mr_own_openat(proc, path, O_RDONLY | O_NONBLOCK) : -1;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bool trusted = names[i] != NULL && mr_distrust(names[i], real) == NULL;
        int fd = trusted ? mr_own_openat(AT_FDCWD, real, O_RDONLY | O_NONBLOCK) : -1;
        if (fd >= 0 && is_this_host(fd))
            return fd;
        if (fd >= 0)
            close(fd);
    }
    return -1;
}

/* ---- the program ---- */

/* Whether a path goes up: it may leave the sysroot, where the guest's stays at /. */
static bool goes_up(const char *path)
{
    for (const char *at = path; (at = strstr(at, "..")) != NULL; at += 2)
        if ((at == path || at[-1] == '/') && (at[2] == '/' || at[2] == 0))
            return true;
    return false;
}

/* Puts into `path` what the guest calls the file `rest` in a folder; false: the folder is not below the sysroot. */
static bool put_below_root(char path[PATH_MAX], const char *folder, const char *rest)
{
    if (goes_up(rest) || !realpath(folder, path))
        return false;
    size_t whole = strlen(path), left = mr_guest_name(path, whole);
    return left != whole && snprintf(path + left, PATH_MAX - left, "/%s", rest) < (int)(PATH_MAX - left);
}

/* The program's path as the guest has it, where it leads below the sysroot: there an absolute link leads to what the guest
 * calls so. Else the path as it was given. */
static const char *path_in_guest(void)
{
    static char path[PATH_MAX];
    char folder[PATH_MAX];
    const char *given = mr_options.program_path;
    if (mr_sysroot() == NULL)
        return given;
    if (given[0] != '/' && put_below_root(path, ".", given))
        return path;
    for (const char *slash = strchr(given, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        if (snprintf(folder, sizeof folder, "%.*s", (int)(slash + 1 - given), given) >= (int)sizeof folder)
            break;
        if (put_below_root(path, folder, slash + 1))
            return path;
    }
    return given;
}

static int open_program(void)
{
    struct mr_path path;
    int fd = mr_path_find_text(&path, AT_FDCWD, path_in_guest(), MR_FOLLOW);
    if (fd == 0)
        fd = mr_own_open_file(path.directory, path.name, O_RDONLY | O_NONBLOCK);
    mr_path_done(&path);
    return fd;
}

/* A script on the command line: its interpreter is the program, as after execve. */
static int follow_script(int fd)
{
    static struct mr_chain chain; /* the arguments point into it */
    size_t count = (size_t)mr_options.guest_argc;
    const char **strings = calloc(MR_CHAIN_ROOM + count + 1, sizeof *strings), **first = strings + MR_CHAIN_ROOM;
    char begin[2];
    if (!strings || pread(fd, begin, sizeof begin, 0) != sizeof begin || memcmp(begin, "#!", sizeof begin) != 0) {
        free(strings);
        return fd;
    }
    memcpy(first, mr_options.guest_argv, count * sizeof *first);
    int kind = mr_chain_follow(&chain, fd, mr_options.program_path, &first);
    if (kind == MR_CHAIN_OTHER || kind == -ELOOP)
        mr_fail("%s: is not an ELF file but a script, and not of a MIPS program; give a MIPS program or such a script",
                mr_options.program_path);
    if (kind < 0)
        mr_fail("%s: it, or the interpreter that its first line names: %s", mr_options.program_path, strerror(-kind));
    mr_options.guest_argc = (int)(strings + MR_CHAIN_ROOM + count - first);
    mr_options.guest_argv = (char **)first;
    return chain.fd;
}

/* What the guest calls the file; as readlink of /proc/self/exe answers. */
static const char *name_of(int fd)
{
    static char name[PATH_MAX];
    ssize_t length = fd < 0 ? -1 : mr_descriptor_link(fd, name, sizeof name);
    if (length <= 0)
        return realpath(mr_options.program_path, name) ? name : mr_options.program_path;
    name[mr_guest_name(name, (size_t)length)] = 0;
    return name;
}

void mr_program_start(void)
{
    char real[PATH_MAX];
    int fd = mr_options.program_fd, proc = mr_kernel_proc = mr_kernel_proc_open();
    mr_own_keep(MR_OWN_HOST, mr_options.host_fd >= 0 ? mr_options.host_fd : open_this_host());
    if (fd < 0 && (fd = open_program()) >= 0)
        fd = follow_script(fd);
    mr_text_mark(fd);
    mr_own_keep(MR_OWN_PROGRAM, fd);
    mr_own_keep(MR_OWN_PROC, proc);
    if (proc < 0 || mr_options.shares_root || mr_distrust("/proc", real) != NULL || strcmp(real, "/proc") != 0)
        mr_own_come_back(); /* begun in the root of another user: he may choose anew what that names */
    mr_options.program_name = name_of(mr_own_descriptor(MR_OWN_PROGRAM));
}

int mr_program_open(const char *path)
{
    int fd = mr_own_descriptor(MR_OWN_PROGRAM), copy = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;
    if (copy < 0 && fd >= 0 && errno == EMFILE && mr_own_make_room() && (fd = mr_own_descriptor(MR_OWN_PROGRAM)) >= 0)
        copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return fd >= 0 ? copy : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
}
