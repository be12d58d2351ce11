/* The pages of the guest: the reserved window, and what each page of it allows.
 *
 * Enters: mappings that were made (mapping.c). Leaves: MR_* bits in mr_pages, and the page tables of memory model `paged`.
 * A free page of the window is PROT_NONE, so that a stray access faults.
 */
#include "memory/pages.h"

#include "base/kernel_proc.h"
#include "base/messages.h"
#include "base/observe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE_COUNT (1u << 20)

uint8_t *mr_window;
uint8_t mr_pages[PAGE_COUNT];
uint32_t mr_mmap_top = MR_USER_END;

static uint64_t changes; /* of bits, under mr_lock */
static uint8_t **read_table, **write_table; /* model `paged`, shared by all threads; NULL otherwise */
static uint32_t free_hint;                  /* no large free range lies between here and mr_mmap_top */

/* ---- the window ---- */

static uintptr_t lowest_host_address(void)
{
    unsigned long lowest = MR_LOWEST_GUEST;
    char path[MR_PROC_ROOM], text[24];
    int proc = mr_proc_at(path, "sys/vm/mmap_min_addr"), fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    text[length < 0 ? 0 : length] = 0;
    if (fd >= 0)
        close(fd);
    if (length > 0)
        lowest = strtoul(text, NULL, 10);
    return lowest < MR_PAGE_BYTES ? MR_PAGE_BYTES : mr_page_up(lowest);
}

static void reserve_identity(void)
{
    uintptr_t lowest = lowest_host_address();
    size_t size = MR_WINDOW_BYTES + MR_WINDOW_GUARD_BYTES - lowest;
    void *got = mmap((void *)lowest, size, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == (void *)lowest)
        return;
    if (got != MAP_FAILED) {
        munmap(got, size);
        errno = EEXIST; /* a kernel before 4.17 takes the address as a hint */
    }
    mr_fail("cannot reserve the low 4 GiB of this process for the guest (%s): %s", strerror(errno),
            errno == ENOMEM ? "lift the address space limit (ulimit -v unlimited)"
                            : "something else lies there; recompile the guest with --memory paged");
}

static void reserve_anywhere(void)
{
    size_t size = MR_WINDOW_BYTES + 2 * MR_WINDOW_GUARD_BYTES;
    uint8_t *got = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED)
        mr_fail("cannot reserve 4 GiB of address space for the guest (%s): lift the limit (ulimit -v unlimited)",
                strerror(errno));
    mr_window = got + MR_WINDOW_GUARD_BYTES;
}

void mr_memory_reserve(bool identity)
{
    long host_page_bytes = sysconf(_SC_PAGESIZE);
    if (host_page_bytes != (long)MR_PAGE_BYTES)
        mr_fail("this kernel's pages are %ld bytes; guest protections need %u", host_page_bytes, MR_PAGE_BYTES);
    if (identity)
        reserve_identity();
    else
        reserve_anywhere();
}

bool mr_pages_release(uint32_t guest, uint64_t size_bytes)
{
    if (mmap(mr_host_at(guest), size_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) ==
        MAP_FAILED)
        return false;
    MR_TELL(release, guest, size_bytes);
    return true;
}

/* ---- bookkeeping ---- */

struct mr_memory_limits mr_memory_limits = {UINT64_MAX, UINT64_MAX};
static int64_t counted_pages, data_pages;

uint64_t mr_pages_time(void)
{
    return changes;
}

void mr_page_set(uint32_t page, uint8_t bits)
{
    changes++;
    counted_pages += mr_page_counts(bits) - mr_page_counts(mr_pages[page]);
    data_pages += mr_page_is_data(bits) - mr_page_is_data(mr_pages[page]);
    mr_pages[page] = bits;
    if (read_table) {
        uint8_t *host = mr_host_at(page * MR_PAGE_BYTES);
        read_table[page] = bits & MR_READ ? host : NULL;
        write_table[page] = bits & MR_WRITE ? host : NULL;
    }
}

static bool within(int64_t page_count, uint64_t limit_bytes)
{
    return (uint64_t)page_count <= limit_bytes / MR_PAGE_BYTES;
}

bool mr_may_add(int64_t page_count, int64_t data_page_count)
{
    return (page_count <= 0 || within(counted_pages + page_count, mr_memory_limits.all_bytes)) &&
           (data_page_count <= 0 || within(data_pages + data_page_count, mr_memory_limits.data_bytes));
}

void mr_pages_set(uint32_t guest, uint64_t size_bytes, uint8_t bits)
{
    uint32_t first = guest / MR_PAGE_BYTES, count = (uint32_t)(size_bytes / MR_PAGE_BYTES);
    for (uint32_t page = first; page < first + count; page++)
        mr_page_set(page, bits);
}

bool mr_pages_are_free(uint32_t guest, uint64_t size_bytes)
{
    for (uint64_t at = guest; at < guest + size_bytes; at += MR_PAGE_BYTES)
        if (mr_pages[at / MR_PAGE_BYTES])
            return false;
    return true;
}

void mr_memory_tables(struct mr_state *s)
{
    if (!read_table) {
        size_t size = PAGE_COUNT * sizeof(uint8_t *);
        uint8_t **both = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (both == MAP_FAILED)
            mr_fail("cannot allocate the guest's page tables: %s", strerror(errno));
        read_table = both;
        write_table = both + PAGE_COUNT;
        for (uint32_t page = 0; page < PAGE_COUNT; page++)
            if (mr_pages[page])
                mr_page_set(page, mr_pages[page]);
    }
    s->read_pages = read_table;
    s->write_pages = write_table;
}

/* ---- free ranges ---- */

/* Returns the highest free range that ends at or below `end`, or 0. */
static uint32_t search_down(uint32_t end, uint32_t page_count)
{
    uint32_t run = 0;
    for (uint32_t page = end / MR_PAGE_BYTES; page-- > MR_LOWEST_GUEST / MR_PAGE_BYTES;) {
        run = mr_pages[page] ? 0 : run + 1;
        if (run == page_count)
            return page * MR_PAGE_BYTES;
    }
    return 0;
}

/* Returns the lowest free range at or above `start`, which leaves the gap below the stack free, or 0. */
static uint32_t search_up(uint32_t start, uint32_t page_count)
{
    uint32_t run = 0, end = MR_USER_END / MR_PAGE_BYTES;
    while (end > 0 && mr_pages[end - 1])
        end--;
    end = end > MR_STACK_GUARD_BYTES / MR_PAGE_BYTES ? end - MR_STACK_GUARD_BYTES / MR_PAGE_BYTES : 0;
    for (uint32_t page = start / MR_PAGE_BYTES; page < end; page++) {
        run = mr_pages[page] ? 0 : run + 1;
        if (run == page_count)
            return (page + 1 - run) * MR_PAGE_BYTES;
    }
    return 0;
}

uint32_t mr_find_free(uint32_t size_bytes)
{
    uint64_t size = mr_page_up(size_bytes);
    if (size == 0 || size > MR_USER_END)
        return 0;
    uint32_t page_count = (uint32_t)(size / MR_PAGE_BYTES);
    uint32_t end = free_hint && free_hint < mr_mmap_top ? free_hint : mr_mmap_top;
    uint32_t found = search_down(end, page_count);
    if (!found && end != mr_mmap_top)
        found = search_down(mr_mmap_top, page_count);
    if (found)
        free_hint = found;
    return found ? found : search_up(mr_mmap_top, page_count);
}

void mr_pages_were_freed(uint64_t end)
{
    if (free_hint != 0 && end > free_hint)
        free_hint = (uint32_t)end;
}

/* ---- looking ---- */

bool mr_accessible(uint32_t guest, uint32_t size_bytes, int prot)
{
    if (size_bytes == 0)
        return true;
    uint64_t last = (uint64_t)guest + size_bytes - 1;
    if (last >= MR_WINDOW_BYTES)
        return false;
    for (uint32_t page = guest / MR_PAGE_BYTES; page <= last / MR_PAGE_BYTES; page++)
        if ((mr_pages[page] & prot) != prot)
            return false;
    return true;
}
