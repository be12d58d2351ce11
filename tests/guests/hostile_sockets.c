/* What no sound program does, in a network namespace of its own: it may not end the host or change bytes on their way.
 *
 * Messages of netlink from one socket to another come back as they were: they are converted there and back.
 */
#include "show.h"

#include <errno.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>

static uint32_t state = 12345;

static uint32_t any(uint32_t below)
{
    state = state * 1664525 + 1013904223;
    return (state >> 8) % below;
}

static unsigned char sent[4096], got[4096];

/* Attributes of random types, some with attributes inside, some with a wrong size. */
static size_t attributes(unsigned char *at, size_t room, int depth)
{
    static const char *const kinds[] = {"vlan", "bridge", "veth", "bond", "vxlan", "fq_codel", "tun"};
    size_t used = 0;
    for (int count = any(6); count > 0 && room - used > 80; count--) {
        struct nlattr header = {4, any(70)};
        size_t size = any(40);
        for (size_t i = 0; i < size; i++)
            at[used + 4 + i] = any(256);
        if (any(4) == 0)
            strcpy((char *)at + used + 4, kinds[any(7)]), header.nla_type = any(2) ? 1 : 4;
        else if (depth > 0 && any(2) && room - used > 200)
            size = attributes(at + used + 4, (room - used) / 2, depth - 1), header.nla_type |= any(2) ? NLA_F_NESTED : 0;
        header.nla_len = 4 + (any(50) ? size : any(65536));
        memcpy(at + used, &header, 4);
        used += (4 + size + 3) & ~3;
    }
    return used;
}

static void mirror(int protocol)
{
    int from = socket(AF_NETLINK, SOCK_RAW, protocol), to = socket(AF_NETLINK, SOCK_RAW, protocol), different = 0, lost = 0;
    struct sockaddr_nl name = {AF_NETLINK};
    socklen_t size = sizeof name;
    bind(to, (void *)&name, size), getsockname(to, (void *)&name, &size);
    printf("mirror %d\n", protocol);
    for (int round = 0; round < 400; round++) {
        struct nlmsghdr header = {0, any(20) ? 16 + any(110) : any(65536), any(65536), round, any(1000)};
        size_t total = 0;
        for (int messages = 1 + any(3); messages > 0; messages--) {
            size_t body = any(40);
            for (size_t i = 0; i < body; i++)
                sent[total + 16 + i] = any(16) ? any(12) : any(256);
            body = ((body + 3) & ~3) + attributes(sent + total + 16 + ((body + 3) & ~3), 1000, 4);
            header.nlmsg_len = 16 + body + (any(60) ? 0 : any(100));
            if (header.nlmsg_type == NLMSG_ERROR || header.nlmsg_type == NLMSG_DONE)
                header.nlmsg_type = 16; /* those have errors, which have other numbers */
            memcpy(sent + total, &header, 16);
            total += 16 + body;
        }
        if (any(30) == 0)
            total -= any(12);
        if (sendto(from, sent, total, 0, (void *)&name, size) != total) {
            lost++;
            continue;
        }
        memset(got, 0, sizeof got);
        if (recv(to, got, sizeof got, 0) != total || memcmp(got, sent, total))
            different++;
    }
    printf("%d different, %d lost\n", different, lost);
    close(from), close(to);
}

static void options(int domain, int type, int protocol)
{
    static const int levels[] = {0, 1, 6, 17, 40, 41, 58, 101, 255, 263, 270, 279, 282, 283, 0xffff, 12345};
    static const int sizes[] = {0, 1, 2, 3, 4, 5, 7, 8, 12, 16, 40, 132, 264, 4000, 70000, -1};
    static unsigned char value[70000];
    for (size_t level = 0; level < sizeof levels / sizeof *levels; level++) {
        int fd = socket(domain, type, protocol);
        for (int option = 0; option < 120; option++) {
            int size = sizes[any(16)];
            for (int i = 0; i < 300; i++)
                value[i] = any(3) ? 0 : any(256);
            getsockopt(fd, levels[level], option, value, &size);
            getsockopt(fd, levels[level], option, (void *)8, &size);
            setsockopt(fd, levels[level], option, value, sizes[any(16)]);
            setsockopt(fd, levels[level], option, (void *)0x7ffefff0, sizes[any(16)]);
            size = sizes[any(16)];
            getsockopt(fd, levels[level], option, value, &size);
        }
        close(fd);
    }
}

static void controls(int domain, int type)
{
    static uint32_t control[64];
    char text[16];
    int ends[2];
    struct iovec part = {text, 16};
    for (int round = 0; round < 2000; round++) {
        struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control};
        if (domain == AF_UNIX) {
            socketpair(domain, type, 0, ends);
        } else {
            struct sockaddr_in6 self = {AF_INET6, 0, 0, IN6ADDR_LOOPBACK_INIT};
            socklen_t size = sizeof self;
            ends[0] = ends[1] = socket(AF_INET6, type, 0);
            bind(ends[0], (void *)&self, size), getsockname(ends[0], (void *)&self, &size);
            connect(ends[0], (void *)&self, size);
        }
        for (int option = 1; option < 80; option += 1 + any(10))
            setsockopt(ends[1], any(2) ? SOL_SOCKET : 41, option, &(int){1}, 4);
        size_t used = 0;
        for (int count = any(4); count > 0 && used < 40; count--) {
            size_t size = any(30) ? any(40) : any(0x7fffffff);
            control[used] = 12 + size;
            control[used + 1] = any(2) ? SOL_SOCKET : any(2) ? 41 : any(300);
            control[used + 2] = any(80);
            for (size_t i = 3; i < 16; i++)
                control[used + i] = any(3) ? any(4) : state;
            used += 3 + (size < 40 ? (size + 3) / 4 : 0);
        }
        message.msg_controllen = any(20) ? 4 * used : any(256);
        sendmsg(ends[0], &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        send(ends[0], text, 3, MSG_DONTWAIT | MSG_NOSIGNAL);
        message.msg_controllen = any(256);
        recvmsg(ends[1], &message, MSG_DONTWAIT | (any(4) ? 0 : any(0x10000)));
        for (int fd = 3; fd < 20; fd++)
            close(fd);
    }
}

static void requests(void)
{
    static uint32_t memory[64];
    for (uint32_t number = 0x8900; number < 0x8a00; number++)
        for (int round = 0; round < 6; round++) {
            int fd = socket(round & 1 ? AF_INET6 : AF_INET, SOCK_DGRAM, 0);
            for (int i = 0; i < 64; i++)
                memory[i] = any(3) ? 0 : any(2) ? (uint32_t)(uintptr_t)memory : state;
            if (any(2))
                memcpy(memory, "lo\0", 4);
            ioctl(fd, number, round == 4 ? (void *)8 : round == 5 ? (void *)0x7ffeffe8 : memory);
            close(fd);
        }
}

static void addresses(void)
{
    unsigned char bytes[200];
    for (int round = 0; round < 3000; round++) {
        int fd = socket(any(2) ? AF_UNIX : any(2) ? AF_INET6 : AF_NETLINK, SOCK_DGRAM, 0);
        for (int i = 0; i < 200; i++)
            bytes[i] = any(3) ? '/' : any(256);
        uint16_t family = any(50);
        memcpy(bytes, &family, 2);
        socklen_t size = any(140);
        connect(fd, (void *)bytes, size);
        sendto(fd, bytes, 10, MSG_DONTWAIT, (void *)bytes, any(140));
        size = any(4) ? any(200) : -1;
        getsockname(fd, (void *)bytes, &size);
        close(fd);
    }
}

int main(void)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    mirror(NETLINK_ROUTE), mirror(NETLINK_AUDIT), mirror(NETLINK_NETFILTER), mirror(NETLINK_GENERIC), mirror(NETLINK_XFRM);
    options(AF_INET, SOCK_STREAM, 0), options(AF_INET6, SOCK_DGRAM, 0), options(AF_UNIX, SOCK_STREAM, 0);
    options(AF_INET6, SOCK_RAW, 58), options(AF_INET, SOCK_RAW, 1), options(AF_NETLINK, SOCK_RAW, 0);
    options(AF_PACKET, SOCK_DGRAM, 0);
    puts("options");
    controls(AF_UNIX, SOCK_DGRAM), controls(AF_UNIX, SOCK_STREAM), controls(AF_INET6, SOCK_DGRAM);
    puts("controls");
    requests();
    puts("requests");
    addresses();
    puts("addresses");
    return 0;
}
