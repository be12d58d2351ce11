/* Entries of directories: getdents64, the older getdents, and readdir, which tells one entry at a time. */
#include "linux/calls/directories.h"
#include "linux/calls/syscall.h"
#include "linux/host_call.h"
#include "memory/values.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* struct linux_dirent64: inode number, position of the next entry, size of this one, kind, name. */
enum { WIDE_INO = 0, WIDE_NEXT = 8, WIDE_SIZE = 16, WIDE_KIND = 18, WIDE_NAME = 19 };
/* struct linux_dirent of a 32-bit kernel: the kind is its last byte. */
enum { NARROW_INO = 0, NARROW_NEXT = 4, NARROW_SIZE = 8, NARROW_NAME = 10 };

#define BUFFER_BYTES 32768u
#define LARGEST_ENTRY 280u /* a name of 255 bytes */

static uint16_t host16(const uint8_t *from)
{
    uint16_t value;
    memcpy(&value, from, sizeof value);
    return value;
}

static uint64_t host64(const uint8_t *from)
{
    uint64_t value;
    memcpy(&value, from, sizeof value);
    return value;
}

/* Writes an entry in one of the old layouts; returns its size, or 0 when there is no room. */
typedef uint32_t (*entry_writer)(int fd, uint8_t *to, uint32_t room, const uint8_t *entry);

static uint32_t put_wide_entry(int fd, uint8_t *to, uint32_t room, const uint8_t *entry)
{
    uint16_t size = host16(entry + WIDE_SIZE);
    if (size > room)
        return 0;
    memcpy(to, entry, size);
    mr_put64(to + WIDE_INO, host64(entry + WIDE_INO));
    mr_put64(to + WIDE_NEXT, (uint64_t)mr_directory_narrow(fd, (int64_t)host64(entry + WIDE_NEXT)));
    mr_put16(to + WIDE_SIZE, size);
    return size;
}

static uint32_t put_narrow_entry(int fd, uint8_t *to, uint32_t room, const uint8_t *entry)
{
    const char *name = (const char *)entry + WIDE_NAME;
    uint32_t size = (NARROW_NAME + (uint32_t)strlen(name) + 2 + 3) & ~3u;
    if (size > room)
        return 0;
    memset(to, 0, size);
    mr_put32(to + NARROW_INO, mr_narrow_inode(host64(entry + WIDE_INO)));
    mr_put32(to + NARROW_NEXT, (uint32_t)mr_directory_narrow(fd, (int64_t)host64(entry + WIDE_NEXT)));
    mr_put16(to + NARROW_SIZE, (uint16_t)size);
    strcpy((char *)to + NARROW_NAME, name);
    to[size - 1] = entry[WIDE_KIND];
    return size;
}

/* Entries that do not fit the guest's buffer are read again next time. */
static int64_t read_entries(int fd, uint32_t guest, uint32_t room, entry_writer put)
{
    uint8_t entries[BUFFER_BYTES], image[BUFFER_BYTES];
    off_t position = lseek(fd, 0, SEEK_CUR);
    room = room < BUFFER_BYTES - LARGEST_ENTRY ? room : BUFFER_BYTES - LARGEST_ENTRY;
    int64_t size_bytes = mr_result(syscall(SYS_getdents64, fd, entries, room + LARGEST_ENTRY));
    uint32_t used = 0;
    for (int64_t at = 0; at < size_bytes; at += host16(entries + at + WIDE_SIZE)) {
        uint32_t size = put(fd, image + used, room - used, entries + at);
        if (!size) {
            lseek(fd, position, SEEK_SET);
            break;
        }
        used += size;
        position = (off_t)host64(entries + at + WIDE_NEXT);
    }
    if (size_bytes <= 0)
        return size_bytes;
    if (!used)
        return -EINVAL;
    void *to = mr_guest_bytes(guest, used, MR_WRITE);
    if (!to)
        return -EFAULT;
    memcpy(to, image, used);
    return used;
}

SYSCALL(4219, getdents64, "dpu") { return read_entries(FD(0), U32(1), U32(2), put_wide_entry); }
SYSCALL(4141, getdents, "dpu") { return read_entries(FD(0), U32(1), U32(2), put_narrow_entry); }

/* struct old_linux_dirent: inode number, position, length of the name, name. */
#define OLD_NAME 10u

SYSCALL(4089, readdir, "dpu")
{
    uint8_t entry[LARGEST_ENTRY];
    off_t position = lseek(FD(0), 0, SEEK_CUR);
    int64_t size_bytes = mr_result(syscall(SYS_getdents64, FD(0), entry, sizeof entry));
    if (size_bytes <= 0)
        return size_bytes;
    const char *name = (const char *)entry + WIDE_NAME;
    uint32_t length = (uint32_t)strlen(name);
    lseek(FD(0), (off_t)host64(entry + WIDE_NEXT), SEEK_SET); /* more than one may have been read */
    uint8_t *to = mr_guest_bytes(U32(1), OLD_NAME + length + 1, MR_WRITE);
    if (!to)
        return -EFAULT;
    mr_put32(to, mr_narrow_inode(host64(entry + WIDE_INO)));
    mr_put32(to + 4, (uint32_t)mr_directory_narrow(FD(0), position));
    mr_put16(to + 8, (uint16_t)length);
    memcpy(to + OLD_NAME, name, length + 1);
    return 1;
}
