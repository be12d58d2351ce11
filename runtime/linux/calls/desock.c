/* --desock: for services that are fuzzed, or run without a network.
 *
 * The sockets are real, so that poll, getpeername and all else work. A thread of the host connects to the first one that listens
 * at the wanted port, hands over what standard input has, closes its direction, and copies what comes back to standard output.
 * When the service has closed the connection, the thread connects once more. Where the service accepts that, the process ends: at
 * the same place of the program each time. A service that forks for each connection waits there for its children, and dies of a
 * signal that one of them has died of. Datagrams are not handled.
 */
#include "linux/calls/desock.h"

#include "base/messages.h"
#include "base/numbers.h"
#include "base/options.h"
#include "linux/descriptors.h"
#include "linux/fault.h"
#include "linux/signals.h"
#include "linux/threads.h"
#include "linux/upcalls.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MOST_SOCKETS = 1024, STACK_BYTES = 1 << 20, PATIENCE_SECONDS = 2 };

static uint32_t wanted_port;                /* 0: any */
static uint16_t port_of[MOST_SOCKETS];      /* by descriptor: the one that the guest wanted to bind */
static union {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} place; /* where the service listens */
static bool has_begun;

void mr_desock_start(void)
{
    if (mr_options.desock == NULL)
        return;
    bool any = strcmp(mr_options.desock, "any") == 0;
    if (!any && (!mr_parse_number(mr_options.desock, 10, &wanted_port) || wanted_port == 0 || wanted_port > 65535))
        mr_fail("--desock is '%s', and must be the port that the service listens at, or any", mr_options.desock);
    mr_own_keep(MR_OWN_INPUT, dup(STDIN_FILENO));
    mr_own_keep(MR_OWN_OUTPUT, dup(STDOUT_FILENO));
}

void mr_desock_bind(int fd, struct mr_address *address)
{
    if (mr_options.desock == NULL || fd < 0 || fd >= MOST_SOCKETS)
        return;
    struct sockaddr_in *v4 = (struct sockaddr_in *)(void *)address->bytes;
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)(void *)address->bytes;
    if (address->header.sa_family == AF_INET && address->size_bytes >= sizeof *v4) {
        port_of[fd] = ntohs(v4->sin_port);
        v4->sin_port = 0;
        v4->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    } else if (address->header.sa_family == AF_INET6 && address->size_bytes >= sizeof *v6) {
        port_of[fd] = ntohs(v6->sin6_port);
        v6->sin6_port = 0;
        v6->sin6_addr = in6addr_loopback;
    }
}

/* ---- the thread ---- */

/* Returns false where the service has closed the connection. */
static bool copy_back(int connection, int output)
{
    char bytes[4096];
    ssize_t count = recv(connection, bytes, sizeof bytes, MSG_DONTWAIT);
    if (count > 0 && output >= 0 && write(output, bytes, (size_t)count) < 0)
        return true; /* nobody wants it */
    return count > 0 || (count < 0 && (errno == EAGAIN || errno == EINTR));
}

/* Part of the input, on its way. */
struct piece {
    char bytes[4096];
    ssize_t size_bytes, sent;
};

/* Sends what the connection takes. Returns false at the end of the input, or where the service wants no more. */
static bool hand_over(int input, int connection, struct piece *piece)
{
    if (piece->sent == piece->size_bytes) {
        piece->sent = 0;
        piece->size_bytes = read(input, piece->bytes, sizeof piece->bytes);
    }
    if (piece->size_bytes <= 0)
        return piece->size_bytes < 0 && errno == EINTR;
    ssize_t now = send(connection, piece->bytes + piece->sent, (size_t)(piece->size_bytes - piece->sent),
                       MSG_NOSIGNAL | MSG_DONTWAIT);
    piece->sent += now > 0 ? now : 0;
    return now > 0 || errno == EINTR || errno == EAGAIN;
}

static int make_connection(void)
{
    int connection = socket(place.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t size_bytes = place.any.sa_family == AF_INET ? sizeof place.v4 : sizeof place.v6;
    if (connection >= 0)
        connection = mr_own_moved(connection);
    if (connection < 0 || connect(connection, &place.any, size_bytes) != 0)
        mr_fail("--desock: no connection to the service: %s", strerror(errno));
    return connection;
}

static void serve(int connection)
{
    int input = mr_own_descriptor(MR_OWN_INPUT), output = mr_own_descriptor(MR_OWN_OUTPUT);
    struct piece piece = {.size_bytes = 0};
    for (bool is_open = true, has_more = true; is_open;) {
        struct pollfd wanted = {connection, has_more ? POLLIN | POLLOUT : POLLIN, 0};
        poll(&wanted, 1, -1);
        if (has_more && (wanted.revents & POLLOUT) != 0) {
            has_more = hand_over(input, connection, &piece);
            if (!has_more)
                shutdown(connection, SHUT_WR);
        }
        is_open = copy_back(connection, output);
    }
}

/* A service that asks for no second connection ends all the same. */
static void *body(void *unused)
{
    mr_signals_set_host_mask(~(uint64_t)0);
    int connection = make_connection();
    serve(connection);
    close(connection);
    make_connection();
    sleep(PATIENCE_SECONDS);
    _exit(0);
    return unused;
}

void mr_desock_listen(int fd)
{
    socklen_t size_bytes = sizeof place;
    if (mr_options.desock == NULL || has_begun || fd < 0 || fd >= MOST_SOCKETS ||
        (wanted_port != 0 && port_of[fd] != wanted_port) || getsockname(fd, &place.any, &size_bytes) != 0 ||
        (place.any.sa_family != AF_INET && place.any.sa_family != AF_INET6))
        return;
    has_begun = true;
    int error = mr_own_thread_make(body, STACK_BYTES);
    if (error != 0)
        mr_fail("--desock: cannot make a thread: %s", strerror(error));
}

/* ---- the end ---- */

/* Returns the status of a child that a signal has ended; 0: of none. */
static int await_children(void)
{
    int status, found = 0;
    while (waitpid(-1, &status, 0) > 0 || errno == EINTR)
        if (WIFSIGNALED(status) && found == 0)
            found = status;
    return found;
}

void mr_desock_accepted(struct mr_state *s, const struct mr_address *peer)
{
    static unsigned connections;
    if (!has_begun || peer->header.sa_family != place.any.sa_family || ++connections < 2)
        return;
    int status = await_children();
    if (status != 0)
        mr_die_of_host_signal(WTERMSIG(status));
    mr_exit_guest(s, 0);
}
