/* Where translated code lies: one range of host memory that is filled from its start, and the table of entries by guest pc.
 *
 * Everything that changes it is done under mr_lock. Threads that execute code, and handlers of signals, read without it: an
 * entry is one word, units are only added, and a jump changes by one store.
 *
 * When guest code changes, the units made of its page lose their entries, and the jumps to them go back to their stubs.
 * Their memory stays until all code is thrown away: a thread may still be in them.
 */
#if defined(__x86_64__)

#include "../control.h"
#include "parts.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define TABLE_BYTES ((size_t)1 << 32)
#define CACHE_BYTES ((size_t)64 << 20)
#define USER_PAGES (MR_USER_END / MR_PAGE_BYTES)
#define CHUNK_SHIFT 16 /* of guest code, whose part of the table is made writable at once */
#define MOST_UNITS (1u << 20)
#define WAITING_KEYS 4096u

struct unit {
    uint32_t start, instruction_count; /* of guest code; 0 instructions: forgotten */
    uint8_t *code;
    uint32_t size_bytes, place_count;
    struct mr_unit_place *places;
    struct link *links; /* to it */
};

/* A jump that goes to a unit when there is one for its pc, else to its stub. */
struct link {
    uint8_t *displacement, *stub;
    uint32_t pc;
    struct link *next;
};

/* A unit is of one or two guest pages. */
struct page_unit {
    uint32_t number;
    struct page_unit *next;
};

struct mr_entrance mr_entrance;
struct mr_baseline_counts mr_baseline_counts;

static uint8_t *cache, *cache_next;
static struct unit *units; /* by code; reserved */
static _Atomic uint32_t unit_count;
static struct page_unit **units_of_page;
static uint8_t *open_chunks;
static struct link *waiting[WAITING_KEYS]; /* links whose pc has no code */

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
    void *table, *code, *all_units, *all_pages, *all_chunks;
    const struct reservation wanted[] = {
        {&table, TABLE_BYTES, PROT_READ}, /* so that no memory is charged for it however strict the host is */
        {&code, CACHE_BYTES, READ_WRITE | PROT_EXEC},
        {&all_units, MOST_UNITS * sizeof *units, READ_WRITE},
        {&all_pages, USER_PAGES * sizeof *units_of_page, READ_WRITE},
        {&all_chunks, TABLE_BYTES >> CHUNK_SHIFT, READ_WRITE},
    };
    if (!reserve_all(wanted, sizeof wanted / sizeof *wanted))
        return false;
    cache = code;
    units = all_units;
    units_of_page = all_pages;
    open_chunks = all_chunks;
    mr_write_entrance(cache, &mr_entrance);
    cache_next = cache + MR_ENTRANCE_BYTES;
    s->translated = table;
    s->code = cache;
    return true;
}

uint8_t *mr_code_room(size_t size_bytes)
{
    bool full = size_bytes > (size_t)(cache + CACHE_BYTES - cache_next) || atomic_load(&unit_count) == MOST_UNITS;
    return full ? NULL : cache_next;
}

/* ---- whose code is at a host address ---- */

/* Returns NULL for none. */
static struct unit *unit_at(const uint8_t *code)
{
    uint32_t low = 0, high = atomic_load(&unit_count);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (code < units[middle].code)
            high = middle;
        else
            low = middle + 1;
    }
    return low > 0 && code < units[low - 1].code + units[low - 1].size_bytes ? &units[low - 1] : NULL;
}

uint32_t mr_code_place(uintptr_t host_pc)
{
    const uint8_t *code = cache + (host_pc - (uintptr_t)cache);
    if (cache == NULL || host_pc - (uintptr_t)cache >= CACHE_BYTES)
        return 0;
    const struct unit *unit = unit_at(code);
    if (unit == NULL)
        return 0;
    uint32_t offset = (uint32_t)(code - unit->code), found = 0;
    for (uint32_t i = 0; i < unit->place_count && unit->places[i].offset <= offset; i++)
        found = unit->places[i].pc;
    return found;
}

/* ---- jumps between units ---- */

static struct link **waiting_for(uint32_t pc)
{
    return &waiting[(pc >> 2) % WAITING_KEYS];
}

static void connect(struct link *link, struct unit *unit, const uint8_t *code)
{
    mr_write_displacement(link->displacement, code);
    link->next = unit->links;
    unit->links = link;
}

void mr_link(struct mr_state *s, uint8_t *displacement, uint8_t *stub, uint32_t pc)
{
    struct link *link = malloc(sizeof *link);
    uint8_t *code = mr_code_of(s, pc);
    if (link == NULL)
        return; /* it goes to the stub, for good */
    *link = (struct link){displacement, stub, pc, NULL};
    if (code != NULL) {
        connect(link, unit_at(code), code);
    } else {
        link->next = *waiting_for(pc);
        *waiting_for(pc) = link;
    }
}

static void connect_waiting(struct unit *unit, uint32_t pc, const uint8_t *code)
{
    for (struct link **at = waiting_for(pc); *at != NULL;) {
        struct link *link = *at;
        if (link->pc != pc) {
            at = &link->next;
            continue;
        }
        *at = link->next;
        connect(link, unit, code);
    }
}

/* ---- units ---- */

static bool open_table(const struct mr_state *s, uint32_t from, uint32_t to)
{
    for (uint32_t chunk = from >> CHUNK_SHIFT; chunk <= to >> CHUNK_SHIFT; chunk++) {
        void *part = (void *)((uintptr_t)s->translated + ((uintptr_t)chunk << CHUNK_SHIFT));
        if (!open_chunks[chunk] && mprotect(part, (size_t)1 << CHUNK_SHIFT, PROT_READ | PROT_WRITE) != 0)
            return false;
        open_chunks[chunk] = true;
    }
    return true;
}

static void set_entry(const struct mr_state *s, uint32_t pc, int32_t displacement)
{
    __atomic_store_n((int32_t *)((uintptr_t)s->translated + pc), displacement, __ATOMIC_RELEASE);
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
    uint32_t number = atomic_load(&unit_count), last = text->start + 4 * (text->instruction_count - 1);
    struct unit *unit = &units[number];
    struct mr_unit_place *places = malloc(text->place_count * sizeof *places);
    uint32_t first_page = text->start / MR_PAGE_BYTES, last_page = last / MR_PAGE_BYTES;
    if (places == NULL || !open_table(s, text->start, last) || !note_page(first_page, number) ||
        (last_page != first_page && !note_page(last_page, number))) {
        free(places);
        return false;
    }
    memcpy(places, text->places, text->place_count * sizeof *places);
    *unit = (struct unit){text->start, text->instruction_count, text->code, (uint32_t)text->size_bytes,
                          text->place_count, places, NULL};
    cache_next = text->code + text->size_bytes;
    atomic_store(&unit_count, number + 1);
    for (uint32_t i = 0; i < text->instruction_count; i++)
        if (text->entries[i] != 0) {
            uint8_t *code = text->code + text->entries[i] - 1;
            set_entry(s, text->start + 4 * i, (int32_t)(code - cache));
            connect_waiting(unit, text->start + 4 * i, code);
        }
    mr_baseline_counts.units++;
    mr_baseline_counts.instructions += text->instruction_count;
    mr_baseline_counts.code_bytes += text->size_bytes;
    return true;
}

static void forget(const struct mr_state *s, struct unit *unit)
{
    for (uint32_t i = 0; i < unit->instruction_count; i++) {
        uint8_t *code = mr_code_of(s, unit->start + 4 * i);
        if (code != NULL && code >= unit->code && code < unit->code + unit->size_bytes)
            set_entry(s, unit->start + 4 * i, 0);
    }
    unit->instruction_count = 0;
    for (struct link *link = unit->links, *next; link != NULL; link = next) {
        next = link->next;
        mr_write_displacement(link->displacement, link->stub);
        link->next = *waiting_for(link->pc);
        *waiting_for(link->pc) = link;
    }
    unit->links = NULL;
}

void mr_units_forget(const struct mr_state *s, uint32_t guest, uint32_t size_bytes)
{
    uint64_t page = guest / MR_PAGE_BYTES, end = (uint64_t)guest + size_bytes;
    for (; page * MR_PAGE_BYTES < end && page < USER_PAGES; page++)
        while (units_of_page[page] != NULL) {
            struct page_unit *note = units_of_page[page];
            units_of_page[page] = note->next;
            forget(s, &units[note->number]);
            free(note);
        }
}

#endif
