/*
 * Synchronisation of a graphics queue: commands pass pipeline stages; execution and memory barriers, events and
 * semaphores order them. For random streams this computes which commands may overlap, when each can run, and the
 * hazards: accesses that are not ordered, and reads of memory not made available or not visible. Work is kept as masks
 * of 64 commands per stage. The argument is the number of streams.
 */
#include "barriers.h"

enum hazard {
    CLEAN_READ, UNORDERED_READ, UNAVAILABLE_READ, INVISIBLE_READ,
    CLEAN_WRITE, WRITE_AFTER_READ, WRITE_AFTER_WRITE, UNAVAILABLE_WRITE, HAZARDS
};
static const char *const hazard_names[HAZARDS] = {
    "reads in order", "reads not ordered", "reads of memory not available", "reads of memory not visible",
    "writes in order", "writes before earlier reads end", "writes before earlier writes end", "writes over memory not available"};

/* What is known of a resource's last write; serial 0 when there was none. */
struct memory {
    uint32_t serial;
    struct use write;
    uint8_t command, available;
    uint8_t available_before[QUEUES];       /* stages that come after the write was made available */
    uint8_t visible[QUEUES][STAGES];        /* accesses the write is visible to */
    struct work readers;                    /* since the write */
};

/* The first half of a dependency: work that has to end, and the writes it makes available. */
struct captured {
    struct work work;
    uint32_t writes[RESOURCES]; /* serial numbers */
    uint32_t valid;
};

struct queue {
    struct work recorded, before[STAGES];
};

struct simulation {
    struct queue queues[QUEUES];
    struct captured events[EVENTS], semaphores[SEMAPHORES];
    struct memory memory[RESOURCES];
    struct order order;
    uint64_t users[STAGES];                 /* commands that use each stage */
    uint32_t finish[COMMANDS][STAGES], stage_free[QUEUES][STAGES];
    uint32_t hazards[HAZARDS], serial, makespan, overlaps, waits_in_vain;
};

static void unite(struct work *to, const struct work *from)
{
    for (uint32_t s = 0; s < STAGES; s++)
        to->commands[s] |= from->commands[s];
}

static uint32_t count_bits(uint64_t mask)
{
    uint32_t count = 0;
    for (; mask; mask &= mask - 1)
        count++;
    return count;
}

static void capture(struct simulation *s, const struct entry *e, struct captured *c)
{
    const struct queue *q = &s->queues[e->queue];
    uint32_t stages = with_earlier(e->source_stages);
    memset(c, 0, sizeof *c);
    c->valid = 1;
    for (uint32_t rest = stages; rest; rest &= rest - 1) {
        uint32_t stage = lowest_bit(rest);
        c->work.commands[stage] |= q->recorded.commands[stage];
        unite(&c->work, &q->before[stage]);
    }
    for (uint32_t i = 0; i < RESOURCES; i++) {
        const struct memory *m = &s->memory[i];
        uint32_t ended = (uint32_t)(c->work.commands[m->write.stage] >> m->command) & 1;
        uint32_t covered = e->resources >> i & e->source_stages >> m->write.stage & e->source_accesses >> m->write.access & 1;
        if ((ended & covered) || (m->available && m->available_before[e->queue] & stages))
            c->writes[i] = m->serial;
    }
}

static void apply(struct simulation *s, const struct entry *e, const struct captured *c)
{
    struct queue *q = &s->queues[e->queue];
    uint32_t stages = with_later(e->target_stages);
    if (!c->valid) {
        s->waits_in_vain++;
        return;
    }
    for (uint32_t rest = stages; rest; rest &= rest - 1)
        unite(&q->before[lowest_bit(rest)], &c->work);
    for (uint32_t i = 0; i < RESOURCES; i++) {
        struct memory *m = &s->memory[i];
        if (!m->serial || c->writes[i] != m->serial)
            continue; /* not made available, or overwritten since */
        m->available = 1;
        m->available_before[e->queue] |= (uint8_t)stages;
        for (uint32_t rest = e->resources >> i & 1 ? e->target_stages : 0; rest; rest &= rest - 1)
            m->visible[e->queue][lowest_bit(rest)] |= e->target_accesses;
    }
}

static enum hazard judge_read(const struct memory *m, const struct entry *e, const struct use *use, const struct work *before)
{
    if (!m->serial || m->command == e->command)
        return CLEAN_READ;
    if (!(before->commands[m->write.stage] >> m->command & 1))
        return UNORDERED_READ;
    if (!m->available)
        return UNAVAILABLE_READ;
    return m->visible[e->queue][use->stage] >> use->access & 1 ? CLEAN_READ : INVISIBLE_READ;
}

static enum hazard judge_write(const struct memory *m, const struct entry *e, const struct work *before)
{
    for (uint32_t s = 0; s < STAGES; s++)
        if (m->readers.commands[s] & ~before->commands[s] & ~(1ull << e->command))
            return WRITE_AFTER_READ;
    if (!m->serial || m->command == e->command)
        return CLEAN_WRITE;
    if (!(before->commands[m->write.stage] >> m->command & 1))
        return WRITE_AFTER_WRITE;
    return m->available ? CLEAN_WRITE : UNAVAILABLE_WRITE;
}

static void use_memory(struct simulation *s, const struct entry *e, const struct use *use)
{
    struct memory *m = &s->memory[use->resource];
    const struct work *before = &s->order.before[e->command][use->stage];
    if (WRITE_ACCESSES >> use->access & 1) {
        s->hazards[judge_write(m, e, before)]++;
        memset(m, 0, sizeof *m);
        m->serial = ++s->serial;
        m->write = *use;
        m->command = e->command;
    } else {
        s->hazards[judge_read(m, e, use, before)]++;
        m->readers.commands[use->stage] |= 1ull << e->command;
    }
}

/* A stage starts when the command's stage before it has ended, the work it depends on, and the queue's unit is free. */
static void schedule(struct simulation *s, const struct entry *e)
{
    uint32_t time = 0;
    for (uint32_t stages = e->stages; stages; stages &= stages - 1) {
        uint32_t stage = lowest_bit(stages), *unit_free = &s->stage_free[e->queue][stage];
        time = *unit_free > time ? *unit_free : time;
        for (uint32_t other = 0; other < STAGES; other++) {
            for (uint64_t rest = s->order.before[e->command][stage].commands[other]; rest; rest &= rest - 1) {
                uint32_t ended = s->finish[lowest_bit(rest)][other];
                time = ended > time ? ended : time;
            }
        }
        time += e->duration;
        *unit_free = s->finish[e->command][stage] = time;
    }
    s->makespan = time > s->makespan ? time : s->makespan;
}

static void record_command(struct simulation *s, const struct entry *e)
{
    struct queue *q = &s->queues[e->queue];
    uint64_t bit = 1ull << e->command, ended = bit - 1;
    uint32_t first_stage = lowest_bit(e->stages);
    memcpy(s->order.before[e->command], q->before, sizeof q->before);
    for (uint32_t stage = 0; stage < STAGES; stage++)
        ended &= s->order.before[e->command][first_stage].commands[stage] | ~s->users[stage];
    s->overlaps += count_bits((bit - 1) & ~ended); /* all earlier commands but those that have ended in every stage */
    schedule(s, e);
    for (uint32_t i = 0; i < e->use_count; i++)
        use_memory(s, e, &e->uses[i]);
    for (uint32_t stages = e->stages; stages; stages &= stages - 1) {
        q->recorded.commands[lowest_bit(stages)] |= bit;
        s->users[lowest_bit(stages)] |= bit;
    }
}

static void simulate(struct simulation *s, const struct stream *stream)
{
    struct captured now;
    for (uint32_t i = 0; i < stream->entry_count; i++) {
        const struct entry *e = &stream->entries[i];
        switch (e->kind) {
        case COMMAND: record_command(s, e); break;
        case BARRIER:
            capture(s, e, &now);
            apply(s, e, &now);
            break;
        case SET_EVENT: capture(s, e, &s->events[e->object]); break;
        case RESET_EVENT: s->events[e->object].valid = 0; break;
        case WAIT_EVENT: apply(s, e, &s->events[e->object]); break;
        case SIGNAL: capture(s, e, &s->semaphores[e->object]); break;
        case WAIT:
            apply(s, e, &s->semaphores[e->object]);
            s->semaphores[e->object].valid = 0;
            break;
        }
    }
}

int main(int argc, char **argv)
{
    static struct stream stream;
    static struct simulation simulation;
    struct simulation *s = &simulation;
    uint32_t streams = sample_begin(argc, argv, 40), random = 314159265, hash = 0, errors = 0;
    uint32_t hazards[HAZARDS] = {0}, overlaps = 0;
    for (uint32_t i = 0; i < streams; i++) {
        make_stream(&stream, &random);
        memset(s, 0, sizeof *s);
        simulate(s, &stream);
        if (i % 1024 < 10)
            errors += count_order_errors(&stream, &s->order);
        hash = mix32(mix32(mix32(hash, s->overlaps), s->makespan), s->waits_in_vain);
        for (uint32_t h = 0; h < HAZARDS; h++) {
            hash = mix32(hash, s->hazards[h]);
            hazards[h] += s->hazards[h];
        }
        overlaps += s->overlaps;
    }
    out_line_decimal("pairs that may overlap", (int32_t)overlaps);
    for (uint32_t h = 0; h < HAZARDS; h++)
        out_line_decimal(hazard_names[h], (int32_t)hazards[h]);
    out_line_decimal("makespan of the last stream", (int32_t)s->makespan);
    out_line_decimal("errors of the order", (int32_t)errors);
    return sample_end(hash);
}
