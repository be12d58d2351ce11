/* vFile: the debugger reads the guest's files, such as its libraries below the sysroot. Nothing is written.
 *
 * Paths are the guest's, and follow the rules for those (linux/paths.h). A file that the debugger has opened is remembered by
 * its path, and opened anew for each request: the guest finds none of these descriptors among its own.
 */
#include "base/options.h"
#include "gdb/parts.h"
#include "linux/calls/made_files.h"
#include "linux/descriptors.h"
#include "linux/host_call.h"
#include "linux/paths.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_FILES 16
enum { FILE_UNKNOWN = 9999, FILE_NAME_TOO_LONG = 91, FILE_STAT_BYTES = 64 }; /* of gdb's manual, "File-I/O Remote Protocol" */

static struct {
    bool open;
    char path[PATH_MAX];
} files[MOST_FILES];

/* ---- replies ---- */

static void tell_error(struct mr_debug_reply *reply, int error)
{
    static const int shared[] = {EPERM, ENOENT, EINTR, EBADF, EACCES, EFAULT, EBUSY, EEXIST, ENODEV, ENOTDIR, EISDIR, EINVAL,
                                 ENFILE, EMFILE, EFBIG, ENOSPC, ESPIPE, EROFS};
    int code = error == ENAMETOOLONG ? FILE_NAME_TOO_LONG : FILE_UNKNOWN;
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
        if (shared[i] == error)
            code = error;
    mr_debug_add(reply, "F-1,%x", (unsigned)code);
}

/* ---- files ---- */

/* Returns a descriptor of a regular file, or -errno. */
static int open_path(const char *text)
{
    struct mr_path path;
    struct stat status;
    int64_t fd = -ENOENT;
    if (strcmp(text, mr_options.program_name) == 0)
        fd = mr_result(fcntl(mr_own_descriptor(MR_OWN_PROGRAM), F_DUPFD_CLOEXEC, 0));
    if (fd < 0) {
        fd = mr_path_find_text(&path, AT_FDCWD, text, MR_FOLLOW);
        if (fd == 0)
            fd = mr_result(openat(path.directory, path.name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
        mr_path_done(&path);
        fd = mr_made_file_for(fd, O_RDONLY | O_CLOEXEC);
    }
    if (fd >= 0 && (fstat((int)fd, &status) != 0 || !S_ISREG(status.st_mode))) {
        close((int)fd);
        return -EACCES;
    }
    return (int)fd;
}

static bool take_path(const char **at, char path[PATH_MAX])
{
    size_t length = mr_debug_take_hex(at, path, PATH_MAX - 1);
    path[length] = 0;
    return length > 0 && strlen(path) == length;
}

static int open_file(const char *rest, struct mr_debug_reply *reply)
{
    char path[PATH_MAX];
    uint64_t flags = 0;
    int slot = 0;
    if (!take_path(&rest, path) || !mr_debug_take(&rest, ',') || !mr_debug_take_number(&rest, &flags))
        return EINVAL;
    while (slot < MOST_FILES && files[slot].open)
        slot++;
    int fd = flags != 0 ? -EACCES : slot == MOST_FILES ? -EMFILE : open_path(path);
    if (fd < 0)
        return -fd;
    close(fd);
    files[slot].open = true;
    strcpy(files[slot].path, path);
    mr_debug_add(reply, "F%x", (unsigned)slot);
    return 0;
}

/* Returns the number of an open file, or -1. */
static int take_file(const char **at)
{
    uint64_t number;
    return mr_debug_take_number(at, &number) && number < MOST_FILES && files[number].open ? (int)number : -1;
}

static int close_file(const char *rest, struct mr_debug_reply *reply)
{
    int number = take_file(&rest);
    if (number < 0)
        return EBADF;
    files[number].open = false;
    mr_debug_add(reply, "F0");
    return 0;
}

/* Adds "F", the count in hexadecimal, and the bytes. What does not fit is left for the next request. */
static void add_bytes(struct mr_debug_reply *reply, const void *bytes, size_t size_bytes)
{
    static struct mr_debug_reply escaped;
    escaped.length = 0;
    mr_debug_add(&escaped, "F12345678;"); /* as long as the longest head */
    size_t head = escaped.length, count = mr_debug_add_binary(&escaped, bytes, size_bytes);
    mr_debug_add(reply, "F%x;", (unsigned)count);
    memcpy(reply->bytes + reply->length, escaped.bytes + head, escaped.length - head);
    reply->length += escaped.length - head;
}

static int read_file(const char *rest, struct mr_debug_reply *reply)
{
    static uint8_t bytes[MR_DEBUG_PACKET_BYTES];
    uint64_t count, offset;
    int number = take_file(&rest);
    if (number < 0 || !mr_debug_take(&rest, ',') || !mr_debug_take_number(&rest, &count) || !mr_debug_take(&rest, ',') ||
        !mr_debug_take_number(&rest, &offset) || offset > INT64_MAX)
        return number < 0 ? EBADF : EINVAL;
    int fd = open_path(files[number].path);
    int64_t got = fd < 0 ? fd : mr_result(pread(fd, bytes, count < sizeof bytes ? count : sizeof bytes, (off_t)offset));
    if (fd >= 0)
        close(fd);
    if (got < 0)
        return (int)-got;
    add_bytes(reply, bytes, (size_t)got);
    return 0;
}

static void put_big_endian(uint8_t **at, uint64_t value, unsigned size_bytes)
{
    for (unsigned shift = 8 * size_bytes; shift > 0; shift -= 8)
        *(*at)++ = (uint8_t)(value >> (shift - 8));
}

/* struct fio_stat. */
static void add_status(struct mr_debug_reply *reply, const struct stat *status)
{
    uint8_t bytes[FILE_STAT_BYTES], *at = bytes;
    const uint64_t first[] = {status->st_dev, status->st_ino, status->st_mode, status->st_nlink, status->st_uid,
                              status->st_gid, status->st_rdev};
    const uint64_t sizes[] = {(uint64_t)status->st_size, (uint64_t)status->st_blksize, (uint64_t)status->st_blocks};
    const uint64_t times[] = {(uint64_t)status->st_atime, (uint64_t)status->st_mtime, (uint64_t)status->st_ctime};
    for (int i = 0; i < 7; i++)
        put_big_endian(&at, first[i], 4);
    for (int i = 0; i < 3; i++)
        put_big_endian(&at, sizes[i], 8);
    for (int i = 0; i < 3; i++)
        put_big_endian(&at, times[i], 4);
    add_bytes(reply, bytes, sizeof bytes);
}

static int tell_status(const char *rest, struct mr_debug_reply *reply)
{
    struct stat status;
    int number = take_file(&rest), fd = number < 0 ? -EBADF : open_path(files[number].path);
    int error = fd < 0 ? -fd : fstat(fd, &status) != 0 ? errno : 0;
    if (fd >= 0)
        close(fd);
    if (error == 0)
        add_status(reply, &status);
    return error;
}

static int tell_link(const char *rest, struct mr_debug_reply *reply)
{
    struct mr_path path;
    char text[PATH_MAX], target[PATH_MAX];
    if (!take_path(&rest, text))
        return EINVAL;
    int64_t got = mr_path_find_text(&path, AT_FDCWD, text, MR_NO_FOLLOW);
    if (got == 0)
        got = mr_result(readlinkat(path.directory, path.name, target, sizeof target));
    mr_path_done(&path);
    if (got < 0)
        return (int)-got;
    add_bytes(reply, target, (size_t)got);
    return 0;
}

static int choose_filesystem(const char *rest, struct mr_debug_reply *reply)
{
    (void)rest;
    mr_debug_add(reply, "F0"); /* that of the guest, for every process */
    return 0;
}

int mr_debug_file_request(const char *rest, struct mr_debug_reply *reply)
{
    static const struct {
        const char *begin;
        int (*answer)(const char *rest, struct mr_debug_reply *reply); /* 0, or an errno of the host */
    } requests[] = {
        {"setfs:", choose_filesystem}, {"open:", open_file},   {"close:", close_file},
        {"pread:", read_file},         {"fstat:", tell_status}, {"readlink:", tell_link},
    };
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        if (strncmp(rest, requests[i].begin, strlen(requests[i].begin)) == 0) {
            int error = requests[i].answer(rest + strlen(requests[i].begin), reply);
            if (error != 0)
                tell_error(reply, error);
        }
    return MR_DEBUG_ADDED;
}
