/* The guest's memory as it was before an input, for AFL_QEMU_PERSISTENT_MEM.
 *
 * Enters: memory in which the process has done nothing yet. Leaves: the same bytes, after each input. A page that may be written
 * and was there is compared with its copy; one that was not there becomes again what its file has, or zeros.
 */
#include "base/messages.h"
#include "coverage/coverage.h"
#include "memory/memory.h"
#include "memory/pages.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Neighbours that are alike. */
static struct run {
    uint32_t page, count;
    uint8_t *copy; /* NULL: they were not there */
} *runs;
static uint32_t run_count;
static uint8_t *pages_before; /* mr_pages */
static uint64_t time_before;  /* mr_pages_time */
static uint32_t left_low, left_high; /* pages that are let alone */

static bool may_change(uint32_t page)
{
    return (mr_pages[page] & (MR_WRITE | MR_SHARED)) == MR_WRITE && (page < left_low || page >= left_high);
}

static bool is_there(uint32_t page)
{
    unsigned char state = 0;
    return mincore(mr_host_at(page * MR_PAGE_BYTES), MR_PAGE_BYTES, &state) == 0 && (state & 1) != 0;
}

/* Calls `visit` for each run; returns how many there are. */
static uint32_t each_run(void (*visit)(uint32_t number, uint32_t page, uint32_t count, bool there))
{
    uint32_t number = 0, count;
    for (uint32_t page = 0; page < sizeof mr_pages; page += count) {
        count = 1;
        if (!may_change(page))
            continue;
        bool there = is_there(page);
        while (page + count < sizeof mr_pages && may_change(page + count) && is_there(page + count) == there)
            count++;
        if (visit != NULL)
            visit(number, page, count, there);
        number++;
    }
    return number;
}

static void keep(uint32_t number, uint32_t page, uint32_t count, bool there)
{
    size_t size_bytes = (size_t)count * MR_PAGE_BYTES;
    void *copy = NULL;
    if (number >= run_count)
        return;
    if (there) {
        copy = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (copy == MAP_FAILED)
            mr_fail("AFL_QEMU_PERSISTENT_MEM: no memory to keep %u pages in", count);
        memcpy(copy, mr_host_at(page * MR_PAGE_BYTES), size_bytes);
    }
    runs[number] = (struct run){page, count, copy};
}

void mr_snapshot_take(uint32_t without, uint32_t size_bytes)
{
    left_low = without / MR_PAGE_BYTES;
    left_high = left_low + size_bytes / MR_PAGE_BYTES;
    run_count = each_run(NULL);
    pages_before = malloc(sizeof mr_pages);
    runs = calloc(run_count + 1, sizeof *runs);
    if (pages_before == NULL || runs == NULL)
        mr_fail("AFL_QEMU_PERSISTENT_MEM: no memory for %u places", run_count);
    memcpy(pages_before, mr_pages, sizeof mr_pages);
    time_before = mr_pages_time();
    each_run(keep);
}

static void restore_pages(const struct run *run)
{
    for (uint32_t i = 0; i < run->count; i++) {
        uint8_t *bytes = mr_host_at((run->page + i) * MR_PAGE_BYTES), *before = run->copy + (size_t)i * MR_PAGE_BYTES;
        if (memcmp(bytes, before, MR_PAGE_BYTES) != 0)
            memcpy(bytes, before, MR_PAGE_BYTES);
    }
}

bool mr_snapshot_restore(void)
{
    if (runs == NULL)
        return true;
    if (mr_pages_time() != time_before && memcmp(pages_before, mr_pages, sizeof mr_pages) != 0)
        return false;
    time_before = mr_pages_time();
    for (const struct run *run = runs; run < runs + run_count; run++) {
        if (run->copy != NULL)
            restore_pages(run);
        else
            madvise(mr_host_at(run->page * MR_PAGE_BYTES), (size_t)run->count * MR_PAGE_BYTES, MADV_DONTNEED);
    }
    return true;
}
