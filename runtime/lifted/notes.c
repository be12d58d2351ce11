/* Notes on files, so that a file that is known is not read again.
 *
 *     CACHE/identities/DEVICE-INODE    the file's size and times when it was read, and its hash, or, of a library, "whole"
 *
 * A note counts until the size, modification or change time differ. What changes within the two seconds after it was read
 * might have the same times: a file so young has no notes. Nor has one that can have writers (writers.c). Who can write a
 * note decides which code runs, so only notes of root and the user count. Everything here fails quietly.
 *
 * A change time tells only what the kernel of this machine wrote. In an image, its maker wrote what he liked, and another
 * image may get the same device number later, with the same inodes and times. So what a file is, is not noted where it is
 * on a loop device, or read-only, or on a file system whose dates come from elsewhere.
 */
#include "base/same_inode.h"
#include "lifted/caches.h"
#include "lifted/this_user.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <linux/major.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define SETTLED_SECONDS 2
static const char whole[] = "whole";

static char notes_path[PATH_MAX];
static _Atomic unsigned writers; /* threads that write a note */

void mr_notes_forked(void)
{
    atomic_store(&writers, 0);
}

void mr_notes_open(const char *cache)
{
    char path[PATH_MAX], real[PATH_MAX];
    struct stat status;
    notes_path[0] = 0;
    while (atomic_load(&writers) != 0)
        sched_yield();
    if (cache == NULL || *cache == 0 || snprintf(path, sizeof path, "%s/identities", cache) >= (int)sizeof path)
        return;
    if (lstat(path, &status) != 0) /* it will be made */
        strcpy(notes_path, path);
    else if (mr_distrust(path, real) == NULL)
        strcpy(notes_path, real);
}

bool mr_is_same_file(const struct stat *a, const struct stat *b)
{
    return mr_is_same_inode(a, b) && a->st_size == b->st_size &&
           a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec == b->st_mtim.tv_nsec &&
           a->st_ctim.tv_sec == b->st_ctim.tv_sec && a->st_ctim.tv_nsec == b->st_ctim.tv_nsec;
}

bool mr_is_older(const struct stat *status, time_t seconds)
{
    struct timespec now;
    time_t changed = status->st_mtim.tv_sec, noted = status->st_ctim.tv_sec;
    clock_gettime(CLOCK_REALTIME, &now);
    return (changed > noted ? changed : noted) <= now.tv_sec - seconds;
}

bool mr_is_settled(const struct stat *status)
{
    return mr_is_older(status, SETTLED_SECONDS);
}

bool mr_has_kernels_dates(int fd, const struct stat *status)
{
    struct statfs system;
    return major(status->st_dev) != LOOP_MAJOR && fstatfs(fd, &system) == 0 && (system.f_flags & ST_RDONLY) == 0 &&
           system.f_type != FUSE_SUPER_MAGIC && system.f_type != V9FS_MAGIC;
}

static bool note_path(const char *folder, const struct stat *status, char *path, size_t size_bytes)
{
    int length = snprintf(path, size_bytes, "%s/%llx-%llx", folder, (unsigned long long)status->st_dev,
                          (unsigned long long)status->st_ino);
    return folder[0] != 0 && length >= 0 && (size_t)length < size_bytes;
}

/* The part of a note that says which state of the file it is of. */
static int note_head(const struct stat *status, char *text, size_t size_bytes)
{
    return snprintf(text, size_bytes, "1 %lld %lld.%09ld %lld.%09ld ", (long long)status->st_size,
                    (long long)status->st_mtim.tv_sec, status->st_mtim.tv_nsec, (long long)status->st_ctim.tv_sec,
                    status->st_ctim.tv_nsec);
}

/* The folder is trusted (mr_notes_open); a note in it may still be open to others, by an unusual umask. */
static bool is_trusted_note(int fd)
{
    struct stat status;
    return fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && (status.st_mode & (S_IWGRP | S_IWOTH)) == 0 &&
           mr_is_trusted_owner(status.st_uid);
}

static bool read_note(const struct stat *status, char value[MR_IDENTITY_DIGITS + 1])
{
    char path[PATH_MAX], head[160], text[320];
    int fd = note_path(notes_path, status, path, sizeof path) ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW) : -1;
    if (fd < 0)
        return false;
    ssize_t size_bytes = is_trusted_note(fd) ? read(fd, text, sizeof text - 1) : -1;
    close(fd);
    text[size_bytes > 0 ? size_bytes : 0] = 0;
    int head_bytes = note_head(status, head, sizeof head);
    size_t value_bytes = strcspn(text + (strlen(text) < (size_t)head_bytes ? 0 : head_bytes), "\n");
    if (strncmp(text, head, (size_t)head_bytes) != 0 || value_bytes > MR_IDENTITY_DIGITS ||
        text[(size_t)head_bytes + value_bytes] != '\n') /* cut off */
        return false;
    memcpy(value, text + head_bytes, value_bytes);
    value[value_bytes] = 0;
    return true;
}

/* Makes the folder in the cache, if it is missing. Returns whether it can be written now. */
static bool is_ready(const char *folder)
{
    char cache[PATH_MAX];
    snprintf(cache, sizeof cache, "%.*s", (int)(strrchr(folder, '/') - folder), folder);
    if (!mr_is_still_trusted(cache[0] != 0 ? cache : "/"))
        return false;
    mkdir(folder, 0755);
    return mr_is_still_trusted(folder);
}

static void write_note(const char *folder, const struct stat *status, const char *value)
{
    char path[PATH_MAX], partial[PATH_MAX + 32], text[320];
    uint64_t chance;
    if (!note_path(folder, status, path, sizeof path) || !is_ready(folder) ||
        getrandom(&chance, sizeof chance, GRND_NONBLOCK) != sizeof chance)
        return;
    snprintf(partial, sizeof partial, "%s/.partial-%016llx", folder, (unsigned long long)chance);
    int fd = open(partial, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd < 0)
        return;
    int head_bytes = note_head(status, text, sizeof text);
    int size_bytes = head_bytes + snprintf(text + head_bytes, sizeof text - (size_t)head_bytes, "%s\n", value);
    bool complete = write(fd, text, (size_t)size_bytes) == size_bytes;
    if ((close(fd) != 0) | !complete || rename(partial, path) != 0)
        unlink(partial);
}

void mr_note_write(const struct stat *status, const char *value)
{
    char folder[PATH_MAX];
    if (!mr_is_settled(status) || status->st_nlink == 0)
        return;
    atomic_fetch_add(&writers, 1);
    strcpy(folder, notes_path);
    write_note(folder, status, value);
    atomic_fetch_sub(&writers, 1);
}

bool mr_note_identity(int fd, const struct stat *status, char identity[MR_IDENTITY_DIGITS + 1])
{
    return mr_is_settled(status) && read_note(status, identity) && strlen(identity) == MR_IDENTITY_DIGITS &&
           strspn(identity, "0123456789abcdef") == MR_IDENTITY_DIGITS && mr_has_kernels_dates(fd, status);
}

bool mr_note_is_whole(const struct stat *status)
{
    char value[MR_IDENTITY_DIGITS + 1];
    return mr_is_settled(status) && read_note(status, value) && strcmp(value, whole) == 0;
}

void mr_note_whole(const struct stat *status)
{
    mr_note_write(status, whole);
}
