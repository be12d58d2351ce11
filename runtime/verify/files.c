/* Files that the guest maps shared, under mipsrec verify: each has a copy for the interpreter, as every store to it would else
 * happen twice. All mappings of a file show the same bytes, and so must all of its copies. A copy is brought up to date at each
 * system call. Not done here: memory that another process changes while both sides run.
 */
#include "base/messages.h"
#include "verify/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_OWN_FD 900 /* out of the way of the guest's descriptors */

struct twin {
    dev_t device;
    ino_t inode;
    int original, copy;
    off_t size_bytes;
};
static struct twin *twins;
static size_t twin_count, twin_room;

static void copy_file(const struct twin *twin)
{
    static uint8_t buffer[1 << 16];
    ssize_t count;
    for (off_t at = 0; (count = pread(twin->original, buffer, sizeof buffer, at)) > 0; at += count)
        if (pwrite(twin->copy, buffer, (size_t)count, at) != count)
            mr_fail("verify: no room for a copy of a file that the guest maps shared");
}

static bool resize(struct twin *twin, off_t size_bytes)
{
    if (ftruncate(twin->copy, size_bytes) != 0)
        return false;
    twin->size_bytes = size_bytes;
    return true;
}

void mr_verify_resize_files(void)
{
    struct stat status;
    for (size_t i = 0; i < twin_count; i++)
        if (fstat(twins[i].original, &status) == 0 && status.st_size != twins[i].size_bytes)
            resize(&twins[i], status.st_size);
}

int mr_verify_file(int fd)
{
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return -1;
    size_t i = 0;
    while (i < twin_count && (twins[i].device != status.st_dev || twins[i].inode != status.st_ino))
        i++;
    if (i == twin_count) {
        twins = mr_verify_grown(twins, twin_count, &twin_room, sizeof *twins);
        twins[i] = (struct twin){status.st_dev, status.st_ino, fcntl(fd, F_DUPFD_CLOEXEC, FIRST_OWN_FD), -1, 0};
        int copy = memfd_create("mipsrec-verify", MFD_CLOEXEC);
        twins[i].copy = copy < 0 ? -1 : fcntl(copy, F_DUPFD_CLOEXEC, FIRST_OWN_FD);
        close(copy);
        twin_count++;
    }
    if (twins[i].original < 0 || twins[i].copy < 0 || !resize(&twins[i], status.st_size))
        mr_fail("verify: cannot make a copy of a file that the guest maps shared: %s", strerror(errno));
    copy_file(&twins[i]);
    return twins[i].copy;
}
