/* getsockopt and setsockopt: numbers and values as socket_option_table.c says.
 *
 * An option without a row is taken for an int, which most are. What is longer is passed on as it is, and only from the
 * host to the guest; the host never reads more than an int of it, so that no structure is misunderstood.
 */
#include "linux/calls/socket.h"
#include "linux/calls/layout.h"
#include "linux/host_call.h"
#include "memory/values.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <netinet/in.h>
#include <string.h>

#define VALUE_BYTES 32768u /* of the longest value: BPF_MAXINSNS instructions of 8 bytes */
#define PROGRAM_BYTES 8u   /* struct sock_fprog of the guest: a count, padding, an address */
#define INSTRUCTION "h2bw" /* struct sock_filter */
#define LEVEL_PACKET 263   /* SOL_PACKET */

/* Of the value that this thread gives or gets. */
static _Thread_local union {
    uint8_t bytes[VALUE_BYTES];
    uint64_t alignment;
} host_value, guest_value;

struct request {
    int fd, level, option; /* the host's numbers */
    const struct mr_socket_option *row;
    uint32_t value; /* where the guest has it */
    uint32_t size_bytes;
};

static struct request request_of(const struct mr_call *c)
{
    int level = mr_level_to_host(INT(1));
    int option = level == SOL_SOCKET ? mr_socket_option_to_host(INT(2)) : INT(2);
    return (struct request){FD(0), level, option, mr_find_socket_option(level, option), U32(3), 0};
}

/* ---- what other calls ask ---- */

int mr_host_socket_option(int fd, int host_option, int otherwise)
{
    int value;
    socklen_t size_bytes = sizeof value;
    return getsockopt(fd, SOL_SOCKET, host_option, &value, &size_bytes) ? otherwise : value;
}

int mr_socket_error(int fd, int error)
{
    int type;
    socklen_t size_bytes = sizeof type;
    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size_bytes) ? -errno : error;
}

static bool has_timeout(int fd, int host_option)
{
    struct timeval timeout;
    socklen_t size_bytes = sizeof timeout;
    return !getsockopt(fd, SOL_SOCKET, host_option, &timeout, &size_bytes) && (timeout.tv_sec || timeout.tv_usec);
}

int64_t mr_socket_waited(struct mr_call *c, int64_t result, int host_timeout_option)
{
    if (result == -EINTR && has_timeout(FD(0), host_timeout_option))
        c->for_good = true;
    return result;
}

/* ---- setting ---- */

static int64_t set_value(const struct request *request, size_t size_bytes)
{
    return mr_result(setsockopt(request->fd, request->level, request->option, host_value.bytes, (socklen_t)size_bytes));
}

/* A classic BPF program: struct sock_fprog, and the instructions that it points to. */
static int64_t set_program(const struct request *request, const uint8_t *program)
{
    uint32_t count = mr_get16(program), bytes = count * sizeof(struct sock_filter);
    if (count > BPF_MAXINSNS)
        return -EINVAL;
    const uint8_t *from = mr_guest_bytes(mr_get32(program + 4), bytes, MR_READ);
    if (!from)
        return -EFAULT;
    for (uint32_t at = 0; at < bytes; at += sizeof(struct sock_filter))
        mr_layout_to_host(INSTRUCTION, from + at, bytes - at, host_value.bytes + at, sizeof host_value - at);
    const struct sock_fprog host = {(uint16_t)count, (struct sock_filter *)host_value.bytes};
    return mr_result(setsockopt(request->fd, request->level, request->option, &host, sizeof host));
}

static int64_t set_control(const struct request *request, const uint8_t *from)
{
    int64_t size_bytes = mr_control_to_host(from, request->size_bytes, host_value.bytes, sizeof host_value);
    return size_bytes < 0 ? size_bytes : set_value(request, (size_t)size_bytes);
}

/* Rings are memory that the kernel and the program write. The kernel's side is the host's, so only what is equal will do. */
static bool ring_fits(int fd)
{
    int version = TPACKET_V1;
    socklen_t size_bytes = sizeof version;
    return !mr_big_endian && !getsockopt(fd, LEVEL_PACKET, PACKET_VERSION, &version, &size_bytes) &&
           version != TPACKET_V1;
}

SYSCALL(4181, setsockopt, "DLOVu")
{
    struct request request = request_of(c);
    request.size_bytes = U32(4);
    if ((int32_t)request.size_bytes < 0)
        return -EINVAL;
    if (request.size_bytes > VALUE_BYTES / 2)
        request.size_bytes = VALUE_BYTES / 2; /* more than any option looks at */
    const uint8_t *from = mr_guest_bytes(request.value, request.size_bytes, MR_READ);
    if (!from || request.value == 0) /* the host says which error comes first */
        return mr_result(setsockopt(request.fd, request.level, request.option,
                                    request.value ? mr_user(request.value, request.size_bytes) : NULL,
                                    request.size_bytes));
    if (request.row->kind == MR_OPTION_PROGRAM && request.size_bytes >= PROGRAM_BYTES)
        return set_program(&request, from);
    if (request.row->kind == MR_OPTION_CONTROL)
        return set_control(&request, from);
    if (request.row->kind == MR_OPTION_RING && !ring_fits(request.fd))
        return mr_socket_error(request.fd, -EINVAL);
    return set_value(&request, mr_layout_to_host(request.row->layout, from, request.size_bytes, host_value.bytes,
                                                 sizeof host_value));
}

/* ---- getting ---- */

static bool is_one_int(const struct mr_socket_option *row)
{
    return strlen(row->layout) == 1 && strchr("wet", row->layout[0]) != NULL;
}

/* How much to ask the host for, so that all that the guest has asked for is there. */
static socklen_t host_size(const struct request *request)
{
    const struct mr_socket_option *row = request->row;
    struct mr_layout_size size = mr_layout_size(row->layout);
    if (is_one_int(row))
        return row == &mr_int_option && request->size_bytes > sizeof(int) ? request->size_bytes : sizeof(int);
    return size.guest == size.host
               ? request->size_bytes
               : size.host - size.guest + (request->size_bytes > size.guest ? request->size_bytes : size.guest);
}

/* Makes the guest's value of the host's; returns its size. */
static size_t value_to_guest(const struct request *request, size_t host_bytes)
{
    const struct mr_socket_option *row = request->row;
    if (row->kind == MR_OPTION_ADDRESS) {
        mr_address_to_guest(host_value.bytes, host_bytes, guest_value.bytes);
        return host_bytes;
    }
    bool unknown = row == &mr_int_option && host_bytes > sizeof(int);
    size_t size_bytes = mr_layout_to_guest(unknown ? "*b" : row->layout, host_value.bytes, host_bytes,
                                          guest_value.bytes, sizeof guest_value);
    bool is_byte = host_value.bytes[1] == 0 && host_value.bytes[2] == 0 && host_value.bytes[3] == 0;
    if (request->level == IPPROTO_IP && is_one_int(row) && is_byte && request->size_bytes > 0 &&
        request->size_bytes < sizeof(int)) { /* the kernel gives one byte where it fits */
        guest_value.bytes[0] = host_value.bytes[0];
        return 1;
    }
    return size_bytes;
}

static int64_t put_value(const struct request *request, uint32_t guest_size, size_t size_bytes)
{
    if (size_bytes > request->size_bytes)
        size_bytes = request->size_bytes;
    uint8_t *to = mr_guest_bytes(request->value, (uint32_t)size_bytes, MR_WRITE);
    if (!to)
        return -EFAULT;
    memcpy(to, guest_value.bytes, size_bytes);
    return mr_write32(guest_size, (uint32_t)size_bytes);
}

/* Here sizes count instructions. */
static int64_t get_program(const struct request *request, uint32_t guest_size)
{
    socklen_t count = request->size_bytes < BPF_MAXINSNS ? request->size_bytes : BPF_MAXINSNS;
    bool wanted = count > 0;
    if (getsockopt(request->fd, request->level, request->option, host_value.bytes, &count))
        return -errno;
    uint32_t bytes = wanted ? count * (uint32_t)sizeof(struct sock_filter) : 0;
    uint8_t *to = mr_guest_bytes(request->value, bytes, MR_WRITE);
    if (!to)
        return -EFAULT;
    for (uint32_t at = 0; at < bytes; at += sizeof(struct sock_filter))
        mr_layout_to_guest(INSTRUCTION, host_value.bytes + at, bytes - at, to + at, bytes - at);
    return mr_write32(guest_size, count);
}

static int64_t get_control(const struct request *request, uint32_t guest_size)
{
    int flags = 0;
    socklen_t size_bytes = VALUE_BYTES;
    if (getsockopt(request->fd, request->level, request->option, host_value.bytes, &size_bytes))
        return -errno;
    return put_value(request, guest_size, mr_control_to_guest(host_value.bytes, size_bytes, guest_value.bytes,
                                                              request->size_bytes, &flags));
}

static int64_t get_plain(const struct request *request, uint32_t guest_size)
{
    socklen_t size_bytes = host_size(request);
    memset(host_value.bytes, 0, size_bytes);
    if (request->row->kind == MR_OPTION_ASKS) {
        const uint8_t *from = mr_guest_bytes(request->value, request->size_bytes, MR_READ);
        if (!from)
            return -EFAULT;
        mr_layout_to_host(request->row->layout, from, request->size_bytes, host_value.bytes, sizeof host_value);
    }
    socklen_t asked = size_bytes;
    if (getsockopt(request->fd, request->level, request->option, host_value.bytes, &size_bytes)) {
        int64_t error = -errno;
        if (size_bytes != asked && mr_write32(guest_size, size_bytes)) /* how much it would have taken */
            return -EFAULT;
        return error;
    }
    return put_value(request, guest_size, value_to_guest(request, size_bytes < asked ? size_bytes : asked));
}

SYSCALL(4173, getsockopt, "DLOWp")
{
    struct request request = request_of(c);
    if (mr_read32(U32(4), &request.size_bytes))
        return mr_socket_error(request.fd, -EFAULT);
    if ((int32_t)request.size_bytes < 0)
        return mr_socket_error(request.fd, -EINVAL);
    if (request.size_bytes > VALUE_BYTES / 2)
        request.size_bytes = VALUE_BYTES / 2;
    if (request.row->kind == MR_OPTION_PROGRAM && request.level == SOL_SOCKET)
        return get_program(&request, U32(4));
    return request.row->kind == MR_OPTION_CONTROL ? get_control(&request, U32(4)) : get_plain(&request, U32(4));
}
