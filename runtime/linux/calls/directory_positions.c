/* Positions in directories, in the 31 bits that a 32-bit program has for them (off_t, telldir).
 *
 * A 64-bit kernel tells 64-bit positions: on ext4 they are hashes of names. A 32-bit kernel tells the upper half of such a
 * hash. Here the upper half stands for the whole one, or the next number that is free, and the pairs are remembered with the
 * descriptor and its copies, so that every position that was told can be gone back to.
 */
#include "base/lock.h"
#include "linux/calls/directories.h"
#include "linux/descriptors.h"

#include <errno.h>
#include <stdlib.h>

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
