/* --strace: arguments of the calls of sockets, with the names that the guest's headers have. */
#include "linux/calls/socket.h"
#include "memory/values.h"
#include "strace/strace.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/un.h>

#define SHOWN_BYTES 32u

/* ---- names of numbers ---- */

struct name_row {
    int number;
    const char *name;
};
#define NAME(number) {number, #number}
#define END {0, NULL}

static const struct name_row families[] = {
    NAME(AF_UNSPEC), NAME(AF_UNIX), NAME(AF_INET), NAME(AF_INET6), NAME(AF_NETLINK), NAME(AF_PACKET), NAME(AF_BLUETOOTH),
    NAME(AF_ALG), NAME(AF_VSOCK), NAME(AF_CAN), NAME(AF_TIPC), NAME(AF_KEY), NAME(AF_XDP), END,
};
static const struct name_row types[] = { /* of the guest */
    {1, "SOCK_DGRAM"}, {2, "SOCK_STREAM"}, {3, "SOCK_RAW"}, {4, "SOCK_RDM"}, {5, "SOCK_SEQPACKET"}, {10, "SOCK_PACKET"}, END,
};
static const struct name_row levels[] = {
    {MR_GUEST_SOL_SOCKET, "SOL_SOCKET"}, {0, "SOL_IP"}, {6, "SOL_TCP"}, {17, "SOL_UDP"}, {41, "SOL_IPV6"},
    {58, "SOL_ICMPV6"}, {255, "SOL_RAW"}, {263, "SOL_PACKET"}, {270, "SOL_NETLINK"}, {282, "SOL_TLS"}, {279, "SOL_ALG"}, END,
};
static const struct name_row message_flags[] = {
    NAME(MSG_OOB), NAME(MSG_PEEK), NAME(MSG_DONTROUTE), NAME(MSG_CTRUNC), NAME(MSG_TRUNC), NAME(MSG_DONTWAIT), NAME(MSG_EOR),
    NAME(MSG_WAITALL), NAME(MSG_CONFIRM), NAME(MSG_ERRQUEUE), NAME(MSG_NOSIGNAL), NAME(MSG_MORE), NAME(MSG_WAITFORONE),
    NAME(MSG_ZEROCOPY), NAME(MSG_FASTOPEN), NAME(MSG_CMSG_CLOEXEC), END,
};
static const struct name_row type_flags[] = {{0x80000, "SOCK_CLOEXEC"}, {0x80, "SOCK_NONBLOCK"}, END};

static void add_name(const struct name_row *rows, int number)
{
    for (; rows->name; rows++)
        if (rows->number == number) {
            mr_trace_add("%s", rows->name);
            return;
        }
    mr_trace_add("%d", number);
}

static void add_flags(const struct name_row *rows, uint32_t flags, const char *separator)
{
    bool some = separator[0] != 0;
    for (; rows->name; rows++)
        if (flags & (uint32_t)rows->number) {
            mr_trace_add("%s%s", some ? "|" : "", rows->name);
            flags &= ~(uint32_t)rows->number;
            some = true;
        }
    if (flags || !some)
        mr_trace_add(some ? "|0x%x" : flags ? "0x%x" : "%u", flags);
}

static void add_type(uint32_t type)
{
    if ((type & 0xf) == 0) { /* accept4: only flags */
        add_flags(type_flags, type, "");
        return;
    }
    add_name(types, (int)(type & 0xf));
    if (type & ~0xfu)
        add_flags(type_flags, type & ~0xfu, "|");
}

/* ---- addresses ---- */

static void add_bytes(const uint8_t *bytes, size_t size_bytes)
{
    mr_trace_add("\"");
    for (size_t i = 0; i < size_bytes; i++) {
        bool plain = bytes[i] >= ' ' && bytes[i] < 127 && bytes[i] != '"' && bytes[i] != '\\';
        mr_trace_add(plain ? "%c" : "\\%o", bytes[i]);
    }
    mr_trace_add("\"");
}

static void add_unix_name(const struct mr_address *address)
{
    const size_t start = offsetof(struct sockaddr_un, sun_path);
    const uint8_t *name = address->bytes + start;
    size_t length = address->size_bytes > start ? address->size_bytes - start : 0;
    if (length > 0 && name[0] == 0) {
        mr_trace_add(", @");
        add_bytes(name + 1, length - 1);
    } else if (length > 0) {
        mr_trace_add(", ");
        add_bytes(name, strnlen((const char *)name, length));
    }
}

/* The host's form of an address: all members are in its order. */
static void add_host_address(const struct mr_address *address)
{
    union {
        struct sockaddr_in in;
        struct sockaddr_in6 in6;
        struct sockaddr_nl netlink;
        struct sockaddr_ll packet;
    } as;
    char name[INET6_ADDRSTRLEN];
    memcpy(&as, address->bytes, sizeof as);
    mr_trace_add("{");
    add_name(families, address->header.sa_family);
    switch (address->header.sa_family) {
    case AF_INET:
        mr_trace_add(", %s:%u", inet_ntop(AF_INET, &as.in.sin_addr, name, sizeof name), ntohs(as.in.sin_port));
        break;
    case AF_INET6:
        mr_trace_add(", [%s]:%u", inet_ntop(AF_INET6, &as.in6.sin6_addr, name, sizeof name), ntohs(as.in6.sin6_port));
        if (as.in6.sin6_scope_id)
            mr_trace_add(", scope %u", as.in6.sin6_scope_id);
        break;
    case AF_UNIX: add_unix_name(address); break;
    case AF_NETLINK: mr_trace_add(", pid %u, groups 0x%x", as.netlink.nl_pid, as.netlink.nl_groups); break;
    case AF_PACKET:
        mr_trace_add(", protocol 0x%x, interface %d", ntohs(as.packet.sll_protocol), as.packet.sll_ifindex);
        break;
    default: break;
    }
    mr_trace_add("}");
}

static void add_address(uint32_t guest, uint32_t size_bytes)
{
    struct mr_address address = {.size_bytes = size_bytes};
    const uint8_t *from = size_bytes <= MR_STORAGE_BYTES ? mr_guest_bytes(guest, size_bytes, MR_READ) : NULL;
    if (guest == 0 || !from || size_bytes < 2) {
        mr_trace_add(guest ? "0x%x" : "NULL", guest);
        return;
    }
    mr_address_to_host(from, size_bytes, address.bytes);
    add_host_address(&address);
}

/* An address of which a word in memory says the size. */
static void add_address_of(uint32_t guest, uint32_t guest_size)
{
    uint32_t size_bytes;
    if (guest == 0 || mr_read32(guest_size, &size_bytes))
        mr_trace_add(guest ? "0x%x" : "NULL", guest);
    else
        add_address(guest, size_bytes);
}

/* ---- options, messages ---- */

static void add_option(int level, int option)
{
    const char *name = mr_socket_option_name(level, option);
    if (name)
        mr_trace_add("%s", name);
    else
        mr_trace_add("%d", option);
}

static void add_value(uint32_t guest, uint32_t size_bytes)
{
    uint32_t shown = size_bytes < SHOWN_BYTES ? size_bytes : SHOWN_BYTES;
    const uint8_t *from = guest ? mr_guest_bytes(guest, shown, MR_READ) : NULL;
    if (!from)
        mr_trace_add(guest ? "0x%x" : "NULL", guest);
    else if (size_bytes == 4)
        mr_trace_add("[%d]", (int)mr_get32(from));
    else
        add_bytes(from, shown);
}

/* struct msghdr: the name, the first part of the vector, how many there are, the size of the control messages. */
static void add_message(uint32_t guest, int64_t transferred)
{
    const uint8_t *from = mr_guest_bytes(guest, 28, MR_READ);
    uint32_t base, size_bytes;
    if (!from || transferred < 0) {
        mr_trace_add("0x%x", guest);
        return;
    }
    mr_trace_add("{name=");
    add_address(mr_get32(from), mr_get32(from + 4));
    uint32_t count = mr_get32(from + 12), vector = mr_get32(from + 8);
    mr_trace_add(", parts=%u", count);
    if (count && !mr_read32(vector, &base) && !mr_read32(vector + 4, &size_bytes)) {
        mr_trace_add(", first=");
        size_bytes = size_bytes < transferred ? size_bytes : (uint32_t)transferred;
        add_value(base, size_bytes == 4 ? 3 : size_bytes);
    }
    mr_trace_add(", control=%u, flags=", mr_get32(from + 20));
    add_flags(message_flags, mr_get32(from + 24), "");
    mr_trace_add("}");
}

bool mr_trace_socket(const struct mr_call *c, char kind, int n, int64_t result)
{
    uint32_t value = U32(n), size_bytes;
    switch (kind) {
    case 'F': add_name(families, (int)value); return true;
    case 'T': add_type(value); return true;
    case 'L': add_name(levels, (int)value); return true;
    case 'O': add_option(INT(n - 1), (int)value); return true;
    case 'M': add_flags(message_flags, value, ""); return true;
    case 'A': add_address(value, U32(n + 1)); return true;
    case 'V': add_value(value, U32(n + 1)); return true;
    case 'H': add_message(value, UINT32_MAX); return true;
    case 'G': add_message(value, result); return true;
    case 'R':
        if (result < 0)
            mr_trace_add(value ? "0x%x" : "NULL", value);
        else
            add_address_of(value, U32(n + 1));
        return true;
    case 'W':
        if (result < 0 || mr_read32(U32(n + 1), &size_bytes))
            mr_trace_add("0x%x", value);
        else
            add_value(value, size_bytes);
        return true;
    default: return false;
    }
}
