/* Talks to programs that are no guests: over TCP to a port, and over a unix socket that gives a descriptor. */
#include "show.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/un.h>

static void talk(int family, const char *port)
{
    struct sockaddr_in in = {AF_INET, htons(atoi(port)), {htonl(INADDR_LOOPBACK)}};
    struct sockaddr_in6 in6 = {AF_INET6, htons(atoi(port)), 0, IN6ADDR_LOOPBACK_INIT};
    char text[100] = "";
    int fd = socket(family, SOCK_STREAM, 0);
    if (connect(fd, family == AF_INET ? (void *)&in : (void *)&in6, family == AF_INET ? sizeof in : sizeof in6))
        perror("connect");
    send(fd, "hello\n", 6, 0);
    recv(fd, text, sizeof text - 1, MSG_WAITALL);
    printf("%s", text);
    close(fd);
}

static void take_file(const char *path)
{
    struct sockaddr_un name = {AF_UNIX};
    char text[100] = "", control[CMSG_SPACE(sizeof(int))];
    struct iovec part = {text, sizeof text - 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0), file;
    strcpy(name.sun_path, path);
    if (connect(fd, (void *)&name, sizeof name) || recvmsg(fd, &message, 0) < 0)
        perror("take");
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    printf("%s %d %d\n", text, header->cmsg_level == SOL_SOCKET, header->cmsg_type == SCM_RIGHTS);
    memcpy(&file, CMSG_DATA(header), sizeof file);
    dprintf(file, "written by the guest");
    send(fd, "done", 4, 0);
}

int main(int count, char **words)
{
    talk(AF_INET, words[1]);
    talk(AF_INET6, words[2]);
    take_file(words[3]);
    return 0;
}
