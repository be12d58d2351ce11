/* ioctl whose structures have no fixed size: extents of files, partitions, entropy, bits and names of input devices. */
#include "linux/abi.h"
#include "linux/calls/ioctl.h"
#include "linux/calls/layout.h"
#include "linux/descriptors.h"
#include "linux/host_call.h"
#include "memory/values.h"

#include <errno.h>
#include <linux/blkpg.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/random.h>
#include <stdlib.h>
#include <string.h>

/* ---- a head and a row of equal parts, the same on both sides but for the byte order ---- */

struct list {
    const char *head, *part;
    uint32_t part_count;
    bool descriptors; /* a part begins with one */
};

static uint32_t list_bytes(const struct list *list)
{
    return mr_layout_size(list->head).guest + list->part_count * mr_layout_size(list->part).guest;
}

typedef size_t (*converter)(const char *layout, const void *from, size_t from_bytes, void *to, size_t room);

static void convert_list(const struct list *list, converter convert, const uint8_t *from, uint8_t *to)
{
    uint32_t at = mr_layout_size(list->head).guest, part_bytes = mr_layout_size(list->part).guest;
    convert(list->head, from, MR_WHOLE, to, MR_WHOLE);
    for (uint32_t i = 0; i < list->part_count; i++, at += part_bytes)
        convert(list->part, from + at, MR_WHOLE, to + at, MR_WHOLE);
}

/* Numbers of the host's own become -1, which the kernel answers with EBADF in the part's status. */
static void take_away_hosts(const struct list *list, uint8_t *host)
{
    uint32_t at = mr_layout_size(list->head).guest, part_bytes = mr_layout_size(list->part).guest;
    for (uint32_t i = 0; i < list->part_count; i++, at += part_bytes) {
        int64_t fd;
        memcpy(&fd, host + at, sizeof fd);
        if (mr_descriptor_is_host((uint32_t)fd))
            memset(host + at, 0xff, sizeof fd);
    }
}

static int64_t ioctl_list(int fd, const struct mr_ioctl_row *row, uint32_t argument, const struct list *list)
{
    uint32_t size_bytes = list_bytes(list);
    uint8_t *guest = mr_guest_bytes(argument, size_bytes, MR_READ | MR_WRITE);
    uint8_t *host = guest ? malloc(size_bytes) : NULL;
    if (!host)
        return guest ? -ENOMEM : -EFAULT;
    convert_list(list, mr_layout_to_host, guest, host);
    if (list->descriptors)
        take_away_hosts(list, host);
    int64_t result = mr_ioctl_host(fd, row->host, MR_HOST(host));
    if (result >= 0)
        convert_list(list, mr_layout_to_guest, host, guest);
    free(host);
    return result;
}

#define MOST_EXTENTS (INT32_MAX / (uint32_t)sizeof(struct fiemap_extent))

/* struct fiemap: start, length, flags, how many extents are mapped and fit, reserved; struct fiemap_extent. */
int64_t mr_ioctl_extents(int fd, const struct mr_ioctl_row *row, uint32_t argument)
{
    struct fiemap map;
    if (mr_get_struct("2q4w", argument, &map))
        return -EFAULT;
    if (map.fm_extent_count > MOST_EXTENTS)
        return -EINVAL;
    return ioctl_list(fd, row, argument, &(const struct list){"2q4w", "5q4w", .part_count = map.fm_extent_count});
}

/* struct file_dedupe_range: offset, length, count, two reserved; struct file_dedupe_range_info has an errno. */
int64_t mr_ioctl_dedupe(int fd, const struct mr_ioctl_row *row, uint32_t argument)
{
    struct file_dedupe_range range;
    if (mr_get_struct("2q2hw", argument, &range))
        return -EFAULT;
    const struct list list = {"2q2hw", "3q2w", .part_count = range.dest_count, .descriptors = true};
    int64_t result = ioctl_list(fd, row, argument, &list);
    const uint32_t head_bytes = mr_layout_size(list.head).guest, part_bytes = mr_layout_size(list.part).guest;
    for (uint32_t i = 0; result >= 0 && i < list.part_count; i++) {
        uint32_t status, at = argument + head_bytes + i * part_bytes + 24;
        if (mr_read32(at, &status) == 0 && (int32_t)status < 0)
            mr_write32(at, (uint32_t)-mr_errno_to_mips(-(int32_t)status));
    }
    return result;
}

/* struct blkpg_ioctl_arg: what to do, flags, size, and a pointer to struct blkpg_partition. */
int64_t mr_ioctl_partition(int fd, const struct mr_ioctl_row *row, uint32_t argument)
{
    struct blkpg_partition partition;
    uint32_t words[4];
    if (mr_get_words(argument, words, 4) || mr_get_struct("2qw128b", words[3], &partition))
        return -EFAULT;
    const struct blkpg_ioctl_arg request = {(int)words[0], (int)words[1], (int)words[2], &partition};
    return mr_ioctl_host(fd, row->host, MR_HOST(&request));
}

#define MOST_ENTROPY_BYTES 65536u

/* struct rand_pool_info: how many bits, how many bytes, and the bytes. */
int64_t mr_ioctl_entropy(int fd, const struct mr_ioctl_row *row, uint32_t argument)
{
    uint32_t words[2];
    if (mr_get_words(argument, words, 2))
        return -EFAULT;
    uint32_t size_bytes = words[1] < MOST_ENTROPY_BYTES ? words[1] : MOST_ENTROPY_BYTES;
    const void *from = mr_guest_bytes(argument + 8, (int32_t)words[1] < 0 ? 0 : size_bytes, MR_READ);
    struct rand_pool_info *info = from ? malloc(sizeof *info + size_bytes) : NULL;
    if (!info)
        return from ? -ENOMEM : -EFAULT;
    info->entropy_count = (int)words[0];
    info->buf_size = (int)words[1] < 0 ? (int)words[1] : (int)size_bytes;
    memcpy(info->buf, from, info->buf_size < 0 ? 0 : size_bytes);
    int64_t result = mr_ioctl_host(fd, row->host, MR_HOST(info));
    free(info);
    return result;
}

/* ---- input devices: EVIOCGNAME(size) and its like ---- */

#define INPUT_TYPE 0x45u /* 'E' */
#define GUEST_READ 2u    /* _IOC_READ */

/* The bytes of each member, by the request's number in the device's; 0: the size is not the program's choice. */
static uint32_t input_member_bytes(uint32_t request)
{
    if (request >= 0x06 && request <= 0x08)
        return 1; /* EVIOCGNAME, EVIOCGPHYS, EVIOCGUNIQ */
    if (request == 0x09 || (request >= 0x18 && request <= 0x1b) || (request >= 0x20 && request < 0x40))
        return 4; /* EVIOCGPROP, EVIOCGKEY, EVIOCGLED, EVIOCGSND, EVIOCGSW, EVIOCGBIT: words of bits */
    return request == 0x0a || (request >= 0x40 && request < 0x80) ? 4 : 0; /* EVIOCGMTSLOTS, EVIOCGABS: int */
}

bool mr_ioctl_input(int fd, uint32_t number, uint32_t argument, int64_t *result)
{
    uint32_t direction = number >> 29, size_bytes = number >> 16 & 0x1fff, request = number & 0xff;
    uint32_t member_bytes = input_member_bytes(request);
    uint32_t bytes[0x2000 / 4] = {0};
    if ((number >> 8 & 0xff) != INPUT_TYPE || direction != GUEST_READ || !member_bytes)
        return false;
    uint8_t *to = mr_guest_bytes(argument, size_bytes, MR_WRITE);
    if (request == 0x0a && to && size_bytes >= 4) /* this one reads the first word */
        bytes[0] = mr_get32(to);
    *result = mr_ioctl_host(fd, 2u << 30 | size_bytes << 16 | (number & 0xffff), MR_HOST(bytes));
    if (*result < 0)
        return true;
    if (!to)
        *result = -EFAULT;
    else if (member_bytes == 1)
        memcpy(to, bytes, size_bytes);
    else
        mr_layout_to_guest("*w", bytes, size_bytes & ~3u, to, size_bytes);
    return true;
}
