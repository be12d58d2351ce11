/* Random streams for the synchronisation sample: mostly what a careful driver records, with mistakes among it. */
#include "barriers.h"

struct maker {
    struct stream *stream;
    uint32_t random, events_set, semaphores_signalled;
    struct use last_write; /* what a careful barrier covers */
};

static uint32_t below(struct maker *m, uint32_t limit)
{
    return (random32(&m->random) >> 9) % limit;
}

static struct entry *add_entry(struct maker *m, uint32_t kind, uint32_t queue)
{
    struct entry *e = &m->stream->entries[m->stream->entry_count++];
    *e = (struct entry){.kind = (uint8_t)kind, .queue = (uint8_t)queue};
    return e;
}

/* Commands are draws, dispatches or transfers; each reads one or two resources and writes one. */
static void add_command(struct maker *m, uint32_t queue)
{
    static const uint8_t shapes[3][6] = {
        /* stages, reading stage and access, writing stage and access */
        {1 << TOP | 1 << INDIRECT | 1 << VERTEX | 1 << FRAGMENT | 1 << COLOUR, VERTEX, VERTEX_READ, COLOUR, COLOUR_WRITE, 0},
        {1 << TOP | 1 << INDIRECT | 1 << COMPUTE, COMPUTE, SHADER_READ, COMPUTE, SHADER_WRITE, 0},
        {1 << TOP | 1 << TRANSFER, TRANSFER, TRANSFER_READ, TRANSFER, TRANSFER_WRITE, 0},
    };
    struct entry *e = add_entry(m, COMMAND, queue);
    const uint8_t *shape = shapes[below(m, 3)];
    e->command = (uint8_t)m->stream->command_count++;
    e->stages = shape[0];
    e->duration = (uint8_t)(1 + below(m, 20));
    e->uses[e->use_count++] = (struct use){(uint8_t)below(m, RESOURCES), shape[1], shape[2]};
    if (shape[0] & 1 << FRAGMENT && below(m, 2))
        e->uses[e->use_count++] = (struct use){(uint8_t)below(m, RESOURCES), FRAGMENT, SHADER_READ};
    if (below(m, 3)) {
        m->last_write = (struct use){(uint8_t)below(m, RESOURCES), shape[3], shape[4]};
        e->uses[e->use_count++] = m->last_write;
    }
}

/* Masks of a barrier or of an event: right for the last write, or random ones. */
static void set_masks(struct maker *m, struct entry *e)
{
    e->source_stages = (uint8_t)(1u << m->last_write.stage);
    e->source_accesses = (uint8_t)(1u << m->last_write.access);
    e->target_stages = ALL_STAGES & ~1u;
    e->target_accesses = ALL_ACCESSES;
    e->resources = (uint8_t)(1u << m->last_write.resource);
    if (below(m, 4) == 0)
        e->source_stages = (uint8_t)(1u << below(m, STAGES));
    if (below(m, 4) == 0)
        e->target_stages = (uint8_t)(1u << below(m, STAGES) | 1u << below(m, STAGES));
    if (below(m, 6) == 0)
        e->source_accesses = (uint8_t)(1u << below(m, ACCESSES));
    if (below(m, 3) == 0)
        e->target_accesses = (uint8_t)below(m, 256);
    if (below(m, 3) == 0)
        e->resources = 255;
}

static void add_event(struct maker *m, uint32_t queue)
{
    uint32_t event = queue * (EVENTS / QUEUES) + below(m, EVENTS / QUEUES); /* events stay in their queue */
    struct entry *e;
    if (m->events_set >> event & 1) {
        e = add_entry(m, below(m, 4) ? WAIT_EVENT : RESET_EVENT, queue);
        m->events_set ^= e->kind == RESET_EVENT ? 1u << event : 0;
    } else {
        e = add_entry(m, SET_EVENT, queue);
        m->events_set |= 1u << event;
    }
    set_masks(m, e);
    e->object = (uint8_t)event;
}

static void add_semaphore(struct maker *m, uint32_t queue)
{
    uint32_t semaphore = queue * (SEMAPHORES / QUEUES) + below(m, SEMAPHORES / QUEUES); /* signalled by this queue only */
    uint32_t kind = m->semaphores_signalled >> semaphore & 1 ? WAIT : SIGNAL;
    struct entry *e = add_entry(m, kind, kind == WAIT ? QUEUES - 1 - queue : queue);
    m->semaphores_signalled ^= 1u << semaphore;
    e->object = (uint8_t)semaphore;
    e->source_stages = ALL_STAGES;
    e->target_stages = below(m, 2) ? ALL_STAGES : (uint8_t)(1u << below(m, STAGES));
    e->source_accesses = e->target_accesses = e->resources = 255;
}

void make_stream(struct stream *s, uint32_t *random)
{
    struct maker maker = {.stream = s, .random = *random};
    s->entry_count = s->command_count = 0;
    while (s->command_count < COMMANDS && s->entry_count < ENTRIES) {
        uint32_t queue = below(&maker, 4) == 0, choice = below(&maker, 16);
        if (choice < 8)
            add_command(&maker, queue);
        else if (choice < 13)
            set_masks(&maker, add_entry(&maker, BARRIER, queue));
        else if (choice < 15)
            add_event(&maker, queue);
        else
            add_semaphore(&maker, queue);
    }
    *random = maker.random;
}
