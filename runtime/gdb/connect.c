/* The debugger's connection: one listening socket, one client.
 *
 * Enters: a port, or the path of a socket. Leaves: the descriptor of the connection. A port is one of 127.0.0.1, which every
 * user of the machine reaches. A socket in the file system is for its owner and root only.
 */
#include "base/messages.h"
#include "base/numbers.h"
#include "gdb/gdb.h"
#include "gdb/parts.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define MOST_PORT 65535u

static bool parse_port(const char *where, uint16_t *port)
{
    uint32_t value;
    if (*where < '0' || *where > '9' || !mr_parse_integer(where, &value) || value > MOST_PORT)
        return false;
    *port = (uint16_t)value;
    return true;
}

bool mr_debug_is_port(const char *where)
{
    uint16_t port;
    return parse_port(where, &port);
}

/* ---- TCP ---- */

static int listen_at_port(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, 1) == 0)
        return fd;
    close(fd);
    return -1;
}

/* Port 0 is whichever is free. */
static uint16_t port_of(int listener)
{
    struct sockaddr_in address = {0};
    socklen_t size = sizeof address;
    getsockname(listener, (struct sockaddr *)&address, &size);
    return ntohs(address.sin_port);
}

/* ---- a socket in the file system ---- */

/* The socket's mode is set before anybody can connect: it does not listen yet. */
static int listen_at_path(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path) {
        errno = ENAMETOOLONG;
        return -1;
    }
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    strcpy(address.sun_path, path);
    if (bind(fd, (struct sockaddr *)&address, sizeof address) == 0) {
        if (chmod(path, S_IRUSR | S_IWUSR) == 0 && listen(fd, 1) == 0)
            return fd;
        unlink(path);
    }
    int error = errno;
    close(fd);
    errno = error;
    return -1;
}

static bool is_trusted(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && (peer.uid == geteuid() || peer.uid == 0);
}

/* ---- both ---- */

static int accept_one(int listener, bool is_port)
{
    int on = 1;
    for (;;) {
        int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (fd < 0 && errno != EINTR && errno != ECONNABORTED)
            return -1;
        if (fd < 0)
            continue;
        if (is_port) {
            setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
            return fd;
        }
        if (is_trusted(fd))
            return fd;
        close(fd);
    }
}

int mr_debug_accept(const char *where)
{
    uint16_t port;
    bool is_port = parse_port(where, &port);
    int listener = is_port ? listen_at_port(port) : listen_at_path(where);
    if (listener < 0) {
        mr_print_error("mipsrec-host: no debugger can connect at %s%s: %s\n", is_port ? "port " : "", where, strerror(errno));
        return -1;
    }
    if (is_port)
        mr_print_error("mipsrec-host: waiting for a debugger at 127.0.0.1:%u\n", port_of(listener));
    else
        mr_print_error("mipsrec-host: waiting for a debugger at %s\n", where);
    int fd = accept_one(listener, is_port);
    close(listener);
    if (!is_port)
        unlink(where);
    return fd;
}
