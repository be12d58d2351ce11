/* System calls that send and receive on sockets. Buffers go to the host kernel as they are; names, control messages and the
 * payloads of netlink are converted.
 */
#include "linux/abi.h"
#include "linux/calls/socket.h"
#include "linux/descriptors.h"
#include "linux/host_call.h"
#include "linux/paths.h"
#include "memory/values.h"

#include <errno.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HEADER_BYTES 28u     /* struct msghdr of the guest: name, its size, vector, count, control, its size, flags */
#define MANY_HEADER_BYTES 32u /* struct mmsghdr: and a length */
enum { AT_NAME = 0, AT_NAME_BYTES = 4, AT_VECTOR = 8, AT_COUNT = 12, AT_CONTROL = 16, AT_CONTROL_BYTES = 20, AT_FLAGS = 24 };
#define FLAGS_OF_KERNEL 0x80000000u /* MSG_CMSG_COMPAT: means something to 64-bit kernels only */

/* ---- one message ---- */

/* Of the control messages of the one that this thread sends or receives. */
static _Thread_local struct {
    uint8_t host[MR_CONTROL_BYTES], guest[MR_CONTROL_BYTES];
} images;

struct message {
    uint32_t guest; /* its struct msghdr */
    uint32_t name, name_bytes, control, control_bytes;
    struct msghdr host;
    struct mr_address address;
    struct iovec *parts;
};

static struct mr_vector vector_of(const struct message *message)
{
    return (struct mr_vector){message->parts, message->host.msg_iovlen};
}

/* Reads the header and the vector: 0 or -errno. Room for the parts is at message->parts, or made where that is NULL. */
static int get_message(uint32_t guest, struct message *message)
{
    const uint8_t *from = mr_guest_bytes(guest, HEADER_BYTES, MR_READ);
    if (!from)
        return -EFAULT;
    uint32_t count = mr_get32(from + AT_COUNT), vector = mr_get32(from + AT_VECTOR);
    message->guest = guest;
    message->name = mr_get32(from + AT_NAME);
    message->name_bytes = message->name ? mr_get32(from + AT_NAME_BYTES) : 0;
    message->control = mr_get32(from + AT_CONTROL);
    message->control_bytes = mr_get32(from + AT_CONTROL_BYTES);
    if ((int32_t)message->name_bytes < 0)
        return -EINVAL;
    if (message->name_bytes > MR_STORAGE_BYTES)
        message->name_bytes = MR_STORAGE_BYTES;
    if (count > MR_MOST_PIECES)
        return -EMSGSIZE;
    if (!message->parts && (message->parts = calloc(count + 1, sizeof *message->parts)) == NULL)
        return -ENOMEM;
    message->host = (struct msghdr){.msg_iov = message->parts, .msg_iovlen = count};
    return mr_get_vector(vector, count, message->parts);
}

/* ---- sending ---- */

static int name_to_host(struct message *message)
{
    if (message->name_bytes == 0)
        return 0;
    int error = mr_get_address(message->name, message->name_bytes, MR_FOLLOW, &message->address);
    message->host.msg_name = &message->address.header;
    message->host.msg_namelen = message->address.size_bytes;
    return error;
}

static int control_to_host(struct message *message)
{
    if (message->control_bytes == 0)
        return 0;
    if (message->control_bytes > MR_CONTROL_BYTES / 3)
        return -ENOBUFS;
    const uint8_t *from = mr_guest_bytes(message->control, message->control_bytes, MR_READ);
    if (!from)
        return -EFAULT;
    int64_t size_bytes = mr_control_to_host(from, message->control_bytes, images.host, sizeof images.host);
    if (size_bytes <= 0)
        return (int)size_bytes;
    message->host.msg_control = images.host;
    message->host.msg_controllen = (size_t)size_bytes;
    return 0;
}

static int64_t send_host_message(struct mr_call *c, int fd, const struct msghdr *host, uint32_t flags)
{
    int64_t sent = mr_wait_call(SYS_sendmsg, (uint64_t)fd, MR_HOST(host), flags & ~FLAGS_OF_KERNEL, 0, 0, 0);
    return mr_socket_waited(c, sent, SO_SNDTIMEO);
}

/* A datagram of netlink goes in one converted piece. */
static int64_t send_converted(struct mr_call *c, int fd, struct msghdr *host, struct mr_vector vector, uint32_t flags)
{
    int error = 0;
    size_t size_bytes;
    void *datagram = mr_netlink_to_host(fd, vector, &size_bytes, &error);
    if (!datagram)
        return error;
    struct iovec part = {datagram, size_bytes};
    host->msg_iov = &part;
    host->msg_iovlen = 1;
    int64_t sent = send_host_message(c, fd, host, flags);
    free(datagram);
    return sent;
}

static int64_t send_message(struct mr_call *c, int fd, uint32_t guest, uint32_t flags)
{
    struct iovec parts[MR_MOST_PIECES];
    struct message message = {.parts = parts};
    int error = get_message(guest, &message);
    if (!error)
        error = name_to_host(&message);
    if (!error)
        error = control_to_host(&message);
    if (error)
        return mr_socket_error(fd, error);
    if (mr_netlink_converts(fd, message.name_bytes ? &message.address : NULL))
        return send_converted(c, fd, &message.host, vector_of(&message), flags);
    return send_host_message(c, fd, &message.host, flags);
}

static int64_t send_bytes(struct mr_call *c, uint32_t name, uint32_t name_bytes)
{
    struct mr_address address = {.size_bytes = 0};
    const struct iovec part = {mr_user(U32(1), U32(2)), U32(2)};
    int error = name ? mr_get_address(name, name_bytes, MR_FOLLOW, &address) : 0;
    if (error)
        return mr_socket_error(FD(0), error);
    struct msghdr host = {.msg_name = name ? &address.header : NULL, .msg_namelen = address.size_bytes};
    if (mr_netlink_converts(FD(0), name ? &address : NULL))
        return send_converted(c, FD(0), &host, (struct mr_vector){&part, 1}, U32(3));
    int64_t sent = mr_wait_call(SYS_sendto, U32(0), MR_HOST(part.iov_base), part.iov_len, U32(3) & ~FLAGS_OF_KERNEL,
                                MR_HOST(host.msg_name), host.msg_namelen);
    return mr_socket_waited(c, sent, SO_SNDTIMEO);
}

SYSCALL(4178, send, "DbuM") { return send_bytes(c, 0, 0); }
SYSCALL(4180, sendto, "DbuMAu") { return send_bytes(c, U32(4), U32(5)); }
SYSCALL(4179, sendmsg, "DHM") { return send_message(c, FD(0), U32(1), U32(2)); }

SYSCALL(4343, sendmmsg, "DpuM")
{
    uint32_t most = U32(2) < MR_MOST_PIECES ? U32(2) : MR_MOST_PIECES, done;
    int64_t sent = 0;
    if (most == 0) /* says only whether it is a socket */
        return mr_result(syscall(SYS_sendmmsg, FD(0), NULL, 0, 0));
    for (done = 0; done < most; done++) {
        uint32_t guest = U32(1) + MANY_HEADER_BYTES * done;
        sent = send_message(c, FD(0), guest, U32(3));
        if (sent < 0)
            break;
        if (mr_write32(guest + HEADER_BYTES, (uint32_t)sent)) {
            sent = -EFAULT;
            break;
        }
    }
    c->for_good = c->for_good && done == 0;
    return done > 0 ? done : sent;
}

/* ---- receiving ---- */

/* What the host writes to. The name is always asked for: it tells what is netlink. */
static void expect_message(struct message *message, uint8_t *image, size_t image_bytes)
{
    mr_expect_address(&message->address);
    message->host.msg_name = &message->address.header;
    message->host.msg_namelen = message->address.size_bytes;
    message->host.msg_control = message->control && message->control_bytes ? image : NULL;
    message->host.msg_controllen = message->host.msg_control ? image_bytes : 0;
    if (message->host.msg_control)
        mr_own_guest_may_get();
}

/* Of an address that a call gave back; what a stream gives is none. */
static bool is_netlink(const struct mr_address *address)
{
    return address->size_bytes >= sizeof(sa_family_t) && address->header.sa_family == AF_NETLINK;
}

static int put_control(struct message *message)
{
    uint32_t room = message->control_bytes < MR_CONTROL_BYTES ? message->control_bytes : MR_CONTROL_BYTES;
    size_t used = 0;
    if (message->host.msg_control) {
        memset(images.guest, 0, room); /* the padding */
        used = mr_control_to_guest(message->host.msg_control, message->host.msg_controllen, images.guest, room,
                                   &message->host.msg_flags);
        uint8_t *to = mr_guest_bytes(message->control, (uint32_t)used, MR_WRITE);
        if (!to)
            return -EFAULT;
        memcpy(to, images.guest, used);
    }
    return mr_write32(message->guest + AT_CONTROL_BYTES, (uint32_t)used);
}

/* Gives the guest what came: 0 or -errno. `size_bytes` is what the host says was received. */
static int put_message(int fd, struct message *message, size_t size_bytes)
{
    size_t room = mr_vector_bytes(vector_of(message));
    message->address.size_bytes = message->host.msg_namelen;
    if (is_netlink(&message->address))
        mr_netlink_received(fd, vector_of(message), size_bytes < room ? size_bytes : room);
    int control_error = put_control(message); /* first, so that descriptors are given or closed */
    int error = message->name ? mr_put_address(&message->address, message->name, message->guest + AT_NAME_BYTES) : 0;
    if (!error)
        error = mr_write32(message->guest + AT_FLAGS, (uint32_t)message->host.msg_flags & ~FLAGS_OF_KERNEL);
    return error ? error : control_error;
}

SYSCALL(4177, recvmsg, "DGM")
{
    struct iovec parts[MR_MOST_PIECES];
    struct message message = {.parts = parts};
    int error = get_message(U32(1), &message);
    if (error)
        return mr_socket_error(FD(0), error);
    expect_message(&message, images.host, sizeof images.host);
    int64_t got = mr_wait_call(SYS_recvmsg, U32(0), MR_HOST(&message.host), U32(2) & ~FLAGS_OF_KERNEL, 0, 0, 0);
    if (got < 0)
        return mr_socket_waited(c, got, SO_RCVTIMEO);
    error = put_message(FD(0), &message, (size_t)got);
    return error ? error : got;
}

static int64_t receive_bytes(struct mr_call *c, uint32_t name, uint32_t name_size)
{
    struct mr_address address;
    struct iovec part = {mr_user(U32(1), U32(2)), U32(2)};
    mr_expect_address(&address);
    int64_t got = mr_wait_call(SYS_recvfrom, U32(0), MR_HOST(part.iov_base), part.iov_len, U32(3) & ~FLAGS_OF_KERNEL,
                               MR_HOST(&address.header), MR_HOST(&address.size_bytes));
    if (got < 0)
        return mr_socket_waited(c, got, SO_RCVTIMEO);
    if (is_netlink(&address))
        mr_netlink_received(FD(0), (struct mr_vector){&part, 1}, (size_t)got < part.iov_len ? (size_t)got : part.iov_len);
    int error = name ? mr_put_address(&address, name, name_size) : 0;
    return error ? error : got;
}

SYSCALL(4175, recv, "DBuM") { return receive_bytes(c, 0, 0); }
SYSCALL(4176, recvfrom, "DBuMRp") { return receive_bytes(c, U32(4), U32(5)); }

/* ---- read and write ---- */

/* Whether the first word is a length as messages of netlink begin with; asks no kernel, since most reads are of files. */
static bool looks_like_netlink(struct mr_vector vector, size_t size_bytes, bool of_guest)
{
    uint32_t length;
    if (size_bytes < sizeof(struct nlmsghdr) || !mr_vector_get(vector, &length, sizeof length))
        return false;
    length = of_guest ? mr_swap32(length) : length;
    return length >= sizeof(struct nlmsghdr) && length <= size_bytes;
}

int64_t mr_socket_read(struct mr_call *c, struct mr_vector vector, int64_t result)
{
    if (result > 0 && looks_like_netlink(vector, (size_t)result, false) &&
        mr_host_socket_option(FD(0), SO_DOMAIN, -1) == AF_NETLINK)
        mr_netlink_received(FD(0), vector, (size_t)result);
    return mr_socket_waited(c, result, SO_RCVTIMEO);
}

bool mr_socket_write(struct mr_call *c, struct mr_vector vector, int64_t *result)
{
    struct msghdr host = {0};
    if (!mr_big_endian || !looks_like_netlink(vector, mr_vector_bytes(vector), true) ||
        !mr_netlink_converts(FD(0), NULL))
        return false;
    *result = send_converted(c, FD(0), &host, vector, 0);
    return true;
}

/* ---- receiving many ---- */

#define IMAGE_BYTES 4096u /* for the control messages of each */

struct many {
    struct message *messages;
    struct mmsghdr *headers;
    uint8_t *images;
    uint32_t count; /* of those that can be received into */
};

static void free_many(struct many *many)
{
    for (uint32_t i = 0; many->messages && i < many->count + 1; i++)
        free(many->messages[i].parts);
    free(many->messages);
    free(many->headers);
    free(many->images);
}

/* Prepares as many messages as the guest has in good order: 0, or -errno where it is not even one. */
static int expect_many(int fd, uint32_t guest, uint32_t most, struct many *many)
{
    *many = (struct many){
        .messages = calloc(most + 1, sizeof *many->messages), /* one more, which is never used */
        .headers = calloc(most, sizeof *many->headers),
        .images = malloc((size_t)most * IMAGE_BYTES),
    };
    if (!many->messages || !many->headers || !many->images)
        return -ENOMEM;
    for (uint32_t i = 0; i < most; i++, many->count++) {
        struct message *message = &many->messages[i];
        int error = get_message(guest + MANY_HEADER_BYTES * i, message);
        if (error)
            return i ? 0 : mr_socket_error(fd, error);
        expect_message(message, many->images + (size_t)IMAGE_BYTES * i, IMAGE_BYTES);
        many->headers[i].msg_hdr = message->host;
    }
    return 0;
}

static int64_t put_many(int fd, struct many *many, int64_t received)
{
    for (int64_t i = 0; i < received; i++) {
        struct message *message = &many->messages[i];
        message->host = many->headers[i].msg_hdr;
        int error = put_message(fd, message, many->headers[i].msg_len);
        if (!error)
            error = mr_write32(message->guest + HEADER_BYTES, many->headers[i].msg_len);
        if (error)
            return i ? i : error;
    }
    return received;
}

static int64_t receive_many(struct mr_call *c, enum mr_time_width width)
{
    struct timespec timeout;
    struct many many;
    uint32_t most = U32(2) < MR_MOST_PIECES ? U32(2) : MR_MOST_PIECES;
    if (U32(4) && mr_get_timespec(U32(4), width, &timeout))
        return -EFAULT;
    if (most == 0)
        return mr_result(syscall(SYS_recvmmsg, FD(0), NULL, 0, 0, U32(4) ? &timeout : NULL));
    int64_t got = expect_many(FD(0), U32(1), most, &many);
    if (got == 0)
        got = mr_wait_call(SYS_recvmmsg, U32(0), MR_HOST(many.headers), many.count, U32(3) & ~FLAGS_OF_KERNEL,
                           U32(4) ? MR_HOST(&timeout) : 0, 0);
    if (got > 0)
        got = put_many(FD(0), &many, got);
    free_many(&many);
    if (got > 0 && U32(4) && mr_put_timespec(U32(4), width, &timeout))
        return -EFAULT;
    return mr_socket_waited(c, got, SO_RCVTIMEO);
}

SYSCALL(4335, recvmmsg, "DpuMp") { return receive_many(c, MR_TIME32); }
SYSCALL(4417, recvmmsg_time64, "DpuMp") { return receive_many(c, MR_TIME64); }
