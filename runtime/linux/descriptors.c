/* Kinds of descriptors; see descriptors.h. */
#include "linux/descriptors.h"

#include "base/kernel_proc.h"
#include "base/lock.h"
#include "linux/paths.h"

#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

uint8_t mr_descriptor_kinds[MR_FD_TABLE];
static struct mr_descriptor_data *kept[MR_FD_TABLE];

/* ---- the kinds ---- */

static const struct {
    const char *name; /* of its link in /proc/self/fd */
    enum mr_descriptor_kind kind;
} anonymous_inodes[] = {
    {"anon_inode:[eventfd]", MR_FD_NUMBER},   {"anon_inode:[timerfd]", MR_FD_NUMBER},
    {"anon_inode:[signalfd]", MR_FD_SIGNALS}, {"anon_inode:inotify", MR_FD_INOTIFY},
    {"anon_inode:[inotify]", MR_FD_INOTIFY},  {"anon_inode:[fanotify]", MR_FD_FANOTIFY},
};

/* Where there is no /proc, a descriptor that came from another program counts as plain. */
static enum mr_descriptor_kind kind_of_anonymous(int fd)
{
    char name[32];
    if (mr_descriptor_link(fd, name, sizeof name) < 0)
        return MR_FD_PLAIN;
    for (size_t i = 0; i < sizeof anonymous_inodes / sizeof *anonymous_inodes; i++)
        if (strcmp(name, anonymous_inodes[i].name) == 0)
            return anonymous_inodes[i].kind;
    return MR_FD_PLAIN;
}

enum mr_descriptor_kind mr_descriptor_find(int fd)
{
    struct stat status;
    if (fstat(fd, &status))
        return MR_FD_UNKNOWN; /* the call itself will say EBADF */
    enum mr_descriptor_kind kind = status.st_mode & S_IFMT ? MR_FD_PLAIN : kind_of_anonymous(fd);
    char name[PATH_MAX];
    if (S_ISREG(status.st_mode) && mr_proc_name_of(fd, name) && mr_proc_is_memory(name))
        kind = MR_FD_MEMORY;
    uint8_t unknown = MR_FD_UNKNOWN; /* unless another thread has just made it anew */
    if ((uint32_t)fd < MR_FD_TABLE)
        __atomic_compare_exchange_n(&mr_descriptor_kinds[fd], &unknown, (uint8_t)kind, false, __ATOMIC_RELAXED,
                                    __ATOMIC_RELAXED);
    return kind;
}

static void set_kind(int fd, uint8_t kind)
{
    __atomic_store_n(&mr_descriptor_kinds[fd], kind, __ATOMIC_RELAXED);
}

/* ---- what is kept with them ---- */

struct mr_descriptor_data *mr_descriptor_data(int fd)
{
    return (uint32_t)fd < MR_FD_TABLE ? kept[fd] : NULL;
}

void mr_descriptor_set_data(int fd, struct mr_descriptor_data *data)
{
    if ((uint32_t)fd >= MR_FD_TABLE) {
        data->free(data);
        return;
    }
    struct mr_descriptor_data *old = kept[fd];
    kept[fd] = data;
    if (old && --old->references == 0)
        old->free(old);
}

/* ---- making, copying, closing ---- */

int64_t mr_descriptor_made(int64_t fd, enum mr_descriptor_kind kind)
{
    if (fd < 0 || fd >= MR_FD_TABLE)
        return fd;
    mr_own_guest_has((int)fd);
    if (kept[fd])
        mr_descriptor_closed((int)fd);
    set_kind((int)fd, (uint8_t)kind);
    return fd;
}

int64_t mr_descriptor_copied(int from, int64_t to)
{
    if (to < 0 || to >= MR_FD_TABLE || to == from)
        return to;
    if ((uint32_t)from >= MR_FD_TABLE)
        return mr_descriptor_made(to, MR_FD_UNKNOWN);
    uint8_t kind = mr_descriptor_kinds[from];
    mr_descriptor_made(to, kind == MR_FD_HOST ? MR_FD_PLAIN : (enum mr_descriptor_kind)kind);
    if (!kept[from])
        return to;
    mr_lock();
    if (kept[from]) {
        kept[from]->references++;
        mr_descriptor_set_data((int)to, kept[from]);
    }
    mr_unlock();
    return to;
}

/* A plain descriptor stays so, for the next file of this number: who makes one of another kind says so. */
void mr_descriptor_closed(int fd)
{
    if ((uint32_t)fd >= MR_FD_TABLE || mr_descriptor_is_host(fd))
        return;
    if (mr_descriptor_kinds[fd] > MR_FD_PLAIN)
        set_kind(fd, MR_FD_UNKNOWN);
    if (!kept[fd])
        return;
    mr_lock();
    mr_descriptor_set_data(fd, NULL);
    mr_unlock();
}

void mr_descriptors_closed(uint32_t first, uint32_t last)
{
    for (uint32_t fd = first; fd <= last && fd < MR_FD_TABLE; fd++)
        mr_descriptor_closed((int)fd);
}

void mr_descriptor_keep(int fd)
{
    if ((uint32_t)fd < MR_FD_TABLE)
        set_kind(fd, MR_FD_HOST);
}

void mr_descriptor_give_up(int fd)
{
    if (mr_descriptor_is_host(fd))
        set_kind(fd, MR_FD_UNKNOWN);
}
