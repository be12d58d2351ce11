/* What the parts of the synchronisation sample share: commands, barriers, and the two ways to compute their order. */
#ifndef SAMPLES_BARRIERS_H
#define SAMPLES_BARRIERS_H

#include "freestanding/out.h"

/* Stages in the order in which a command passes them; each command uses some. */
enum stage { TOP, INDIRECT, VERTEX, FRAGMENT, COLOUR, COMPUTE, TRANSFER, BOTTOM, STAGES };
enum access { INDIRECT_READ, VERTEX_READ, SHADER_READ, SHADER_WRITE, COLOUR_READ, COLOUR_WRITE, TRANSFER_READ, TRANSFER_WRITE, ACCESSES };
enum { COMMANDS = 64, ENTRIES = 160, QUEUES = 2, EVENTS = 4, SEMAPHORES = 4, RESOURCES = 8 };

#define WRITE_ACCESSES (1u << SHADER_WRITE | 1u << COLOUR_WRITE | 1u << TRANSFER_WRITE)
#define ALL_STAGES ((1u << STAGES) - 1)
#define ALL_ACCESSES ((1u << ACCESSES) - 1)

enum kind { COMMAND, BARRIER, SET_EVENT, RESET_EVENT, WAIT_EVENT, SIGNAL, WAIT };

/* One memory access of a command. */
struct use {
    uint8_t resource, stage, access;
};

/* An entry of a queue. Masks have a bit per stage or access. */
struct entry {
    uint8_t kind, queue, object;      /* object: event or semaphore */
    uint8_t command, use_count;       /* command: its number from 0 */
    uint8_t resources;                /* mask: what a barrier's memory dependency covers */
    uint8_t source_stages, target_stages, source_accesses, target_accesses; /* masks, of barriers and events */
    uint8_t stages, duration;         /* of a command: mask, and how long each stage takes */
    struct use uses[3];
};

struct stream {
    uint32_t entry_count, command_count;
    struct entry entries[ENTRIES];
};

/* A set of (command, stage) pairs: per stage a mask of commands. */
struct work {
    uint64_t commands[STAGES];
};

/* before[command][stage]: the work that has ended when this stage of the command starts. */
struct order {
    struct work before[COMMANDS][STAGES];
};

static inline uint32_t lowest_bit(uint64_t mask)
{
    uint32_t place = 0;
    for (uint32_t width = 32; width; width >>= 1) {
        if (!(mask & ((1ull << width) - 1))) {
            mask >>= width;
            place += width;
        }
    }
    return place;
}

/* What a source mask covers besides itself: all earlier stages. */
static inline uint32_t with_earlier(uint32_t stages)
{
    stages |= stages >> 1;
    stages |= stages >> 2;
    return stages | stages >> 4;
}

/* What a target mask covers besides itself: all later stages. */
static inline uint32_t with_later(uint32_t stages)
{
    stages |= stages << 1;
    stages |= stages << 2;
    return (stages | stages << 4) & ALL_STAGES;
}

/* barriers_stream.c */
void make_stream(struct stream *s, uint32_t *random);

/* barriers_graph.c: the pairs of command stages whose order is not what a search of the graph of barriers finds */
uint32_t count_order_errors(const struct stream *s, const struct order *order);

#endif
