/* Entries of directories: getdents64, the older getdents, and readdir, which tells one entry at a time; positions. */
#include "base/lock.h"
#include "linux/calls/directories.h"
#include "linux/calls/syscall.h"
#include "linux/descriptors.h"
#include "linux/host_call.h"
#include "memory/values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- positions in directories, in the 31 bits that a 32-bit program has for them (off_t, telldir) ----
 *
 * A 64-bit kernel tells 64-bit positions: on ext4 they are hashes of names. A 32-bit kernel tells the upper half of
 * such a hash. Here the upper half stands for the whole one, or the next number that is free, and the pairs are
 * remembered with the descriptor and its copies, so that every position that was told can be gone back to.
 */

#define FIRST_SLOTS 64u /* a power of two */

struct positions {
    struct mr_descriptor_data data;
    uint32_t used, slot_count;
    struct pair {
        uint32_t narrow; /* 0: this slot is free */
        int64_t wide;
    } *slots;
};

static void free_positions(struct mr_descriptor_data *data)
{
    free(((struct positions *)data)->slots);
    free(data);
}

/* The slot that has this narrow position, or the free one for it. */
static struct pair *slot_of(const struct positions *positions, uint32_t narrow)
{
    uint32_t mask = positions->slot_count - 1, at = narrow * 2654435761u >> 7 & mask;
    while (positions->slots[at].narrow && positions->slots[at].narrow != narrow)
        at = (at + 1) & mask;
    return &positions->slots[at];
}

static bool grow(struct positions *positions)
{
    struct positions larger = *positions;
    larger.slot_count = positions->slot_count ? 2 * positions->slot_count : FIRST_SLOTS;
    larger.slots = calloc(larger.slot_count, sizeof *larger.slots);
    if (!larger.slots)
        return false;
    for (uint32_t i = 0; i < positions->slot_count; i++)
        if (positions->slots[i].narrow)
            *slot_of(&larger, positions->slots[i].narrow) = positions->slots[i];
    free(positions->slots);
    *positions = larger;
    return true;
}

static struct positions *positions_of(int fd, bool make)
{
    struct mr_descriptor_data *data = mr_descriptor_data(fd);
    if (data && data->free == free_positions)
        return (struct positions *)data;
    struct positions *positions = make && (uint32_t)fd < MR_FD_TABLE ? calloc(1, sizeof *positions) : NULL;
    if (!positions)
        return NULL;
    positions->data = (struct mr_descriptor_data){1, free_positions};
    mr_descriptor_set_data(fd, &positions->data);
    mr_descriptor_kinds[fd] = MR_FD_WIDE_DIRECTORY;
    return positions;
}

static int64_t remember(int fd, int64_t wide)
{
    struct positions *positions = positions_of(fd, true);
    if (!positions || (2 * positions->used >= positions->slot_count && !grow(positions)))
        return -ENOMEM;
    uint32_t narrow = (uint32_t)(wide >> 32) & INT32_MAX;
    for (;; narrow = (narrow + 1) & INT32_MAX) {
        if (narrow == 0) /* the beginning, and no mark of a free slot */
            continue;
        struct pair *slot = slot_of(positions, narrow);
        if (!slot->narrow) {
            *slot = (struct pair){narrow, wide};
            positions->used++;
        }
        if (slot->wide == wide)
            return narrow;
    }
}

int64_t mr_directory_narrow(int fd, int64_t wide)
{
    if (wide <= INT32_MAX)
        return wide;
    mr_lock();
    int64_t narrow = remember(fd, wide);
    mr_unlock();
    return narrow;
}

int64_t mr_directory_wide(int fd, int64_t narrow)
{
    if (narrow <= 0 || narrow > INT32_MAX)
        return narrow;
    mr_lock();
    const struct positions *positions = positions_of(fd, false);
    const struct pair *slot = positions && positions->slots ? slot_of(positions, (uint32_t)narrow) : NULL;
    int64_t wide = slot && slot->narrow ? slot->wide : narrow;
    mr_unlock();
    return wide;
}

/* ---- entries ---- */

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

SYSCALL(4219, getdents64, "Dpu") { return read_entries(FD(0), U32(1), U32(2), put_wide_entry); }
SYSCALL(4141, getdents, "Dpu") { return read_entries(FD(0), U32(1), U32(2), put_narrow_entry); }

/* struct old_linux_dirent: inode number, position, length of the name, name. */
#define OLD_NAME 10u

SYSCALL(4089, readdir, "Dpu")
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
