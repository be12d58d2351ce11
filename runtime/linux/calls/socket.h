/* What the files of sockets share: sys_socket*.c (calls), netlink*.c (payloads), ioctl_socket.c, strace/socket.c. */
#ifndef MR_SOCKET_H
#define MR_SOCKET_H

#include "linux/calls/syscall.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/uio.h>

/* ---- addresses (sys_socket_address.c) ---- */

#define MR_STORAGE_BYTES 128u /* of struct sockaddr_storage, the longest address a kernel takes */

/* The host's side of an address, with room for the zero that ends a path of the longest name. */
struct mr_address {
    union {
        struct sockaddr header;
        uint8_t bytes[MR_STORAGE_BYTES + 1];
        uint64_t alignment;
    };
    socklen_t size_bytes;
};

/* Between images; both sides have the same size. */
void mr_address_to_host(const void *guest, size_t size_bytes, void *host);
void mr_address_to_guest(const void *host, size_t size_bytes, void *guest);
/* Reads an address of the guest that a call is given: 0 or -errno. */
int mr_get_address(uint32_t guest, uint32_t size_bytes, unsigned how, struct mr_address *address);
/* Makes room for one that a call gives back. */
void mr_expect_address(struct mr_address *address);
/* Gives it to the guest, as much as fits; the word at `guest_size` says how much that is, and then how much there was. */
int mr_put_address(const struct mr_address *address, uint32_t guest, uint32_t guest_size);

/* ---- numbers ---- */

/* SOCK_STREAM is 2 and SOCK_DGRAM 1 on MIPS, the other way round elsewhere: of the guest to the host's, and back. */
static inline int mr_socket_type_swapped(int type)
{
    return type == 1 ? 2 : type == 2 ? 1 : type;
}

#define MR_GUEST_SOL_SOCKET 0xffff
#define MR_NO_LEVEL 0xffff /* no protocol of the host has it */

/* SOL_SOCKET is 1 at the host; whatever level 1 is to the guest, it must not become that. */
static inline int mr_level_to_host(int level)
{
    return level == MR_GUEST_SOL_SOCKET ? SOL_SOCKET : level == SOL_SOCKET ? MR_NO_LEVEL : level;
}

static inline int mr_level_to_guest(int level)
{
    return level == SOL_SOCKET ? MR_GUEST_SOL_SOCKET : level;
}

/* The host's number of an option of SOL_SOCKET, and its name; one that no socket has when the guest's is unknown. */
int mr_socket_option_to_host(int option);
const char *mr_socket_option_name(int level, int option); /* guest's numbers; NULL: unknown */

/* ---- options (sys_socket_option.c, socket_option_table.c) ---- */

enum mr_option_kind {
    MR_OPTION_PLAIN,   /* as the layout says */
    MR_OPTION_ASKS,    /* getsockopt reads it, too */
    MR_OPTION_ADDRESS, /* getsockopt gives as much of an address as it is asked for */
    MR_OPTION_PROGRAM, /* struct sock_fprog, or a number */
    MR_OPTION_CONTROL, /* control messages */
    MR_OPTION_RING,    /* makes a ring in memory that both sides see */
};

struct mr_socket_option {
    int level, option; /* the host's */
    enum mr_option_kind kind;
    const char *layout;
};

/* How an option's value looks: as mr_int_option where the table has no row. */
const struct mr_socket_option *mr_find_socket_option(int host_level, int host_option);
extern const struct mr_socket_option mr_int_option;
/* What the host says of one int option, or `otherwise` where it says nothing. */
int mr_host_socket_option(int fd, int host_option, int otherwise);
/* The error that a kernel gives first: that of the descriptor, where it is no socket, else the one that was found. */
int mr_socket_error(int fd, int error);
/* A call of the row `c` that waits has given this result: of a socket with a timeout, it is not made
 * again after a handler. */
int64_t mr_socket_waited(struct mr_call *c, int64_t result, int host_timeout_option);

/* ---- control messages (sys_socket_control.c) ---- */

#define MR_CONTROL_BYTES 32768u /* more than any kernel gives */

/* Returns how many bytes there are for the host, or -errno. */
int64_t mr_control_to_host(const uint8_t *guest, size_t guest_bytes, uint8_t *host, size_t host_room);
/* Gives the guest what fits and returns its size; *flags gets MSG_CTRUNC where not all fits. */
size_t mr_control_to_guest(const uint8_t *host, size_t host_bytes, uint8_t *guest, size_t guest_room, int *flags);

/* ---- vectors (converted_io.c) ---- */

struct mr_vector {
    const struct iovec *parts; /* of guest memory, by mr_user */
    size_t count;
};
/* The bytes of all parts. */
size_t mr_vector_bytes(struct mr_vector vector);
/* Copies between them and the host; false: not accessible. */
bool mr_vector_get(struct mr_vector vector, void *to, size_t size_bytes);
bool mr_vector_put(struct mr_vector vector, const void *from, size_t size_bytes);

/* ---- read and write of sockets (sys_socket_message.c) ---- */

/* After a read into these parts, with its result or -errno: what the calls of sockets do then. Returns the result. */
int64_t mr_socket_read(struct mr_call *c, struct mr_vector vector, int64_t result);
/* Before a write: true if it has been made, with its result. */
bool mr_socket_write(struct mr_call *c, struct mr_vector vector, int64_t *result);

/* ---- netlink (netlink.c) ---- */

/* Whether what is sent there must be converted; `address` may be NULL. */
bool mr_netlink_converts(int fd, const struct mr_address *address);
/* Copies a guest's datagram for the host into memory to be freed, or returns NULL and sets *error. */
void *mr_netlink_to_host(int fd, struct mr_vector vector, size_t *size_bytes, int *error);
/* Converts what the host has put there. */
void mr_netlink_received(int fd, struct mr_vector vector, size_t size_bytes);

#endif
