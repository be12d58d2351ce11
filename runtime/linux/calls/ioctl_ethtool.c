/* SIOCETHTOOL, and what else gives a struct ifreq that points to the structure that counts: linux/ethtool.h. */
#include "linux/calls/socket.h"
#include "linux/calls/socket_layout.h"
#include "linux/host_call.h"
#include "memory/values.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#define GUEST_IFREQ 32u
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

int64_t mr_ioctl_with_pointer(int fd, uint32_t number, uint32_t guest, const char *layout, uint32_t bytes)
{
    struct ifreq host;
    uint32_t data = get_pointer(guest, &host);
    uint8_t *at = data ? mr_guest_bytes(data, bytes, MR_READ | MR_WRITE) : NULL;
    uint8_t *copy = at ? calloc(1, bytes + SPARE_BYTES) : NULL;
    if (!copy)
        return at ? -ENOMEM : -EFAULT;
    mr_socket_layout_to_host(layout, at, bytes, copy, bytes + SPARE_BYTES);
    host.ifr_data = (char *)copy;
    int64_t result = mr_result(ioctl(fd, number, &host));
    if (result >= 0)
        mr_socket_layout_to_guest(layout, copy, bytes, at, bytes);
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
    {ETHTOOL_GSTATS, "2w*d", 8, 4, 8},
    {ETHTOOL_GPERMADDR, "2w*b", 8, 4, 1},
    {ETHTOOL_GSSET_INFO, "2wd*w", 16, 0, 0},
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
int64_t mr_ioctl_ethtool(int fd, uint32_t guest)
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
    return extra < 0 ? extra : mr_ioctl_with_pointer(fd, SIOCETHTOOL, guest, row->layout, row->fixed + (uint32_t)extra);
}
