/* ioctl of sockets and network devices: a row for each request. Numbers: linux/sockios.h, asm/sockios.h, linux/if_tun.h.
 *
 * The requests of most are the same everywhere; those with a direction in the number have other bits for it on MIPS.
 * Left out are requests whose structures only drivers know (SIOCDEVPRIVATE), and the old ones of bridges (SIOCGIFBR).
 */
#include "linux/calls/ioctl.h"
#include "linux/calls/socket.h"
#include "linux/calls/layout.h"
#include "linux/host_call.h"
#include "memory/values.h"

#include <errno.h>
#include <linux/ethtool.h>
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
#define INET6_ROUTE "48bw2hwlww" /* struct in6_rtmsg */
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
    {0x40108906, 0x80108906, OUT, "2q"}, /* SIOCGSTAMP_NEW */
    {0x40108907, 0x80108907, OUT, "2q"}, /* SIOCGSTAMPNS_NEW */
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
    uint32_t size_bytes = mr_layout_size(layout).guest;
    uint8_t *at = mr_guest_bytes(guest, size_bytes, in ? MR_READ : MR_WRITE);
    if (in && !at)
        return -EFAULT;
    if (in)
        mr_layout_to_host(layout, at, size_bytes, host.bytes, sizeof host.bytes);
    int64_t result = mr_result(ioctl(fd, request->host, host.bytes));
    if (result < 0 || !out)
        return result;
    if (!mr_guest_bytes(guest, size_bytes, MR_WRITE))
        return -EFAULT;
    mr_layout_to_guest(layout, host.bytes, mr_layout_size(layout).host, at, size_bytes);
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
        mr_layout_to_guest(IFREQ(ADDRESS), &list[i], HOST_IFREQ, at + i * GUEST_IFREQ, GUEST_IFREQ);
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
    mr_layout_to_host(ADDRESS, at + 4, 16, &route.rt_dst, sizeof route.rt_dst);
    mr_layout_to_host(ADDRESS, at + 20, 16, &route.rt_gateway, sizeof route.rt_gateway);
    mr_layout_to_host(ADDRESS, at + 36, 16, &route.rt_genmask, sizeof route.rt_genmask);
    return mr_result(ioctl(fd, request->host, &route));
}

/* ---- SIOCETHTOOL (linux/ethtool.h), and what else gives a struct ifreq that points to what counts ---- */

#define SPARE_BYTES 256u /* that the host's kernel may look at, whatever the layout */

/* A struct ifreq with a pointer to what counts. Returns the guest's address of that, or 0. */
static uint32_t get_pointer(uint32_t guest, struct ifreq *host)
{
    const uint8_t *at = mr_guest_bytes(guest, GUEST_IFREQ, MR_READ);
    if (!at)
        return 0;
    memset(host, 0, sizeof *host);
    memcpy(host->ifr_name, at, IFNAMSIZ);
    return mr_get32(at + IFNAMSIZ);
}

static int64_t with_pointer(int fd, uint32_t number, uint32_t guest, const char *layout, uint32_t bytes)
{
    struct ifreq host;
    uint32_t data = get_pointer(guest, &host);
    uint8_t *at = data ? mr_guest_bytes(data, bytes, MR_READ | MR_WRITE) : NULL;
    uint8_t *copy = at ? calloc(1, bytes + SPARE_BYTES) : NULL;
    if (!copy)
        return at ? -ENOMEM : -EFAULT;
    mr_layout_to_host(layout, at, bytes, copy, bytes + SPARE_BYTES);
    host.ifr_data = (char *)copy;
    int64_t result = mr_result(ioctl(fd, number, &host));
    if (result >= 0)
        mr_layout_to_guest(layout, copy, bytes, at, bytes);
    free(copy);
    return result;
}

/* Structures of ethtool begin with the command. `counted` is the offset of a word that says how many items follow. */
static const struct ethtool_row {
    uint32_t command;
    const char *layout;
    uint32_t fixed, counted, item;
} ethtool_rows[] = {
    {ETHTOOL_GSET, "3wh6b2wh2b3w", 44, 0, 0},
    {ETHTOOL_SSET, "3wh6b2wh2b3w", 44, 0, 0},
    {ETHTOOL_GDRVINFO, "w172b5w", 196, 0, 0},
    {ETHTOOL_GREGS, "3w*b", 12, 8, 1},
    {ETHTOOL_GWOL, "3w6b", 20, 0, 0},
    {ETHTOOL_SWOL, "3w6b", 20, 0, 0},
    {ETHTOOL_GEEPROM, "4w*b", 16, 12, 1},
    {ETHTOOL_GSTRINGS, "3w*b", 12, 8, ETH_GSTRING_LEN},
    {ETHTOOL_GSTATS, "2w*q", 8, 4, 8},
    {ETHTOOL_GPERMADDR, "2w*b", 8, 4, 1},
    {ETHTOOL_GSSET_INFO, "2wq*w", 16, 0, 0},
    {ETHTOOL_GFEATURES, "2w*w", 8, 4, 16},
    {ETHTOOL_SFEATURES, "2w*w", 8, 4, 8},
    {ETHTOOL_GCOALESCE, "*w", 92, 0, 0},
    {ETHTOOL_SCOALESCE, "*w", 92, 0, 0},
    {ETHTOOL_GRINGPARAM, "*w", 36, 0, 0},
    {ETHTOOL_SRINGPARAM, "*w", 36, 0, 0},
    {ETHTOOL_GPAUSEPARAM, "*w", 16, 0, 0},
    {ETHTOOL_SPAUSEPARAM, "*w", 16, 0, 0},
    {ETHTOOL_GCHANNELS, "*w", 36, 0, 0},
    {ETHTOOL_SCHANNELS, "*w", 36, 0, 0},
    {ETHTOOL_GEEE, "*w", 40, 0, 0},
    {ETHTOOL_SEEE, "*w", 40, 0, 0},
    {ETHTOOL_GET_TS_INFO, "*w", 44, 0, 0},
    {ETHTOOL_GMODULEINFO, "*w", 44, 0, 0},
    {ETHTOOL_GLINKSETTINGS, "2w12b*w", 48, 0, 0}, /* and three masks of as many words as byte 15 says */
    {ETHTOOL_SLINKSETTINGS, "2w12b*w", 48, 0, 0},
};
#define SIMPLE_BYTES 8u /* struct ethtool_value: the command and a word; all commands without a row get and set one */
#define MOST_ITEM_BYTES (1u << 20)

static const struct ethtool_row *find_ethtool(uint32_t command)
{
    static const struct ethtool_row simple = {0, "2w", SIMPLE_BYTES, 0, 0};
    static const uint32_t values[] = {
        ETHTOOL_GMSGLVL, ETHTOOL_SMSGLVL, ETHTOOL_NWAY_RST, ETHTOOL_GLINK, ETHTOOL_GRXCSUM, ETHTOOL_SRXCSUM,
        ETHTOOL_GTXCSUM, ETHTOOL_STXCSUM, ETHTOOL_GSG, ETHTOOL_SSG, ETHTOOL_GTSO, ETHTOOL_STSO, ETHTOOL_PHYS_ID,
        ETHTOOL_GUFO, ETHTOOL_SUFO, ETHTOOL_GGSO, ETHTOOL_SGSO, ETHTOOL_GFLAGS, ETHTOOL_SFLAGS, ETHTOOL_GPFLAGS,
        ETHTOOL_SPFLAGS, ETHTOOL_GGRO, ETHTOOL_SGRO,
    };
    for (size_t i = 0; i < sizeof ethtool_rows / sizeof *ethtool_rows; i++)
        if (ethtool_rows[i].command == command)
            return &ethtool_rows[i];
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        if (values[i] == command)
            return &simple;
    return NULL;
}

/* How many bytes follow the fixed part of the structure at `data`, or -errno. */
static int64_t bytes_after(const struct ethtool_row *row, uint32_t data)
{
    const uint8_t *at = mr_guest_bytes(data, row->fixed, MR_READ);
    if (!at)
        return -EFAULT;
    if (row->command == ETHTOOL_GSSET_INFO)
        return 4 * __builtin_popcountll(mr_get64(at + 8));
    if (row->command == ETHTOOL_GLINKSETTINGS || row->command == ETHTOOL_SLINKSETTINGS)
        return at[15] < 128 ? 12 * at[15] : 0;
    uint32_t count = row->counted ? mr_get32(at + row->counted) : 0;
    return row->item && count > MOST_ITEM_BYTES / row->item ? -EINVAL : (int64_t)count * row->item;
}

/* The structures have no pointers and no longs, so that a little-endian guest's are the host's. */
static int64_t control_driver(int fd, uint32_t guest)
{
    struct ifreq host;
    uint32_t data = get_pointer(guest, &host), command;
    if (!data || mr_read32(data, &command))
        return -EFAULT;
    if (!mr_big_endian) {
        host.ifr_data = mr_user(data, SIMPLE_BYTES);
        return mr_result(ioctl(fd, SIOCETHTOOL, &host));
    }
    const struct ethtool_row *row = find_ethtool(command);
    if (!row)
        return -EOPNOTSUPP;
    int64_t extra = bytes_after(row, data);
    return extra < 0 ? extra : with_pointer(fd, SIOCETHTOOL, guest, row->layout, row->fixed + (uint32_t)extra);
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
    case POINTER: *result = with_pointer(fd, request->host, argument, request->layout, 12); break;
    case ETHTOOL: *result = control_driver(fd, argument); break;
    case INTERFACE_ADDRESS:
        *result = with_structure(fd, request, is_inet6(fd) ? INET6_REQUEST : request->layout, argument, false);
        break;
    default: *result = with_structure(fd, request, request->layout, argument, request->argument != IN); break;
    }
    return true;
}
