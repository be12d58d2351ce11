/*
 * The order of commands found the slow way: a node per barrier (or pair of set and wait, of signal and wait), edges
 * between those whose masks meet, and what reaches each node by repeated union. Checks the fast way of barriers.c.
 */
#include "barriers.h"

struct node {
    uint32_t source_at, source_queue, source_stages; /* stages with all that the masks imply */
    uint32_t target_at, target_queue, target_stages;
    struct work reached;
};

static uint32_t unite(struct work *to, const struct work *from)
{
    uint32_t changed = 0;
    for (uint32_t s = 0; s < STAGES; s++) {
        changed |= (from->commands[s] & ~to->commands[s]) != 0;
        to->commands[s] |= from->commands[s];
    }
    return changed;
}

/* Nodes of a stream; a wait belongs to the last set or signal of its object, and none to what was reset or consumed. */
static uint32_t collect_nodes(const struct stream *s, struct node nodes[ENTRIES])
{
    uint32_t count = 0;
    int32_t set_at[EVENTS] = {-1, -1, -1, -1}, signalled_at[SEMAPHORES] = {-1, -1, -1, -1};
    for (uint32_t i = 0; i < s->entry_count; i++) {
        const struct entry *e = &s->entries[i];
        int32_t source = -1;
        if (e->kind == BARRIER)
            source = (int32_t)i;
        else if (e->kind == SET_EVENT || e->kind == RESET_EVENT)
            set_at[e->object] = e->kind == SET_EVENT ? (int32_t)i : -1;
        else if (e->kind == WAIT_EVENT)
            source = set_at[e->object];
        else if (e->kind == SIGNAL)
            signalled_at[e->object] = (int32_t)i;
        else if (e->kind == WAIT) {
            source = signalled_at[e->object];
            signalled_at[e->object] = -1;
        }
        if (source >= 0) {
            const struct entry *from = &s->entries[source];
            nodes[count++] = (struct node){(uint32_t)source, from->queue, with_earlier(from->source_stages),
                                           i, e->queue, with_later(e->target_stages), {{0}}};
        }
    }
    return count;
}

static void reach(const struct stream *s, struct node nodes[ENTRIES], uint32_t count)
{
    uint32_t changed = 1;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t at = 0; at < nodes[i].source_at; at++) {
            const struct entry *e = &s->entries[at];
            for (uint32_t stage = 0; stage < STAGES; stage++)
                if (e->kind == COMMAND && e->queue == nodes[i].source_queue && (e->stages & nodes[i].source_stages) >> stage & 1)
                    nodes[i].reached.commands[stage] |= 1ull << e->command;
        }
    }
    while (changed) {
        changed = 0;
        for (uint32_t i = 0; i < count; i++)
            for (uint32_t j = 0; j < count; j++)
                if (nodes[j].target_at < nodes[i].source_at && nodes[j].target_queue == nodes[i].source_queue &&
                    nodes[j].target_stages & nodes[i].source_stages)
                    changed |= unite(&nodes[i].reached, &nodes[j].reached);
    }
}

uint32_t count_order_errors(const struct stream *s, const struct order *order)
{
    static struct node nodes[ENTRIES];
    uint32_t count = collect_nodes(s, nodes), errors = 0;
    reach(s, nodes, count);
    for (uint32_t at = 0; at < s->entry_count; at++) {
        const struct entry *e = &s->entries[at];
        for (uint32_t stage = 0; e->kind == COMMAND && stage < STAGES; stage++) {
            struct work before = {{0}};
            for (uint32_t i = 0; i < count; i++)
                if (nodes[i].target_at < at && nodes[i].target_queue == e->queue && nodes[i].target_stages >> stage & 1)
                    unite(&before, &nodes[i].reached);
            for (uint32_t other = 0; other < STAGES; other++)
                errors += before.commands[other] != order->before[e->command][stage].commands[other];
        }
    }
    return errors;
}
