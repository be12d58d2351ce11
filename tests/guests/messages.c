/* sendmsg, recvmsg, sendmmsg and recvmmsg: vectors, names, control messages of many kinds, and what does not fit. */
#include "show.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/errqueue.h>
#include <linux/if_packet.h>
#include <linux/net_tstamp.h>
#include <net/ethernet.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <poll.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>

static char text[256], got_text[256];
static union {
    char bytes[512];
    struct cmsghdr header;
} control, got_control;
static struct sockaddr_storage name;
static struct iovec part = {text, 0}, got_part = {got_text, 0};

/* A message to receive into, with room for `room` bytes of control messages. */
static struct msghdr receiving(size_t room)
{
    memset(got_text, 0, sizeof got_text), memset(&got_control, 0, sizeof got_control), memset(&name, 0, sizeof name);
    got_part.iov_len = sizeof got_text - 1;
    return (struct msghdr){&name, sizeof name, &got_part, 1, room ? &got_control : NULL, room, -1};
}

static struct msghdr sending(const char *words)
{
    strcpy(text, words);
    part.iov_len = strlen(words);
    return (struct msghdr){NULL, 0, &part, 1, NULL, 0, 0};
}

static void add_control(struct msghdr *message, int level, int type, const void *data, size_t size)
{
    struct cmsghdr *header = (void *)(control.bytes + message->msg_controllen);
    message->msg_control = &control;
    memset(header, 0, CMSG_SPACE(size));
    *header = (struct cmsghdr){.cmsg_len = CMSG_LEN(size), .cmsg_level = level, .cmsg_type = type};
    memcpy(CMSG_DATA(header), data, size);
    message->msg_controllen += CMSG_SPACE(size);
}

static bool is_now(int64_t seconds)
{
    return seconds > 1600000000 && seconds - time(NULL) < 10 && time(NULL) - seconds < 100;
}

/* ---- control messages, printed as what they mean ---- */

static void print_error(const struct cmsghdr *header)
{
    const struct sock_extended_err *error = (void *)CMSG_DATA(header);
    char who[64] = "";
    const struct sockaddr *offender = SO_EE_OFFENDER(error);
    if (offender->sa_family == AF_INET)
        inet_ntop(AF_INET, &((struct sockaddr_in *)offender)->sin_addr, who, sizeof who);
    if (offender->sa_family == AF_INET6)
        inet_ntop(AF_INET6, &((struct sockaddr_in6 *)offender)->sin6_addr, who, sizeof who);
    printf("error %s origin %u type %u code %u info %u data %u from %u %s\n", strerrorname_np(error->ee_errno),
           error->ee_origin, error->ee_type, error->ee_code, error->ee_info, error->ee_data, offender->sa_family, who);
}

static void print_time(const struct cmsghdr *header, int times)
{
    const unsigned char *data = CMSG_DATA(header);
    size_t width = (header->cmsg_len - CMSG_LEN(0)) / (2 * times);
    printf("%d times:", times);
    for (int i = 0; i < times; i++) {
        long seconds;
        int64_t wide;
        memcpy(&seconds, data + 2 * i * width, sizeof seconds), memcpy(&wide, data + 2 * i * width, sizeof wide);
        wide = width == 8 ? wide : seconds;
        printf(" %s", wide == 0 ? "none" : is_now(wide) ? "now" : "wrong");
    }
    printf("\n");
}

static void print_internet(const struct cmsghdr *header)
{
    char one[64], two[64];
    int number = 0;
    memcpy(&number, CMSG_DATA(header), header->cmsg_len - CMSG_LEN(0) < 4 ? 1 : 4);
    if (header->cmsg_level == IPPROTO_IP && header->cmsg_type == IP_PKTINFO) {
        struct in_pktinfo *info = (void *)CMSG_DATA(header);
        printf("pktinfo %d %s %s\n", info->ipi_ifindex, inet_ntop(AF_INET, &info->ipi_spec_dst, one, sizeof one),
               inet_ntop(AF_INET, &info->ipi_addr, two, sizeof two));
    } else if (header->cmsg_level == IPPROTO_IPV6 && header->cmsg_type == IPV6_PKTINFO) {
        struct in6_pktinfo *info = (void *)CMSG_DATA(header);
        printf("pktinfo %d %s\n", info->ipi6_ifindex, inet_ntop(AF_INET6, &info->ipi6_addr, one, sizeof one));
    } else if (header->cmsg_level == IPPROTO_IP && header->cmsg_type == IP_TOS) {
        printf("tos %u\n", *CMSG_DATA(header));
    } else if (header->cmsg_level == IPPROTO_IP && header->cmsg_type == IP_ORIGDSTADDR) {
        struct sockaddr_in *to = (void *)CMSG_DATA(header);
        printf("to %u %s\n", to->sin_family, inet_ntop(AF_INET, &to->sin_addr, one, sizeof one));
    } else if (header->cmsg_type == (header->cmsg_level == IPPROTO_IP ? IP_RECVERR : IPV6_RECVERR)) {
        print_error(header);
    } else {
        printf("level %d type %d: %d\n", header->cmsg_level, header->cmsg_type, number);
    }
}

static void print_socket(const struct cmsghdr *header)
{
    size_t size = header->cmsg_len - CMSG_LEN(0);
    struct ucred who;
    int fds[64];
    switch (header->cmsg_type) {
    case SCM_RIGHTS:
        memcpy(fds, CMSG_DATA(header), size);
        printf("%zu descriptors", size / 4);
        for (size_t i = 0; i < size / 4; i++) {
            char byte[2] = "";
            pread(fds[i], byte, 1, 0);
            printf(" %s%s", byte, fcntl(fds[i], F_GETFD) ? "!" : "");
            close(fds[i]);
        }
        printf("\n");
        break;
    case SCM_CREDENTIALS:
        memcpy(&who, CMSG_DATA(header), sizeof who);
        printf("credentials %d %d %d\n", who.pid == getpid(), who.uid == getuid(), who.gid == getgid());
        break;
    case 29: case 35: case 63: case 64: print_time(header, 1); break;
    case 37: case 65: print_time(header, 3); break;
    default: printf("type %d of %zu bytes\n", header->cmsg_type, size);
    }
}

static void receive(int fd, size_t room, int flags)
{
    struct msghdr message = receiving(room);
    ssize_t got = SHOW(recvmsg(fd, &message, flags));
    if (got < 0)
        return;
    printf("'%s' flags %x name %u\n", got_text, message.msg_flags, message.msg_namelen);
    for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header))
        if (header->cmsg_level == SOL_SOCKET)
            print_socket(header);
        else
            print_internet(header);
}

/* ---- unix ---- */

static int file_with(char byte)
{
    char path[] = "fileXXXXXX";
    int fd = mkstemp(path);
    write(fd, &byte, 1), unlink(path);
    return fd;
}

static int lowest_free(void)
{
    int fd = dup(0);
    close(fd);
    return fd;
}

static void descriptors(void)
{
    int ends[2], files[3] = {file_with('a'), file_with('b'), file_with('c')}, one = 1, bad = 999;
    socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends);
    struct msghdr message = sending("three");
    add_control(&message, SOL_SOCKET, SCM_RIGHTS, files, sizeof files);
    SHOW(sendmsg(ends[0], &message, 0));
    receive(ends[1], sizeof control, MSG_CMSG_CLOEXEC);
    SHOW(sendmsg(ends[0], &message, 0));
    int before = lowest_free();
    receive(ends[1], CMSG_LEN(4), 0); /* the others are closed */
    printf("%d\n", lowest_free() - before);
    SHOW(sendmsg(ends[0], &message, 0));
    receive(ends[1], CMSG_LEN(4) - 1, 0);
    SHOW(sendmsg(ends[0], &message, 0));
    receive(ends[1], 0, 0);
    printf("%d\n", lowest_free() - before);
    message = sending("bad");
    add_control(&message, SOL_SOCKET, SCM_RIGHTS, &bad, sizeof bad);
    SHOW(sendmsg(ends[0], &message, 0));
    control.header.cmsg_len = 5;
    SHOW(sendmsg(ends[0], &message, 0));
    control.header.cmsg_len = 5000;
    SHOW(sendmsg(ends[0], &message, 0));
    message.msg_controllen = 3;
    SHOW(sendmsg(ends[0], &message, 0));
    receive(ends[1], 0, 0);
    message.msg_control = BAD, message.msg_controllen = 40;
    SHOW(sendmsg(ends[0], &message, 0));
    setsockopt(ends[1], SOL_SOCKET, SO_PASSCRED, &one, sizeof one);
    message = sending("who");
    SHOW(sendmsg(ends[0], &message, 0));
    receive(ends[1], sizeof control, 0);
    struct ucred self = {getpid(), getuid(), getgid()}, other = {99999999, 0, 0};
    message = sending("me, and a file");
    add_control(&message, SOL_SOCKET, SCM_CREDENTIALS, &self, sizeof self);
    add_control(&message, SOL_SOCKET, SCM_RIGHTS, files + 1, sizeof *files);
    SHOW(sendmsg(ends[0], &message, 0));
    receive(ends[1], sizeof control, 0);
    message = sending("another");
    add_control(&message, SOL_SOCKET, SCM_CREDENTIALS, &other, sizeof other);
    SHOW(sendmsg(ends[0], &message, 0));
    message = sending("truncated credentials");
    SHOW(sendmsg(ends[0], &message, 0));
    receive(ends[1], CMSG_LEN(8), 0);
}

static void vectors(void)
{
    int ends[2];
    char a[4] = "", b[4] = "", c[32] = "";
    struct iovec parts[] = {{a, 3}, {NULL, 0}, {b, 3}, {c, 31}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 4};
    socketpair(AF_UNIX, SOCK_DGRAM, 0, ends);
    SHOW(send(ends[0], "onetwothe rest", 14, 0));
    SHOW(recvmsg(ends[1], &message, 0));
    printf("%s %s %s %u\n", a, b, c, (unsigned)message.msg_controllen);
    SHOW(sendmsg(ends[1], &message, 0));
    SHOW(recv(ends[0], text, sizeof text, 0));
    SHOW(send(ends[0], "onetwothe rest", 14, 0));
    message.msg_iovlen = 1;
    SHOW(recvmsg(ends[1], &message, MSG_TRUNC));
    printf("%x\n", message.msg_flags);
    message.msg_iovlen = 1025;
    SHOW(sendmsg(ends[0], &message, 0));
    message.msg_iovlen = 4, parts[3].iov_len = (size_t)-1;
    SHOW(sendmsg(ends[0], &message, 0));
    parts[3] = (struct iovec){BAD, 4};
    SHOW(sendmsg(ends[0], &message, 0));
    SHOW(sendmsg(ends[0], BAD, 0));
    SHOW(recvmsg(ends[0], BAD, MSG_DONTWAIT));
    message.msg_iov = BAD;
    SHOW(sendmsg(ends[0], &message, 0));
    message = (struct msghdr){.msg_name = &name, .msg_namelen = -1};
    SHOW(sendmsg(ends[0], &message, 0));
    SHOW(sendmsg(99, &message, 0));
    SHOW(recvmsg(99, BAD, 0));
    SHOW(sendmsg(0, BAD, 0));
    message = sending("to a name");
    message.msg_name = BAD, message.msg_namelen = 20;
    SHOW(sendmsg(ends[0], &message, 0));
    message = receiving(0);
    message.msg_name = BAD, message.msg_namelen = 20;
    SHOW(send(ends[0], "x", 1, 0));
    SHOW(recvmsg(ends[1], &message, 0));
}

/* ---- internet ---- */

static int bound(int family, struct sockaddr_storage *address, socklen_t *size)
{
    int fd = socket(family, SOCK_DGRAM, 0);
    memset(address, 0, sizeof *address);
    address->ss_family = family;
    if (family == AF_INET)
        ((struct sockaddr_in *)address)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    else
        ((struct sockaddr_in6 *)address)->sin6_addr = in6addr_loopback;
    *size = sizeof *address;
    bind(fd, (void *)address, family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_in6));
    getsockname(fd, (void *)address, size);
    return fd;
}

static void number(int fd, int level, int option, int value)
{
    setsockopt(fd, level, option, &value, sizeof value);
}

static void internet(int family)
{
    struct sockaddr_storage address, gone;
    socklen_t size, gone_size;
    bool six = family == AF_INET6;
    int level = six ? IPPROTO_IPV6 : IPPROTO_IP, fd = bound(family, &address, &size), hops = 33, class = 0x20;
    printf("family %d\n", family);
    for (int option = 0; option < 3; option++)
        number(fd, level, six ? (int[]){IPV6_RECVPKTINFO, IPV6_RECVHOPLIMIT, IPV6_RECVTCLASS}[option]
                              : (int[]){IP_PKTINFO, IP_RECVTTL, IP_RECVTOS}[option], 1);
    if (!six)
        number(fd, level, IP_RECVORIGDSTADDR, 1);
    struct msghdr message = sending("with all");
    struct in_pktinfo info = {1, {htonl(INADDR_LOOPBACK)}};
    struct in6_pktinfo info6 = {IN6ADDR_LOOPBACK_INIT, 1};
    message.msg_name = &address, message.msg_namelen = size;
    add_control(&message, level, six ? IPV6_HOPLIMIT : IP_TTL, &hops, sizeof hops);
    add_control(&message, level, six ? IPV6_TCLASS : IP_TOS, &class, sizeof class);
    add_control(&message, level, six ? IPV6_PKTINFO : IP_PKTINFO, six ? (void *)&info6 : &info,
                six ? sizeof info6 : sizeof info);
    SHOW(sendmsg(fd, &message, 0));
    receive(fd, sizeof control, 0);
    SHOW(sendmsg(fd, &message, 0));
    receive(fd, CMSG_SPACE(six ? sizeof info6 : sizeof info) + 3, 0);
    uint16_t segment = 4;
    message = sending("abcdefghij");
    message.msg_name = &address, message.msg_namelen = size;
    add_control(&message, IPPROTO_UDP, 103 /* UDP_SEGMENT */, &segment, sizeof segment);
    SHOW(sendmsg(fd, &message, 0));
    receive(fd, 0, 0), receive(fd, 0, 0), receive(fd, 0, 0);
    number(fd, IPPROTO_UDP, 104 /* UDP_GRO */, 1);
    close(bound(family, &gone, &gone_size));
    number(fd, level, six ? IPV6_RECVERR : IP_RECVERR, 1);
    SHOW(sendto(fd, "nobody", 6, 0, (void *)&gone, gone_size));
    struct pollfd polled = {fd, POLLERR, 0};
    SHOW(poll(&polled, 1, 5000));
    receive(fd, sizeof control, MSG_ERRQUEUE);
    receive(fd, sizeof control, MSG_ERRQUEUE);
    receive(fd, sizeof control, MSG_DONTWAIT);
    close(fd);
}

static void times(void)
{
    static const int options[] = {29, 35, 63, 64}; /* SO_TIMESTAMP and SO_TIMESTAMPNS, old and new */
    struct sockaddr_storage address;
    socklen_t size;
    for (size_t i = 0; i < sizeof options / sizeof *options; i++) {
        int fd = bound(AF_INET, &address, &size);
        number(fd, SOL_SOCKET, options[i], 1);
        sendto(fd, "now", 3, 0, (void *)&address, size);
        receive(fd, sizeof control, 0);
        close(fd);
    }
    int fd = bound(AF_INET, &address, &size);
    long old[2] = {0};
    int64_t new[2] = {0};
    SHOW(ioctl(fd, 0x8906 /* SIOCGSTAMP_OLD */, old));
    usleep(20000);
    sendto(fd, "now", 3, 0, (void *)&address, size), receive(fd, 0, 0);
    SHOW(ioctl(fd, 0x8906, old));
    printf("%d\n", is_now(old[0]) && old[1] < 1000000);
    SHOW(ioctl(fd, _IOR(0x89, 7, long long[2]) /* SIOCGSTAMPNS_NEW */, new));
    printf("%d\n", is_now(new[0]) && new[1] < 1000000000);
    for (int option = 37; option <= 65; option += 28) { /* SO_TIMESTAMPING */
        int fd = bound(AF_INET, &address, &size);
        number(fd, SOL_SOCKET, option, SOF_TIMESTAMPING_RX_SOFTWARE | SOF_TIMESTAMPING_SOFTWARE);
        usleep(20000); /* the kernel begins to take times somewhat later */
        sendto(fd, "stamped", 7, 0, (void *)&address, size);
        receive(fd, sizeof control, 0);
        close(fd);
    }
}

static void packets(void)
{
    struct sockaddr_storage address;
    socklen_t size;
    int fd = socket(AF_PACKET, SOCK_DGRAM, htons(ETH_P_IP)), udp = bound(AF_INET, &address, &size);
    struct sockaddr_ll on = {AF_PACKET, htons(ETH_P_IP), 1}, got = {0};
    if (SHOW(bind(fd, (void *)&on, sizeof on)) < 0) /* only root may */
        return;
    number(fd, SOL_PACKET, PACKET_AUXDATA, 1);
    sendto(udp, "a marked datagram", 17, 0, (void *)&address, size);
    for (int tries = 0; tries < 1000; tries++) {
        struct msghdr message = receiving(sizeof control);
        struct pollfd polled = {fd, POLLIN, 0};
        if (poll(&polled, 1, 5000) != 1 || recvmsg(fd, &message, 0) != 45 || memcmp(got_text + 28, "a marked", 8))
            continue;
        memcpy(&got, &name, sizeof got);
        struct tpacket_auxdata *data = (void *)CMSG_DATA(CMSG_FIRSTHDR(&message));
        printf("name %u: %u %x %d %u %u\n", message.msg_namelen, got.sll_family, ntohs(got.sll_protocol),
               got.sll_ifindex,
               got.sll_hatype, got.sll_halen);
        printf("auxdata %u %u %u\n", data->tp_len, data->tp_snaplen, data->tp_net);
        break;
    }
    close(fd), close(udp);
}

/* ---- many at once ---- */

static void many(void)
{
    int ends[2];
    char buffers[4][8] = {{0}};
    struct iovec parts[4];
    struct mmsghdr messages[4] = {{{0}}};
    struct timespec timeout = {0, 100000000};
    socketpair(AF_UNIX, SOCK_DGRAM, 0, ends);
    for (int i = 0; i < 4; i++) {
        snprintf(buffers[i], 8, "%.*s", i + 1, "message");
        parts[i] = (struct iovec){buffers[i], i + 1};
        messages[i].msg_hdr = (struct msghdr){.msg_iov = &parts[i], .msg_iovlen = 1};
    }
    SHOW(sendmmsg(ends[0], messages, 4, 0));
    for (int i = 0; i < 4; i++)
        printf("%u ", messages[i].msg_len), memset(buffers[i], 0, 8), parts[i].iov_len = 8, messages[i].msg_len = 99;
    SHOW(recvmmsg(ends[1], messages, 3, 0, NULL));
    SHOW(recvmmsg(ends[1], messages + 3, 1, MSG_WAITFORONE, &timeout));
    for (int i = 0; i < 4; i++)
        printf("%u %s\n", messages[i].msg_len, buffers[i]);
    SHOW(recvmmsg(ends[1], messages, 4, MSG_DONTWAIT, NULL));
    timeout.tv_nsec = 1000000000;
    SHOW(recvmmsg(ends[1], messages, 4, MSG_DONTWAIT, &timeout));
    SHOW(syscall(SYS_recvmmsg, ends[1], messages, 4, MSG_DONTWAIT, BAD));
    SHOW(recvmmsg(99, messages, 1, 0, NULL));
    SHOW(recvmmsg(0, messages, 1, 0, NULL));
    SHOW(recvmmsg(ends[1], BAD, 4, MSG_DONTWAIT, NULL));
    SHOW(recvmmsg(ends[1], messages, 0, 0, NULL));
    SHOW(sendmmsg(ends[1], messages, 0, 0));
    SHOW(sendmmsg(99, messages, 0, 0));
    SHOW(sendmmsg(ends[0], BAD, 4, 0));
    messages[2].msg_hdr.msg_iov = BAD;
    parts[1].iov_len = 3;
    SHOW(sendmmsg(ends[0], messages, 4, 0)); /* two are sent */
    int files[1] = {file_with('m')};
    struct msghdr with_file = sending("file");
    add_control(&with_file, SOL_SOCKET, SCM_RIGHTS, files, sizeof files);
    sendmsg(ends[0], &with_file, 0);
    char fields[64];
    messages[2].msg_hdr = (struct msghdr){.msg_iov = &parts[2], .msg_iovlen = 1, .msg_control = fields,
                                          .msg_controllen = 64};
    SHOW(recvmmsg(ends[1], messages, 3, 0, NULL));
    printf("%u %u %u %d\n", messages[0].msg_len, messages[1].msg_len, messages[2].msg_len,
           messages[2].msg_hdr.msg_controllen == CMSG_SPACE(4));
    print_socket(CMSG_FIRSTHDR(&messages[2].msg_hdr));
}

int main(void)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    descriptors();
    vectors();
    internet(AF_INET);
    internet(AF_INET6);
    times();
    packets();
    many();
    return 0;
}
