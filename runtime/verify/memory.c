/* The interpreter's memory under mipsrec verify: a second window with the same pages, and comparisons of the two.
 *
 * Enters: the mappings that memory/mapping.c makes, stores of the interpreter, ranges that system calls read or write. Leaves:
 * differences. Not done here: the copies of files mapped shared (verify/files.c).
 */
#include "base/messages.h"
#include "base/observe.h"
#include "memory/pages.h"
#include "memory/values.h"
#include "verify/verify.h"

#include <errno.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE_COUNT ((uint32_t)sizeof mr_pages)
#define LINE_BYTES 64u

uint8_t *mr_verify_window;
static uint8_t *lifted_window;            /* what mr_window is while the interpreter does not follow */
static uint8_t shared_pages[PAGE_COUNT];  /* 1: of a MAP_SHARED mapping */
static uint32_t shared_low = PAGE_COUNT, shared_high; /* all shared pages are from low on, below high */

/* Lines that the interpreter stored to since the last agreement, with what was there then. */
struct line {
    uint32_t number; /* address / LINE_BYTES */
    uint8_t before[LINE_BYTES];
};
static struct line *lines;
static size_t line_count, line_room;
static uint8_t *line_marks; /* one byte per line of the window: 1 when it is among `lines` */

struct range {
    uint32_t guest, size_bytes;
};
static struct range *ranges;
static size_t range_count, range_room;

static void *lifted_at(uint32_t guest)
{
    return (void *)((uintptr_t)lifted_window + guest);
}

static void *interpreted_at(uint32_t guest)
{
    return mr_verify_window + guest;
}

void *mr_verify_grown(void *elements, size_t count, size_t *room, size_t element_bytes)
{
    if (count < *room)
        return elements;
    *room = *room ? 2 * *room : 1024;
    elements = realloc(elements, *room * element_bytes);
    if (elements == NULL)
        mr_fail("verify: out of memory for the log of stores");
    return elements;
}

/* ---- comparing, where a page may lie beyond the end of the file it maps ---- */

static sigjmp_buf comparing;
static volatile bool is_comparing;

void mr_verify_comparing_faulted(void)
{
    if (is_comparing)
        siglongjmp(comparing, 1);
}

/* Compares bytes of one page; what cannot be read in one of the memories counts as equal. */
static bool bytes_differ(uint32_t guest, uint32_t size_bytes)
{
    if (sigsetjmp(comparing, 0) != 0) {
        is_comparing = false;
        return false;
    }
    is_comparing = true;
    bool differ = memcmp(lifted_at(guest), interpreted_at(guest), size_bytes) != 0;
    is_comparing = false;
    return differ;
}

static void describe(uint32_t guest, uint32_t size_bytes, bool stored, struct mr_verify_difference *difference)
{
    const uint8_t *lifted = lifted_at(guest), *interpreted = interpreted_at(guest);
    uint32_t at = 0;
    while (at < size_bytes && lifted[at] == interpreted[at])
        at++;
    uint32_t rest = LINE_BYTES - (guest + at) % LINE_BYTES;
    *difference = (struct mr_verify_difference){.address = guest + at, .stored = stored,
                                                .shared = shared_pages[(guest + at) / MR_PAGE_BYTES],
                                                .size_bytes = rest < 8 ? rest : 8};
    memcpy(difference->lifted, lifted + at, difference->size_bytes);
    memcpy(difference->interpreted, interpreted + at, difference->size_bytes);
}

/* Calls `visit` with the readable parts of a range, none of them longer than a page. Returns true as soon as one does. */
static bool any_part(uint32_t guest, uint32_t size_bytes, bool (*visit)(uint32_t, uint32_t, void *), void *argument)
{
    for (uint64_t at = guest, end = (uint64_t)guest + size_bytes; at < end;) {
        uint64_t page_end = (at | (MR_PAGE_BYTES - 1)) + 1, part_end = page_end < end ? page_end : end;
        if (mr_pages[at / MR_PAGE_BYTES] & MR_READ && visit((uint32_t)at, (uint32_t)(part_end - at), argument))
            return true;
        at = part_end;
    }
    return false;
}

bool mr_verify_read_interpreted(uint32_t guest, void *bytes, uint32_t size_bytes)
{
    if (!mr_accessible(guest, size_bytes, MR_READ))
        return false;
    memcpy(bytes, interpreted_at(guest), size_bytes);
    return true;
}

/* ---- the interpreter's stores ---- */

/* A page it may not write faults in the store itself. */
static void note_line(uint32_t number)
{
    if (line_marks[number] || !(mr_pages[number / (MR_PAGE_BYTES / LINE_BYTES)] & MR_WRITE))
        return;
    lines = mr_verify_grown(lines, line_count, &line_room, sizeof *lines);
    lines[line_count].number = number;
    memcpy(lines[line_count].before, interpreted_at(number * LINE_BYTES), LINE_BYTES);
    line_marks[number] = 1;
    line_count++;
}

static void note_store(uint32_t guest, uint32_t size_bytes)
{
    uint32_t first = guest / LINE_BYTES, last = (guest + size_bytes - 1) / LINE_BYTES;
    note_line(first);
    if (last != first)
        note_line(last);
}

void mr_verify_watch_stores(bool on)
{
    mr_store_watch = on ? note_store : NULL;
}

bool mr_verify_stores_differ(struct mr_verify_difference *difference)
{
    for (size_t i = 0; i < line_count; i++) {
        uint32_t guest = lines[i].number * LINE_BYTES;
        if (memcmp(lifted_at(guest), interpreted_at(guest), LINE_BYTES) != 0) {
            describe(guest, LINE_BYTES, true, difference);
            return true;
        }
    }
    while (line_count > 0)
        line_marks[lines[--line_count].number] = 0;
    return false;
}

void mr_verify_take_back_stores(void)
{
    while (line_count > 0) {
        const struct line *line = &lines[--line_count];
        memcpy(interpreted_at(line->number * LINE_BYTES), line->before, LINE_BYTES);
        line_marks[line->number] = 0;
    }
}

/* ---- everything ---- */

bool mr_verify_memory_differs(struct mr_verify_difference *difference)
{
    for (uint32_t page = 0; page < PAGE_COUNT; page++) {
        uint32_t guest = page * MR_PAGE_BYTES;
        if ((mr_pages[page] & MR_WRITE) == 0 || shared_pages[page] || !bytes_differ(guest, MR_PAGE_BYTES))
            continue;
        describe(guest, MR_PAGE_BYTES, false, difference);
        return true;
    }
    return false;
}

/* ---- what system calls and signals write ---- */

static bool part_differs(uint32_t guest, uint32_t size_bytes, void *difference)
{
    if (shared_pages[guest / MR_PAGE_BYTES] || !bytes_differ(guest, size_bytes))
        return false;
    describe(guest, size_bytes, false, difference);
    return true;
}

/* Whether the host has had bytes of a range before and so may have written to them. */
static bool is_old(uint32_t guest, uint32_t size_bytes)
{
    for (size_t i = 0; i < range_count; i++)
        if (guest < (uint64_t)ranges[i].guest + ranges[i].size_bytes && ranges[i].guest < (uint64_t)guest + size_bytes)
            return true;
    return false;
}

static void range(uint32_t guest, uint32_t size_bytes)
{
    struct mr_verify_difference difference;
    if (mr_store_watch != range || size_bytes == 0)
        return;
    if (!is_old(guest, size_bytes) && any_part(guest, size_bytes, part_differs, &difference))
        mr_verify_memory_disagrees(&difference);
    ranges = mr_verify_grown(ranges, range_count, &range_room, sizeof *ranges);
    ranges[range_count++] = (struct range){guest, size_bytes};
}

void mr_verify_watch_ranges(bool on)
{
    range_count = 0;
    mr_store_watch = on ? range : NULL;
}

static bool copy_part(uint32_t guest, uint32_t size_bytes, void *unused)
{
    (void)unused;
    if (!bytes_differ(guest, size_bytes))
        return false;
    uint8_t bits = mr_pages[guest / MR_PAGE_BYTES];
    void *page = interpreted_at(guest & ~(MR_PAGE_BYTES - 1));
    if (!(bits & MR_WRITE))
        mprotect(page, MR_PAGE_BYTES, PROT_READ | PROT_WRITE);
    memcpy(interpreted_at(guest), lifted_at(guest), size_bytes);
    if (!(bits & MR_WRITE))
        mprotect(page, MR_PAGE_BYTES, mr_host_protection(bits));
    return false;
}

void mr_verify_copy_ranges(void)
{
    for (size_t i = 0; i < range_count; i++)
        any_part(ranges[i].guest, ranges[i].size_bytes, copy_part, NULL);
    range_count = 0;
    if (shared_low >= shared_high)
        return;
    mr_verify_resize_files();
    for (uint32_t page = shared_low; page < shared_high; page++)
        if (shared_pages[page] && mr_pages[page] & MR_READ)
            copy_part(page * MR_PAGE_BYTES, MR_PAGE_BYTES, NULL);
}

/* ---- mappings ---- */

static void require(bool done)
{
    if (!done)
        mr_fail("verify: cannot map the interpreter's copy of the guest's memory: %s", strerror(errno));
}

static void map_at(uint32_t guest, uint64_t size_bytes, int protection, int flags, int fd, uint64_t offset)
{
    require(mmap(interpreted_at(guest), size_bytes, protection, flags | MAP_FIXED, fd, (off_t)offset) != MAP_FAILED);
}

static void mark_shared(uint32_t guest, uint64_t size_bytes, bool shared)
{
    uint32_t first = guest / MR_PAGE_BYTES, end = first + (uint32_t)(size_bytes / MR_PAGE_BYTES);
    memset(shared_pages + first, shared, end - first);
    if (shared) {
        shared_low = first < shared_low ? first : shared_low;
        shared_high = end > shared_high ? end : shared_high;
    }
}

static void map(uint32_t guest, uint64_t size_bytes, int protection, int host_flags, int fd, uint64_t offset)
{
    bool shared = (host_flags & MAP_TYPE) != MAP_PRIVATE, anonymous = host_flags & MAP_ANONYMOUS;
    int twin = shared && !anonymous ? mr_verify_file(fd) : fd;
    host_flags &= ~MAP_LOCKED; /* the limit is for one copy */
    mark_shared(guest, size_bytes, shared);
    if (shared && !anonymous && twin < 0) /* a device: what it shows now */
        map_at(guest, size_bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    else
        map_at(guest, size_bytes, protection, host_flags, anonymous ? -1 : twin, offset);
}

static void release(uint32_t guest, uint64_t size_bytes)
{
    map_at(guest, size_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    mark_shared(guest, size_bytes, false);
}

static void protect(uint32_t guest, uint64_t size_bytes, int protection)
{
    if (size_bytes > 0)
        require(mprotect(interpreted_at(guest), size_bytes, protection) == 0);
}

static void grow(uint32_t guest, uint64_t old_size, uint64_t new_size)
{
    uint32_t tail = (uint32_t)(guest + old_size);
    munmap(interpreted_at(tail), new_size - old_size);
    require(mremap(interpreted_at(guest), old_size, new_size, 0) != MAP_FAILED);
    mark_shared(tail, new_size - old_size, shared_pages[(tail - 1) / MR_PAGE_BYTES]);
}

static void move(uint32_t guest, uint64_t old_size, uint64_t new_size, uint32_t to)
{
    require(mremap(interpreted_at(guest), old_size, new_size, MREMAP_MAYMOVE | MREMAP_FIXED, interpreted_at(to)) !=
            MAP_FAILED);
    mark_shared(to, new_size, shared_pages[guest / MR_PAGE_BYTES]);
}

/* ---- the start ---- */

void mr_verify_memory_start(void)
{
    size_t size = MR_WINDOW_BYTES + 2 * MR_WINDOW_GUARD_BYTES;
    uint8_t *got = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    line_marks = mmap(NULL, MR_WINDOW_BYTES / LINE_BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED || line_marks == MAP_FAILED)
        mr_fail("verify: cannot reserve 4 GiB of address space for the interpreter's copy of the guest's memory (%s): "
                "lift the limit (ulimit -v unlimited)", strerror(errno));
    lifted_window = mr_window;
    mr_verify_window = got + MR_WINDOW_GUARD_BYTES;
    for (uint32_t page = 0; page < PAGE_COUNT; page++) {
        uint32_t guest = page * MR_PAGE_BYTES;
        if (!mr_pages[page])
            continue;
        map_at(guest, MR_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (mr_pages[page] & MR_READ && bytes_differ(guest, MR_PAGE_BYTES))
            memcpy(interpreted_at(guest), lifted_at(guest), MR_PAGE_BYTES);
        mprotect(interpreted_at(guest), MR_PAGE_BYTES, mr_host_protection(mr_pages[page]));
    }
    mr_observe.map = map;
    mr_observe.release = release;
    mr_observe.protect = protect;
    mr_observe.grow = grow;
    mr_observe.move = move;
    mr_observe.range = range;
}
