/* Files of /proc that tell of this process and of the machine, as the guest must see them. Each is made when it is opened, in
 * memory, and read like any file; what a program reads after that is as it was then. Many names lead there, so the kernel
 * opens the file first, and says which one it is.
 *
 * Other guests' files are those of the host's kernel. There cmdline, environ and comm are the guest's (process_view.c), and
 * exe leads to its program (proc_paths.c); mem and pagemap have the guest's addresses (memory_file.c); maps, stat and auxv
 * tell of the host.
 */
#include "base/kernel_proc.h"
#include "linux/calls/made_files.h"
#include "linux/descriptors.h"
#include "linux/paths.h"
#include "linux/proc_made.h"
#include "linux/program.h"
#include "memory/values.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static void write_bytes(FILE *to, uint32_t from, uint32_t end)
{
    const void *bytes = mr_guest_bytes(from, end - from, MR_READ);
    if (bytes)
        fwrite(bytes, 1, end - from, to);
}

static void write_command_line(FILE *to, FILE *from __attribute__((unused)), const char *name __attribute__((unused)))
{
    write_bytes(to, mr_guest_strings.arguments, mr_guest_strings.arguments_end);
}

static void write_environment(FILE *to, FILE *from __attribute__((unused)), const char *name __attribute__((unused)))
{
    write_bytes(to, mr_guest_strings.environment, mr_guest_strings.environment_end);
}

static void write_auxiliary(FILE *to, FILE *from __attribute__((unused)), const char *name __attribute__((unused)))
{
    write_bytes(to, mr_auxiliary, mr_auxiliary + mr_auxiliary_bytes);
}

/* What a thread that runs has there; those that wait for the host's kernel do so with its numbers and addresses. */
static void write_call(FILE *to, FILE *from __attribute__((unused)), const char *name __attribute__((unused)))
{
    fputs("running\n", to);
}

struct made_file {
    const char *name;
    mr_file_writer *write;
};

static const struct made_file own_files[] = {
    {"maps", mr_write_maps},       {"smaps", mr_write_maps},         {"cmdline", write_command_line},
    {"numa_maps", mr_write_numa_maps}, {"smaps_rollup", mr_write_rollup},
    {"auxv", write_auxiliary},     {"environ", write_environment},   {"stat", mr_write_stat},
    {"statm", mr_write_statm},     {"status", mr_write_status},     {"limits", mr_write_limits},
    {"syscall", write_call},
};

static const struct made_file cpuinfo = {"cpuinfo", mr_write_cpuinfo}, net_table = {"net", mr_write_net_table};

/* /proc/net/NAME, /proc/PID/net/NAME and so on. */
static bool is_net_table(const char *proc_name)
{
    static const char folder[] = "/net/";
    const char *last = strrchr(proc_name, '/');
    ptrdiff_t before = last + 1 - proc_name;
    return before > (ptrdiff_t)strlen(folder) && memcmp(last + 1 - strlen(folder), folder, strlen(folder)) == 0 &&
           mr_is_net_table(last + 1);
}

static const struct made_file *find(const char *proc_name)
{
    const char *own = mr_proc_own_file(proc_name);
    for (size_t i = 0; own && i < sizeof own_files / sizeof *own_files; i++)
        if (strcmp(own, own_files[i].name) == 0)
            return &own_files[i];
    if (is_net_table(proc_name))
        return &net_table;
    return strcmp(proc_name, "/proc/cpuinfo") == 0 ? &cpuinfo : NULL;
}

/* The open file once more, with a position of its own. No name from the root leads to it for sure. */
static FILE *open_again(int fd)
{
    char path[MR_PROC_ROOM];
    int proc = mr_proc_at(path, "thread-self/fd/%d", fd), again = mr_own_openat(proc, path, O_RDONLY | O_NONBLOCK);
    return mr_proc_stream(again >= 0 ? again : fcntl(fd, F_DUPFD_CLOEXEC, 0));
}

/* Returns a descriptor of a file that has been made in the place of an open one, or -errno. */
static int make(const struct made_file *file, int original, const char *name)
{
    char *bytes = NULL;
    size_t size_bytes = 0, done = 0;
    FILE *to = open_memstream(&bytes, &size_bytes);
    if (!to)
        return -ENOMEM;
    FILE *from = open_again(original);
    file->write(to, from, name);
    if (from)
        fclose(from);
    int fd = fclose(to) == 0 ? (int)syscall(SYS_memfd_create, file->name, MFD_CLOEXEC) : -1;
    int error = errno;
    while (fd >= 0 && done < size_bytes) {
        ssize_t count = pwrite(fd, bytes + done, size_bytes - done, (off_t)done);
        if (count <= 0)
            break;
        done += (size_t)count;
    }
    free(bytes);
    return fd < 0 ? -error : fd;
}

static int64_t put_made_file(int fd, int host_flags, const char *name)
{
    const struct made_file *file = (host_flags & O_ACCMODE) == O_WRONLY ? NULL : find(name);
    int made = file ? make(file, fd, name) : -1;
    if (!file)
        return fd;
    if (made >= 0)
        dup3(made, fd, host_flags & O_CLOEXEC);
    close(made >= 0 ? made : fd);
    return made >= 0 ? fd : made;
}

int64_t mr_made_file_for(int64_t fd, int host_flags)
{
    char name[PATH_MAX];
    bool is_of_proc = fd >= 0 && !(host_flags & O_PATH) && mr_proc_name_of((int)fd, name);
    return is_of_proc ? put_made_file((int)fd, host_flags, name) : fd;
}

int64_t mr_guest_opened(int64_t fd, int host_flags)
{
    char name[PATH_MAX];
    bool is_of_proc = fd >= 0 && !(host_flags & O_PATH) && mr_proc_name_of((int)fd, name);
    if (is_of_proc && mr_proc_is_memory(name))
        return mr_descriptor_made(fd, MR_FD_MEMORY);
    return mr_descriptor_made(is_of_proc ? put_made_file((int)fd, host_flags, name) : fd, MR_FD_PLAIN);
}
