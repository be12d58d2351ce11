/* Call chains, each kept once: programs make many blocks at few places. */
#include "heap/heap.h"

#include <string.h>
#include <sys/mman.h>

#define MOST_TRACES (1u << 18)
#define SLOTS (2 * MOST_TRACES)

static struct mr_trace *kept; /* from number 1 on */
static uint32_t *slots;       /* by hash: numbers, 0 where there is none */
static uint32_t count;

static void *reserve(size_t size_bytes)
{
    void *found = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return found == MAP_FAILED ? NULL : found;
}

static uint32_t hash_of(const struct mr_trace *trace)
{
    uint32_t hash = trace->count;
    for (uint32_t i = 0; i < trace->count; i++)
        hash = (hash ^ trace->pcs[i]) * 0x9e3779b1u, hash ^= hash >> 15;
    return hash;
}

static bool is_same(const struct mr_trace *a, const struct mr_trace *b)
{
    return a->count == b->count && memcmp(a->pcs, b->pcs, a->count * sizeof *a->pcs) == 0;
}

uint32_t mr_trace_keep(const struct mr_trace *trace)
{
    if (kept == NULL)
        kept = reserve((MOST_TRACES + 1) * sizeof *kept);
    if (slots == NULL)
        slots = reserve(SLOTS * sizeof *slots);
    if (kept == NULL || slots == NULL)
        return 0;
    uint32_t slot = hash_of(trace) % SLOTS;
    while (slots[slot] != 0) {
        if (is_same(&kept[slots[slot]], trace))
            return slots[slot];
        slot = (slot + 1) % SLOTS;
    }
    if (count == MOST_TRACES)
        return 0;
    slots[slot] = ++count;
    kept[count] = *trace;
    return count;
}

void mr_trace_get(uint32_t number, struct mr_trace *trace)
{
    trace->count = 0;
    if (number != 0 && number <= count)
        *trace = kept[number];
}
