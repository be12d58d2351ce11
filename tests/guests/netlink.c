/* Netlink: requests, dumps, errors and events of routing, diagnostics of sockets, generic netlink's own; devices by ioctl.
 *
 * With the argument "change" it makes devices, addresses and routes: only in a network namespace of its own.
 */
#include "show.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/fib_rules.h>
#include <linux/genetlink.h>
#include <linux/if_link.h>
#include <linux/inet_diag.h>
#include <linux/neighbour.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/sockios.h>
#include <linux/unix_diag.h>
#include <linux/veth.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <net/route.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

static union {
    char bytes[32768];
    struct nlmsghdr header;
} request, answer;
static uint32_t sequence;
#define STEADY ~0x10040u /* flags that do not follow the state of the device: without IFF_RUNNING, IFF_LOWER_UP */

/* ---- requests ---- */

static void begin(uint16_t type, uint16_t flags, const void *body, size_t size)
{
    memset(&request, 0, sizeof request);
    request.header = (struct nlmsghdr){NLMSG_LENGTH(size), type, NLM_F_REQUEST | flags, ++sequence, 0};
    memcpy(NLMSG_DATA(&request.header), body, size);
}

static struct rtattr *add(uint16_t type, const void *data, size_t size)
{
    struct rtattr *at = (void *)(request.bytes + NLMSG_ALIGN(request.header.nlmsg_len));
    *at = (struct rtattr){RTA_LENGTH(size), type};
    memcpy(RTA_DATA(at), data, size);
    request.header.nlmsg_len = NLMSG_ALIGN(request.header.nlmsg_len) + RTA_ALIGN(at->rta_len);
    return at;
}

static void add_word(uint16_t type, uint32_t value)
{
    add(type, &value, sizeof value);
}

static void end(struct rtattr *nest)
{
    nest->rta_len = request.bytes + request.header.nlmsg_len - (char *)nest;
}

/* ---- answers ---- */

static void print_bytes(const unsigned char *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        printf("%02x", data[i]);
}

/* What is shown of an attribute: w words, h half words, d 64 bits, s text, - its size only, n attributes inside. */
struct shown {
    uint16_t type;
    char kind;
    const struct shown *inside;
};

static void print_attributes(const struct rtattr *at, int size, const struct shown *shown)
{
    for (; RTA_OK(at, size); at = RTA_NEXT(at, size)) {
        const struct shown *row = shown;
        int type = at->rta_type & NLA_TYPE_MASK, length = RTA_PAYLOAD(at);
        const unsigned char *data = RTA_DATA(at);
        while (row && row->kind && row->type != type)
            row++;
        char kind = row ? row->kind : 0;
        printf(" %d%s:", type, at->rta_type & NLA_F_NESTED ? "n" : "");
        for (int i = 0; kind == 'w' && i < length / 4; i++)
            printf("%s%u", i ? "," : "", ((uint32_t *)data)[i]);
        for (int i = 0; kind == 'h' && i < length / 2; i++)
            printf("%s%u", i ? "," : "", ((uint16_t *)data)[i]);
        for (int i = 0; kind == 'd' && i < length / 8; i++)
            printf("%s%llu", i ? "," : "", (unsigned long long)((uint64_t *)data)[i]);
        if (kind == 's')
            printf("%.*s", length, data);
        else if (kind == '-')
            printf("(%d)", length);
        else if (kind == 'n')
            printf("{"), print_attributes((const struct rtattr *)data, length, row->inside), printf(" }");
        else if (kind == 0)
            print_bytes(data, length);
    }
}

#define W(type) {type, 'w'}
static const struct shown vlan[] = {{IFLA_VLAN_ID, 'h'}, {IFLA_VLAN_FLAGS, 'w'}, {0, 0}},
    macvlan[] = {W(IFLA_MACVLAN_MODE), {IFLA_MACVLAN_FLAGS, 'h'}, W(7), W(8), W(5), {9, '-'}, {0, 0}},
    info[] = {{IFLA_INFO_KIND, 's'}, {IFLA_INFO_DATA, '-'}, {0, 0}},
    vlan_info[] = {{IFLA_INFO_KIND, 's'}, {IFLA_INFO_DATA, 'n', vlan}, {0, 0}},
    macvlan_info[] = {{IFLA_INFO_KIND, 's'}, {IFLA_INFO_DATA, 'n', macvlan}, {0, 0}},
    inet[] = {{IFLA_INET_CONF, 'w'}, {0, 0}},
    inet6[] = {W(IFLA_INET6_FLAGS), {IFLA_INET6_CONF, 'w'}, {IFLA_INET6_STATS, '-'}, {IFLA_INET6_CACHEINFO, '-'},
               {IFLA_INET6_ICMP6STATS, '-'}, {IFLA_INET6_TOKEN, 0}, W(IFLA_INET6_RA_MTU), {0, 0}},
    families[] = {{AF_INET, 'n', inet}, {AF_INET6, 'n', inet6}, {0, 0}}, xdp[] = {{IFLA_XDP_ATTACHED, '-'}, {0, 0}},
    links[] = {W(IFLA_MTU), W(IFLA_LINK), W(IFLA_MASTER), W(IFLA_TXQLEN), W(IFLA_GROUP), W(IFLA_PROMISCUITY),
               W(IFLA_NUM_TX_QUEUES), W(IFLA_NUM_RX_QUEUES), W(IFLA_GSO_MAX_SEGS), W(IFLA_GSO_MAX_SIZE), W(IFLA_MIN_MTU),
               W(IFLA_MAX_MTU), W(58), W(59), W(60), W(61), W(63), W(64), {IFLA_STATS, '-'}, {IFLA_STATS64, '-'},
               {IFLA_IFNAME, 's'}, {IFLA_QDISC, 's'}, {IFLA_LINKINFO, 'n', info}, {IFLA_AF_SPEC, 'n', families},
               {IFLA_CARRIER_CHANGES, '-'}, {IFLA_OPERSTATE, '-'}, {IFLA_CARRIER, '-'},
               {IFLA_CARRIER_UP_COUNT, '-'}, {IFLA_CARRIER_DOWN_COUNT, '-'},
               {IFLA_ADDRESS, '-'}, {IFLA_PERM_ADDRESS, '-'}, {IFLA_MAP, 'd'}, {IFLA_XDP, 'n', xdp},
               {65, '-'}, {66, 'd'}, {0, 0}},
    vlan_links[] = {{IFLA_IFNAME, 's'}, {IFLA_LINKINFO, 'n', vlan_info}, {0, 0}},
    macvlan_links[] = {{IFLA_IFNAME, 's'}, {IFLA_LINKINFO, 'n', macvlan_info}, {0, 0}},
    addresses[] = {{IFA_LABEL, 's'}, W(IFA_FLAGS), {IFA_CACHEINFO, '-'}, W(IFA_RT_PRIORITY), {0, 0}},
    metrics[] = {W(RTAX_MTU), W(RTAX_WINDOW), W(RTAX_ADVMSS), W(RTAX_HOPLIMIT), {RTAX_CC_ALGO, 's'}, {0, 0}},
    routes[] = {W(RTA_TABLE), W(RTA_OIF), W(RTA_IIF), W(RTA_PRIORITY), W(RTA_UID), W(RTA_MARK),
                {RTA_CACHEINFO, '-'}, {RTA_METRICS, 'n', metrics}, {RTA_MULTIPATH, '-'}, {0, 0}},
    neighbours[] = {{NDA_CACHEINFO, '-'}, W(NDA_PROBES), {0, 0}},
    rules[] = {W(FRA_TABLE), W(FRA_PRIORITY), W(FRA_SUPPRESS_PREFIXLEN), W(FRA_FWMARK), W(FRA_FWMASK),
               {FRA_IIFNAME, 's'}, {FRA_SPORT_RANGE, 'h'}, {FRA_UID_RANGE, 'w'}, {0, 0}},
    ops[] = {W(CTRL_ATTR_OP_ID), W(CTRL_ATTR_OP_FLAGS), {0, 0}},
    op_list[] = {{1, 'n', ops}, {2, 'n', ops}, {3, 'n', ops}, {4, 'n', ops}, {0, 0}},
    groups[] = {{CTRL_ATTR_MCAST_GRP_NAME, 's'}, W(CTRL_ATTR_MCAST_GRP_ID), {0, 0}},
    group_list[] = {{1, 'n', groups}, {0, 0}},
    generic[] = {{CTRL_ATTR_FAMILY_ID, 'h'}, {CTRL_ATTR_FAMILY_NAME, 's'}, W(CTRL_ATTR_VERSION), W(CTRL_ATTR_HDRSIZE),
                 W(CTRL_ATTR_MAXATTR), {CTRL_ATTR_OPS, 'n', op_list}, {CTRL_ATTR_MCAST_GROUPS, 'n', group_list}, {0, 0}},
    errors[] = {{NLMSGERR_ATTR_MSG, 's'}, W(NLMSGERR_ATTR_OFFS), {4, '-'}, {0, 0}};

static void print_multipath(const struct rtattr *at, int size)
{
    for (; RTA_OK(at, size); at = RTA_NEXT(at, size)) {
        if (at->rta_type != RTA_MULTIPATH)
            continue;
        int left = RTA_PAYLOAD(at);
        for (struct rtnexthop *hop = RTA_DATA(at); RTNH_OK(hop, left);
             left -= NLMSG_ALIGN(hop->rtnh_len), hop = RTNH_NEXT(hop)) {
            printf(" [hop %u %d:", hop->rtnh_hops, hop->rtnh_ifindex);
            print_attributes(RTNH_DATA(hop), hop->rtnh_len - sizeof *hop, routes);
            printf("]");
        }
    }
}

static void print_message(const struct nlmsghdr *header, const struct shown *shown)
{
    union {
        struct ifinfomsg link;
        struct ifaddrmsg address;
        struct rtmsg route;
        struct ndmsg neighbour;
        struct genlmsghdr generic;
    } *body = NLMSG_DATA(header);
    size_t fixed = sizeof body->route;
    bool of_address = header->nlmsg_type >= RTM_NEWADDR && header->nlmsg_type < RTM_NEWROUTE;
    bool of_neighbour = header->nlmsg_type >= RTM_NEWNEIGH && header->nlmsg_type < RTM_NEWRULE;
    if (of_address && body->address.ifa_family == AF_INET6 && body->address.ifa_scope == RT_SCOPE_LINK)
        return; /* made from random hardware addresses */
    if (of_neighbour && body->neighbour.ndm_state == NUD_NOARP)
        return; /* of groups that devices join when they come to it */
    printf("type %u", header->nlmsg_type);
    if (shown == generic) {
        fixed = sizeof body->generic;
        printf(" command %u version %u", body->generic.cmd, body->generic.version);
    } else if (header->nlmsg_type < RTM_NEWADDR) {
        fixed = sizeof body->link;
        printf(" link %d hardware %u flags %x", body->link.ifi_index, body->link.ifi_type, body->link.ifi_flags & STEADY);
    } else if (of_address) {
        fixed = sizeof body->address;
        printf(" family %u/%u flags %x link %u", body->address.ifa_family, body->address.ifa_prefixlen,
               body->address.ifa_flags, body->address.ifa_index);
    } else if (of_neighbour) {
        fixed = sizeof body->neighbour;
        printf(" link %d state %x", body->neighbour.ndm_ifindex, body->neighbour.ndm_state);
    } else {
        printf(" family %u/%u table %u flags %x", body->route.rtm_family, body->route.rtm_dst_len, body->route.rtm_table,
               body->route.rtm_flags & ~RTNH_F_LINKDOWN);
    }
    struct rtattr *first = (void *)((char *)body + NLMSG_ALIGN(fixed));
    int size = (int)(header->nlmsg_len - NLMSG_LENGTH(0) - NLMSG_ALIGN(fixed));
    print_attributes(first, size, shown);
    if (shown == routes)
        print_multipath(first, size);
    printf("\n");
}

/* Returns whether more is to come. */
static bool print_answer(const struct nlmsghdr *header, const struct shown *shown)
{
    struct nlmsgerr *error = NLMSG_DATA(header);
    if (header->nlmsg_seq != sequence)
        printf("a wrong number, ");
    if (header->nlmsg_type == NLMSG_DONE) {
        printf("done %d\n", error->error);
        return false;
    }
    if (header->nlmsg_type != NLMSG_ERROR) {
        print_message(header, shown);
        return header->nlmsg_flags & NLM_F_MULTI;
    }
    printf("answer %s to %u of %u bytes, flags %x", error->error ? strerrorname_np(-error->error) : "ok",
           error->msg.nlmsg_type, error->msg.nlmsg_len, header->nlmsg_flags);
    if (error->error && !(header->nlmsg_flags & NLM_F_CAPPED)) /* it comes back as it was sent */
        printf(" %s", memcmp(&error->msg, &request, error->msg.nlmsg_len) ? "changed" : "equal");
    if (header->nlmsg_flags & NLM_F_ACK_TLVS) {
        size_t used = NLMSG_LENGTH(sizeof *error);
        if (!(header->nlmsg_flags & NLM_F_CAPPED))
            used += error->msg.nlmsg_len - sizeof error->msg;
        print_attributes((void *)((char *)header + NLMSG_ALIGN(used)), header->nlmsg_len - NLMSG_ALIGN(used), errors);
    }
    printf("\n");
    return false;
}

static void ask(int fd, const struct shown *shown)
{
    struct sockaddr_nl kernel = {AF_NETLINK};
    if (sendto(fd, &request, request.header.nlmsg_len, 0, (void *)&kernel, sizeof kernel) < 0)
        printf("send: %s\n", strerrorname_np(errno));
    for (bool more = true; more;) {
        ssize_t size = recv(fd, &answer, sizeof answer, 0);
        struct nlmsghdr *header = &answer.header;
        for (; NLMSG_OK(header, size) && more; header = NLMSG_NEXT(header, size))
            more = print_answer(header, shown);
    }
}

static void dump(int fd, uint16_t type, size_t body_size, uint8_t family, const struct shown *shown)
{
    char body[64] = {family};
    printf("dump %u\n", type);
    begin(type, NLM_F_DUMP, body, body_size);
    ask(fd, shown);
}

/* ---- what only reads ---- */

static void names(void)
{
    struct ifaddrs *list;
    struct if_nameindex *index = if_nameindex();
    SHOW(getifaddrs(&list));
    for (struct ifaddrs *at = list; at; at = at->ifa_next) {
        char text[64] = "";
        int family = at->ifa_addr ? at->ifa_addr->sa_family : 0;
        if (family == AF_INET || family == AF_INET6)
            inet_ntop(family, family == AF_INET ? (void *)&((struct sockaddr_in *)at->ifa_addr)->sin_addr
                                                : &((struct sockaddr_in6 *)at->ifa_addr)->sin6_addr, text, sizeof text);
        if (strncmp(text, "fe80:", 5))
            printf("%s %x %d %s\n", at->ifa_name, at->ifa_flags & STEADY, family, text);
    }
    for (int i = 0; index && index[i].if_index; i++)
        printf("%u %s\n", index[i].if_index, index[i].if_name);
    printf("%u\n", if_nametoindex("lo"));
}

static void mistakes(int fd)
{
    struct ifinfomsg nothing = {AF_UNSPEC, 0, 0, 9999};
    begin(RTM_GETLINK, NLM_F_ACK, &nothing, sizeof nothing);
    ask(fd, links);
    begin(999, NLM_F_ACK, &nothing, sizeof nothing);
    ask(fd, links);
    begin(RTM_GETLINK, NLM_F_ACK, &nothing, 1);
    ask(fd, links);
    struct rtmsg route = {AF_INET, 32};
    begin(RTM_GETROUTE, NLM_F_ACK, &route, sizeof route);
    add(RTA_DST, "\xe0", 2);
    ask(fd, routes);
    int one = 1;
    SHOW(setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof one));
    ask(fd, routes);
    SHOW(setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &one, sizeof one));
    ask(fd, routes);
    begin(RTM_NEWADDR, NLM_F_ACK, &(struct ifaddrmsg){AF_INET, 8, 0, 0, 9999}, sizeof(struct ifaddrmsg));
    ask(fd, addresses);
    one = 0;
    setsockopt(fd, SOL_NETLINK, NETLINK_CAP_ACK, &one, sizeof one);
    setsockopt(fd, SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof one);
    struct sockaddr_nl other = {AF_NETLINK, 0, 0x7ffffff, 0};
    SHOW(sendto(fd, &request, request.header.nlmsg_len, 0, (void *)&other, sizeof other));
    SHOW(sendto(fd, BAD, 100, 0, NULL, 0));
    SHOW(send(fd, &request, 3, 0));
}

/* Parts of a vector, and a look ahead. */
static void vectors(int fd)
{
    struct ifinfomsg body = {AF_UNSPEC, 0, 0, 1};
    struct sockaddr_nl name = {0};
    begin(RTM_GETLINK, 0, &body, sizeof body);
    struct iovec out[] = {{request.bytes, 5}, {request.bytes + 5, 20}, {request.bytes + 25, 7}},
                 in[] = {{answer.bytes, 7}, {answer.bytes + 7, 100}, {answer.bytes + 107, sizeof answer - 107}};
    struct msghdr message = {.msg_iov = out, .msg_iovlen = 3};
    SHOW(sendmsg(fd, &message, 0));
    message = (struct msghdr){&name, sizeof name, in, 3};
    CHECK(recvmsg(fd, &message, MSG_PEEK));
    printf("%u %u %u %u\n", name.nl_family, name.nl_pid, name.nl_groups, message.msg_namelen);
    print_answer(&answer.header, links);
    memset(&answer, 0, sizeof answer);
    CHECK(recvmsg(fd, &message, 0));
    print_answer(&answer.header, links);
    SHOW(write(fd, &request, request.header.nlmsg_len));
    memset(&answer, 0, sizeof answer);
    CHECK(read(fd, &answer, sizeof answer));
    print_answer(&answer.header, links);
}

static void diagnostics(void)
{
    int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC, NETLINK_SOCK_DIAG), local = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un name = {AF_UNIX, "diagnosed"};
    struct stat status;
    unlink("diagnosed");
    bind(local, (void *)&name, sizeof name), listen(local, 7), fstat(local, &status);
    struct unix_diag_req about = {AF_UNIX, 0, 0, -1, status.st_ino, UDIAG_SHOW_NAME | UDIAG_SHOW_RQLEN, {-1, -1}};
    begin(SOCK_DIAG_BY_FAMILY, 0, &about, sizeof about);
    send(fd, &request, request.header.nlmsg_len, 0);
    CHECK(recv(fd, &answer, sizeof answer, 0));
    struct unix_diag_msg *found = NLMSG_DATA(&answer.header);
    printf("%u family %u type %s state %u %d", answer.header.nlmsg_type, found->udiag_family,
           found->udiag_type == SOCK_STREAM ? "stream" : "?", found->udiag_state, found->udiag_ino == status.st_ino);
    print_attributes((void *)(found + 1), answer.header.nlmsg_len - NLMSG_LENGTH(sizeof *found),
                     (struct shown[]){{UNIX_DIAG_NAME, 's'}, {UNIX_DIAG_RQLEN, 'w'}, {0, 0}});
    printf("\n");
    struct sockaddr_in address = {AF_INET, 0, {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    int server = socket(AF_INET, SOCK_STREAM, 0);
    bind(server, (void *)&address, size), listen(server, 5), getsockname(server, (void *)&address, &size);
    struct inet_diag_req_v2 which = {AF_INET, IPPROTO_TCP, 1 << (INET_DIAG_SKMEMINFO - 1) | 1 << (INET_DIAG_CONG - 1), 0, -1,
                                     {address.sin_port, 0, {address.sin_addr.s_addr}, {0}, 0, {-1, -1}}};
    begin(SOCK_DIAG_BY_FAMILY, 0, &which, sizeof which);
    send(fd, &request, request.header.nlmsg_len, 0);
    CHECK(recv(fd, &answer, sizeof answer, 0));
    struct inet_diag_msg *socket_found = NLMSG_DATA(&answer.header);
    printf("%u family %u state %u %d %u", answer.header.nlmsg_type, socket_found->idiag_family, socket_found->idiag_state,
           socket_found->id.idiag_sport == address.sin_port, socket_found->idiag_wqueue);
    print_attributes((void *)(socket_found + 1), answer.header.nlmsg_len - NLMSG_LENGTH(sizeof *socket_found),
                     (struct shown[]){{INET_DIAG_SKMEMINFO, 'w'}, {INET_DIAG_CONG, '-'}, {INET_DIAG_CGROUP_ID, '-'},
                                      {INET_DIAG_SOCKOPT, '-'}, {0, 0}});
    printf("\n");
}

static void generic_families(void)
{
    int fd = socket(AF_NETLINK, SOCK_RAW, NETLINK_GENERIC);
    begin(GENL_ID_CTRL, NLM_F_ACK, &(struct genlmsghdr){CTRL_CMD_GETFAMILY, 1}, sizeof(struct genlmsghdr));
    add(CTRL_ATTR_FAMILY_NAME, "nlctrl", 7);
    ask(fd, generic);
    begin(GENL_ID_CTRL, NLM_F_ACK, &(struct genlmsghdr){CTRL_CMD_GETFAMILY, 1}, sizeof(struct genlmsghdr));
    add(CTRL_ATTR_FAMILY_NAME, "nothing", 8);
    ask(fd, generic);
    close(fd);
}

static struct ifreq request_for(const char *device)
{
    struct ifreq made = {0};
    strcpy(made.ifr_name, device);
    return made;
}

static void by_ioctl(const char *device)
{
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    struct ifreq list[16], one = request_for(device);
    struct ifconf all = {sizeof list, {(char *)list}};
    SHOW(ioctl(fd, SIOCGIFCONF, &all));
    for (size_t i = 0; i < all.ifc_len / sizeof *list; i++)
        printf("%s %s\n", list[i].ifr_name, inet_ntoa(((struct sockaddr_in *)&list[i].ifr_addr)->sin_addr));
    int found = all.ifc_len / sizeof *list;
    all = (struct ifconf){0};
    SHOW(ioctl(fd, SIOCGIFCONF, &all));
    printf("%d\n", (int)(all.ifc_len / sizeof *list) == found);
    all = (struct ifconf){sizeof list, {(char *)BAD}};
    SHOW(found ? ioctl(fd, SIOCGIFCONF, &all) : (errno = EFAULT, -1));
    SHOW(ioctl(fd, SIOCGIFINDEX, &one));
    int index = one.ifr_ifindex;
    printf("%d\n", index > 0);
    one.ifr_name[0] = 0;
    SHOW(ioctl(fd, SIOCGIFNAME, &one));
    puts(one.ifr_name);
    SHOW(ioctl(fd, SIOCGIFFLAGS, &one));
    printf("%x\n", (uint16_t)one.ifr_flags & STEADY);
    SHOW(ioctl(fd, SIOCGIFMTU, &one));
    printf("%d\n", one.ifr_mtu);
    SHOW(ioctl(fd, SIOCGIFTXQLEN, &one));
    printf("%d\n", one.ifr_qlen);
    SHOW(ioctl(fd, SIOCGIFHWADDR, &one));
    printf("%u\n", one.ifr_hwaddr.sa_family);
    SHOW(ioctl(fd, SIOCGIFMAP, &one));
    printf("%lu %lu %u %u\n", one.ifr_map.mem_start, one.ifr_map.mem_end, one.ifr_map.base_addr, one.ifr_map.irq);
    one = request_for(device);
    if (!SHOW(ioctl(fd, SIOCGIFADDR, &one)))
        printf("%s\n", inet_ntoa(((struct sockaddr_in *)&one.ifr_addr)->sin_addr));
    if (!SHOW(ioctl(fd, SIOCGIFNETMASK, &one)))
        printf("%s\n", inet_ntoa(((struct sockaddr_in *)&one.ifr_addr)->sin_addr));
    one = request_for("nowhere");
    SHOW(ioctl(fd, SIOCGIFFLAGS, &one));
    SHOW(ioctl(fd, SIOCGIFFLAGS, BAD));
    SHOW(ioctl(1, SIOCGIFFLAGS, &one));
    struct { uint32_t command, value; } link = {10 /* ETHTOOL_GLINK */, 99};
    one = request_for(device);
    one.ifr_data = (void *)&link;
    SHOW(ioctl(fd, 0x8946 /* SIOCETHTOOL */, &one));
    printf("%u\n", link.value);
    struct { uint32_t command; char text[172]; uint32_t numbers[5]; } driver = {3 /* ETHTOOL_GDRVINFO */};
    one.ifr_data = (void *)&driver;
    SHOW(ioctl(fd, 0x8946, &one));
    one.ifr_data = (void *)BAD;
    SHOW(ioctl(fd, 0x8946, &one));
    struct { struct timeval time; } stamp;
    SHOW(ioctl(fd, SIOCGSTAMP, &stamp));
    int owner = getpid();
    SHOW(ioctl(fd, SIOCSPGRP, &owner));
    owner = 0;
    SHOW(ioctl(fd, SIOCGPGRP, &owner));
    printf("%d\n", owner == getpid());
    struct arpreq arp = {.arp_pa = {AF_INET}};
    strcpy(arp.arp_dev, device);
    ((struct sockaddr_in *)&arp.arp_pa)->sin_addr.s_addr = inet_addr("127.0.0.9");
    SHOW(ioctl(fd, SIOCGARP, &arp));
    close(fd);
}

/* ---- what changes the network ---- */

static void link_of(int fd, const char *name, const char *kind, int index)
{
    struct ifinfomsg body = {AF_UNSPEC, 0, 0, index, IFF_UP, IFF_UP};
    printf("make %s\n", kind);
    begin(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL | NLM_F_ACK, &body, sizeof body);
    add(IFLA_IFNAME, name, strlen(name) + 1);
    if (strcmp(kind, "vlan") == 0 || strcmp(kind, "macvlan") == 0)
        add_word(IFLA_LINK, 5);
    struct rtattr *about = add(IFLA_LINKINFO, "", 0);
    add(IFLA_INFO_KIND, kind, strlen(kind));
    struct rtattr *data = add(IFLA_INFO_DATA, "", 0);
    uint16_t number = 77;
    if (strcmp(kind, "vlan") == 0)
        add(IFLA_VLAN_ID, &number, sizeof number);
    if (strcmp(kind, "macvlan") == 0)
        add_word(IFLA_MACVLAN_MODE, MACVLAN_MODE_BRIDGE);
    if (strcmp(kind, "veth") == 0) {
        struct ifinfomsg peer = {AF_UNSPEC, 0, 0, index + 1};
        struct rtattr *nest = add(VETH_INFO_PEER, &peer, sizeof peer);
        add(IFLA_IFNAME, "peer", 5);
        add_word(IFLA_MTU, 1234);
        end(nest);
    }
    end(data), end(about);
    ask(fd, links);
}

static void show_link(int fd, int index, const struct shown *shown)
{
    struct ifinfomsg body = {AF_UNSPEC, 0, 0, index};
    begin(RTM_GETLINK, 0, &body, sizeof body);
    ask(fd, shown);
}

static void add_routes(int fd)
{
    struct rtmsg body = {AF_INET, 24, 0, 0, RT_TABLE_MAIN, RTPROT_STATIC, RT_SCOPE_UNIVERSE, RTN_UNICAST};
    uint32_t net = inet_addr("10.9.0.0"), gateway = inet_addr("10.1.0.2");
    begin(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_ACK, &body, sizeof body);
    add(RTA_DST, &net, 4), add(RTA_GATEWAY, &gateway, 4), add_word(RTA_OIF, 5), add_word(RTA_PRIORITY, 77);
    struct rtattr *nest = add(RTA_METRICS, "", 0);
    add_word(RTAX_MTU, 1300), add_word(RTAX_ADVMSS, 1000), add(RTAX_CC_ALGO, "reno", 5);
    end(nest);
    ask(fd, routes);
    net = inet_addr("10.8.0.0");
    begin(RTM_NEWROUTE, NLM_F_CREATE | NLM_F_ACK, &body, sizeof body);
    add(RTA_DST, &net, 4);
    nest = add(RTA_MULTIPATH, "", 0);
    for (int i = 0; i < 2; i++) {
        struct rtnexthop *hop = (void *)(request.bytes + request.header.nlmsg_len);
        *hop = (struct rtnexthop){0, 0, i, 5};
        request.header.nlmsg_len += sizeof *hop;
        gateway = i ? inet_addr("10.1.0.3") : gateway;
        add(RTA_GATEWAY, &gateway, 4);
        hop->rtnh_len = request.bytes + request.header.nlmsg_len - (char *)hop;
    }
    end(nest);
    ask(fd, routes);
    begin(RTM_NEWRULE, NLM_F_CREATE | NLM_F_ACK, &(struct fib_rule_hdr){AF_INET, .table = 100, .action = FR_ACT_TO_TBL},
          sizeof(struct fib_rule_hdr));
    add_word(FRA_PRIORITY, 1000), add_word(FRA_FWMARK, 0x1234), add(FRA_IIFNAME, "lo", 3);
    uint16_t ports[2] = {80, 8080};
    add(FRA_SPORT_RANGE, ports, sizeof ports);
    ask(fd, rules);
    struct ndmsg neighbour = {AF_INET, 0, 0, 5, NUD_PERMANENT};
    begin(RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_ACK, &neighbour, sizeof neighbour);
    gateway = inet_addr("10.1.0.9");
    add(NDA_DST, &gateway, 4), add(NDA_LLADDR, "\2\1\2\3\4\5", 6);
    ask(fd, neighbours);
}

static void old_routes(void)
{
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    struct rtentry entry = {.rt_flags = RTF_UP | RTF_GATEWAY, .rt_metric = 6, .rt_dev = "pair", .rt_mtu = 1111};
    *(struct sockaddr_in *)&entry.rt_dst = (struct sockaddr_in){AF_INET, 0, {inet_addr("10.7.0.0")}};
    *(struct sockaddr_in *)&entry.rt_gateway = (struct sockaddr_in){AF_INET, 0, {inet_addr("10.1.0.2")}};
    *(struct sockaddr_in *)&entry.rt_genmask = (struct sockaddr_in){AF_INET, 0, {inet_addr("255.255.0.0")}};
    entry.rt_flags |= 0x40 /* RTF_MTU */;
    SHOW(ioctl(fd, SIOCADDRT, &entry));
    SHOW(ioctl(fd, SIOCADDRT, &entry));
    entry.rt_dev = "nowhere";
    SHOW(ioctl(fd, SIOCDELRT, &entry));
    struct ifreq one = request_for("pair");
    one.ifr_mtu = 1400;
    SHOW(ioctl(fd, SIOCSIFMTU, &one));
    one.ifr_mtu = 0;
    SHOW(ioctl(fd, SIOCGIFMTU, &one));
    printf("%d\n", one.ifr_mtu);
    one = request_for("peer");
    one.ifr_flags = IFF_UP;
    SHOW(ioctl(fd, SIOCSIFFLAGS, &one));
    *(struct sockaddr_in *)&one.ifr_addr = (struct sockaddr_in){AF_INET, 0, {inet_addr("10.5.0.1")}};
    SHOW(ioctl(fd, SIOCSIFADDR, &one));
    SHOW(ioctl(fd, SIOCGIFBRDADDR, &one));
    printf("%s\n", inet_ntoa(((struct sockaddr_in *)&one.ifr_broadaddr)->sin_addr));
    struct { struct in6_addr address; uint32_t length; int index; } six = {IN6ADDR_LOOPBACK_INIT, 64, 1};
    inet_pton(AF_INET6, "fd00:5::1", &six.address);
    int fd6 = socket(AF_INET6, SOCK_DGRAM, 0);
    SHOW(ioctl(fd6, SIOCSIFADDR, &six));
    struct { struct in6_addr to, from, gateway; uint32_t type; uint16_t to_length, from_length; uint32_t metric;
             unsigned long information; uint32_t flags; int index; } route6 = {.to_length = 48, .metric = 9};
    route6.flags = RTF_UP, route6.index = 5;
    inet_pton(AF_INET6, "fd00:6::", &route6.to);
    SHOW(ioctl(fd6, SIOCADDRT, &route6));
    SHOW(ioctl(fd6, SIOCDELRT, &route6));
}

static void events(int fd)
{
    int listener = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
    struct sockaddr_nl groups = {AF_NETLINK, 0, 0, RTMGRP_IPV4_IFADDR}, name;
    socklen_t size = sizeof name;
    SHOW(bind(listener, (void *)&groups, sizeof groups));
    struct ifaddrmsg body = {AF_INET, 24, 0, 0, 5};
    uint32_t address = inet_addr("10.1.0.1");
    begin(RTM_NEWADDR, NLM_F_CREATE | NLM_F_ACK, &body, sizeof body);
    add(IFA_LOCAL, &address, 4), add(IFA_ADDRESS, &address, 4), add_word(IFA_RT_PRIORITY, 5);
    ask(fd, addresses);
    CHECK(recvfrom(listener, &answer, sizeof answer, 0, (void *)&name, &size));
    printf("%u %u %u\n", name.nl_family, name.nl_pid, name.nl_groups);
    print_message(&answer.header, addresses);
}

static void change(int fd)
{
    begin(RTM_SETLINK, NLM_F_ACK, &(struct ifinfomsg){AF_UNSPEC, 0, 0, 1, IFF_UP, IFF_UP}, sizeof(struct ifinfomsg));
    ask(fd, links);
    link_of(fd, "pair", "veth", 5);
    show_link(fd, 6, links);
    events(fd);
    link_of(fd, "tagged", "vlan", 7);
    show_link(fd, 7, links);
    link_of(fd, "shared", "macvlan", 8);
    link_of(fd, "bridge", "bridge", 9);
    link_of(fd, "empty", "dummy", 10);
    link_of(fd, "strange", "nothing", 11);
    add_routes(fd);
    old_routes();
}

int main(int count, char **words)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
    struct sockaddr_nl self = {AF_NETLINK}, bound;
    socklen_t size = sizeof bound;
    SHOW(bind(fd, (void *)&self, sizeof self));
    SHOW(getsockname(fd, (void *)&bound, &size));
    printf("%u %u %d %u\n", size, bound.nl_family, bound.nl_pid == getpid(), bound.nl_groups);
    if (count > 1)
        change(fd);
    names();
    mistakes(fd);
    vectors(fd);
    if (count > 1) {
        dump(fd, RTM_GETLINK, sizeof(struct rtgenmsg), AF_UNSPEC, links);
        dump(fd, RTM_GETNEIGH, sizeof(struct ndmsg), AF_INET, neighbours);
    }
    dump(fd, RTM_GETADDR, sizeof(struct ifaddrmsg), AF_UNSPEC, addresses);
    dump(fd, RTM_GETROUTE, sizeof(struct rtmsg), AF_INET, routes);
    dump(fd, RTM_GETRULE, sizeof(struct rtmsg), AF_INET, rules);
    diagnostics();
    generic_families();
    by_ioctl("lo");
    if (count > 1)
        by_ioctl("pair");
    return 0;
}
