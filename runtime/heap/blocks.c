/* The heap: blocks of guest memory with room around them that nobody may touch, in regions of equal chunks.
 *
 * A region has chunks of one size, and stays. A chunk has a margin, the block, and another margin. A freed block waits,
 * untouchable, until so many bytes have been freed after it (QUARANTINE_BYTES). What is too large for chunks has a region of its
 * own, which is given back behind that.
 */
#include "heap/heap.h"
#include "memory/memory.h"
#include "memory/shadow.h"

#include <stdlib.h>
#include <sys/mman.h>

#define MARGIN_BYTES 16u
#define ALIGNMENT 8u
#define SMALLEST_CHUNK 48u
#define LARGEST_CHUNK (128u << 10)
#define REGION_BYTES (1u << 20)
#define UNIT_BYTES (64u << 10) /* regions are multiples of it */
#define QUARANTINE_BYTES (64u << 20)
#define MOST_BYTES (0x70000000u)
#define CLASSES 64u

struct region {
    uint32_t start, chunk_bytes, count, used;
    struct mr_block blocks[];
};
static struct region *region_of[(UINT64_C(1) << 32) / UNIT_BYTES];
static struct region *current[CLASSES]; /* that still has chunks which were never used */
static struct mr_block *ready[CLASSES]; /* chunks that are to be used again */
static struct {
    struct mr_block *first, *last;
    uint64_t size_bytes;
} quarantine;

/* Chunks grow by a quarter of a power of two, and by 16 bytes at first. */
static unsigned class_of(uint32_t chunk_bytes)
{
    if (chunk_bytes <= 128)
        return (chunk_bytes + 15) / 16;
    unsigned power = 31 - (unsigned)__builtin_clz(chunk_bytes - 1);
    return 8 + 4 * (power - 7) + ((chunk_bytes - 1) >> (power - 2) & 3) + 1;
}

static uint32_t bytes_of_class(unsigned class_)
{
    if (class_ <= 8)
        return 16 * class_;
    unsigned power = 7 + (class_ - 9) / 4, quarter = (class_ - 9) % 4;
    return (4 + quarter + 1) << (power - 2);
}

static struct region *make_region(uint32_t size_bytes, uint32_t chunk_bytes)
{
    uint32_t count = size_bytes / chunk_bytes, start = mr_find_free(size_bytes + UNIT_BYTES);
    if (start == 0)
        return NULL;
    start = (start + UNIT_BYTES - 1) & ~(UNIT_BYTES - 1);
    if (mr_map(start, size_bytes, MR_READ | MR_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, true) < 0)
        return NULL;
    struct region *region = calloc(1, sizeof *region + count * sizeof *region->blocks);
    if (region == NULL) {
        mr_unmap(start, size_bytes);
        return NULL;
    }
    region->start = start;
    region->chunk_bytes = chunk_bytes;
    region->count = count;
    for (uint32_t at = start; at - start < size_bytes; at += UNIT_BYTES)
        region_of[at / UNIT_BYTES] = region;
    mr_shadow_forbid(start, size_bytes);
    return region;
}

/* ---- blocks that wait ---- */

static bool is_large(const struct region *region)
{
    return region->count == 1;
}

static struct region *region_with(const struct mr_block *block)
{
    return region_of[block->at / UNIT_BYTES];
}

static void give_back(struct region *region)
{
    for (uint32_t at = region->start; at - region->start < region->chunk_bytes; at += UNIT_BYTES)
        region_of[at / UNIT_BYTES] = NULL;
    mr_shadow_allow(region->start, region->chunk_bytes);
    mr_unmap(region->start, region->chunk_bytes);
    free(region);
}

static void take_first_waiting(void)
{
    struct mr_block *block = quarantine.first;
    struct region *region = region_with(block);
    quarantine.first = block->next;
    quarantine.size_bytes -= region->chunk_bytes;
    if (is_large(region)) {
        give_back(region);
        return;
    }
    struct mr_block **list = &ready[class_of(region->chunk_bytes)];
    block->next = *list;
    *list = block;
}

static void wait(struct mr_block *block)
{
    block->next = NULL;
    if (quarantine.first == NULL)
        quarantine.first = block;
    else
        quarantine.last->next = block;
    quarantine.last = block;
    quarantine.size_bytes += region_with(block)->chunk_bytes;
    while (quarantine.size_bytes > QUARANTINE_BYTES)
        take_first_waiting();
}

/* ---- chunks ---- */

static struct mr_block *next_unused(struct region *region)
{
    struct mr_block *block = &region->blocks[region->used];
    block->at = region->start + region->used++ * region->chunk_bytes;
    return block;
}

static struct mr_block *large_chunk(uint32_t chunk_bytes)
{
    uint32_t size_bytes = (chunk_bytes + UNIT_BYTES - 1) & ~(UNIT_BYTES - 1);
    struct region *region = make_region(size_bytes, size_bytes);
    if (region == NULL)
        return NULL;
    return next_unused(region);
}

static struct mr_block *small_chunk(unsigned class_)
{
    struct mr_block *found = ready[class_];
    if (found != NULL) {
        ready[class_] = found->next;
        return found;
    }
    if (current[class_] == NULL || current[class_]->used == current[class_]->count)
        current[class_] = make_region(REGION_BYTES, bytes_of_class(class_));
    return current[class_] != NULL ? next_unused(current[class_]) : NULL;
}

static struct mr_block *chunk(uint32_t chunk_bytes)
{
    for (;;) {
        struct mr_block *found = chunk_bytes > LARGEST_CHUNK ? large_chunk(chunk_bytes) : small_chunk(class_of(chunk_bytes));
        if (found != NULL || quarantine.first == NULL)
            return found;
        while (quarantine.first != NULL) /* memory is short: nothing waits any longer */
            take_first_waiting();
    }
}

/* ---- what functions.c asks ---- */

struct mr_block *mr_block_make(uint32_t size_bytes, uint32_t alignment, uint32_t trace)
{
    uint32_t room = size_bytes == 0 ? 1 : size_bytes, more = alignment > ALIGNMENT ? alignment : 0;
    if (size_bytes > MOST_BYTES || alignment > MOST_BYTES || (uint64_t)room + more + 3 * MARGIN_BYTES > MOST_BYTES)
        return NULL;
    uint32_t chunk_bytes = (room + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + more + 2 * MARGIN_BYTES;
    chunk_bytes = chunk_bytes < SMALLEST_CHUNK ? SMALLEST_CHUNK : chunk_bytes;
    struct mr_block *block = chunk(chunk_bytes);
    if (block == NULL)
        return NULL;
    const struct region *region = region_with(block);
    uint32_t at = region->start + (uint32_t)(block - region->blocks) * region->chunk_bytes + MARGIN_BYTES;
    block->at = more != 0 ? (at + alignment - 1) & ~(alignment - 1) : at;
    block->size_bytes = size_bytes;
    block->made = trace;
    block->freed = 0;
    block->state = MR_BLOCK_LIVE;
    block->next = NULL;
    mr_shadow_allow(block->at, size_bytes);
    return block;
}

void mr_block_free(struct mr_block *block, uint32_t trace)
{
    block->state = MR_BLOCK_FREED;
    block->freed = trace;
    mr_shadow_forbid(block->at, (block->size_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
    wait(block);
}

static struct mr_block *block_of_chunk(uint32_t guest)
{
    struct region *region = region_of[guest / UNIT_BYTES];
    if (region == NULL || (guest - region->start) / region->chunk_bytes >= region->count)
        return NULL;
    return &region->blocks[(guest - region->start) / region->chunk_bytes];
}

struct mr_block *mr_block_at(uint32_t guest)
{
    struct mr_block *block = block_of_chunk(guest);
    return block != NULL && block->state != MR_BLOCK_UNUSED && block->at == guest ? block : NULL;
}

/* How far an address is from the bytes of a block. */
static uint32_t distance(const struct mr_block *block, uint32_t guest)
{
    if (guest < block->at)
        return block->at - guest;
    return guest - block->at < block->size_bytes ? 0 : guest - block->at - block->size_bytes;
}

struct mr_block *mr_block_near(uint32_t guest)
{
    struct region *region = region_of[guest / UNIT_BYTES];
    struct mr_block *found = NULL;
    if (region == NULL)
        return NULL;
    uint32_t index = (guest - region->start) / region->chunk_bytes;
    for (uint32_t i = index > 0 ? index - 1 : 0; i <= index + 1 && i < region->count; i++) {
        struct mr_block *block = &region->blocks[i];
        if (block->state != MR_BLOCK_UNUSED && (found == NULL || distance(block, guest) < distance(found, guest)))
            found = block;
    }
    return found;
}
