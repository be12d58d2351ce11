/* Control messages: the guest's header is 12 bytes and its data are padded to 4, the host's are 16 and 8. */
#include "linux/calls/socket.h"
#include "linux/calls/layout.h"
#include "memory/values.h"

#include <errno.h>
#include <linux/if_alg.h>
#include <linux/if_packet.h>
#include <linux/in6.h>
#include <linux/tls.h>
#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

#define GUEST_HEADER 12u /* struct cmsghdr: length, level, type */
enum { AT_LENGTH = 0, AT_LEVEL = 4, AT_TYPE = 8 };

/* ---- layouts of the data ---- */

#define EXTENDED_ERROR "e4b2w" /* struct sock_extended_err */
#define ADDRESS_IN "h14b"
#define ADDRESS_IN6 "h2b4b16bw"

/* Numbers that headers of the C library lack; the same everywhere: asm/socket.h, linux/in.h, linux/udp.h. */
enum {
    TIMESTAMP_OLD = 29, TIMESTAMPNS_OLD = 35, TIMESTAMPING_OLD = 37, TIMESTAMP_NEW = 63, TIMESTAMPNS_NEW = 64,
    TIMESTAMPING_NEW = 65, OPT_STATS = 54, STAMPING_PKTINFO = 58, TXTIME = 61, SECURITY = 3, PIDFD = 4,
    IN_PROTOCOL = 52, IN_RECVFRAGSIZE = 25, UDP_SEGMENT_SIZE = 103, UDP_GRO_SIZE = 104, TCP_IN_QUEUE = 36,
    IN6_PKTINFO_2292 = 2, IN6_HOPLIMIT_2292 = 8, IN6_ORIGDSTADDR = 74, IN6_RECVFRAGSIZE = 77, LEVEL_TLS = 282,
    LEVEL_PACKET = 263, LEVEL_NETLINK = 270, LEVEL_ALG = 279,
};

static const struct control_row {
    int level, type; /* the host's */
    const char *layout;
} control_rows[] = {
    {SOL_SOCKET, SCM_RIGHTS, "*w"},
    {SOL_SOCKET, SCM_CREDENTIALS, "3w"},
    {SOL_SOCKET, SECURITY, "*b"},
    {SOL_SOCKET, PIDFD, "w"},
    {SOL_SOCKET, TIMESTAMP_OLD, "2l"},
    {SOL_SOCKET, TIMESTAMPNS_OLD, "2l"},
    {SOL_SOCKET, TIMESTAMPING_OLD, "6l"},
    {SOL_SOCKET, TIMESTAMP_NEW, "2q"},
    {SOL_SOCKET, TIMESTAMPNS_NEW, "2q"},
    {SOL_SOCKET, TIMESTAMPING_NEW, "6q"},
    {SOL_SOCKET, OPT_STATS, "*b"},
    {SOL_SOCKET, STAMPING_PKTINFO, "4w"},
    {SOL_SOCKET, TXTIME, "q"},
    {IPPROTO_IP, IP_RECVOPTS, "*b"},
    {IPPROTO_IP, IP_RETOPTS, "*b"},
    {IPPROTO_IP, SECURITY, "*b"},
    {IPPROTO_IP, IP_PKTINFO, "w8b"},
    {IPPROTO_IP, IP_RECVERR, EXTENDED_ERROR ADDRESS_IN},
    {IPPROTO_IP, IP_ORIGDSTADDR, ADDRESS_IN},
    {IPPROTO_IPV6, IPV6_PKTINFO, "16bw"},
    {IPPROTO_IPV6, IN6_PKTINFO_2292, "16bw"},
    {IPPROTO_IPV6, IPV6_FLOWINFO, "4b"}, /* network order */
    {IPPROTO_IPV6, IPV6_RECVERR, EXTENDED_ERROR ADDRESS_IN6},
    {IPPROTO_IPV6, IPV6_PATHMTU, ADDRESS_IN6 "w"},
    {IPPROTO_IPV6, IN6_ORIGDSTADDR, ADDRESS_IN6},
    {IPPROTO_UDP, UDP_SEGMENT_SIZE, "h"},
    {LEVEL_TLS, TLS_SET_RECORD_TYPE, "b"},
    {LEVEL_TLS, TLS_GET_RECORD_TYPE, "b"},
    {LEVEL_ALG, ALG_SET_IV, "w*b"},
    {LEVEL_PACKET, PACKET_AUXDATA, "3w4h"},
    {LEVEL_PACKET, PACKET_TX_TIMESTAMP, EXTENDED_ERROR},
};

/* What has no row is an int (IP_TTL, IPV6_HOPLIMIT, IPV6_TCLASS, UDP_GRO, TCP_INQ, SO_MARK...), or unknown bytes. */
static const char *layout_of(int level, int type, size_t size_bytes)
{
    for (size_t i = 0; i < sizeof control_rows / sizeof *control_rows; i++)
        if (control_rows[i].level == level && control_rows[i].type == type)
            return control_rows[i].layout;
    return size_bytes == 4 ? "w" : "*b";
}

/* ---- to the host ---- */

static size_t padded(size_t size_bytes, size_t to)
{
    return (size_bytes + to - 1) / to * to;
}

/* The host's own descriptors are none that the guest can send. */
static void take_away_hosts(uint8_t *data, size_t data_bytes)
{
    for (size_t at = 0; at + sizeof(int) <= data_bytes; at += sizeof(int)) {
        int fd;
        memcpy(&fd, data + at, sizeof fd);
        fd = mr_guest_descriptor(fd);
        memcpy(data + at, &fd, sizeof fd);
    }
}

int64_t mr_control_to_host(const uint8_t *guest, size_t guest_bytes, uint8_t *host, size_t host_room)
{
    size_t at = 0, used = 0;
    while (guest_bytes >= at + GUEST_HEADER) {
        size_t length = mr_get32(guest + at + AT_LENGTH);
        if (length < GUEST_HEADER || length > guest_bytes - at)
            return -EINVAL;
        if (host_room - used < sizeof(struct cmsghdr) + 2 * padded(length, 8))
            return -ENOBUFS;
        struct cmsghdr header = {
            .cmsg_level = mr_level_to_host((int)mr_get32(guest + at + AT_LEVEL)),
            .cmsg_type = (int)mr_get32(guest + at + AT_TYPE),
        };
        const char *layout = layout_of(header.cmsg_level, header.cmsg_type, length - GUEST_HEADER);
        size_t data = mr_layout_to_host(layout, guest + at + GUEST_HEADER, length - GUEST_HEADER,
                                        host + used + sizeof header, host_room - used - sizeof header);
        if (header.cmsg_level == SOL_SOCKET && header.cmsg_type == SCM_RIGHTS)
            take_away_hosts(host + used + sizeof header, data);
        header.cmsg_len = sizeof header + data;
        memcpy(host + used, &header, sizeof header);
        memset(host + used + header.cmsg_len, 0, padded(header.cmsg_len, 8) - header.cmsg_len);
        used += padded(header.cmsg_len, 8);
        at += padded(length, 4);
    }
    return (int64_t)used;
}

/* ---- to the guest ---- */

struct output {
    uint8_t *at;
    size_t room;
    int *flags;
};

static void put_header(struct output *to, const struct cmsghdr *header, size_t data_bytes)
{
    mr_put32(to->at + AT_LENGTH, (uint32_t)(GUEST_HEADER + data_bytes));
    mr_put32(to->at + AT_LEVEL, (uint32_t)mr_level_to_guest(header->cmsg_level));
    mr_put32(to->at + AT_TYPE, (uint32_t)header->cmsg_type);
}

static void advance(struct output *to, size_t data_bytes)
{
    size_t step = GUEST_HEADER + padded(data_bytes, 4);
    step = step < to->room ? step : to->room;
    to->at += step;
    to->room -= step;
}

/* What does not fit is cut off, and the header says how much there is then. */
static void put_data(struct output *to, const struct cmsghdr *header, const uint8_t *data, size_t data_bytes)
{
    if (to->room < GUEST_HEADER) {
        *to->flags |= MSG_CTRUNC;
        return;
    }
    size_t part = data_bytes;
    if (part > to->room - GUEST_HEADER) {
        part = to->room - GUEST_HEADER;
        *to->flags |= MSG_CTRUNC;
    }
    put_header(to, header, part);
    memcpy(to->at + GUEST_HEADER, data, part);
    advance(to, part);
}

/* The host has made all descriptors; those for which there is no room are closed. */
static void put_descriptors(struct output *to, const struct cmsghdr *header, const uint8_t *data, size_t data_bytes)
{
    size_t count = data_bytes / sizeof(int);
    size_t most = to->room > GUEST_HEADER ? (to->room - GUEST_HEADER) / 4 : 0;
    for (size_t i = 0; i < count; i++) {
        int fd;
        memcpy(&fd, data + i * sizeof fd, sizeof fd);
        if (i < most)
            mr_put32(to->at + GUEST_HEADER + 4 * i, (uint32_t)fd);
        else
            close(fd);
    }
    if (count > most)
        *to->flags |= MSG_CTRUNC;
    size_t kept = count < most ? count : most;
    if (kept == 0)
        return;
    put_header(to, header, 4 * kept);
    advance(to, 4 * kept);
}

static void put_one(struct output *to, const struct cmsghdr *header, const uint8_t *data, size_t data_bytes)
{
    uint8_t image[4096];
    if (header->cmsg_level == SOL_SOCKET && header->cmsg_type == SCM_RIGHTS) {
        put_descriptors(to, header, data, data_bytes);
        return;
    }
    bool pidfd = header->cmsg_level == SOL_SOCKET && header->cmsg_type == PIDFD && data_bytes == sizeof(int);
    if (pidfd && to->room < GUEST_HEADER + 4) { /* a descriptor that the guest would never hear of */
        int fd;
        memcpy(&fd, data, sizeof fd);
        if (fd >= 0)
            close(fd);
    }
    const char *layout = layout_of(header->cmsg_level, header->cmsg_type, data_bytes);
    put_data(to, header, image, mr_layout_to_guest(layout, data, data_bytes, image, sizeof image));
}

size_t mr_control_to_guest(const uint8_t *host, size_t host_bytes, uint8_t *guest, size_t guest_room, int *flags)
{
    struct output to = {guest, guest_room, flags};
    struct cmsghdr header;
    for (size_t at = 0; host_bytes >= at + sizeof header; at += padded(header.cmsg_len, 8)) {
        memcpy(&header, host + at, sizeof header);
        if (header.cmsg_len < sizeof header || header.cmsg_len > host_bytes - at)
            break;
        put_one(&to, &header, host + at + sizeof header, header.cmsg_len - sizeof header);
    }
    return guest_room - to.room;
}
