/* The host's own descriptors: see descriptors.h.
 *
 * They are close-on-exec and have high numbers, as far as the limit of open files lets them. Few programs use such numbers,
 * but many close all that there may be: close answers EBADF then, as for a number that nobody has.
 */
#include "base/messages.h"
#include "linux/descriptors.h"

#include <fcntl.h>
#include <unistd.h>

static int own[MR_OWN_COUNT] = {-1, -1, -1, -1, -1};

static void note(enum mr_own which, int fd)
{
    own[which] = fd;
    if (which == MR_OWN_TRACE)
        mr_messages_fd = fd < 0 ? STDERR_FILENO : fd;
}

/* Where the limit is low, any number has to do. */
static int move_up(int fd)
{
    static const int starts[] = {MR_OWN_FIRST, 200, 100, 50, 20, 10};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++) {
        int moved = fcntl(fd, F_DUPFD_CLOEXEC, starts[i]);
        if (moved >= 0)
            return moved;
    }
    return -1;
}

/* Two numbers side by side for the host and its program. */
static void keep_program(int fd)
{
    int moved = fcntl(fd, F_DUPFD_CLOEXEC, own[MR_OWN_HOST] + 1);
    while (moved > own[MR_OWN_HOST] + 1) {
        int host = fcntl(own[MR_OWN_HOST], F_DUPFD_CLOEXEC, moved + 1);
        if (host < 0)
            break;
        mr_descriptor_give_up(own[MR_OWN_HOST]);
        close(own[MR_OWN_HOST]);
        close(moved);
        note(MR_OWN_HOST, host);
        moved = fcntl(fd, F_DUPFD_CLOEXEC, host + 1);
    }
    if (moved >= 0)
        close(fd);
    note(MR_OWN_PROGRAM, moved >= 0 ? moved : fd);
    mr_descriptor_keep(own[MR_OWN_HOST]);
    mr_descriptor_keep(own[MR_OWN_PROGRAM]);
}

void mr_own_keep(enum mr_own which, int fd)
{
    if (fd < 0)
        return;
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    if (which == MR_OWN_PROGRAM && own[MR_OWN_HOST] >= 0) {
        keep_program(fd);
        return;
    }
    int moved = fd >= MR_OWN_FIRST ? -1 : move_up(fd);
    if (moved >= 0)
        close(fd);
    note(which, moved >= 0 ? moved : fd);
    mr_descriptor_keep(own[which]);
}

int mr_own_descriptor(enum mr_own which)
{
    return own[which];
}

void mr_own_drop(enum mr_own which)
{
    if (own[which] >= 0) {
        mr_descriptor_give_up(own[which]);
        close(own[which]);
    }
    note(which, -1);
}

void mr_own_make_way(int fd)
{
    for (int i = 0; i < MR_OWN_COUNT; i++)
        if (fd >= 0 && own[i] == fd) {
            note(i, move_up(fd)); /* the caller replaces fd */
            mr_descriptor_give_up(fd);
            mr_descriptor_keep(own[i]);
        }
}
