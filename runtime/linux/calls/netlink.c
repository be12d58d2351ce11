/* Datagrams of netlink: headers, fixed parts and attributes are converted in place, as the tables say (netlink.h).
 *
 * Errors in answers get the guest's numbers in both byte orders; all else changes only where the guest is big-endian. Of
 * families without a table, headers and the headers of nested attributes are converted, and payloads stay as they are. What
 * is no netlink message, such as the text of kernel events, stays too.
 */
#include "linux/calls/netlink.h"

#include "linux/abi.h"
#include "linux/calls/socket.h"
#include "linux/calls/layout.h"
#include "memory/values.h"

#include <errno.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_BYTES 16u
#define ATTRIBUTE_HEADER 4u
#define NEXTHOP_HEADER 8u
#define DEEPEST 16 /* nested attributes */
#define KIND_BYTES 16u
#define MOST_BYTES (1u << 22) /* of a datagram */
#define DIAGNOSTICS_TYPE 20   /* SOCK_DIAG_BY_FAMILY */

/* ---- numbers, in the byte order of the side that they come from ---- */

struct direction {
    bool from_guest;
    bool request; /* what the guest has sent, even where the kernel sends it back with an error */
};

static uint16_t swap16(uint8_t *at, struct direction way)
{
    uint16_t host;
    memcpy(&host, at, sizeof host);
    if (way.from_guest)
        host = mr_get16(at), memcpy(at, &host, sizeof host);
    else
        mr_put16(at, host);
    return host;
}

static uint32_t swap32(uint8_t *at, struct direction way)
{
    uint32_t host;
    memcpy(&host, at, sizeof host);
    if (way.from_guest)
        host = mr_get32(at), memcpy(at, &host, sizeof host);
    else
        mr_put32(at, host);
    return host;
}

/* Returns how many bytes the layout took. */
static size_t swap_layout(const char *layout, uint8_t *at, size_t size_bytes, struct direction way)
{
    return way.from_guest ? mr_layout_to_host(layout, at, size_bytes, at, size_bytes)
                          : mr_layout_to_guest(layout, at, size_bytes, at, size_bytes);
}

static size_t aligned(size_t size_bytes)
{
    return (size_bytes + 3) & ~(size_t)3;
}

/* ---- attributes ---- */

static void swap_attributes(const struct mr_netlink_schema *schema, uint8_t *at, size_t size_bytes, struct direction way,
                            int depth);

static const struct mr_netlink_attribute *find_attribute(const struct mr_netlink_schema *schema, uint16_t type)
{
    for (const struct mr_netlink_schema *in = schema; in; in = in->more)
        for (const struct mr_netlink_attribute *row = in->rows; row && row->type != MR_NETLINK_END; row++)
            if (row->type == type)
                return row;
    return &schema->others;
}

static const struct mr_netlink_attribute *find_kind(const struct mr_netlink_kind *kind, uint16_t name_type,
                                                    const char *name)
{
    for (; kind->name; kind++)
        if (kind->name_type == name_type && strcmp(kind->name, name) == 0)
            return &kind->data;
    return NULL;
}

/* Records that begin with their length, each with attributes of its own: RTA_MULTIPATH. */
static void swap_records(const struct mr_netlink_schema *schema, uint8_t *at, size_t size_bytes, struct direction way,
                         int depth)
{
    static const struct mr_netlink_schema none;
    while (size_bytes >= NEXTHOP_HEADER) {
        size_t length = swap16(at, way);
        swap32(at + 4, way);
        if (length < NEXTHOP_HEADER || length > size_bytes)
            return;
        swap_attributes(schema->more ? schema->more : &none, at + NEXTHOP_HEADER, length - NEXTHOP_HEADER, way, depth);
        size_t step = aligned(length) < size_bytes ? aligned(length) : size_bytes;
        at += step;
        size_bytes -= step;
    }
}

static void swap_payload(const struct mr_netlink_attribute *row, bool nested, uint8_t *at, size_t size_bytes,
                         struct direction way, int depth)
{
    static const struct mr_netlink_schema unknown;
    size_t fixed = row->layout ? swap_layout(row->layout, at, size_bytes, way) : 0;
    const struct mr_netlink_schema *schema = row->nested ? row->nested : nested && !row->layout ? &unknown : NULL;
    fixed = aligned(fixed);
    if (!schema || fixed > size_bytes || depth == 0)
        return;
    if (schema->records)
        swap_records(schema, at + fixed, size_bytes - fixed, way, depth - 1);
    else
        swap_attributes(schema, at + fixed, size_bytes - fixed, way, depth - 1);
}

static void swap_attributes(const struct mr_netlink_schema *schema, uint8_t *at, size_t size_bytes, struct direction way,
                            int depth)
{
    char name[KIND_BYTES] = "";
    while (size_bytes >= ATTRIBUTE_HEADER) {
        size_t length = swap16(at, way);
        uint16_t marked = swap16(at + 2, way), type = marked & NLA_TYPE_MASK;
        if (length < ATTRIBUTE_HEADER || length > size_bytes)
            return;
        uint8_t *payload = at + ATTRIBUTE_HEADER;
        size_t payload_bytes = length - ATTRIBUTE_HEADER;
        const struct mr_netlink_attribute *row = find_attribute(schema, type);
        if (type < 31 && schema->name_types >> type & 1) {
            size_t part = payload_bytes < KIND_BYTES - 1 ? payload_bytes : KIND_BYTES - 1;
            memcpy(name, payload, part);
            name[part] = 0;
        } else if (type > 0 && type < 32 && schema->name_types >> (type - 1) & 1) {
            const struct mr_netlink_attribute *data = find_kind(schema->kinds, type - 1, name);
            row = data ? data : row;
        }
        swap_payload(row, marked & NLA_F_NESTED, payload, payload_bytes, way, depth);
        size_t step = aligned(length) < size_bytes ? aligned(length) : size_bytes;
        at += step;
        size_bytes -= step;
    }
}

/* ---- messages ---- */

static const struct mr_netlink_message *find_message(int protocol, uint16_t type, uint8_t family, struct direction way)
{
    for (const struct mr_netlink_message *row = mr_netlink_messages; row->layout; row++)
        if (row->protocol == protocol && type >= row->first && type <= row->last &&
            (row->family == MR_ANY_FAMILY || row->family == family) &&
            (row->direction == MR_BOTH_WAYS || (row->direction == MR_FROM_GUEST) == way.request))
            return row;
    return NULL;
}

static void swap_body(int protocol, uint16_t type, uint8_t *at, size_t size_bytes, struct direction way)
{
    const struct mr_netlink_message *row = size_bytes ? find_message(protocol, type, at[0], way) : NULL;
    if (!row)
        return;
    if (protocol == NETLINK_SOCK_DIAG && type == DIAGNOSTICS_TYPE && at[0] == AF_UNIX && !way.request && size_bytes > 1)
        at[1] = (uint8_t)mr_socket_type_swapped(at[1]); /* udiag_type */
    size_t fixed = aligned(swap_layout(row->layout, at, size_bytes, way));
    if (row->attributes && fixed < size_bytes)
        swap_attributes(row->attributes, at + fixed, size_bytes - fixed, way, DEEPEST);
}

/* Converts a negative errno, which the kernel puts in some messages. */
static void swap_error(uint8_t *at, struct direction way)
{
    int32_t error = (int32_t)swap32(at, way);
    if (!way.from_guest && error < 0 && error > -4096)
        mr_put32(at, (uint32_t)-mr_errno_to_mips(-error));
}

static size_t swap_message(int protocol, uint8_t *at, size_t size_bytes, struct direction way);

/* NLMSG_ERROR: an error, the message that it is about or only its header, and attributes that say more. */
static void swap_error_message(int protocol, uint8_t *at, size_t size_bytes, uint16_t flags, struct direction way)
{
    if (size_bytes < 4)
        return;
    swap_error(at, way);
    size_t used = 4;
    if (size_bytes >= used + HEADER_BYTES && flags & NLM_F_CAPPED) {
        swap_layout("w2h2w", at + used, HEADER_BYTES, way);
        used += HEADER_BYTES;
    } else if (size_bytes >= used + HEADER_BYTES) {
        used += swap_message(protocol, at + used, size_bytes - used, (struct direction){way.from_guest, true});
    }
    if (flags & NLM_F_ACK_TLVS && used < size_bytes)
        swap_attributes(&mr_netlink_error_attributes, at + used, size_bytes - used, way, DEEPEST);
}

/* Converts one message, of HEADER_BYTES or more. Returns its aligned size, or all that is left where that cannot be true. */
static size_t swap_message(int protocol, uint8_t *at, size_t size_bytes, struct direction way)
{
    size_t length = swap32(at, way);
    uint16_t type = swap16(at + 4, way), flags = swap16(at + 6, way);
    swap_layout("2w", at + 8, 8, way);
    if (length < HEADER_BYTES)
        return size_bytes;
    bool whole = aligned(length) < size_bytes;
    uint8_t *body = at + HEADER_BYTES;
    size_t body_bytes = (length < size_bytes ? length : size_bytes) - HEADER_BYTES;
    if (type == NLMSG_ERROR) {
        swap_error_message(protocol, body, body_bytes, flags, way);
    } else if (type == NLMSG_DONE && body_bytes >= 4) {
        swap_error(body, way);
        if (flags & NLM_F_ACK_TLVS)
            swap_attributes(&mr_netlink_error_attributes, body + 4, body_bytes - 4, way, DEEPEST);
    } else if (type >= NLMSG_MIN_TYPE) {
        swap_body(protocol, type, body, body_bytes, way);
    }
    return whole ? aligned(length) : size_bytes;
}

static void swap_datagram(int protocol, uint8_t *at, size_t size_bytes, struct direction way)
{
    while (size_bytes >= HEADER_BYTES) {
        size_t step = swap_message(protocol, at, size_bytes, way);
        at += step;
        size_bytes -= step;
    }
}

/* ---- for the calls ---- */

/* The protocol of a socket of netlink, or -1 where its datagrams are no messages of it. */
static int protocol_of(int fd)
{
    int protocol = mr_host_socket_option(fd, SO_PROTOCOL, -1);
    return protocol == NETLINK_KOBJECT_UEVENT ? -1 : protocol;
}

bool mr_netlink_converts(int fd, const struct mr_address *address)
{
    if (!mr_big_endian || (address && address->header.sa_family != AF_NETLINK))
        return false;
    return mr_host_socket_option(fd, SO_DOMAIN, -1) == AF_NETLINK && protocol_of(fd) >= 0;
}

void *mr_netlink_to_host(int fd, struct mr_vector vector, size_t *size_bytes, int *error)
{
    *size_bytes = mr_vector_bytes(vector);
    uint8_t *datagram = *size_bytes <= MOST_BYTES ? malloc(*size_bytes + 1) : NULL;
    if (!datagram || !mr_vector_get(vector, datagram, *size_bytes)) {
        *error = datagram ? -EFAULT : *size_bytes > MOST_BYTES ? -EMSGSIZE : -ENOBUFS;
        free(datagram);
        return NULL;
    }
    swap_datagram(protocol_of(fd), datagram, *size_bytes, (struct direction){true, true});
    return datagram;
}

void mr_netlink_received(int fd, struct mr_vector vector, size_t size_bytes)
{
    int protocol = protocol_of(fd);
    uint8_t *datagram = protocol >= 0 && size_bytes >= HEADER_BYTES ? malloc(size_bytes) : NULL;
    if (datagram && mr_vector_get(vector, datagram, size_bytes)) {
        swap_datagram(protocol, datagram, size_bytes, (struct direction){false, false});
        mr_vector_put(vector, datagram, size_bytes);
    }
    free(datagram);
}
