/* System calls that make sockets, name them and connect them, and socketcall, which is all calls of sockets in one.
 *
 * Messages are in sys_socket_message.c, options in sys_socket_option.c.
 */
#include "linux/calls/desock.h"
#include "linux/calls/socket.h"
#include "linux/host_call.h"
#include "linux/paths.h"
#include "memory/values.h"

#include <errno.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- making ---- */

#define TYPE_MASK 0xfu                             /* the rest of a socket's type is flags */
#define KNOWN_FLAGS (SOCK_CLOEXEC | SOCK_NONBLOCK) /* which are those of open */

static int type_to_host(uint32_t mips)
{
    int flags = mr_known_flags(mips & ~TYPE_MASK, KNOWN_FLAGS);
    return flags < 0 ? flags : flags | mr_socket_type_swapped((int)(mips & TYPE_MASK));
}

SYSCALL(4183, socket, "FTd")
{
    int type = type_to_host(U32(1));
    return type < 0 ? type : mr_result(socket(INT(0), type, INT(2)));
}

SYSCALL(4184, socketpair, "FTdp")
{
    int ends[2], type = type_to_host(U32(1));
    if (type < 0)
        return type;
    if (socketpair(INT(0), type, INT(2), ends))
        return -errno;
    if (mr_write32(U32(3), (uint32_t)ends[0]) || mr_write32(U32(3) + 4, (uint32_t)ends[1])) {
        close(ends[0]);
        close(ends[1]);
        return -EFAULT;
    }
    return 0;
}

/* ---- naming and connecting ---- */

SYSCALL(4169, bind, "DAu")
{
    struct mr_address address;
    int error = mr_get_address(U32(1), U32(2), MR_NAME | MR_CREATE, &address);
    if (error)
        return mr_socket_error(FD(0), error);
    mr_desock_bind(FD(0), &address);
    return mr_result(bind(FD(0), &address.header, address.size_bytes));
}

SYSCALL(4170, connect, "DAu")
{
    struct mr_address address;
    int error = mr_get_address(U32(1), U32(2), MR_FOLLOW, &address);
    if (error)
        return mr_socket_error(FD(0), error);
    int64_t result = mr_wait_call(SYS_connect, U32(0), MR_HOST(&address.header), address.size_bytes, 0, 0, 0);
    return mr_socket_waited(c, result, SO_SNDTIMEO);
}

SYSCALL(4174, listen, "Dd")
{
    int64_t result = mr_result(listen(FD(0), INT(1)));
    if (result == 0)
        mr_desock_listen(FD(0));
    return result;
}

SYSCALL(4182, shutdown, "Dd") { return mr_result(shutdown(FD(0), INT(1))); }

static int64_t accept_with(struct mr_call *c, uint32_t flags)
{
    struct mr_address address;
    int host_flags = mr_known_flags(flags, KNOWN_FLAGS);
    if (host_flags < 0)
        return host_flags;
    mr_expect_address(&address);
    int64_t fd = mr_wait_call(SYS_accept4, U32(0), MR_HOST(&address.header), MR_HOST(&address.size_bytes),
                              (uint64_t)host_flags, 0, 0);
    if (fd < 0)
        return mr_socket_waited(c, fd, SO_RCVTIMEO);
    mr_desock_accepted(c->s, &address);
    int error = U32(1) ? mr_put_address(&address, U32(1), U32(2)) : 0;
    if (error)
        close((int)fd); /* as the kernel does: the connection is lost */
    return error ? error : fd;
}

SYSCALL(4168, accept, "DRp") { return accept_with(c, 0); }
SYSCALL(4334, accept4, "DRpT") { return accept_with(c, U32(3)); }

static int64_t tell_name(struct mr_call *c, long host_number)
{
    struct mr_address address;
    mr_expect_address(&address);
    if (syscall(host_number, FD(0), &address.header, &address.size_bytes))
        return -errno;
    return mr_put_address(&address, U32(1), U32(2));
}

SYSCALL(4172, getsockname, "DRp") { return tell_name(c, SYS_getsockname); }
SYSCALL(4171, getpeername, "DRp") { return tell_name(c, SYS_getpeername); }

/* ---- all in one ---- */

/* The calls by their number, from 1 on: linux/net.h. */
static const uint16_t in_one[] = {
    0,    4183, 4169, 4170, 4174, 4168, 4172, 4171, 4184, 4178, 4175,
    4180, 4176, 4182, 4181, 4173, 4179, 4177, 4334, 4335, 4343,
};

/* The arguments lie in memory. The one of these calls that has a signal mask or a pair of words does not exist. */
SYSCALL(4102, socketcall, "dp")
{
    if (U32(0) == 0 || U32(0) >= sizeof in_one / sizeof *in_one)
        return -EINVAL;
    struct mr_call inner = {.s = c->s, .row = mr_call_row(in_one[U32(0)]), .pc = c->pc, .next_pc = c->next_pc};
    for (uint32_t n = 0; mr_call_kinds(inner.row)[n]; n++) {
        uint32_t value;
        if (mr_read32(U32(1) + 4 * n, &value))
            return -EFAULT;
        inner.arg[n] = value;
    }
    int64_t result = mr_call_perform(&inner);
    c->for_good = inner.for_good || mr_call_marked(inner.row, '~');
    return result;
}
