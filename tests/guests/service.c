/* A service at an address that no machine here has. It answers a line with its length, and faults at "BUG". Its argument: 0 for one
 * connection after another, 1 for a process each, 2 for poll with a socket that does not wait, 3 for a thread each, 4 for IPv6. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void answer(int connection)
{
    char line[512] = "";
    ssize_t size_bytes = 0, now;
    while (size_bytes < (ssize_t)sizeof line - 1 &&
           (now = read(connection, line + size_bytes, sizeof line - 1 - (size_t)size_bytes)) > 0)
        size_bytes += now;
    if (strncmp(line, "BUG", 3) == 0)
        *(volatile int *)4 = 1;
    dprintf(connection, "%d bytes\n", (int)size_bytes);
    close(connection);
}

static void *answer_by_thread(void *connection)
{
    answer((int)(intptr_t)connection);
    return NULL;
}

static int listening(int way)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(80), .sin_addr = {htonl(0x0a0b0c0d)}};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(80), .sin6_addr = in6addr_any};
    int fd = socket(way == 4 ? AF_INET6 : AF_INET, SOCK_STREAM, 0);
    if (bind(fd, way == 4 ? (void *)&v6 : (void *)&v4, way == 4 ? sizeof v6 : sizeof v4) != 0 || listen(fd, 5) != 0) {
        perror("no socket");
        exit(1);
    }
    if (way == 2)
        fcntl(fd, F_SETFL, O_NONBLOCK);
    return fd;
}

int main(int argc, char **argv)
{
    int way = argc > 1 ? atoi(argv[1]) : 0, fd = listening(way);
    pthread_t thread;
    for (;;) {
        struct pollfd wanted = {fd, POLLIN, 0};
        if (way == 2)
            poll(&wanted, 1, -1);
        int connection = accept(fd, NULL, NULL);
        if (connection < 0)
            continue;
        if (way == 3) {
            pthread_create(&thread, NULL, answer_by_thread, (void *)(intptr_t)connection);
        } else if (way != 1) {
            answer(connection);
        } else if (fork() == 0) {
            close(fd);
            answer(connection);
            return 0;
        } else {
            close(connection);
        }
    }
}
