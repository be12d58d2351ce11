/* Resources of the replay sample: an LRU cache whose misses make the content again, as if it were fetched. */
#include "replay_vm.h"

uint32_t resource_size(uint32_t id)
{
    return 64 + id * 37 % (SLOT_SIZE - 64);
}

static void unlink_slot(struct cache *c, uint8_t slot)
{
    if (c->previous[slot] == NO_SLOT)
        c->first = c->next[slot];
    else
        c->next[c->previous[slot]] = c->next[slot];
    if (c->next[slot] == NO_SLOT)
        c->last = c->previous[slot];
    else
        c->previous[c->next[slot]] = c->previous[slot];
}

static void link_first(struct cache *c, uint8_t slot)
{
    c->previous[slot] = NO_SLOT;
    c->next[slot] = c->first;
    if (c->first == NO_SLOT)
        c->last = slot;
    else
        c->previous[c->first] = slot;
    c->first = slot;
}

/* The slot of a resource; a miss takes a free slot or the least recently used one and makes the content again. */
const uint8_t *cached_resource(struct cache *c, uint32_t id)
{
    uint8_t slot = c->slot_of[id];
    if (slot != NO_SLOT) {
        unlink_slot(c, slot);
    } else {
        uint32_t random = id * 2654435761u | 1;
        if (c->used < SLOTS) {
            slot = (uint8_t)c->used++;
        } else {
            slot = c->last;
            unlink_slot(c, slot);
            c->slot_of[c->id_in[slot]] = NO_SLOT;
        }
        for (uint32_t i = 0; i < resource_size(id); i++)
            c->bytes[slot][i] = (uint8_t)(random32(&random) >> 7);
        c->slot_of[id] = slot;
        c->id_in[slot] = (uint8_t)id;
        c->misses++;
    }
    link_first(c, slot);
    return c->bytes[slot];
}

void cache_clear(struct cache *c)
{
    memset(c->slot_of, NO_SLOT, sizeof c->slot_of);
    c->first = c->last = NO_SLOT;
    c->used = c->misses = 0;
}
