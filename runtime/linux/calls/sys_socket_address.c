/* Addresses of sockets: the family, and those members that are not in network order, have the guest's byte order.
 *
 * Names of files go through the sysroot (paths.h) on their way to the host. Addresses that the kernel gives back are shown as
 * it keeps them.
 */
#include "linux/calls/socket.h"
#include "linux/calls/layout.h"
#include "linux/paths.h"
#include "memory/values.h"

#include <errno.h>
#include <string.h>
#include <sys/un.h>

/* ---- layouts ---- */

static const struct family_row {
    uint16_t family;
    const char *layout;
} family_rows[] = {
    {AF_INET6, "h2b4b16bw*b"},   /* family, port, flow, address, scope */
    {AF_NETLINK, "hh2w*b"},      /* family, pad, pid, groups */
    {AF_PACKET, "h2bwh*b"},      /* family, protocol, interface, hardware type, packet type and address */
    {AF_VSOCK, "2h2w*b"},        /* family, reserved, port, context */
    {AF_ALG, "h14b2w*b"},        /* family, type, feature, mask, name */
    {AF_CAN, "hhwww*b"},         /* family, pad, interface, two identifiers */
    {AF_XDP, "2h3w*b"},          /* family, flags, interface, queue, descriptor of shared memory */
    {AF_TIPC, "h2b3w*b"},        /* family, kind, scope, three words */
    {AF_PHONET, "h*b"},
};

static const char *layout_of(uint16_t family)
{
    for (size_t i = 0; i < sizeof family_rows / sizeof *family_rows; i++)
        if (family_rows[i].family == family)
            return family_rows[i].layout;
    return "h*b"; /* port and address are in network order, or a name follows */
}

void mr_address_to_host(const void *guest, size_t size_bytes, void *host)
{
    uint16_t family = size_bytes >= sizeof family ? mr_get16(guest) : 0;
    mr_layout_to_host(layout_of(family), guest, size_bytes, host, size_bytes);
}

void mr_address_to_guest(const void *host, size_t size_bytes, void *guest)
{
    uint16_t family = 0;
    if (size_bytes >= sizeof family)
        memcpy(&family, host, sizeof family);
    mr_layout_to_guest(layout_of(family), host, size_bytes, guest, size_bytes);
}

/* ---- names of files ---- */

/* Replaces the path in an address by the host's. Abstract names, which begin with a zero, and no name stay. */
static int translate_path(struct mr_address *address, unsigned how)
{
    const size_t start = offsetof(struct sockaddr_un, sun_path);
    char *path = (char *)address->bytes + start;
    if (address->size_bytes <= start || path[0] == 0)
        return 0;
    address->bytes[address->size_bytes] = 0; /* there is room for one more */
    const char *host_path;
    int error = mr_host_path_of(path, how, &host_path);
    if (error)
        return error;
    if (host_path == path || strcmp(host_path, path) == 0)
        return 0;
    size_t length = strlen(host_path);
    if (length >= sizeof((struct sockaddr_un *)0)->sun_path)
        return -ENAMETOOLONG;
    memcpy(path, host_path, length + 1);
    address->size_bytes = (socklen_t)(start + length + 1);
    return 0;
}

/* ---- in and out ---- */

int mr_get_address(uint32_t guest, uint32_t size_bytes, unsigned how, struct mr_address *address)
{
    if (size_bytes > MR_STORAGE_BYTES)
        return -EINVAL;
    const uint8_t *from = mr_guest_bytes(guest, size_bytes, MR_READ);
    if (!from)
        return -EFAULT;
    memset(address->bytes, 0, sizeof address->bytes);
    mr_address_to_host(from, size_bytes, address->bytes);
    address->size_bytes = size_bytes;
    return size_bytes >= sizeof(sa_family_t) && address->header.sa_family == AF_UNIX ? translate_path(address, how) : 0;
}

void mr_expect_address(struct mr_address *address)
{
    memset(address->bytes, 0, sizeof address->bytes);
    address->size_bytes = MR_STORAGE_BYTES;
}

int mr_put_address(const struct mr_address *address, uint32_t guest, uint32_t guest_size)
{
    uint8_t image[sizeof address->bytes] = {0};
    uint32_t room;
    if (mr_read32(guest_size, &room))
        return -EFAULT;
    if ((int32_t)room < 0)
        return -EINVAL;
    size_t size_bytes = address->size_bytes < sizeof image ? address->size_bytes : sizeof image;
    size_t part = size_bytes < room ? size_bytes : room;
    uint8_t *to = mr_guest_bytes(guest, (uint32_t)part, MR_WRITE);
    if (!to)
        return -EFAULT;
    mr_address_to_guest(address->bytes, size_bytes, image);
    memcpy(to, image, part);
    return mr_write32(guest_size, address->size_bytes);
}
