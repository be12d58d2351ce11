/* Sockets of inet, inet6 and unix: making, naming, connecting, echoing, and what fails. */
#include "show.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>

static void print_address(const struct sockaddr_storage *address, socklen_t size)
{
    char name[INET6_ADDRSTRLEN];
    printf("family %d size %u", address->ss_family, size);
    if (address->ss_family == AF_INET)
        printf(" %s", inet_ntop(AF_INET, &((struct sockaddr_in *)address)->sin_addr, name, sizeof name));
    if (address->ss_family == AF_INET6)
        printf(" %s scope %u", inet_ntop(AF_INET6, &((struct sockaddr_in6 *)address)->sin6_addr, name, sizeof name),
               ((struct sockaddr_in6 *)address)->sin6_scope_id);
    if (address->ss_family == AF_UNIX)
        for (socklen_t i = offsetof(struct sockaddr_un, sun_path); i < size; i++)
            printf(" %02x", ((unsigned char *)address)[i]);
    printf("\n");
}

static void loopback(int family, struct sockaddr_storage *address, socklen_t *size)
{
    memset(address, 0, sizeof *address);
    address->ss_family = family;
    if (family == AF_INET) {
        ((struct sockaddr_in *)address)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        *size = sizeof(struct sockaddr_in);
    } else {
        ((struct sockaddr_in6 *)address)->sin6_addr = in6addr_loopback;
        *size = sizeof(struct sockaddr_in6);
    }
}

static void streams(int family)
{
    struct sockaddr_storage address, peer;
    socklen_t size, peer_size = sizeof peer;
    char text[64] = {0};
    printf("streams %d\n", family);
    int server = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0), client = socket(family, SOCK_STREAM, IPPROTO_TCP);
    SHOW(fcntl(server, F_GETFD));
    loopback(family, &address, &size);
    SHOW(bind(server, (void *)&address, size));
    SHOW(getsockname(server, (void *)&address, &size));
    SHOW(connect(client, (void *)&address, size));
    SHOW(listen(server, 5));
    SHOW(connect(client, (void *)&address, size));
    int end = accept4(server, (void *)&peer, &peer_size, SOCK_NONBLOCK);
    print_address(&peer, peer_size);
    printf("%d\n", (fcntl(end, F_GETFL) & O_NONBLOCK) != 0);
    SHOW(recv(end, text, sizeof text, 0));
    SHOW(send(client, "hello, server", 13, MSG_NOSIGNAL));
    struct pollfd polled = {end, POLLIN, 0};
    SHOW(poll(&polled, 1, 5000));
    SHOW(recv(end, text, 5, MSG_PEEK));
    SHOW(recvfrom(end, text, sizeof text, MSG_DONTWAIT, (void *)&peer, &peer_size));
    printf("%s %u\n", text, peer_size);
    SHOW(write(end, "hello, client", 13));
    SHOW(read(client, text, sizeof text));
    puts(text);
    peer_size = sizeof peer;
    SHOW(getpeername(client, (void *)&peer, &peer_size));
    print_address(&peer, peer_size);
    printf("%d\n", memcmp(&peer, &address, size));
    SHOW(send(client, "!", 1, MSG_OOB));
    polled = (struct pollfd){end, POLLPRI, 0};
    SHOW(poll(&polled, 1, 5000));
    int mark = 7;
    SHOW(ioctl(end, SIOCATMARK, &mark));
    printf("%d\n", mark);
    SHOW(recv(end, text, 1, MSG_OOB));
    SHOW(shutdown(client, SHUT_WR));
    polled = (struct pollfd){end, POLLIN, 0};
    SHOW(poll(&polled, 1, 5000));
    SHOW(recv(end, text, sizeof text, 0));
    SHOW(shutdown(client, 9));
    SHOW(send(client, "x", 1, MSG_NOSIGNAL));
    close(client), close(server), close(end);
}

static void datagrams(int family)
{
    struct sockaddr_storage address, peer;
    socklen_t size, peer_size = sizeof peer;
    char text[64] = {0};
    printf("datagrams %d\n", family);
    int server = socket(family, SOCK_DGRAM, 0), client = socket(family, SOCK_DGRAM | SOCK_NONBLOCK, IPPROTO_UDP);
    loopback(family, &address, &size);
    SHOW(bind(server, (void *)&address, size));
    SHOW(getsockname(server, (void *)&address, &size));
    SHOW(send(client, "a", 1, 0));
    SHOW(sendto(client, "a datagram", 10, 0, (void *)&address, size));
    SHOW(recvfrom(server, text, 4, MSG_TRUNC, (void *)&peer, &peer_size));
    print_address(&peer, peer_size);
    puts(text);
    SHOW(sendto(server, "", 0, 0, (void *)&peer, peer_size));
    SHOW(recvfrom(client, text, sizeof text, 0, NULL, NULL));
    SHOW(connect(client, (void *)&address, size));
    SHOW(send(client, "connected", 9, 0));
    peer_size = 3;
    SHOW(recvfrom(server, text, sizeof text, 0, (void *)&peer, &peer_size));
    printf("%u\n", peer_size);
    peer_size = -1;
    SHOW(send(client, "x", 1, 0));
    SHOW(recvfrom(server, text, sizeof text, 0, (void *)&peer, &peer_size));
    struct sockaddr_storage none = {.ss_family = AF_UNSPEC};
    SHOW(connect(client, (void *)&none, sizeof none));
    SHOW(send(client, "x", 1, 0));
    close(server);
    SHOW(connect(client, (void *)&address, size));
    SHOW(send(client, "x", 1, 0));
    struct pollfd polled = {client, POLLIN, 0};
    SHOW(poll(&polled, 1, 5000));
    int error = 0;
    size = sizeof error;
    SHOW(getsockopt(client, SOL_SOCKET, SO_ERROR, &error, &size));
    puts(strerrorname_np(error));
    close(client);
}

static socklen_t unix_address(struct sockaddr_un *address, const char *name, size_t length)
{
    memset(address, 0, sizeof *address);
    address->sun_family = AF_UNIX;
    memcpy(address->sun_path, name, length);
    return offsetof(struct sockaddr_un, sun_path) + length;
}

static void unix_names(int type, const char *name, size_t length)
{
    struct sockaddr_un address;
    struct sockaddr_storage peer;
    socklen_t size = unix_address(&address, name, length), peer_size = sizeof peer;
    char text[32] = {0};
    printf("unix %s\n", type == SOCK_STREAM ? "stream" : type == SOCK_DGRAM ? "datagram" : "packets");
    int server = socket(AF_UNIX, type, 0), client = socket(AF_UNIX, type, 0), end = server;
    SHOW(connect(client, (void *)&address, size));
    SHOW(bind(server, (void *)&address, size));
    SHOW(bind(server, (void *)&address, size));
    SHOW(getsockname(server, (void *)&peer, &peer_size));
    print_address(&peer, peer_size);
    if (type != SOCK_DGRAM) {
        SHOW(listen(server, 1));
        SHOW(connect(client, (void *)&address, size));
        peer_size = sizeof peer;
        end = accept(server, (void *)&peer, &peer_size);
        print_address(&peer, peer_size);
        SHOW(send(client, "first", 5, 0));
        SHOW(send(client, "second", 6, 0));
    } else {
        SHOW(sendto(client, "first", 5, 0, (void *)&address, size));
        SHOW(sendto(client, "second", 6, 0, (void *)&address, size));
    }
    peer_size = sizeof peer;
    SHOW(recvfrom(end, text, sizeof text, 0, (void *)&peer, &peer_size));
    printf("%u\n", peer_size);
    SHOW(recv(end, text, sizeof text, MSG_DONTWAIT));
    puts(text);
    close(client), close(server), close(end);
}

static void pairs(void)
{
    int ends[2], other[2];
    char text[8];
    SHOW(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends));
    SHOW(read(ends[0], text, 8));
    SHOW(write(ends[1], "12", 2));
    int count = 0;
    SHOW(ioctl(ends[0], FIONREAD, &count));
    printf("%d\n", count);
    SHOW(read(ends[0], text, 8));
    close(ends[0]);
    signal(SIGPIPE, SIG_IGN);
    SHOW(write(ends[1], "12", 2));
    SHOW(send(ends[1], "12", 2, MSG_NOSIGNAL));
    SHOW(socketpair(AF_INET, SOCK_STREAM, 0, other));
    SHOW(socketpair(AF_UNIX, SOCK_RAW, 0, other));
    SHOW(socketpair(AF_UNIX, SOCK_DGRAM, 0, (int *)BAD));
    SHOW(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends));
    SHOW(send(ends[0], "abc", 3, MSG_EOR));
    SHOW(recv(ends[1], text, 2, MSG_TRUNC));
}

static void errors(void)
{
    struct sockaddr_in address = {AF_INET};
    socklen_t size = sizeof address, bad_size = -1;
    int fd = socket(AF_INET, SOCK_STREAM, 0), pipes[2];
    pipe(pipes);
    SHOW(socket(99, SOCK_STREAM, 0));
    SHOW(socket(AF_INET, 9, 0));
    SHOW(socket(AF_INET, SOCK_STREAM, 99));
    SHOW(socket(AF_INET, SOCK_STREAM | 0x100, 0));
    SHOW(socket(AF_UNIX, SOCK_STREAM, 77));
    SHOW(bind(99, (void *)&address, size));
    SHOW(bind(pipes[0], (void *)&address, size));
    SHOW(bind(fd, BAD, size));
    SHOW(bind(fd, (void *)&address, 4));
    SHOW(bind(fd, (void *)&address, 1000));
    SHOW(bind(fd, (void *)&address, -1));
    address.sin_family = AF_INET6;
    SHOW(bind(fd, (void *)&address, size));
    address.sin_family = AF_INET;
    inet_pton(AF_INET, "203.0.113.99", &address.sin_addr);
    SHOW(bind(fd, (void *)&address, size));
    SHOW(connect(fd, (void *)&address, 1));
    SHOW(listen(pipes[0], 1));
    SHOW(accept(fd, NULL, NULL));
    SHOW(accept4(fd, NULL, NULL, 0x10));
    SHOW(getsockname(fd, (void *)&address, (socklen_t *)BAD));
    SHOW(getsockname(fd, BAD, &size));
    SHOW(getsockname(fd, (void *)&address, &bad_size));
    SHOW(getpeername(fd, (void *)&address, &size));
    SHOW(send(fd, BAD, 4, MSG_NOSIGNAL));
    SHOW(recv(fd, BAD, 4, 0));
    SHOW(sendto(fd, "a", 1, MSG_NOSIGNAL, BAD, 16));
    SHOW(shutdown(fd, SHUT_RD));
    SHOW(shutdown(99, SHUT_RD));
    int udp = socket(AF_INET, SOCK_DGRAM, 0);
    loopback(AF_INET, (struct sockaddr_storage *)&(struct sockaddr_storage){0}, &size);
    address = (struct sockaddr_in){AF_INET, 0, {htonl(INADDR_LOOPBACK)}};
    bind(udp, (void *)&address, sizeof address);
    getsockname(udp, (void *)&address, &size);
    SHOW(sendto(udp, BAD, 4, 0, (void *)&address, size));
    SHOW(sendto(udp, "datagram", 9, 0, (void *)&address, size));
    SHOW(recvfrom(udp, BAD, 9, 0, NULL, NULL));
    SHOW(sendto(udp, "datagram", 70000, 0, (void *)&address, size));
}

static volatile int caught;

static void on_signal(int number)
{
    caught = number;
}

static void *disturb(void *thread)
{
    usleep(300000);
    pthread_kill(*(pthread_t *)thread, SIGUSR1);
    usleep(300000);
    pthread_kill(*(pthread_t *)thread, SIGUSR2);
    return NULL;
}

/* A signal during each of these calls: SIGUSR1 with SA_RESTART, then SIGUSR2 without. */
static void interrupted(void)
{
    pthread_t self = pthread_self(), other;
    struct sockaddr_in address = {AF_INET, 0, {htonl(INADDR_LOOPBACK)}};
    char text[8];
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    sigaction(SIGUSR1, &action, NULL);
    action.sa_flags = 0;
    sigaction(SIGUSR2, &action, NULL);
    sigaction(SIGPIPE, &action, NULL);
    int fd = socket(AF_INET, SOCK_STREAM, 0), udp = socket(AF_INET, SOCK_DGRAM, 0), pair[2];
    bind(fd, (void *)&address, sizeof address);
    bind(udp, (void *)&address, sizeof address);
    listen(fd, 1);
    pthread_create(&other, NULL, disturb, &self);
    SHOW(accept(fd, NULL, NULL));
    printf("%d\n", caught == SIGUSR2);
    pthread_join(other, NULL);
    pthread_create(&other, NULL, disturb, &self);
    SHOW(recv(udp, text, 8, 0));
    printf("%d\n", caught == SIGUSR2);
    pthread_join(other, NULL);
    struct timeval timeout = {10, 0};
    setsockopt(udp, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    pthread_create(&other, NULL, disturb, &self);
    SHOW(recvfrom(udp, text, 8, 0, NULL, NULL)); /* a timeout: not restarted, even by SIGUSR1 */
    printf("%d\n", caught == SIGUSR1);
    pthread_join(other, NULL);
    pthread_create(&other, NULL, disturb, &self);
    SHOW(accept(fd, NULL, NULL));
    printf("%d\n", caught == SIGUSR1);
    pthread_join(other, NULL);
    timeout = (struct timeval){0, 20000};
    setsockopt(udp, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof timeout);
    SHOW(recv(udp, text, 8, 0));
    socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
    close(pair[0]);
    SHOW(send(pair[1], text, 8, 0));
    printf("%d\n", caught == SIGPIPE);
    if (fork() == 0) {
        signal(SIGPIPE, SIG_DFL);
        send(pair[1], text, 8, 0);
        _exit(1);
    }
    int status;
    wait(&status);
    printf("%d\n", WIFSIGNALED(status) && WTERMSIG(status) == SIGPIPE);
}

int main(void)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    streams(AF_INET);
    streams(AF_INET6);
    datagrams(AF_INET);
    datagrams(AF_INET6);
    unix_names(SOCK_STREAM, "path", 5);
    unix_names(SOCK_DGRAM, "./datagrams", 11);
    unix_names(SOCK_SEQPACKET, "packets", 7);
    char name[24];
    int length = 1 + snprintf(name + 1, sizeof name - 1, "abstract%d", (int)getpid());
    name[0] = 0;
    struct sockaddr_un address;
    socklen_t size = unix_address(&address, name, length);
    int server = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);
    SHOW(bind(server, (void *)&address, size));
    SHOW(listen(server, 1));
    SHOW(connect(client, (void *)&address, size - 1));
    SHOW(connect(client, (void *)&address, size));
    SHOW(bind(client, (void *)&address, sizeof(sa_family_t))); /* a name that the kernel chooses */
    struct sockaddr_storage chosen;
    size = sizeof chosen;
    SHOW(getsockname(client, (void *)&chosen, &size));
    printf("%u %d\n", size, ((struct sockaddr_un *)&chosen)->sun_path[0]);
    pairs();
    errors();
    interrupted();
    return 0;
}
