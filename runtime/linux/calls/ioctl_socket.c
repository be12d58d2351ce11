/* ioctl of sockets and network devices: a row for each request. Numbers: linux/sockios.h, asm/sockios.h, linux/if_tun.h.
 *
 * The requests of most are the same everywhere; those with a direction in the number have other bits for it on MIPS.
 * Left out are requests whose structures only drivers know (SIOCDEVPRIVATE), and the old ones of bridges (SIOCGIFBR).
 */
#include "linux/calls/ioctl.h"
#include "linux/calls/socket.h"
#include "linux/calls/socket_layout.h"
#include "linux/host_call.h"
#include "memory/values.h"

#include <errno.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <net/route.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

/* struct ifreq: a name and 16 bytes of the guest's, 24 of the host's, of which each request has its own. */
#define IFREQ(member) "16b" member
#define ADDRESS "h14b"
#define DEVICE_MAP "2lh3b"
#define HOST_IFREQ 40u
#define GUEST_IFREQ 32u
#define INET6_ROUTE "48bw2hw4plww" /* struct in6_rtmsg */
#define INET6_REQUEST "16b2w"      /* struct in6_ifreq */

enum argument { NOTHING, VALUE, IN, OUT, BOTH, CONFIGURATION, ROUTE, INTERFACE_ADDRESS, POINTER, ETHTOOL };

static const struct request {
    uint32_t mips, host;
    enum argument argument;
    const char *layout;
} requests[] = {
    {0x40047307, 0x8905, OUT, "w"}, /* SIOCATMARK */
    {0x80047308, 0x8902, IN, "w"},  /* SIOCSPGRP */
    {0x40047309, 0x8904, OUT, "w"}, /* SIOCGPGRP */
    {0x8004667c, 0x8901, IN, "w"},  /* FIOSETOWN */
    {0x4004667b, 0x8903, OUT, "w"}, /* FIOGETOWN */
    {0x8906, 0x8906, OUT, "2l"},    /* SIOCGSTAMP_OLD */
    {0x8907, 0x8907, OUT, "2l"},    /* SIOCGSTAMPNS_OLD */
    {0x40108906, 0x80108906, OUT, "2d"}, /* SIOCGSTAMP_NEW */
    {0x40108907, 0x80108907, OUT, "2d"}, /* SIOCGSTAMPNS_NEW */
    {SIOCADDRT, SIOCADDRT, ROUTE, NULL},
    {SIOCDELRT, SIOCDELRT, ROUTE, NULL},
    {SIOCGIFNAME, SIOCGIFNAME, BOTH, IFREQ("w")},
    {SIOCGIFCONF, SIOCGIFCONF, CONFIGURATION, NULL},
    {SIOCGIFFLAGS, SIOCGIFFLAGS, BOTH, IFREQ("h")},
    {SIOCSIFFLAGS, SIOCSIFFLAGS, IN, IFREQ("h")},
    {SIOCGIFADDR, SIOCGIFADDR, BOTH, IFREQ(ADDRESS)},
    {SIOCSIFADDR, SIOCSIFADDR, INTERFACE_ADDRESS, IFREQ(ADDRESS)},
    {SIOCGIFDSTADDR, SIOCGIFDSTADDR, BOTH, IFREQ(ADDRESS)},
    {SIOCSIFDSTADDR, SIOCSIFDSTADDR, INTERFACE_ADDRESS, IFREQ(ADDRESS)},
    {SIOCGIFBRDADDR, SIOCGIFBRDADDR, BOTH, IFREQ(ADDRESS)},
    {SIOCSIFBRDADDR, SIOCSIFBRDADDR, IN, IFREQ(ADDRESS)},
    {SIOCGIFNETMASK, SIOCGIFNETMASK, BOTH, IFREQ(ADDRESS)},
    {SIOCSIFNETMASK, SIOCSIFNETMASK, IN, IFREQ(ADDRESS)},
    {SIOCDIFADDR, SIOCDIFADDR, INTERFACE_ADDRESS, IFREQ(ADDRESS)},
    {SIOCGIFMETRIC, SIOCGIFMETRIC, BOTH, IFREQ("w")},
    {SIOCSIFMETRIC, SIOCSIFMETRIC, IN, IFREQ("w")},
    {SIOCGIFMTU, SIOCGIFMTU, BOTH, IFREQ("w")},
    {SIOCSIFMTU, SIOCSIFMTU, IN, IFREQ("w")},
    {SIOCSIFNAME, SIOCSIFNAME, IN, IFREQ("16b")},
    {SIOCGIFHWADDR, SIOCGIFHWADDR, BOTH, IFREQ(ADDRESS)},
    {SIOCSIFHWADDR, SIOCSIFHWADDR, IN, IFREQ(ADDRESS)},
    {SIOCSIFHWBROADCAST, SIOCSIFHWBROADCAST, IN, IFREQ(ADDRESS)},
    {SIOCADDMULTI, SIOCADDMULTI, IN, IFREQ(ADDRESS)},
    {SIOCDELMULTI, SIOCDELMULTI, IN, IFREQ(ADDRESS)},
    {SIOCGIFINDEX, SIOCGIFINDEX, BOTH, IFREQ("w")},
    {SIOCGIFPFLAGS, SIOCGIFPFLAGS, BOTH, IFREQ("h")},
    {SIOCSIFPFLAGS, SIOCSIFPFLAGS, IN, IFREQ("h")},
    {SIOCGIFSLAVE, SIOCGIFSLAVE, BOTH, IFREQ("16b")},
    {SIOCSIFSLAVE, SIOCSIFSLAVE, IN, IFREQ("16b")},
    {SIOCGIFTXQLEN, SIOCGIFTXQLEN, BOTH, IFREQ("w")},
    {SIOCSIFTXQLEN, SIOCSIFTXQLEN, IN, IFREQ("w")},
    {SIOCGIFMAP, SIOCGIFMAP, BOTH, IFREQ(DEVICE_MAP)},
    {SIOCSIFMAP, SIOCSIFMAP, IN, IFREQ(DEVICE_MAP)},
    {SIOCETHTOOL, SIOCETHTOOL, ETHTOOL, NULL},
    {SIOCGMIIPHY, SIOCGMIIPHY, BOTH, IFREQ("4h")},
    {SIOCGMIIREG, SIOCGMIIREG, BOTH, IFREQ("4h")},
    {SIOCSMIIREG, SIOCSMIIREG, IN, IFREQ("4h")},
    {SIOCOUTQNSD, SIOCOUTQNSD, OUT, "w"},
    {SIOCGSKNS, SIOCGSKNS, NOTHING, NULL},
    {SIOCDARP, SIOCDARP, IN, "h14bh14bwh14b16b"}, /* struct arpreq */
    {SIOCGARP, SIOCGARP, BOTH, "h14bh14bwh14b16b"},
    {SIOCSARP, SIOCSARP, IN, "h14bh14bwh14b16b"},
    {SIOCGIFVLAN, SIOCGIFVLAN, BOTH, "w24bw20bh"}, /* struct vlan_ioctl_args with a number, not a name */
    {SIOCSIFVLAN, SIOCSIFVLAN, BOTH, "w24bw20bh"},
    {SIOCBONDENSLAVE, SIOCBONDENSLAVE, IN, IFREQ("16b")},
    {SIOCBONDRELEASE, SIOCBONDRELEASE, IN, IFREQ("16b")},
    {SIOCBONDSETHWADDR, SIOCBONDSETHWADDR, IN, IFREQ(ADDRESS)},
    {SIOCBONDCHANGEACTIVE, SIOCBONDCHANGEACTIVE, IN, IFREQ("16b")},
    {SIOCBRADDBR, SIOCBRADDBR, IN, "16b"},
    {SIOCBRDELBR, SIOCBRDELBR, IN, "16b"},
    {SIOCBRADDIF, SIOCBRADDIF, IN, IFREQ("w")},
    {SIOCBRDELIF, SIOCBRDELIF, IN, IFREQ("w")},
    {SIOCSHWTSTAMP, SIOCSHWTSTAMP, POINTER, "3w"},
    {SIOCGHWTSTAMP, SIOCGHWTSTAMP, POINTER, "3w"},
    {0x800454ca, 0x400454ca, BOTH, IFREQ("h")}, /* TUNSETIFF: gives the name back */
    {0x400454d2, 0x800454d2, OUT, IFREQ("h")},  /* TUNGETIFF */
    {0x800454cb, 0x400454cb, VALUE, NULL},      /* TUNSETPERSIST */
    {0x800454cc, 0x400454cc, VALUE, NULL},      /* TUNSETOWNER */
    {0x800454ce, 0x400454ce, VALUE, NULL},      /* TUNSETGROUP */
    {0x400454cf, 0x800454cf, OUT, "w"},         /* TUNGETFEATURES */
};

static const struct request *find_request(uint32_t mips)
{
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        if (requests[i].mips == mips)
            return &requests[i];
    return NULL;
}

/* ---- one structure ---- */

#define MOST_BYTES 256u

static int64_t with_structure(int fd, const struct request *request, const char *layout, uint32_t guest, bool out)
{
    union { /* of the size that the host's kernel may look at, whatever the layout */
        uint8_t bytes[MOST_BYTES];
        uint64_t alignment;
    } host = {{0}};
    bool in = request->argument != OUT;
    uint32_t size_bytes = (uint32_t)mr_socket_layout_guest_bytes(layout);
    uint8_t *at = mr_guest_bytes(guest, size_bytes, in ? MR_READ : MR_WRITE);
    if (in && !at)
        return -EFAULT;
    if (in)
        mr_socket_layout_to_host(layout, at, size_bytes, host.bytes, sizeof host.bytes);
    int64_t result = mr_result(ioctl(fd, request->host, host.bytes));
    if (result < 0 || !out)
        return result;
    if (!mr_guest_bytes(guest, size_bytes, MR_WRITE))
        return -EFAULT;
    mr_socket_layout_to_guest(layout, host.bytes, mr_socket_layout_host_bytes(layout), at, size_bytes);
    return result;
}

/* ---- SIOCGIFCONF ---- */

#define MOST_INTERFACES 4096u

static int64_t list_interfaces(int fd, uint32_t guest)
{
    uint32_t room, to;
    if (mr_read32(guest, &room) || mr_read32(guest + 4, &to))
        return -EFAULT;
    uint32_t count = room / GUEST_IFREQ < MOST_INTERFACES ? room / GUEST_IFREQ : MOST_INTERFACES;
    if ((int32_t)room < 0)
        count = 0;
    struct ifreq *list = to ? calloc(count + 1, sizeof *list) : NULL;
    if (to && !list)
        return -ENOMEM;
    struct ifconf host = {.ifc_len = (int)(count * HOST_IFREQ), .ifc_req = list};
    int64_t result = mr_result(ioctl(fd, SIOCGIFCONF, &host));
    uint32_t found = (uint32_t)host.ifc_len / HOST_IFREQ;
    uint8_t *at = to && result == 0 ? mr_guest_bytes(to, found * GUEST_IFREQ, MR_WRITE) : NULL;
    for (uint32_t i = 0; at && i < found; i++)
        mr_socket_layout_to_guest(IFREQ(ADDRESS), &list[i], HOST_IFREQ, at + i * GUEST_IFREQ, GUEST_IFREQ);
    free(list);
    if (result == 0 && to && !at)
        return -EFAULT;
    return result < 0 ? result : mr_write32(guest, found * GUEST_IFREQ);
}

/* ---- structures with pointers, and those that depend on the family ---- */

static bool is_inet6(int fd)
{
    return mr_host_socket_option(fd, SO_DOMAIN, AF_INET) == AF_INET6;
}

/* struct rtentry: three addresses at 4, flags at 52, metric at 64, device's name at 68, MTU, window, round trip time. */
static int64_t change_route(int fd, const struct request *request, uint32_t guest)
{
    if (is_inet6(fd))
        return with_structure(fd, request, INET6_ROUTE, guest, false);
    const uint8_t *at = mr_guest_bytes(guest, 84, MR_READ);
    if (!at)
        return -EFAULT;
    char name[IFNAMSIZ] = "";
    uint32_t device = mr_get32(at + 68);
    const char *text = device ? mr_guest_string(device) : NULL;
    if (device && !text)
        return -EFAULT;
    if (text)
        strncpy(name, text, sizeof name - 1);
    struct rtentry route = {
        .rt_flags = mr_get16(at + 52),
        .rt_metric = (short)mr_get16(at + 64),
        .rt_dev = device ? name : NULL,
        .rt_mtu = mr_get32(at + 72),
        .rt_window = mr_get32(at + 76),
        .rt_irtt = mr_get16(at + 80),
    };
    mr_socket_layout_to_host(ADDRESS, at + 4, 16, &route.rt_dst, sizeof route.rt_dst);
    mr_socket_layout_to_host(ADDRESS, at + 20, 16, &route.rt_gateway, sizeof route.rt_gateway);
    mr_socket_layout_to_host(ADDRESS, at + 36, 16, &route.rt_genmask, sizeof route.rt_genmask);
    return mr_result(ioctl(fd, request->host, &route));
}

/* ---- the call ---- */

bool mr_ioctl_socket(int fd, uint32_t number, uint32_t argument, int64_t *result)
{
    const struct request *request = find_request(number);
    if (!request)
        return false;
    switch (request->argument) {
    case NOTHING: *result = mr_result(ioctl(fd, request->host, 0)); break;
    case VALUE: *result = mr_result(ioctl(fd, request->host, (unsigned long)argument)); break;
    case CONFIGURATION: *result = list_interfaces(fd, argument); break;
    case ROUTE: *result = change_route(fd, request, argument); break;
    case POINTER: *result = mr_ioctl_with_pointer(fd, request->host, argument, request->layout, 12); break;
    case ETHTOOL: *result = mr_ioctl_ethtool(fd, argument); break;
    case INTERFACE_ADDRESS:
        *result = with_structure(fd, request, is_inet6(fd) ? INET6_REQUEST : request->layout, argument, false);
        break;
    default: *result = with_structure(fd, request, request->layout, argument, request->argument != IN); break;
    }
    return true;
}
