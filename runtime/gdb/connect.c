/* The debugger's connection: one listening socket, one client.
 *
 * Enters: a port, or the path of a socket. Leaves: the descriptor of the connection. A port is one of 127.0.0.1, which every
 * user of the machine reaches. A socket in the file system is for its owner and root only. It goes when a debugger has come,
 * and when a signal ends the wait for one; that of a host that was killed is replaced by the next one of the same name.
 */
#include "base/messages.h"
#include "base/numbers.h"
#include "base/observe.h"
#include "base/same_inode.h"
#include "gdb/gdb.h"
#include "gdb/parts.h"
#include "lifted/caches.h"
#include "lifted/this_user.h"
#include "linux/fault.h"
#include "linux/signals.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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

/* Where it is while this process waits at one: in a folder that is opened once, as others may be able to rename it. */
static struct {
    int folder;
    const char *name;
    const char *wrong; /* who else can choose the folder, or NULL */
} place;

/* A folder by a path with links is taken only where no other user can choose what they lead to. */
static int open_folder(const char *path)
{
    char real[PATH_MAX];
    struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS};
    int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof how);
    if (fd >= 0 || (errno != ELOOP && errno != ENOSYS && errno != EPERM))
        return fd;
    place.wrong = mr_distrust(path, real);
    return place.wrong != NULL ? -1 : open(real, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static bool open_place(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *above = slash == NULL ? strdup(".") : slash == path ? strdup("/") : strndup(path, (size_t)(slash - path));
    place.name = slash == NULL ? path : slash + 1;
    place.folder = above == NULL ? -1 : open_folder(above);
    free(above);
    return place.folder >= 0;
}

static void remove_socket(void)
{
    unlinkat(place.folder, place.name, 0);
}

/* By the opened folder; without the kernel's /proc by the path. */
static bool fill_in(struct sockaddr_un *address, const char *path)
{
    size_t room = sizeof address->sun_path;
    struct stat there, wanted;
    char opened[40];
    snprintf(opened, sizeof opened, "/proc/self/fd/%d", place.folder);
    bool leads_there = stat(opened, &there) == 0 && fstat(place.folder, &wanted) == 0 &&
                       mr_is_same_inode(&there, &wanted);
    int size = leads_there ? snprintf(address->sun_path, room, "%s/%s", opened, place.name)
                           : snprintf(address->sun_path, room, "%s", path);
    if ((size_t)size < room)
        return true;
    errno = ENAMETOOLONG;
    return false;
}

/* Whether a file is a socket of this user that no process has any more. Datagrams cannot be sent to one that there is, so
 * asking is no connection to it. */
static bool is_left_over(const struct sockaddr_un *address)
{
    struct stat status;
    if (fstatat(place.folder, place.name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return false;
    if (!S_ISSOCK(status.st_mode) || !mr_is_this_user(status.st_uid))
        return false;
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool refused = connect(fd, (const struct sockaddr *)address, sizeof *address) != 0 && errno == ECONNREFUSED;
    close(fd);
    return refused;
}

static bool bind_to(int fd, const struct sockaddr_un *address)
{
    if (bind(fd, (const struct sockaddr *)address, sizeof *address) == 0)
        return true;
    if (errno != EADDRINUSE)
        return false;
    if (!is_left_over(address)) {
        errno = EADDRINUSE;
        return false;
    }
    return unlinkat(place.folder, place.name, 0) == 0 && bind(fd, (const struct sockaddr *)address, sizeof *address) == 0;
}

/* The socket has its mode before it has its name: whatever has the name later is not touched. */
static int listen_at_path(const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (!open_place(path))
        return -1;
    int fd = fill_in(&address, path) ? socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0) : -1;
    if (fd >= 0 && fchmod(fd, S_IRUSR | S_IWUSR) == 0 && bind_to(fd, &address)) {
        if (listen(fd, 1) == 0)
            return fd;
        remove_socket();
    }
    int error = errno;
    if (fd >= 0)
        close(fd);
    close(place.folder);
    errno = error;
    return -1;
}

static bool is_trusted(int fd)
{
    struct ucred peer;
    socklen_t size = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && mr_is_trusted_owner(peer.uid);
}

/* ---- signals that end the wait ---- */

static const int ends[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM};
#define END_COUNT (sizeof ends / sizeof *ends)

static void on_end(int host_signal)
{
    remove_socket();
    MR_TELL(sample_end);
    mr_die_of_host_signal(host_signal);
}

/* Has the signals end the process as they do without this, but those that are ignored. Fills in what was before. */
static void watch_ends(struct sigaction before[END_COUNT])
{
    struct sigaction action = {.sa_handler = on_end, .sa_flags = SA_ONSTACK};
    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < END_COUNT; i++)
        if (sigaction(ends[i], NULL, &before[i]) == 0 && before[i].sa_handler != SIG_IGN)
            sigaction(ends[i], &action, NULL);
}

static void watch_ends_no_more(const struct sigaction before[END_COUNT])
{
    for (size_t i = 0; i < END_COUNT; i++)
        sigaction(ends[i], &before[i], NULL);
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
    struct sigaction before[END_COUNT];
    uint64_t mask = mr_signals_set_host_mask(~(uint64_t)0); /* or else one might come when the socket is just there */
    int listener = is_port ? listen_at_port(port) : listen_at_path(where);
    int error = errno;
    if (listener >= 0 && !is_port)
        watch_ends(before);
    mr_signals_set_host_mask(mask);
    if (listener < 0) {
        mr_print_error("mipsrec-host: no debugger can connect at %s%s: %s%s\n", is_port ? "port " : "", where,
                       place.wrong != NULL ? "its folder is behind a link: " : "",
                       place.wrong != NULL ? place.wrong : strerror(error));
        return -1;
    }
    if (is_port)
        mr_print_error("mipsrec-host: waiting for a debugger at 127.0.0.1:%u\n", port_of(listener));
    else
        mr_print_error("mipsrec-host: waiting for a debugger at %s\n", where);
    int fd = accept_one(listener, is_port);
    close(listener);
    if (!is_port) {
        remove_socket();
        watch_ends_no_more(before);
        close(place.folder);
    }
    return fd;
}
