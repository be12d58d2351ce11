/* The host's own descriptors: see descriptors.h.
 *
 * They are close-on-exec and lie above the guest's limit of open files, where no call of the guest puts one or looks for
 * one: the limit is raised for the moment in which they get their numbers. So the guest may use all that it may have, and
 * the kernel itself says EMFILE. Two cases remain. A large limit would make the kernel's table large, so they lie at FAR, below
 * it; and a limit that the host may not raise has them at its end. There they make way: for a number that the guest names, and
 * all of them when a call of the guest finds no number free. What has made way is opened again by its name when it is needed,
 * if that still is the same file. Once names may mean other files, the host's own executable makes no way any more.
 */
#include "base/kernel_proc.h"
#include "base/lock.h"
#include "base/messages.h"
#include "base/same_inode.h"
#include "linux/descriptors.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FAR = 4096, MARGIN = 64, FEW = 16 };

static int far = FAR;

static struct own {
    int fd;
    bool lost;           /* it has made way, and can be opened again */
    dev_t device;
    ino_t inode;
    char name[PATH_MAX]; /* then */
} own[MR_OWN_COUNT] = {{.fd = -1}, {.fd = -1}, {.fd = -1}, {.fd = -1}, {.fd = -1}, {.fd = -1},
                       {.fd = -1}, {.fd = -1}, {.fd = -1}, {.fd = -1}, {.fd = -1}, {.fd = -1}};

static bool host_stays; /* no name leads to it for sure, so it makes no way */

static void note(enum mr_own which, int fd)
{
    own[which].fd = fd;
    own[which].lost = false;
    mr_descriptor_keep(fd);
    if (which == MR_OWN_TRACE)
        mr_messages_fd = fd < 0 ? STDERR_FILENO : fd;
    if (which == MR_OWN_PROC)
        mr_kernel_proc = fd;
}

/* ---- the guest's limit ---- */

static struct rlimit guests; /* while it is raised */
static unsigned raised;

/* Returns whether the process may have MARGIN numbers above what the guest may. Each call is followed by lower_limit. */
static bool raise_limit(void)
{
    if (raised++ > 0)
        return true;
    if (getrlimit(RLIMIT_NOFILE, &guests))
        return false;
    struct rlimit higher = {guests.rlim_cur + MARGIN, guests.rlim_max};
    if (higher.rlim_cur > higher.rlim_max)
        higher.rlim_max = higher.rlim_cur;
    if (setrlimit(RLIMIT_NOFILE, &higher) == 0)
        return true;
    higher = (struct rlimit){guests.rlim_max, guests.rlim_max};
    return setrlimit(RLIMIT_NOFILE, &higher) == 0 && higher.rlim_cur > guests.rlim_cur;
}

static void lower_limit(void)
{
    if (--raised == 0)
        setrlimit(RLIMIT_NOFILE, &guests);
}

void mr_own_begin(void)
{
    raise_limit();
}

void mr_own_ready(void)
{
    lower_limit();
}

/* ---- places ---- */

/* A copy with the highest number that the guest's limit has left, which is taken last; with `pair`, of two side by side. */
static int move_to_end(int fd, int limit, bool pair)
{
    for (int to = limit - 1 - pair; to > fd && to > limit - FEW; to--)
        if (fcntl(to, F_GETFD) < 0 && (!pair || fcntl(to + 1, F_GETFD) < 0))
            return fcntl(fd, F_DUPFD_CLOEXEC, to);
    return -1;
}

static bool crowded; /* the guest uses numbers from FAR on */

/* The guest uses numbers from `far` on. */
static void withdraw(void)
{
    crowded = crowded || far == FAR;
    far = FAR;
}

/* A copy of a descriptor where the guest's are not, or at the end of what it may have; -1: there is no place. */
static int move_up(int fd, bool pair)
{
    raise_limit();
    const rlim_t most = MR_FD_TABLE - MARGIN;
    int limit = (int)(guests.rlim_cur < most ? guests.rlim_cur : most);
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, limit > far && !crowded ? far : limit);
    if (moved < 0)
        moved = move_to_end(fd, limit, pair);
    lower_limit();
    if (moved < (int)MR_FD_TABLE)
        return moved;
    close(moved); /* nobody would know whose it is */
    return -1;
}

int mr_own_moved(int fd)
{
    int moved = fd < 0 ? -1 : move_up(fd, false);
    if (moved >= 0)
        close(fd);
    return moved >= 0 ? moved : fd;
}

/* Two numbers side by side for the host and its program. */
static int move_behind_host(int fd)
{
    raise_limit();
    int host = own[MR_OWN_HOST].fd, moved = fcntl(fd, F_DUPFD_CLOEXEC, host + 1);
    while (moved > host + 1) {
        int next = fcntl(host, F_DUPFD_CLOEXEC, moved + 1);
        if (next < 0)
            break;
        mr_descriptor_give_up(host);
        close(host);
        close(moved);
        note(MR_OWN_HOST, host = next);
        moved = fcntl(fd, F_DUPFD_CLOEXEC, host + 1);
    }
    lower_limit();
    return moved;
}

void mr_own_keep(enum mr_own which, int fd)
{
    struct rlimit now;
    if (fd < 0)
        return;
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    bool beside = which == MR_OWN_PROGRAM && own[MR_OWN_HOST].fd >= 0;
    rlim_t limit = raised > 0 ? guests.rlim_cur : getrlimit(RLIMIT_NOFILE, &now) == 0 ? now.rlim_cur : 0;
    bool stays = !beside && (rlim_t)fd >= (limit < (rlim_t)far ? limit : (rlim_t)far);
    int moved = stays ? -1 : beside ? move_behind_host(fd) : move_up(fd, which == MR_OWN_HOST);
    if (moved >= 0)
        close(fd);
    note(which, moved >= 0 ? moved : fd);
}

/* ---- making way, and coming back ---- */

static void let_go(enum mr_own which, bool close_it)
{
    struct own *one = &own[which];
    struct stat status;
    int fd = one->fd;
    ssize_t length = which > MR_OWN_PROC ? -1 : mr_descriptor_link(fd, one->name, sizeof one->name);
    if (which == MR_OWN_HOST)
        length = snprintf(one->name, sizeof one->name, "/proc/self/exe"); /* also where it was deleted */
    bool known = length > 0 && fstat(fd, &status) == 0;
    mr_descriptor_give_up(fd);
    if (close_it)
        close(fd);
    note(which, -1);
    if (known) {
        one->device = status.st_dev;
        one->inode = status.st_ino;
    }
    one->lost = known;
}

static bool is_same(const struct stat *one, const struct own *other)
{
    return one->st_dev == other->device && one->st_ino == other->inode;
}

static void open_again(enum mr_own which)
{
    const struct own *one = &own[which];
    struct stat status;
    bool folder = which == MR_OWN_SYSROOT || which == MR_OWN_PROC;
    int fd = open(one->name, folder ? O_PATH | O_DIRECTORY | O_CLOEXEC : O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
        return;
    if (fstat(fd, &status) == 0 && is_same(&status, one))
        mr_own_keep(which, fd);
    else
        close(fd);
}

int mr_own_descriptor(enum mr_own which)
{
    if (own[which].fd < 0 && own[which].lost) {
        mr_lock();
        open_again(which);
        mr_unlock();
    }
    return own[which].fd;
}

bool mr_own_is(enum mr_own which, int fd)
{
    struct stat given, kept;
    if (fstat(fd, &given))
        return false;
    if (own[which].fd < 0)
        return own[which].lost && is_same(&given, &own[which]);
    return fstat(own[which].fd, &kept) == 0 && mr_is_same_inode(&given, &kept);
}

const char *mr_own_lost_name(enum mr_own which)
{
    struct stat status;
    bool lost = own[which].fd < 0 && own[which].lost && (which != MR_OWN_HOST || !host_stays);
    bool there = lost && stat(own[which].name, &status) == 0 && is_same(&status, &own[which]);
    return there ? own[which].name : NULL;
}

void mr_own_come_back(void)
{
    for (int i = 0; i <= MR_OWN_PROC; i++)
        mr_own_descriptor(i);
    host_stays = true;
}

void mr_own_drop(enum mr_own which)
{
    if (own[which].fd >= 0) {
        mr_descriptor_give_up(own[which].fd);
        close(own[which].fd);
    }
    note(which, -1);
}

static void make_way(enum mr_own which)
{
    int fd = own[which].fd, moved = move_up(fd, which == MR_OWN_HOST);
    if (moved < 0 && which == MR_OWN_HOST && host_stays)
        return;
    if (moved < 0) {
        let_go(which, false); /* the caller replaces it */
        return;
    }
    mr_descriptor_give_up(fd);
    note(which, moved);
}

void mr_own_make_way(int fd)
{
    struct rlimit now;
    if (!mr_descriptor_is_host(fd) || getrlimit(RLIMIT_NOFILE, &now) || (rlim_t)fd >= now.rlim_cur)
        return;
    mr_lock();
    withdraw();
    for (int i = 0; i < MR_OWN_COUNT; i++)
        if (own[i].fd == fd)
            make_way(i);
    mr_unlock();
}

static bool make_room(void)
{
    struct rlimit now;
    bool made = false;
    if (getrlimit(RLIMIT_NOFILE, &now))
        return false;
    for (int i = host_stays ? MR_OWN_HOST + 1 : 0; i <= MR_OWN_PROC; i++)
        if (own[i].fd >= 0 && (rlim_t)own[i].fd < now.rlim_cur) {
            let_go(i, true);
            made = true;
        }
    return made;
}

bool mr_own_make_room(void)
{
    mr_lock();
    bool made = make_room();
    mr_unlock();
    return made;
}

/* Those that the guest may come to: from `first` on, below its limit. */
static void move_all(int first)
{
    struct rlimit now;
    if (getrlimit(RLIMIT_NOFILE, &now))
        return;
    for (int i = 0; i < MR_OWN_COUNT; i++) {
        int old = own[i].fd, moved = old >= first && (rlim_t)old < now.rlim_cur ? move_up(old, i == MR_OWN_HOST) : -1;
        if (moved < 0)
            continue;
        mr_descriptor_give_up(old);
        close(old);
        note(i, moved);
    }
}

void mr_own_move_down(int to)
{
    far = to;
    for (int i = 0; i < MR_OWN_COUNT; i++) {
        int old = own[i].fd;
        bool beside = i == MR_OWN_PROGRAM && own[MR_OWN_HOST].fd >= 0;
        int moved = old < to ? -1 : beside ? move_behind_host(old) : fcntl(old, F_DUPFD_CLOEXEC, to);
        if (moved < 0)
            continue;
        mr_descriptor_give_up(old);
        close(old);
        note(i, moved);
    }
}

void mr_own_limit_changed(void)
{
    move_all(0);
}

void mr_own_guest_may_get(void)
{
    struct rlimit now;
    if (getrlimit(RLIMIT_NOFILE, &now) == 0 && (now.rlim_cur <= (rlim_t)far || crowded))
        mr_own_make_room();
}

void mr_own_guest_has(int fd)
{
    int first = far;
    if (crowded || fd < first - MARGIN)
        return;
    mr_lock();
    withdraw();
    move_all(first);
    mr_unlock();
}

/* ---- what the host opens for a moment, though the guest has all that it may have ---- */

int mr_own_openat(int directory, const char *name, int flags)
{
    flags |= O_CLOEXEC | O_NOCTTY; /* a terminal that others have put into a file's place does not become the process's own */
    int fd = openat(directory, name, flags);
    if (fd >= 0 || errno != EMFILE)
        return fd;
    mr_lock();
    raise_limit();
    fd = openat(directory, name, flags);
    if (fd < 0 && errno == EMFILE && make_room())
        fd = openat(directory, name, flags);
    int error = errno;
    lower_limit();
    mr_unlock();
    errno = error;
    return fd;
}

int mr_own_open_file(int directory, const char *name, int flags)
{
    struct stat status;
    bool is_device = fstatat(directory, name, &status, flags & O_NOFOLLOW ? AT_SYMLINK_NOFOLLOW : 0) == 0 &&
                     (S_ISCHR(status.st_mode) || S_ISBLK(status.st_mode));
    return mr_own_openat(directory, name, is_device ? O_PATH | (flags & O_NOFOLLOW) : flags);
}

int mr_own_pipe(int ends[2])
{
    if (pipe2(ends, O_CLOEXEC) == 0 || errno != EMFILE)
        return ends[0] < 0 ? -1 : 0;
    raise_limit();
    int result = pipe2(ends, O_CLOEXEC), error = errno;
    lower_limit();
    errno = error;
    return result;
}
