/* Options of sockets: each one is set and read back where that is possible, with values of every layout. */
#include "show.h"

#include <arpa/inet.h>
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <linux/icmpv6.h>
#include <linux/netlink.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <linux/tcp.h>
#include <netinet/udp.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

/* Sets an int and shows what it is before and after. */
static void number_option(int fd, int level, int option, const char *name, int value)
{
    int before = -1, after = -1;
    socklen_t size = sizeof before, size_after = sizeof after;
    int first = getsockopt(fd, level, option, &before, &size) ? errno : 0;
    int set = setsockopt(fd, level, option, &value, sizeof value) ? errno : 0;
    int second = getsockopt(fd, level, option, &after, &size_after) ? errno : 0;
    if (level == SOL_SOCKET && option == SO_TYPE) /* MIPS has other numbers */
        before = after = before == SOCK_STREAM ? 1000 : before == SOCK_DGRAM ? 2000 : 0;
    printf("%s: %s %d/%u, set %s, %s %d/%u\n", name, first ? strerrorname_np(first) : "ok", first ? 0 : before, size,
           set ? strerrorname_np(set) : "ok", second ? strerrorname_np(second) : "ok", second ? 0 : after, size_after);
}
#define NUMBER(fd, level, option, value) number_option(fd, level, option, #option, value)

#define OTHER_SOL_SOCKET (SOL_SOCKET == 1 ? 0xffff : 1) /* of other machines: a level that nobody has */

static void socket_numbers(int fd)
{
    NUMBER(fd, SOL_SOCKET, SO_DEBUG, 1);
    NUMBER(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    NUMBER(fd, SOL_SOCKET, SO_REUSEPORT, 1);
    NUMBER(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    NUMBER(fd, SOL_SOCKET, SO_DONTROUTE, 1);
    NUMBER(fd, SOL_SOCKET, SO_BROADCAST, 1);
    NUMBER(fd, SOL_SOCKET, SO_OOBINLINE, 1);
    NUMBER(fd, SOL_SOCKET, SO_SNDBUF, 12000);
    NUMBER(fd, SOL_SOCKET, SO_RCVBUF, 13000);
    NUMBER(fd, SOL_SOCKET, SO_SNDBUFFORCE, 14000);
    NUMBER(fd, SOL_SOCKET, SO_RCVBUFFORCE, 15000);
    NUMBER(fd, SOL_SOCKET, SO_SNDBUF, 16000);
    NUMBER(fd, SOL_SOCKET, SO_SNDLOWAT, 3);
    NUMBER(fd, SOL_SOCKET, SO_RCVLOWAT, 3);
    NUMBER(fd, SOL_SOCKET, SO_TYPE, 1);
    NUMBER(fd, SOL_SOCKET, SO_ERROR, 1);
    NUMBER(fd, SOL_SOCKET, SO_ACCEPTCONN, 1);
    NUMBER(fd, SOL_SOCKET, SO_PROTOCOL, 1);
    NUMBER(fd, SOL_SOCKET, SO_DOMAIN, 1);
    NUMBER(fd, SOL_SOCKET, SO_NO_CHECK, 1);
    NUMBER(fd, SOL_SOCKET, SO_PRIORITY, 5);
    NUMBER(fd, SOL_SOCKET, SO_PASSCRED, 1);
    NUMBER(fd, SOL_SOCKET, SO_TIMESTAMP, 1);
    NUMBER(fd, SOL_SOCKET, SO_TIMESTAMP, 0);
    NUMBER(fd, SOL_SOCKET, SO_TIMESTAMPNS, 1);
    NUMBER(fd, SOL_SOCKET, SO_TIMESTAMPING, 0x58);
    NUMBER(fd, SOL_SOCKET, SO_PASSSEC, 1);
    NUMBER(fd, SOL_SOCKET, SO_MARK, 77);
    NUMBER(fd, SOL_SOCKET, SO_RXQ_OVFL, 1);
    NUMBER(fd, SOL_SOCKET, SO_WIFI_STATUS, 1);
    NUMBER(fd, SOL_SOCKET, SO_PEEK_OFF, 2);
    NUMBER(fd, SOL_SOCKET, SO_NOFCS, 1);
    NUMBER(fd, SOL_SOCKET, SO_SELECT_ERR_QUEUE, 1);
    NUMBER(fd, SOL_SOCKET, SO_MAX_PACING_RATE, 123456);
    NUMBER(fd, SOL_SOCKET, SO_BPF_EXTENSIONS, 1);
    NUMBER(fd, SOL_SOCKET, SO_ZEROCOPY, 1);
    NUMBER(fd, SOL_SOCKET, SO_BINDTOIFINDEX, 1);
    NUMBER(fd, SOL_SOCKET, 72 /* SO_BUF_LOCK */, 1);
    NUMBER(fd, SOL_SOCKET, 75 /* SO_RCVMARK */, 1);
    NUMBER(fd, SOL_SOCKET, 999, 1);
}

static void structures(int fd)
{
    struct linger linger = {1, 33};
    struct timeval time = {7, 250000};
    socklen_t size = sizeof linger;
    SHOW(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger));
    linger = (struct linger){0};
    SHOW(getsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, &size));
    printf("%d %d %u\n", linger.l_onoff, linger.l_linger, size);
    size = 4;
    SHOW(getsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, &size));
    SHOW(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, 4));
    for (int option = SO_RCVTIMEO, i = 0; i < 2; i++, option = SO_SNDTIMEO, time.tv_sec++) {
        struct timeval got = {0};
        SHOW(setsockopt(fd, SOL_SOCKET, option, &time, sizeof time));
        size = sizeof got;
        SHOW(getsockopt(fd, SOL_SOCKET, option, &got, &size));
        printf("%ld %ld %d\n", (long)got.tv_sec, (long)got.tv_usec, size == sizeof got);
        int64_t wide[2] = {9 + i, 500000};
        SHOW(setsockopt(fd, SOL_SOCKET, 66 + i /* SO_RCVTIMEO_NEW, SO_SNDTIMEO_NEW */, wide, sizeof wide));
        memset(wide, 0, sizeof wide);
        size = sizeof wide;
        SHOW(getsockopt(fd, SOL_SOCKET, 66 + i, wide, &size));
        printf("%lld %lld %u\n", (long long)wide[0], (long long)wide[1], size);
    }
    time.tv_usec = 1000000;
    SHOW(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time));
    SHOW(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, 4));
    char name[IFNAMSIZ] = "";
    SHOW(setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3));
    size = sizeof name;
    SHOW(getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, name, &size));
    printf("%s %u\n", name, size);
    SHOW(setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "nowhere", 8));
    uint64_t cookie = 0;
    size = sizeof cookie;
    SHOW(getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &size));
    printf("%d\n", cookie > 0 && cookie < 1ull << 48);
    uint32_t memory[9] = {0};
    size = sizeof memory;
    SHOW(getsockopt(fd, SOL_SOCKET, SO_MEMINFO, memory, &size));
    printf("%u %u\n", size, memory[3]);
    struct { int32_t clock; uint32_t flags; } tx = {1, 2}, got = {0};
    SHOW(setsockopt(fd, SOL_SOCKET, SO_TXTIME, &tx, sizeof tx));
    size = sizeof got;
    SHOW(getsockopt(fd, SOL_SOCKET, SO_TXTIME, &got, &size));
    printf("%d %u\n", got.clock, got.flags);
}

static void filters(void)
{
    struct sock_filter program[] = {{BPF_LD | BPF_W | BPF_ABS, 0, 0, (uint32_t)SKF_AD_OFF + SKF_AD_PKTTYPE},
                                    {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, 0x12345678},
                                    {BPF_RET | BPF_K, 0, 0, 0},
                                    {BPF_RET | BPF_K, 0, 0, 5}},
                       got[8];
    struct sock_fprog filter = {4, program};
    struct sockaddr_in address = {AF_INET, 0, {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address, count = 8;
    char text[16];
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    bind(fd, (void *)&address, size), getsockname(fd, (void *)&address, &size);
    SHOW(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter));
    SHOW(sendto(fd, "0123456789", 10, 0, (void *)&address, size));
    SHOW(recv(fd, text, 16, MSG_DONTWAIT)); /* the filter counts the header of 8 bytes: nothing is left */
    SHOW(getsockopt(fd, SOL_SOCKET, SO_GET_FILTER, got, &count));
    printf("%u %d\n", count, memcmp(got, program, sizeof program));
    for (int i = 0; i < 4; i++)
        printf("%x %u %u %x\n", got[i].code, got[i].jt, got[i].jf, got[i].k);
    count = 2;
    SHOW(getsockopt(fd, SOL_SOCKET, SO_GET_FILTER, got, &count));
    count = 0;
    SHOW(getsockopt(fd, SOL_SOCKET, SO_GET_FILTER, got, &count));
    printf("%u\n", count);
    int zero = 0;
    SHOW(setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &zero, 4));
    SHOW(setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &zero, 4));
    filter.len = 0;
    SHOW(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter));
    filter = (struct sock_fprog){4, (void *)BAD};
    SHOW(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter));
    SHOW(setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, 4));
    NUMBER(fd, SOL_SOCKET, SO_LOCK_FILTER, 1);
    filter = (struct sock_fprog){4, program};
    SHOW(setsockopt(fd, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &filter, sizeof filter));
    close(fd);
}

static void sizes(int fd)
{
    char bytes[32];
    int one = 1;
    for (socklen_t asked = 0; asked < 10; asked += asked < 5 ? 1 : 4) {
        socklen_t size = asked;
        memset(bytes, 0x55, sizeof bytes);
        SHOW(getsockopt(fd, IPPROTO_IP, IP_TTL, bytes, &size));
        int value = 0;
        if (size == 1)
            value = bytes[0];
        else
            memcpy(&value, bytes, 4);
        printf("%u %u %x\n", asked, size, size < 4 && size > 1 ? 0 : value);
        size = asked;
        SHOW(getsockopt(fd, SOL_SOCKET, SO_REUSEADDR, bytes, &size));
        printf("%u\n", size);
        SHOW(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, asked));
    }
    socklen_t size = -1;
    SHOW(getsockopt(fd, SOL_SOCKET, SO_REUSEADDR, bytes, &size));
    SHOW(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, -1));
    SHOW(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, BAD, 4));
    SHOW(setsockopt(99, SOL_SOCKET, SO_REUSEADDR, BAD, 4));
    SHOW(setsockopt(1, SOL_SOCKET, SO_REUSEADDR, &one, 4));
    SHOW(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, NULL, 4));
    size = 4;
    SHOW(getsockopt(fd, SOL_SOCKET, SO_REUSEADDR, BAD, &size));
    SHOW(getsockopt(fd, SOL_SOCKET, SO_REUSEADDR, bytes, (socklen_t *)BAD));
    SHOW(getsockopt(99, SOL_SOCKET, SO_REUSEADDR, bytes, &size));
    SHOW(getsockopt(fd, 77, 1, bytes, &size));
    SHOW(setsockopt(fd, OTHER_SOL_SOCKET, 2, &one, 4));
    SHOW(getsockopt(fd, OTHER_SOL_SOCKET, SO_REUSEADDR, bytes, &size));
    unsigned char ttl = 33;
    SHOW(setsockopt(fd, IPPROTO_IP, IP_TTL, &ttl, 1));
    NUMBER(fd, IPPROTO_IP, IP_TTL, 44);
}

static void internet(void)
{
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    struct in_addr got, group = {inet_addr("239.1.2.3")}, self = {inet_addr("127.0.0.1")};
    NUMBER(fd, IPPROTO_IP, IP_TOS, 0x10);
    NUMBER(fd, IPPROTO_IP, IP_TTL, 9);
    NUMBER(fd, IPPROTO_IP, IP_PKTINFO, 1);
    NUMBER(fd, IPPROTO_IP, IP_RECVTTL, 1);
    NUMBER(fd, IPPROTO_IP, IP_RECVTOS, 1);
    NUMBER(fd, IPPROTO_IP, IP_RECVERR, 1);
    NUMBER(fd, IPPROTO_IP, IP_RECVOPTS, 1);
    NUMBER(fd, IPPROTO_IP, IP_RETOPTS, 1);
    NUMBER(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
    NUMBER(fd, IPPROTO_IP, IP_FREEBIND, 1);
    NUMBER(fd, IPPROTO_IP, IP_TRANSPARENT, 1);
    NUMBER(fd, IPPROTO_IP, IP_MINTTL, 3);
    NUMBER(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1);
    NUMBER(fd, IPPROTO_IP, IP_MULTICAST_TTL, 4);
    NUMBER(fd, IPPROTO_IP, IP_MULTICAST_LOOP, 0);
    NUMBER(fd, IPPROTO_IP, IP_MULTICAST_ALL, 0);
    NUMBER(fd, IPPROTO_IP, IP_MTU, 1);
    struct in_addr index = {htonl(1)};
    SHOW(setsockopt(fd, IPPROTO_IP, IP_UNICAST_IF, &index, sizeof index));
    socklen_t index_size = sizeof index;
    index.s_addr = 0;
    SHOW(getsockopt(fd, IPPROTO_IP, IP_UNICAST_IF, &index, &index_size));
    printf("%u\n", ntohl(index.s_addr));
    struct ip_mreqn request = {group, self, 1};
    struct ip_mreq old = {{inet_addr("239.1.2.4")}, self};
    socklen_t size = sizeof got;
    SHOW(setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &request, sizeof request));
    SHOW(getsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &got, &size));
    printf("%s %u\n", inet_ntoa(got), size);
    SHOW(setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &self, sizeof self));
    request.imr_ifindex = 999;
    SHOW(setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof request));
    request.imr_ifindex = 1;
    SHOW(setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof request));
    SHOW(setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &old, sizeof old));
    SHOW(setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &old, sizeof old));
    SHOW(setsockopt(fd, IPPROTO_IP, IP_DROP_MEMBERSHIP, &old, sizeof old));
    struct ip_mreq_source source = {{inet_addr("239.1.2.5")}, self, {inet_addr("10.1.1.1")}};
    SHOW(setsockopt(fd, IPPROTO_IP, IP_ADD_SOURCE_MEMBERSHIP, &source, sizeof source));
    source.imr_sourceaddr.s_addr = inet_addr("10.1.1.2");
    SHOW(setsockopt(fd, IPPROTO_IP, IP_ADD_SOURCE_MEMBERSHIP, &source, sizeof source));
    union { struct ip_msfilter filter; char room[64]; } filter = {{source.imr_multiaddr, self, 0, 4}};
    size = sizeof filter;
    SHOW(getsockopt(fd, IPPROTO_IP, IP_MSFILTER, &filter, &size));
    printf("%u %u %u", filter.filter.imsf_fmode, filter.filter.imsf_numsrc, size);
    for (uint32_t i = 0; i < filter.filter.imsf_numsrc && i < 4; i++)
        printf(" %s", inet_ntoa(filter.filter.imsf_slist[i]));
    printf("\n");
    struct group_req join = {1};
    struct sockaddr_in *to = (void *)&join.gr_group;
    to->sin_family = AF_INET, to->sin_addr.s_addr = inet_addr("239.1.2.6");
    SHOW(setsockopt(fd, IPPROTO_IP, MCAST_JOIN_GROUP, &join, sizeof join));
    SHOW(setsockopt(fd, IPPROTO_IP, MCAST_JOIN_GROUP, &join, sizeof join));
    SHOW(setsockopt(fd, IPPROTO_IP, MCAST_JOIN_GROUP, &join, 8));
    struct group_source_req from = {1, join.gr_group};
    *(struct sockaddr_in *)&from.gsr_source = (struct sockaddr_in){AF_INET, 0, {inet_addr("10.2.2.2")}};
    SHOW(setsockopt(fd, IPPROTO_IP, MCAST_BLOCK_SOURCE, &from, sizeof from));
    union { struct group_filter filter; char room[600]; } groups = {{1, join.gr_group, 9, 2}};
    size = sizeof groups;
    SHOW(getsockopt(fd, IPPROTO_IP, MCAST_MSFILTER, &groups, &size));
    printf("%u %u %d %s\n", groups.filter.gf_fmode, groups.filter.gf_numsrc, size == GROUP_FILTER_SIZE(1),
           inet_ntoa(((struct sockaddr_in *)groups.filter.gf_slist)->sin_addr));
    SHOW(setsockopt(fd, IPPROTO_IP, MCAST_MSFILTER, &groups, GROUP_FILTER_SIZE(1)));
    SHOW(setsockopt(fd, IPPROTO_IP, MCAST_LEAVE_GROUP, &join, sizeof join));
    unsigned char route[8] = {1}, back[40];
    SHOW(setsockopt(fd, IPPROTO_IP, IP_OPTIONS, route, 4));
    size = sizeof back;
    SHOW(getsockopt(fd, IPPROTO_IP, IP_OPTIONS, back, &size));
    printf("%u\n", size);
    NUMBER(fd, IPPROTO_UDP, UDP_CORK, 1);
    NUMBER(fd, IPPROTO_UDP, 103 /* UDP_SEGMENT */, 500);
    NUMBER(fd, IPPROTO_UDP, 104 /* UDP_GRO */, 1);
    close(fd);
}

static void internet6(void)
{
    int fd = socket(AF_INET6, SOCK_DGRAM, 0), raw = socket(AF_INET6, SOCK_RAW, IPPROTO_ICMPV6);
    NUMBER(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1);
    NUMBER(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, 12);
    NUMBER(fd, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, 13);
    NUMBER(fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 0);
    NUMBER(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, 1);
    NUMBER(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
    NUMBER(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1);
    NUMBER(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
    NUMBER(fd, IPPROTO_IPV6, IPV6_TCLASS, 0x20);
    NUMBER(fd, IPPROTO_IPV6, IPV6_RECVERR, 1);
    NUMBER(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, 2);
    NUMBER(fd, IPPROTO_IPV6, IPV6_DONTFRAG, 1);
    struct in_addr index = {htonl(1)};
    SHOW(setsockopt(fd, IPPROTO_IPV6, IPV6_UNICAST_IF, &index, sizeof index));
    socklen_t index_size = sizeof index;
    index.s_addr = 0;
    SHOW(getsockopt(fd, IPPROTO_IPV6, IPV6_UNICAST_IF, &index, &index_size));
    printf("%u\n", ntohl(index.s_addr));
    NUMBER(fd, IPPROTO_IPV6, IPV6_MTU, 1300);
    NUMBER(raw, IPPROTO_IPV6, IPV6_CHECKSUM, 2);
    struct ipv6_mreq request = {.ipv6mr_interface = 1};
    inet_pton(AF_INET6, "ff02::1:2", &request.ipv6mr_multiaddr);
    SHOW(setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &request, sizeof request));
    SHOW(setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &request, sizeof request));
    SHOW(setsockopt(fd, IPPROTO_IPV6, IPV6_LEAVE_GROUP, &request, sizeof request));
    struct group_req join = {1};
    *(struct sockaddr_in6 *)&join.gr_group = (struct sockaddr_in6){AF_INET6, .sin6_addr = request.ipv6mr_multiaddr};
    SHOW(setsockopt(fd, IPPROTO_IPV6, MCAST_JOIN_GROUP, &join, sizeof join));
    SHOW(setsockopt(fd, IPPROTO_IPV6, MCAST_LEAVE_GROUP, &join, sizeof join));
    struct icmp6_filter filter = {{1, 0x20000000, 3, 4, 5, 6, 7, 0xfffffffe}}, got = {{0}};
    SHOW(setsockopt(raw, IPPROTO_ICMPV6, ICMPV6_FILTER, &filter, sizeof filter));
    socklen_t size = sizeof got;
    SHOW(getsockopt(raw, IPPROTO_ICMPV6, ICMPV6_FILTER, &got, &size));
    printf("%u %d %x\n", size, memcmp(&filter, &got, sizeof got), got.data[7]);
    uint8_t options[8] = {0, 0, 1, 4};
    SHOW(setsockopt(fd, IPPROTO_IPV6, IPV6_DSTOPTS, options, 8));
    size = sizeof options;
    SHOW(getsockopt(fd, IPPROTO_IPV6, IPV6_DSTOPTS, options, &size));
    printf("%u %u %u\n", size, options[2], options[3]);
    close(fd), close(raw);
    raw = socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
    NUMBER(raw, 255 /* SOL_RAW */, 1 /* ICMP_FILTER */, 0x1234);
    NUMBER(raw, IPPROTO_IP, IP_HDRINCL, 1);
    close(raw);
}

static void transmission(void)
{
    struct sockaddr_in address = {AF_INET, 0, {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
    NUMBER(client, IPPROTO_TCP, TCP_NODELAY, 1);
    NUMBER(client, IPPROTO_TCP, TCP_MAXSEG, 900);
    NUMBER(client, IPPROTO_TCP, TCP_CORK, 1);
    NUMBER(client, IPPROTO_TCP, TCP_KEEPIDLE, 100);
    NUMBER(client, IPPROTO_TCP, TCP_KEEPINTVL, 10);
    NUMBER(client, IPPROTO_TCP, TCP_KEEPCNT, 3);
    NUMBER(client, IPPROTO_TCP, TCP_SYNCNT, 2);
    NUMBER(client, IPPROTO_TCP, TCP_LINGER2, 5);
    NUMBER(server, IPPROTO_TCP, TCP_DEFER_ACCEPT, 0);
    NUMBER(client, IPPROTO_TCP, TCP_WINDOW_CLAMP, 40000);
    NUMBER(client, IPPROTO_TCP, TCP_QUICKACK, 0);
    NUMBER(client, IPPROTO_TCP, TCP_USER_TIMEOUT, 3000);
    NUMBER(client, IPPROTO_TCP, TCP_NOTSENT_LOWAT, 4000);
    NUMBER(client, IPPROTO_TCP, TCP_INQ, 1);
    NUMBER(server, IPPROTO_TCP, TCP_FASTOPEN, 5);
    char name[32] = "";
    SHOW(setsockopt(client, IPPROTO_TCP, TCP_CONGESTION, "reno", 4));
    size = sizeof name;
    SHOW(getsockopt(client, IPPROTO_TCP, TCP_CONGESTION, name, &size));
    printf("%s %u\n", name, size);
    size = sizeof address;
    bind(server, (void *)&address, size), listen(server, 1), getsockname(server, (void *)&address, &size);
    SHOW(connect(client, (void *)&address, size));
    SHOW(write(client, "12345", 5));
    SHOW(setsockopt(client, IPPROTO_TCP, TCP_CORK, &(int){0}, 4));
    struct tcp_info info = {0};
    size = sizeof info;
    SHOW(getsockopt(client, IPPROTO_TCP, TCP_INFO, &info, &size));
    printf("state %u, scales %d, fields %u %u, mss %u %u, sent %llu %u\n", info.tcpi_state,
           info.tcpi_snd_wscale == info.tcpi_rcv_wscale || info.tcpi_snd_wscale < 15,
           info.tcpi_delivery_rate_app_limited <= 1,
           info.tcpi_fastopen_client_fail, info.tcpi_snd_mss, info.tcpi_rcv_mss > 100 && info.tcpi_rcv_mss < 70000,
           (unsigned long long)info.tcpi_bytes_sent, info.tcpi_segs_out > 0 && info.tcpi_segs_out < 100);
    printf("%u %u %u\n", info.tcpi_snd_wscale, info.tcpi_snd_cwnd, info.tcpi_pmtu);
    size = 10;
    SHOW(getsockopt(client, IPPROTO_TCP, TCP_INFO, &info, &size));
    printf("%u\n", size);
    struct tcp_md5sig key = {.tcpm_keylen = 4, .tcpm_key = "abcd"};
    memcpy(&key.tcpm_addr, &address, sizeof address);
    SHOW(setsockopt(server, IPPROTO_TCP, TCP_MD5SIG, &key, sizeof key));
    SHOW(setsockopt(client, IPPROTO_TCP, TCP_ULP, "nothing", 7));
    int error = -1;
    close(server), close(client);
    client = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    SHOW(connect(client, (void *)&address, sizeof address));
    usleep(50000);
    size = sizeof error;
    SHOW(getsockopt(client, SOL_SOCKET, SO_ERROR, &error, &size));
    puts(strerrorname_np(error));
    close(client);
}

static void local(void)
{
    int ends[2], fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
    struct ucred peer = {0};
    struct sockaddr_un name = {0};
    gid_t groups[256];
    socketpair(AF_UNIX, SOCK_STREAM, 0, ends);
    socklen_t size = sizeof peer;
    SHOW(getsockopt(ends[0], SOL_SOCKET, SO_PEERCRED, &peer, &size));
    printf("%d %d %d\n", peer.pid == getpid(), peer.uid == getuid(), peer.gid == getgid());
    size = sizeof groups;
    SHOW(getsockopt(ends[0], SOL_SOCKET, SO_PEERGROUPS, groups, &size));
    printf("%u\n", size / 4);
    size = 2;
    SHOW(getsockopt(ends[0], SOL_SOCKET, SO_PEERNAME, &name, &size));
    printf("%u %d\n", size, name.sun_family == AF_UNIX);
    size = sizeof groups;
    CHECK(getsockopt(ends[0], SOL_SOCKET, SO_PEERSEC, groups, &size));
    NUMBER(ends[0], SOL_SOCKET, SO_TYPE, 1);
    NUMBER(ends[0], SOL_SOCKET, SO_PASSCRED, 1);
    NUMBER(ends[0], SOL_SOCKET, SO_PEEK_OFF, 3);
    SHOW(setsockopt(ends[0], OTHER_SOL_SOCKET, 2, &size, 4));
    NUMBER(fd, SOL_NETLINK, NETLINK_PKTINFO, 1);
    NUMBER(fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, 3);
    NUMBER(fd, SOL_NETLINK, NETLINK_EXT_ACK, 1);
    uint32_t members[4] = {0};
    size = sizeof members;
    SHOW(getsockopt(fd, SOL_NETLINK, NETLINK_LIST_MEMBERSHIPS, members, &size));
    printf("%u %x\n", size, members[0]);
    int packets = socket(AF_PACKET, SOCK_DGRAM, htons(ETH_P_IP));
    struct packet_mreq request = {1, PACKET_MR_PROMISC};
    SHOW(setsockopt(packets, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &request, sizeof request));
    request.mr_ifindex = 999;
    SHOW(setsockopt(packets, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &request, sizeof request));
    NUMBER(packets, SOL_PACKET, PACKET_AUXDATA, 1);
    NUMBER(packets, SOL_PACKET, PACKET_RESERVE, 64);
    NUMBER(packets, SOL_PACKET, PACKET_VERSION, TPACKET_V3);
    for (int version = TPACKET_V2; version <= TPACKET_V3; version++) {
        int header = version;
        size = sizeof header;
        SHOW(getsockopt(packets, SOL_PACKET, PACKET_HDRLEN, &header, &size));
        printf("%d\n", header);
    }
    struct tpacket_stats_v3 statistics = {1, 2, 3};
    size = sizeof statistics;
    SHOW(getsockopt(packets, SOL_PACKET, PACKET_STATISTICS, &statistics, &size));
    printf("%u %u\n", size, statistics.tp_freeze_q_cnt);
    NUMBER(packets, SOL_PACKET, PACKET_FANOUT, 0x1234 | PACKET_FANOUT_HASH << 16);
    close(fd), close(packets), close(ends[0]), close(ends[1]);
}

int main(void)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    int udp = socket(AF_INET, SOCK_DGRAM, 0), tcp = socket(AF_INET6, SOCK_STREAM, 0);
    socket_numbers(udp);
    socket_numbers(tcp);
    structures(udp);
    filters();
    sizes(udp);
    internet();
    internet6();
    transmission();
    local();
    return 0;
}
