/* ioctl: finds the request in the table, converts its argument, calls the host. Requests that nobody has are ENOTTY. */
#include "base/host_thread.h"
#include "base/messages.h"
#include "base/options.h"
#include "linux/calls/ioctl.h"
#include "linux/calls/layout.h"
#include "linux/calls/syscall.h"
#include "linux/host_call.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int64_t mr_ioctl_host(int fd, uint32_t host_number, uint64_t argument)
{
    return mr_wait_call(SYS_ioctl, (uint64_t)(int64_t)fd, host_number, argument, 0, 0, 0);
}

static bool is_socket(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode);
}

static const struct mr_ioctl_row *find_row(uint32_t number)
{
    for (size_t i = 0; i < mr_ioctl_row_count; i++)
        if (mr_ioctl_rows[i].number == number)
            return &mr_ioctl_rows[i];
    return NULL;
}

/* ---- requests that are not there ---- */

#define REMEMBERED 64

/* Whether the request is new: the last ones that were told are remembered. */
static bool first_time(uint32_t number)
{
    static uint32_t told[REMEMBERED];
    uint32_t *slot = &told[(number ^ number >> 8) % REMEMBERED];
    return __atomic_exchange_n(slot, number, __ATOMIC_RELAXED) != number;
}

static int64_t unknown(int fd, uint32_t number)
{
    if (fcntl(fd, F_GETFD) < 0)
        return -errno;
    mr_counters.unknown_ioctls++;
    if ((mr_options.stats || mr_options.strace) && first_time(number))
        mr_print_error("mipsrec-host: ioctl 0x%08x on fd %d is unknown (ENOTTY); said once\n", number, fd);
    return -ENOTTY;
}

/* ---- those of the table ---- */

#define LARGEST_BYTES 1024u /* of a structure of the host */

static int64_t ioctl_struct(int fd, const struct mr_ioctl_row *row, uint32_t argument)
{
    uint64_t structure[LARGEST_BYTES / 8] = {0};
    if (row->argument != MR_IOCTL_OUT && mr_get_struct(row->layout, argument, structure))
        return -EFAULT;
    bool begins_with_descriptor = row->argument == MR_IOCTL_IN_DESCRIPTOR;
    if (begins_with_descriptor && mr_descriptor_is_host((uint32_t)structure[0]))
        return -EBADF;
    int64_t result = mr_ioctl_host(fd, row->host, MR_HOST(structure));
    if (result < 0 || row->argument == MR_IOCTL_IN || begins_with_descriptor)
        return result;
    return mr_put_struct(row->layout, argument, structure) ? -EFAULT : result;
}

static int64_t perform(int fd, const struct mr_ioctl_row *row, uint32_t argument)
{
    switch (row->argument) {
    case MR_IOCTL_NONE: return mr_ioctl_host(fd, row->host, 0);
    case MR_IOCTL_VALUE: return mr_ioctl_host(fd, row->host, argument);
    case MR_IOCTL_DESCRIPTOR:
        return mr_descriptor_is_host(argument) ? -EBADF : mr_ioctl_host(fd, row->host, argument);
    case MR_IOCTL_BODY: return row->body(fd, row, argument);
    default: return ioctl_struct(fd, row, argument);
    }
}

SYSCALL(4054, ioctl, "Dxx")
{
    int64_t result;
    if (is_socket(FD(0)) && mr_ioctl_socket(FD(0), U32(1), U32(2), &result))
        return result;
    const struct mr_ioctl_row *row = find_row(U32(1));
    if (row)
        return perform(FD(0), row, U32(2));
    return mr_ioctl_input(FD(0), U32(1), U32(2), &result) ? result : unknown(FD(0), U32(1));
}
