/* What the host tells the compile server: a file of the guest, and where it is hot.
 *
 * One message on a connection of its own, and no answer: the host sees the result in the store. mipsrec/abi.py owns the
 * format. Nothing here waits.
 */
#include "base/checksum.h"
#include "base/options.h"
#include "growth/growth.h"
#include "lifted/caches.h"
#include "lifted/this_user.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define KEY_DIGITS 16
#define START_SECONDS 5   /* that a server may take to begin */
#define START_SAMPLES 12u /* for which a server is worth starting: 48 ms; a shorter program would wait for it in vain */

/* ---- where the socket is ---- */

/* Where the path in the cache is too long for a socket, its hash names one in /tmp. */
static void name_in_tmp(const char *long_path, struct sockaddr_un *address)
{
    uint8_t hash[32];
    int length = snprintf(address->sun_path, sizeof address->sun_path, "/tmp/mipsrec-%u/", (unsigned)geteuid());
    mr_blake2b_256((const uint8_t *)long_path, strlen(long_path), hash);
    for (int i = 0; i < 8; i++)
        length += snprintf(address->sun_path + length, sizeof address->sun_path - (size_t)length, "%02x", hash[i]);
    snprintf(address->sun_path + length, sizeof address->sun_path - (size_t)length, ".sock");
}

/* Returns false where there is no cache, or no server is wanted any more, or by this user. */
static bool name_socket(struct sockaddr_un *address)
{
    char path[PATH_MAX + 40];
    const char *cache = mr_cache_own();
    if (cache == NULL || *cache == 0 || mr_options.compile_server == NULL || !mr_is_this_user(geteuid()) ||
        !mr_is_still_trusted(cache))
        return false;
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    size_t length = (size_t)snprintf(path, sizeof path, "%s/server/%.*s.sock", cache, KEY_DIGITS, MR_CODE_KEY);
    if (length < sizeof address->sun_path)
        memcpy(address->sun_path, path, length);
    else
        name_in_tmp(path, address);
    return true;
}

/* ---- its folder ---- */

static void folder_of(const struct sockaddr_un *address, char folder[sizeof address->sun_path])
{
    snprintf(folder, sizeof address->sun_path, "%.*s", (int)(strrchr(address->sun_path, '/') - address->sun_path),
             address->sun_path);
}

/* Whether nobody else can put a socket there, or a link to one. */
static bool is_ours_alone(const char *folder)
{
    struct stat status;
    return lstat(folder, &status) == 0 && S_ISDIR(status.st_mode) && mr_is_this_user(status.st_uid) &&
           (status.st_mode & (S_IRWXG | S_IRWXO)) == 0;
}

/* ---- starting ---- */

/* What the processes of a user without a server know of each other. */
struct lack {
    int64_t started_at; /* in seconds: when one of them started a server */
    uint64_t samples;   /* since then, of those that have ended */
};

/* What a file says of it, which is then as it is from now on. Processes that begin at once start one server. Where two write
 * at once, samples are lost, or two servers start, of which one ends. */
static bool note_lack(int fd, uint64_t samples, bool ends)
{
    struct lack lack = {0};
    if (pread(fd, &lack, sizeof lack, 0) != sizeof lack)
        lack = (struct lack){0};
    int64_t now = time(NULL);
    if (lack.started_at <= now && lack.started_at + START_SECONDS >= now)
        return false;
    lack.samples += ends ? samples : 0;
    bool enough = (ends ? lack.samples : samples) >= START_SAMPLES;
    if (enough)
        lack = (struct lack){.started_at = now};
    return pwrite(fd, &lack, sizeof lack, 0) == sizeof lack && enough;
}

bool mr_server_is_to_start(uint64_t samples, bool ends)
{
    struct sockaddr_un address;
    char path[sizeof address.sun_path + 8], folder[sizeof address.sun_path];
    if ((!ends && samples < START_SAMPLES) || !name_socket(&address))
        return false;
    folder_of(&address, folder);
    mkdir(folder, 0700);
    snprintf(path, sizeof path, "%s.start", address.sun_path);
    int fd = is_ours_alone(folder) ? open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600) : -1;
    bool is_to_start = fd >= 0 && note_lack(fd, samples, ends);
    if (fd >= 0)
        close(fd);
    return is_to_start;
}

/* ---- the message ---- */

static ssize_t send_with_file(int to, struct iovec *parts, size_t part_count, int fd)
{
    union {
        struct cmsghdr head;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = part_count, .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    struct cmsghdr *rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(rights), &fd, sizeof fd);
    return sendmsg(to, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* The server must be of this user. */
static bool is_trusted(int fd)
{
    struct ucred peer;
    socklen_t size_bytes = sizeof peer;
    return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size_bytes) == 0 && mr_is_this_user(peer.uid);
}

enum mr_sent mr_request_send(const char *path, int fd, const struct mr_hot_pc *pcs, size_t count)
{
    struct sockaddr_un address;
    char folder[sizeof address.sun_path];
    struct mr_request_head head = {.magic = MR_REQUEST_MAGIC, .version = MR_REQUEST_VERSION, .kind = MR_REQUEST_HOT,
                                   .count = (uint32_t)count};
    snprintf(head.key, sizeof head.key, "%s", MR_CODE_KEY);
    snprintf(head.variant, sizeof head.variant, "%s", mr_grown_variant());
    snprintf(head.path, sizeof head.path, "%.*s", (int)sizeof head.path - 1, path);
    if (!name_socket(&address))
        return MR_NOBODY;
    folder_of(&address, folder);
    if (!is_ours_alone(folder))
        return MR_NOBODY;
    int server = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (server < 0)
        return MR_BUSY;
    enum mr_sent sent = MR_SENT;
    if (connect(server, (const struct sockaddr *)&address, sizeof address) != 0) {
        sent = errno == EAGAIN || errno == EINTR ? MR_BUSY : MR_NOBODY;
    } else {
        struct iovec parts[2] = {{&head, sizeof head}, {(void *)pcs, count * sizeof *pcs}};
        if (!is_trusted(server) || send_with_file(server, parts, 2, fd) < 0)
            sent = MR_BUSY;
    }
    close(server);
    return sent;
}
