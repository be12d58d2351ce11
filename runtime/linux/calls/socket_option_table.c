/* Options of sockets: the numbers that MIPS has of its own, and the layout of every value that is no single int.
 *
 * Sources: asm/socket.h of MIPS and the headers of each protocol. Not here, and so refused (ENOPROTOOPT): values with
 * pointers, such as the tables of netfilter, TCP_ZEROCOPY_RECEIVE, XDP_UMEM_REG; policies of IPsec; those of SCTP.
 */
#include "linux/calls/socket.h"

#include <linux/can/raw.h>
#include <linux/icmpv6.h>
#include <linux/if_alg.h>
#include <linux/if_packet.h>
#include <linux/in6.h>
#include <linux/netlink.h>
#include <linux/tls.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

/* ---- SOL_SOCKET ---- */

#define FIRST_EQUAL 36 /* from here on, numbers below 0x1000 are the host's, too */
#define FIRST_OWN 0x1000

static const struct number_row {
    int mips, host;
    const char *name;
} number_rows[] = {
    {0x0001, 1, "SO_DEBUG"},
    {0x0004, 2, "SO_REUSEADDR"},
    {0x0008, 9, "SO_KEEPALIVE"},
    {0x0010, 5, "SO_DONTROUTE"},
    {0x0020, 6, "SO_BROADCAST"},
    {0x0080, 13, "SO_LINGER"},
    {0x0100, 10, "SO_OOBINLINE"},
    {0x0200, 15, "SO_REUSEPORT"},
    {0x1001, 7, "SO_SNDBUF"},
    {0x1002, 8, "SO_RCVBUF"},
    {0x1003, 19, "SO_SNDLOWAT"},
    {0x1004, 18, "SO_RCVLOWAT"},
    {0x1005, 21, "SO_SNDTIMEO"},
    {0x1006, 20, "SO_RCVTIMEO"},
    {0x1007, 4, "SO_ERROR"},
    {0x1008, 3, "SO_TYPE"},
    {0x1009, 30, "SO_ACCEPTCONN"},
    {0x1028, 38, "SO_PROTOCOL"},
    {0x1029, 39, "SO_DOMAIN"},
    {11, 11, "SO_NO_CHECK"},
    {12, 12, "SO_PRIORITY"},
    {14, 14, "SO_BSDCOMPAT"},
    {17, 16, "SO_PASSCRED"},
    {18, 17, "SO_PEERCRED"},
    {25, 25, "SO_BINDTODEVICE"},
    {26, 26, "SO_ATTACH_FILTER"},
    {27, 27, "SO_DETACH_FILTER"},
    {28, 28, "SO_PEERNAME"},
    {29, 29, "SO_TIMESTAMP"},
    {30, 31, "SO_PEERSEC"},
    {31, 32, "SO_SNDBUFFORCE"},
    {33, 33, "SO_RCVBUFFORCE"},
    {34, 34, "SO_PASSSEC"},
    {35, 35, "SO_TIMESTAMPNS"},
    {36, 36, "SO_MARK"},
    {37, 37, "SO_TIMESTAMPING"},
    {40, 40, "SO_RXQ_OVFL"},
    {41, 41, "SO_WIFI_STATUS"},
    {42, 42, "SO_PEEK_OFF"},
    {43, 43, "SO_NOFCS"},
    {44, 44, "SO_LOCK_FILTER"},
    {45, 45, "SO_SELECT_ERR_QUEUE"},
    {46, 46, "SO_BUSY_POLL"},
    {47, 47, "SO_MAX_PACING_RATE"},
    {48, 48, "SO_BPF_EXTENSIONS"},
    {49, 49, "SO_INCOMING_CPU"},
    {50, 50, "SO_ATTACH_BPF"},
    {51, 51, "SO_ATTACH_REUSEPORT_CBPF"},
    {52, 52, "SO_ATTACH_REUSEPORT_EBPF"},
    {53, 53, "SO_CNX_ADVICE"},
    {55, 55, "SO_MEMINFO"},
    {56, 56, "SO_INCOMING_NAPI_ID"},
    {57, 57, "SO_COOKIE"},
    {59, 59, "SO_PEERGROUPS"},
    {60, 60, "SO_ZEROCOPY"},
    {61, 61, "SO_TXTIME"},
    {62, 62, "SO_BINDTOIFINDEX"},
    {63, 63, "SO_TIMESTAMP_NEW"},
    {64, 64, "SO_TIMESTAMPNS_NEW"},
    {65, 65, "SO_TIMESTAMPING_NEW"},
    {66, 66, "SO_RCVTIMEO_NEW"},
    {67, 67, "SO_SNDTIMEO_NEW"},
    {68, 68, "SO_DETACH_REUSEPORT_BPF"},
    {69, 69, "SO_PREFER_BUSY_POLL"},
    {70, 70, "SO_BUSY_POLL_BUDGET"},
    {71, 71, "SO_NETNS_COOKIE"},
    {72, 72, "SO_BUF_LOCK"},
    {73, 73, "SO_RESERVE_MEM"},
    {74, 74, "SO_TXREHASH"},
    {75, 75, "SO_RCVMARK"},
    {76, 76, "SO_PASSPIDFD"},
    {77, 77, "SO_PEERPIDFD"},
};

static const struct number_row *find_number(int mips)
{
    for (size_t i = 0; i < sizeof number_rows / sizeof *number_rows; i++)
        if (number_rows[i].mips == mips)
            return &number_rows[i];
    return NULL;
}

int mr_socket_option_to_host(int option)
{
    const struct number_row *row = find_number(option);
    if (row)
        return row->host;
    bool equal = option > FIRST_EQUAL && option < FIRST_OWN && option != 38 && option != 39; /* those are the host's own */
    return equal ? option : INT32_MAX;
}

const char *mr_socket_option_name(int level, int option)
{
    const struct number_row *row = level == MR_GUEST_SOL_SOCKET ? find_number(option) : NULL;
    return row ? row->name : NULL;
}

/* ---- layouts ---- */

#define ADDRESS_IN6 "h2b4b16bw"
#define TCP_INFO_LAYOUT "6bnf24w4q6w4q2w2q6w2hw7w2h*w" /* linux/tcp.h; kernels add at the end */

/* Numbers that headers of the C library lack or that clash in them: linux/in.h, linux/in6.h, linux/tcp.h, linux/socket.h. */
enum {
    JOIN_GROUP = 42, BLOCK_SOURCE, UNBLOCK_SOURCE, LEAVE_GROUP, JOIN_SOURCE, LEAVE_SOURCE, FILTER_OF_GROUP,
    LEVEL_NETLINK = 270, LEVEL_PACKET = 263, LEVEL_TLS = 282, LEVEL_ALG = 279, LEVEL_CAN_RAW = 101, LEVEL_XDP = 283,
    LEVEL_VSOCK = 40, OPTIONS_IN6_2292 = 6, FLOWLABEL_MGR = 32, PATHMTU = 61, UNICAST_IF_IN6 = 76,
    ATTACH_FILTER = 26, REUSEPORT_CBPF = 51, RCVTIMEO_NEW = 66, SNDTIMEO_NEW = 67,
    PEERNAME = 28, PEERSEC = 31, MEMINFO = 55, COOKIE = 57, PEERGROUPS = 59, TX_TIME = 61, NETNS_COOKIE = 71,
    DEVMEM_DONTNEED = 80, MD5SIG_EXT = 32, CC_INFO = 26, SAVED_SYN = 28, REPAIR_WINDOW = 29, ULP = 31, FASTOPEN_KEY = 33,
};

/* The same for both versions of IP. */
#define GROUPS(LEVEL)                                   \
    {LEVEL, JOIN_GROUP, MR_OPTION_PLAIN, "wa"},         \
    {LEVEL, LEAVE_GROUP, MR_OPTION_PLAIN, "wa"},        \
    {LEVEL, BLOCK_SOURCE, MR_OPTION_PLAIN, "w2a"},      \
    {LEVEL, UNBLOCK_SOURCE, MR_OPTION_PLAIN, "w2a"},    \
    {LEVEL, JOIN_SOURCE, MR_OPTION_PLAIN, "w2a"},       \
    {LEVEL, LEAVE_SOURCE, MR_OPTION_PLAIN, "w2a"},      \
    {LEVEL, FILTER_OF_GROUP, MR_OPTION_ASKS, "wa2w*a"}

static const struct mr_socket_option rows[] = {
    {SOL_SOCKET, SO_ERROR, MR_OPTION_PLAIN, "e"},
    {SOL_SOCKET, SO_TYPE, MR_OPTION_PLAIN, "t"},
    {SOL_SOCKET, SO_LINGER, MR_OPTION_PLAIN, "2w"},
    {SOL_SOCKET, SO_RCVTIMEO, MR_OPTION_PLAIN, "2l"},
    {SOL_SOCKET, SO_SNDTIMEO, MR_OPTION_PLAIN, "2l"},
    {SOL_SOCKET, RCVTIMEO_NEW, MR_OPTION_PLAIN, "2q"},
    {SOL_SOCKET, SNDTIMEO_NEW, MR_OPTION_PLAIN, "2q"},
    {SOL_SOCKET, SO_PEERCRED, MR_OPTION_PLAIN, "3w"},
    {SOL_SOCKET, SO_BINDTODEVICE, MR_OPTION_PLAIN, "*b"},
    {SOL_SOCKET, ATTACH_FILTER, MR_OPTION_PROGRAM, "w"},
    {SOL_SOCKET, REUSEPORT_CBPF, MR_OPTION_PROGRAM, "w"},
    {SOL_SOCKET, PEERNAME, MR_OPTION_ADDRESS, "*b"},
    {SOL_SOCKET, PEERSEC, MR_OPTION_PLAIN, "*b"},
    {SOL_SOCKET, SO_TIMESTAMPING, MR_OPTION_PLAIN, "*w"}, /* flags, and since 6.0 a descriptor of a clock */
    {SOL_SOCKET, 65, MR_OPTION_PLAIN, "*w"},
    {SOL_SOCKET, SO_MAX_PACING_RATE, MR_OPTION_PLAIN, "w"}, /* 8 bytes where there is room, of 64-bit kernels only */
    {SOL_SOCKET, MEMINFO, MR_OPTION_PLAIN, "*w"},
    {SOL_SOCKET, COOKIE, MR_OPTION_PLAIN, "q"},
    {SOL_SOCKET, PEERGROUPS, MR_OPTION_PLAIN, "*w"},
    {SOL_SOCKET, TX_TIME, MR_OPTION_PLAIN, "2w"},
    {SOL_SOCKET, NETNS_COOKIE, MR_OPTION_PLAIN, "q"},
    {SOL_SOCKET, DEVMEM_DONTNEED, MR_OPTION_PLAIN, "*w"},

    {IPPROTO_IP, IP_OPTIONS, MR_OPTION_PLAIN, "*b"},
    {IPPROTO_IP, IP_PKTOPTIONS, MR_OPTION_CONTROL, NULL},
    {IPPROTO_IP, IP_MULTICAST_IF, MR_OPTION_PLAIN, "8bw"}, /* ip_mreqn, ip_mreq or in_addr */
    {IPPROTO_IP, IP_ADD_MEMBERSHIP, MR_OPTION_PLAIN, "8bw"},
    {IPPROTO_IP, IP_DROP_MEMBERSHIP, MR_OPTION_PLAIN, "8bw"},
    {IPPROTO_IP, IP_ADD_SOURCE_MEMBERSHIP, MR_OPTION_PLAIN, "12b"},
    {IPPROTO_IP, IP_DROP_SOURCE_MEMBERSHIP, MR_OPTION_PLAIN, "12b"},
    {IPPROTO_IP, IP_BLOCK_SOURCE, MR_OPTION_PLAIN, "12b"},
    {IPPROTO_IP, IP_UNBLOCK_SOURCE, MR_OPTION_PLAIN, "12b"},
    {IPPROTO_IP, IP_MSFILTER, MR_OPTION_ASKS, "8b2w*b"},
    {IPPROTO_IP, IP_UNICAST_IF, MR_OPTION_PLAIN, "4b"}, /* network order */
    GROUPS(IPPROTO_IP),

    {IPPROTO_IPV6, OPTIONS_IN6_2292, MR_OPTION_CONTROL, NULL},
    {IPPROTO_IPV6, IPV6_NEXTHOP, MR_OPTION_PLAIN, ADDRESS_IN6},
    {IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, MR_OPTION_PLAIN, "16bw"},
    {IPPROTO_IPV6, IPV6_DROP_MEMBERSHIP, MR_OPTION_PLAIN, "16bw"},
    {IPPROTO_IPV6, IPV6_JOIN_ANYCAST, MR_OPTION_PLAIN, "16bw"},
    {IPPROTO_IPV6, IPV6_LEAVE_ANYCAST, MR_OPTION_PLAIN, "16bw"},
    {IPPROTO_IPV6, IPV6_PKTINFO, MR_OPTION_PLAIN, "16bw"},
    {IPPROTO_IPV6, FLOWLABEL_MGR, MR_OPTION_ASKS, "16b4b2b3hw"},
    {IPPROTO_IPV6, PATHMTU, MR_OPTION_PLAIN, ADDRESS_IN6 "w"},
    {IPPROTO_IPV6, IPV6_HOPOPTS, MR_OPTION_PLAIN, "*b"},
    {IPPROTO_IPV6, IPV6_DSTOPTS, MR_OPTION_PLAIN, "*b"},
    {IPPROTO_IPV6, IPV6_RTHDR, MR_OPTION_PLAIN, "*b"},
    {IPPROTO_IPV6, IPV6_RTHDRDSTOPTS, MR_OPTION_PLAIN, "*b"},
    {IPPROTO_IPV6, UNICAST_IF_IN6, MR_OPTION_PLAIN, "4b"}, /* network order */
    GROUPS(IPPROTO_IPV6),
    {IPPROTO_ICMPV6, ICMPV6_FILTER, MR_OPTION_PLAIN, "8w"},

    {IPPROTO_TCP, TCP_INFO, MR_OPTION_PLAIN, TCP_INFO_LAYOUT},
    {IPPROTO_TCP, TCP_CONGESTION, MR_OPTION_PLAIN, "*b"},
    {IPPROTO_TCP, TCP_MD5SIG, MR_OPTION_PLAIN, "a2bhw80b"},
    {IPPROTO_TCP, MD5SIG_EXT, MR_OPTION_PLAIN, "a2bhw80b"},
    {IPPROTO_TCP, TCP_REPAIR_OPTIONS, MR_OPTION_PLAIN, "*w"},
    {IPPROTO_TCP, REPAIR_WINDOW, MR_OPTION_PLAIN, "5w"},
    {IPPROTO_TCP, CC_INFO, MR_OPTION_PLAIN, "*w"}, /* of vegas and bbr */
    {IPPROTO_TCP, SAVED_SYN, MR_OPTION_PLAIN, "*b"},
    {IPPROTO_TCP, ULP, MR_OPTION_PLAIN, "*b"},
    {IPPROTO_TCP, FASTOPEN_KEY, MR_OPTION_PLAIN, "*b"},

    {LEVEL_TLS, TLS_TX, MR_OPTION_PLAIN, "2h*b"},
    {LEVEL_TLS, TLS_RX, MR_OPTION_PLAIN, "2h*b"},
    {LEVEL_ALG, ALG_SET_KEY, MR_OPTION_PLAIN, "*b"},
    {LEVEL_ALG, ALG_SET_AEAD_AUTHSIZE, MR_OPTION_PLAIN, "*b"},
    {LEVEL_CAN_RAW, CAN_RAW_FILTER, MR_OPTION_PLAIN, "*w"},
    {LEVEL_NETLINK, NETLINK_LIST_MEMBERSHIPS, MR_OPTION_PLAIN, "*w"},

    {LEVEL_PACKET, PACKET_ADD_MEMBERSHIP, MR_OPTION_PLAIN, "w2h*b"},
    {LEVEL_PACKET, PACKET_DROP_MEMBERSHIP, MR_OPTION_PLAIN, "w2h*b"},
    {LEVEL_PACKET, PACKET_RX_RING, MR_OPTION_RING, "*w"},
    {LEVEL_PACKET, PACKET_TX_RING, MR_OPTION_RING, "*w"},
    {LEVEL_PACKET, PACKET_STATISTICS, MR_OPTION_PLAIN, "*w"},
    {LEVEL_PACKET, PACKET_HDRLEN, MR_OPTION_ASKS, "w"},
    {LEVEL_PACKET, PACKET_FANOUT, MR_OPTION_PLAIN, "*w"},
    {LEVEL_PACKET, PACKET_FANOUT_DATA, MR_OPTION_PROGRAM, "w"},
    {LEVEL_PACKET, PACKET_ROLLOVER_STATS, MR_OPTION_PLAIN, "*q"},

    {LEVEL_XDP, 1 /* XDP_MMAP_OFFSETS */, MR_OPTION_PLAIN, "*q"},
    {LEVEL_XDP, 7 /* XDP_STATISTICS */, MR_OPTION_PLAIN, "*q"},
    {LEVEL_VSOCK, 0 /* SO_VM_SOCKETS_BUFFER_SIZE, and its least and its greatest value */, MR_OPTION_PLAIN, "q"},
    {LEVEL_VSOCK, 1, MR_OPTION_PLAIN, "q"},
    {LEVEL_VSOCK, 2, MR_OPTION_PLAIN, "q"},
    {LEVEL_VSOCK, 6 /* SO_VM_SOCKETS_CONNECT_TIMEOUT */, MR_OPTION_PLAIN, "2l"},
    {LEVEL_VSOCK, 8 /* the same with 64 bits */, MR_OPTION_PLAIN, "2q"},
};

const struct mr_socket_option mr_int_option = {0, 0, MR_OPTION_PLAIN, "w"};

const struct mr_socket_option *mr_find_socket_option(int host_level, int host_option)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].level == host_level && rows[i].option == host_option)
            return &rows[i];
    return &mr_int_option;
}
