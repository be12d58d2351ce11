/* Calls of sockets as only o32 has them: socketcall, and the numbers of types, options and ioctls that are its own. */
#include "show.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

static long call(int number, long a, long b, long c, long d, long e, long f)
{
    long arguments[6] = {a, b, c, d, e, f};
    return syscall(SYS_socketcall, number, arguments);
}
#define P(pointer) ((long)(pointer))

int main(void)
{
    struct sockaddr_in address = {AF_INET, 0, {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof address;
    char text[32] = "";
    int ends[2], one = 1, got = 0;
    int server = SHOW(call(1, AF_INET, 2, 0, 0, 0, 0));
    int client = SHOW(call(1, AF_INET, 2 | 0x80000, 6, 0, 0, 0));
    SHOW(call(14, server, 0xffff, 4, P(&one), 4, 0));
    SHOW(call(15, server, 0xffff, 4, P(&got), P(&size), 0));
    printf("%d %u\n", got, size);
    size = sizeof got;
    SHOW(call(15, server, 0xffff, 0x1008, P(&got), P(&size), 0));
    printf("%d\n", got);
    SHOW(call(2, server, P(&address), sizeof address, 0, 0, 0));
    size = sizeof address;
    SHOW(call(6, server, P(&address), P(&size), 0, 0, 0));
    SHOW(call(4, server, 3, 0, 0, 0, 0));
    SHOW(call(3, client, P(&address), size, 0, 0, 0));
    int end = SHOW(call(5, server, 0, 0, 0, 0, 0));
    SHOW(call(7, client, P(&address), P(&size), 0, 0, 0));
    SHOW(call(9, client, P("send"), 4, 0, 0, 0));
    SHOW(call(10, end, P(text), 32, 0, 0, 0));
    SHOW(call(11, client, P("sendto"), 6, 0x4000, 0, 0));
    size = sizeof address;
    struct sockaddr_in from = address;
    SHOW(call(12, end, P(text), 32, 0, P(&from), P(&size)));
    printf("%s %u\n", text, size);
    struct iovec part = {text, 3};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    SHOW(call(16, end, P(&message), 0, 0, 0, 0));
    SHOW(call(17, client, P(&message), 0, 0, 0, 0));
    SHOW(call(13, client, 2, 0, 0, 0, 0));
    SHOW(call(8, AF_UNIX, 1 | 0x80, 0, P(ends), 0, 0));
    struct mmsghdr many[2] = {{message}, {message}};
    SHOW(call(20, ends[0], P(many), 2, 0, 0, 0));
    long timeout[2] = {1, 5};
    SHOW(call(19, ends[1], P(many), 2, 0, P(timeout), 0));
    printf("%u %u %d\n", many[0].msg_len, many[1].msg_len, timeout[0] <= 1);
    SHOW(call(3, socket(AF_INET, SOCK_STREAM, 0), P(&address), sizeof address, 0, 0, 0));
    int flags = fcntl(SHOW(call(18, server, 0, 0, 0x80080, 0, 0)), F_GETFL);
    printf("%x\n", flags & 0x80);
    SHOW(call(0, 0, 0, 0, 0, 0, 0));
    SHOW(call(21, 0, 0, 0, 0, 0, 0));
    SHOW(syscall(SYS_socketcall, 1, 8));
    SHOW(syscall(SYS_socket, AF_INET, 1 | 0x800, 0));
    SHOW(syscall(SYS_accept4, server, 0, 0, 0x800));
    SHOW(syscall(SYS_setsockopt, server, 0xffff, 2, &one, 4));
    SHOW(syscall(SYS_setsockopt, server, 0xffff, 16, &one, 4));
    SHOW(syscall(SYS_setsockopt, server, 1, 2, &one, 4));
    return 0;
}
