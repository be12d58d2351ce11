/* Where translated code lies, and of which guest code it is: a table of entries by guest pc, and units by host address.
 *
 * Everything that changes it is done under mr_lock. Threads that execute code, and handlers of signals, read without it: an
 * entry is one word, units are only added, and a jump changes by one store.
 *
 * When guest code changes, the units made of it lose their entries, and the jumps to them go back to their stubs. Their
 * memory stays: a thread may still be in them. The memory is a ring of regions. When one is full, the next one is cleared:
 * all its units lose their entries, and it is filled again once no thread can be in it any more (code_users.c).
 */
#include "base/instructions.h"
#include "base/lock.h"
#include "baseline/baseline.h"
#include "baseline/parts.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define TABLE_BYTES ((size_t)1 << 32)
#define REGIONS 4u
#define USER_PAGES (MR_USER_END / MR_PAGE_BYTES)
#define CHUNK_SHIFT 16 /* of guest code, whose part of the table is made writable at once */
#define REGION_UNITS (1u << 18)

struct unit {
    uint32_t start, entry_count; /* of guest code, as far as instructions may begin; 0: forgotten */
    uint8_t *code;
    uint32_t size_bytes, place_count;
    struct mr_unit_place *places;
    struct mr_link *links; /* to it */
};

/* A unit is of one or two guest pages. */
struct page_unit {
    uint32_t number;
    struct page_unit *next;
};

struct mr_entrance mr_entrance;
struct mr_baseline_counts mr_baseline_counts;

struct region {
    uint8_t *start, *next, *end;
    struct unit *units; /* by code; reserved */
    _Atomic uint32_t unit_count;
    bool retired; /* at a time; it has no entries */
    uint32_t time;
};

static uint8_t *cache;
static struct region regions[REGIONS], *filling;
static struct unit *units; /* of all regions */
static struct page_unit **units_of_page;
static uint8_t *open_chunks, *open_chunks16;

struct reservation {
    void **range;
    size_t size_bytes;
    int protection;
};

static bool reserve_all(const struct reservation *wanted, unsigned count)
{
    unsigned got = 0;
    for (; got < count; got++) {
        *wanted[got].range = mmap(NULL, wanted[got].size_bytes, wanted[got].protection,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (*wanted[got].range == MAP_FAILED)
            break;
    }
    if (got == count)
        return true;
    while (got-- > 0)
        munmap(*wanted[got].range, wanted[got].size_bytes);
    return false;
}

bool mr_code_cache_start(struct mr_state *s)
{
    enum { READ_WRITE = PROT_READ | PROT_WRITE };
    void *table, *table16, *code, *all_units, *all_pages, *all_chunks, *all_chunks16;
    const struct reservation wanted[] = {
        {&table, TABLE_BYTES, PROT_READ}, /* so that no memory is charged for it however strict the host is */
        {&table16, TABLE_BYTES, PROT_READ},
        {&code, mr_code_cache_bytes, READ_WRITE | PROT_EXEC},
        {&all_units, REGIONS * REGION_UNITS * sizeof *units, READ_WRITE},
        {&all_pages, (USER_PAGES + 1) * sizeof *units_of_page, READ_WRITE},
        {&all_chunks, TABLE_BYTES >> CHUNK_SHIFT, READ_WRITE},
        {&all_chunks16, TABLE_BYTES >> CHUNK_SHIFT, READ_WRITE},
    };
    if (!reserve_all(wanted, sizeof wanted / sizeof *wanted))
        return false;
    cache = code;
    units = all_units;
    units_of_page = all_pages;
    open_chunks = all_chunks;
    open_chunks16 = all_chunks16;
    for (unsigned i = 0; i < REGIONS; i++) {
        regions[i].start = regions[i].next = cache + mr_code_cache_bytes / REGIONS * i;
        regions[i].end = regions[i].start + mr_code_cache_bytes / REGIONS;
        regions[i].units = units + (size_t)REGION_UNITS * i;
    }
    mr_write_entrance(cache, &mr_glue, &mr_entrance);
    regions[0].start = regions[0].next = cache + MR_ENTRANCE_BYTES;
    filling = regions;
    s->translated = table;
    s->translated16 = table16;
    s->code = cache;
    return true;
}

/* ---- whose code is at a host address ---- */

/* Returns NULL for none. */
static struct unit *unit_at(const uint8_t *code)
{
    const struct region *region = &regions[(size_t)(code - cache) / (mr_code_cache_bytes / REGIONS)];
    uint32_t low = 0, high = atomic_load(&region->unit_count);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (code < region->units[middle].code)
            high = middle;
        else
            low = middle + 1;
    }
    struct unit *unit = low > 0 ? &region->units[low - 1] : NULL;
    return unit != NULL && code < unit->code + unit->size_bytes ? unit : NULL;
}

const struct mr_unit_place *mr_code_place(uintptr_t host_pc)
{
    const uint8_t *code = cache + (host_pc - (uintptr_t)cache);
    if (cache == NULL || host_pc - (uintptr_t)cache >= mr_code_cache_bytes)
        return NULL;
    const struct unit *unit = unit_at(code);
    const struct mr_unit_place *found = NULL;
    for (uint32_t i = 0; unit != NULL && i < unit->place_count && unit->places[i].offset <= code - unit->code; i++)
        found = &unit->places[i];
    return found;
}

/* ---- units ---- */

/* Makes the entries of pcs from `from` to `to` writable, both of one kind of code. */
static bool open_table(const struct mr_state *s, uint32_t from, uint32_t to)
{
    uintptr_t table = (uintptr_t)(mr_is_mips16(from) ? s->translated16 : s->translated);
    uint8_t *opened = mr_is_mips16(from) ? open_chunks16 : open_chunks;
    uintptr_t first = ((uintptr_t)mr_code_entry(s, from) - table) >> CHUNK_SHIFT;
    uintptr_t last = ((uintptr_t)mr_code_entry(s, to) - table) >> CHUNK_SHIFT;
    for (uintptr_t chunk = first; chunk <= last; chunk++) {
        void *part = (void *)(table + (chunk << CHUNK_SHIFT));
        if (!opened[chunk] && mprotect(part, (size_t)1 << CHUNK_SHIFT, PROT_READ | PROT_WRITE) != 0)
            return false;
        opened[chunk] = true;
    }
    return true;
}

static void set_entry(const struct mr_state *s, uint32_t pc, int32_t displacement)
{
    __atomic_store_n(mr_code_entry(s, pc), displacement, __ATOMIC_RELEASE);
}

static bool note_page(uint32_t page, uint32_t number)
{
    struct page_unit *note = malloc(sizeof *note);
    if (note == NULL)
        return false;
    *note = (struct page_unit){number, units_of_page[page]};
    units_of_page[page] = note;
    return true;
}

bool mr_unit_add(struct mr_state *s, const struct mr_unit_text *text)
{
    uint32_t index = atomic_load(&filling->unit_count);
    uint32_t last = mr_unit_pc(text->start, text->entry_count - 1);
    struct unit *unit = &filling->units[index];
    struct mr_unit_place *places = malloc(text->place_count * sizeof *places);
    uint32_t first_page = text->start / MR_PAGE_BYTES, last_page = last / MR_PAGE_BYTES, number = (uint32_t)(unit - units);
    if (places == NULL || !open_table(s, text->start, last) || !note_page(first_page, number) ||
        (last_page != first_page && !note_page(last_page, number))) {
        free(places);
        return false;
    }
    memcpy(places, text->places, text->place_count * sizeof *places);
    *unit = (struct unit){text->start, text->entry_count, text->code, (uint32_t)text->size_bytes,
                          text->place_count, places, NULL};
    filling->next = text->code + text->size_bytes;
    atomic_store(&filling->unit_count, index + 1);
    for (uint32_t i = 0; i < text->entry_count; i++)
        if (text->entries[i] != 0) {
            uint8_t *code = text->code + text->entries[i] - 1;
            set_entry(s, mr_unit_pc(text->start, i), (int32_t)(code - cache));
            mr_links_connect(mr_unit_pc(text->start, i), code, &unit->links);
        }
    mr_baseline_counts.units++;
    mr_baseline_counts.instructions += text->instruction_count;
    mr_baseline_counts.code_bytes += text->size_bytes;
    return true;
}

void mr_baseline_visit(void (*visit)(uint32_t start, void *argument), void *argument)
{
    mr_lock();
    for (const struct region *region = regions; region < regions + REGIONS; region++)
        for (uint32_t i = 0; i < region->unit_count; i++)
            if (region->units[i].entry_count != 0)
                visit(region->units[i].start, argument);
    mr_unlock();
}

void mr_link(struct mr_state *s, uint8_t *displacement, uint8_t *stub, uint32_t pc)
{
    uint8_t *code = mr_code_of(s, pc);
    mr_link_add(displacement, stub, pc, code, code != NULL ? &unit_at(code)->links : NULL);
}

/* ---- forgetting ---- */

static void forget(const struct mr_state *s, struct unit *unit)
{
    for (uint32_t i = 0; i < unit->entry_count; i++) {
        uint8_t *code = mr_code_of(s, mr_unit_pc(unit->start, i));
        if (code != NULL && code >= unit->code && code < unit->code + unit->size_bytes)
            set_entry(s, mr_unit_pc(unit->start, i), 0);
    }
    unit->entry_count = 0;
    mr_links_to_stubs(&unit->links);
}

void mr_unit_forget_at(const struct mr_state *s, uint32_t pc)
{
    uint8_t *code = mr_code_of(s, pc);
    if (code != NULL)
        forget(s, unit_at(code)); /* what its pages note of it is dropped when the dispatcher looks */
}

/* Drops what a page notes of forgotten units. Returns whether there were any. */
static bool drop_notes(uint32_t page)
{
    bool found = false;
    for (struct page_unit **at = &units_of_page[page]; *at != NULL;) {
        struct page_unit *note = *at;
        if (units[note->number].entry_count != 0) {
            at = &note->next;
            continue;
        }
        found = true;
        *at = note->next;
        free(note);
    }
    return found;
}

/* Forgets the units of a page that hold code of [guest, end). Returns whether there were any. */
static bool forget_in_page(const struct mr_state *s, uint32_t page, uint32_t guest, uint64_t end)
{
    for (const struct page_unit *note = units_of_page[page]; note != NULL; note = note->next) {
        struct unit *unit = &units[note->number];
        if (unit->start < end && mr_unit_pc(unit->start, unit->entry_count) > guest)
            forget(s, unit);
    }
    return drop_notes(page);
}

/* Jumps within a unit are not links: a thread that is in a loop there is sent out. */
void mr_units_forget(const struct mr_state *s, uint32_t guest, uint32_t size_bytes)
{
    uint64_t page = guest / MR_PAGE_BYTES, end = (uint64_t)guest + size_bytes;
    bool found = false;
    for (; page * MR_PAGE_BYTES < end && page < USER_PAGES; page++)
        found |= forget_in_page(s, (uint32_t)page, guest, end);
    if (found)
        mr_code_send_out();
}

/* ---- regions ---- */

/* Takes all entries from it. Threads that are in it leave on their own. */
static void retire(const struct mr_state *s, struct region *region)
{
    for (uint32_t i = 0; i < region->unit_count; i++)
        forget(s, &region->units[i]);
    region->retired = true;
    region->time = mr_code_retire();
}

/* Makes it empty: no thread is in it, and its units are forgotten. */
static void clear(struct region *region)
{
    size_t size_bytes = (size_t)(region->end - region->start);
    for (uint32_t i = 0; i < region->unit_count; i++) {
        uint32_t page = region->units[i].start / MR_PAGE_BYTES;
        drop_notes(page);
        drop_notes(page + 1); /* no unit is longer than a page */
        free(region->units[i].places);
    }
    for (unsigned i = 0; i < REGIONS; i++)
        for (uint32_t unit = 0; unit < regions[i].unit_count; unit++)
            mr_links_drop(&regions[i].units[unit].links, region->start, size_bytes);
    mr_links_drop_waiting(region->start, size_bytes);
    atomic_store(&region->unit_count, 0);
    region->next = region->start;
    region->retired = false;
}

static bool has_room(const struct region *region, size_t size_bytes)
{
    return size_bytes <= (size_t)(region->end - region->next) && region->unit_count < REGION_UNITS;
}

uint8_t *mr_code_room(const struct mr_state *s, size_t size_bytes)
{
    if (has_room(filling, size_bytes))
        return filling->next;
    struct region *next = filling + 1 < regions + REGIONS ? filling + 1 : regions;
    if (next->unit_count != 0 && !next->retired)
        retire(s, next);
    if (next->unit_count != 0 && !mr_code_retired(next->time))
        return NULL;
    clear(next);
    filling = next;
    return next->next;
}
