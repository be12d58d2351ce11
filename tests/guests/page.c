/* A small web server: prints its port, then serves a file to as many connections as it is told, each in a child. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t ended;

static void count_ended(int number)
{
    (void)number;
    while (waitpid(-1, NULL, WNOHANG) > 0)
        ended++;
}

static int listen_somewhere(void)
{
    struct addrinfo wish = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV}, *found;
    int one = 1;
    if (getaddrinfo("127.0.0.1", "0", &wish, &found))
        exit(2);
    int fd = socket(found->ai_family, found->ai_socktype | SOCK_CLOEXEC, found->ai_protocol);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (bind(fd, found->ai_addr, found->ai_addrlen) || listen(fd, 16))
        exit(3);
    freeaddrinfo(found);
    return fd;
}

static void answer(int fd, const char *name)
{
    char request[1000] = "", head[200], peer[40];
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    struct stat status;
    size_t length = 0;
    int one = 1, file = open(name, O_RDONLY);
    while (length < sizeof request - 1 && !strstr(request, "\r\n\r\n")) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        ssize_t count = poll(&wait, 1, 20000) == 1 ? recv(fd, request + length, sizeof request - 1 - length, 0) : 0;
        if (count <= 0)
            _exit(4);
        length += count;
    }
    if (getpeername(fd, (struct sockaddr *)&address, &size) || fstat(file, &status))
        _exit(5);
    inet_ntop(AF_INET, &address.sin_addr, peer, sizeof peer);
    setsockopt(fd, IPPROTO_TCP, TCP_CORK, &one, sizeof one);
    snprintf(head, sizeof head, "HTTP/1.0 200 OK\r\nContent-Length: %lld\r\nX-Peer: %s:%d\r\n", (long long)status.st_size,
             peer, ntohs(address.sin_port));
    struct iovec parts[] = {{head, strlen(head)}, {"\r\n", 2}};
    writev(fd, parts, 2);
    for (off_t at = 0; at < status.st_size;)
        if (sendfile(fd, file, &at, status.st_size - at) <= 0)
            _exit(6);
    shutdown(fd, SHUT_WR);
    _exit(0);
}

int main(int count, char **words)
{
    struct sigaction action = {.sa_handler = count_ended, .sa_flags = SA_RESTART};
    struct sockaddr_in own;
    socklen_t size = sizeof own;
    int wanted = count > 2 ? atoi(words[2]) : 1, listener = listen_somewhere();
    sigset_t child, old;
    sigemptyset(&child);
    sigaddset(&child, SIGCHLD);
    sigaction(SIGCHLD, &action, NULL);
    getsockname(listener, (struct sockaddr *)&own, &size);
    printf("%s %d\n", inet_ntoa(own.sin_addr), ntohs(own.sin_port));
    fflush(stdout);
    for (int i = 0; i < wanted; i++) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0)
            return 7;
        if (fork() == 0)
            answer(fd, words[1]);
        close(fd);
    }
    sigprocmask(SIG_BLOCK, &child, &old);
    while (ended < wanted)
        sigsuspend(&old);
    printf("%d served\n", (int)ended);
    return 0;
}
