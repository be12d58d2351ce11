/*
 * Calls through pointers: devices whose handlers take events from a queue, visitors of a tree, orders with a context.
 *
 * The pointers are in tables of operations, in the events themselves, and in structures that carry what the function
 * needs besides. Which function is called changes from call to call, as the data has it.
 */
#include "freestanding/out.h"

/* ---- devices on a bus: each event is given to the operations of its device ---- */

enum { DEVICES = 12, QUEUE = 256, KINDS = 4 };

struct bus;
struct device;

typedef void completion_function(struct bus *bus, struct device *device, uint32_t argument);

struct event {
    uint32_t time, order, argument;
    struct device *device;
    completion_function *complete; /* called after the device has seen the event; may be NULL */
};

struct operations {
    uint32_t (*read)(struct device *device, uint32_t place);
    void (*write)(struct device *device, uint32_t place, uint32_t value);
    void (*notify)(struct device *device, struct bus *bus, const struct event *event);
};

struct device {
    const struct operations *operations;
    struct device *peer;
    uint32_t state, count, words[8];
};

struct bus {
    int32_t (*before)(const struct event *left, const struct event *right);
    struct event queue[QUEUE];
    struct device devices[DEVICES];
    uint32_t size, time, posted, hash;
};

static struct bus bus;

static int32_t is_earlier(const struct event *left, const struct event *right)
{
    return left->time != right->time ? left->time < right->time : left->order < right->order;
}

/* Puts an event into the heap; what does not fit is lost, and counted. */
static void post(
    struct bus *to, struct device *device, uint32_t delay, uint32_t argument, completion_function *complete)
{
    uint32_t at = to->size;
    struct event event = {to->time + delay, to->posted++, argument, device, complete};
    if (at == QUEUE) {
        to->hash = mix32(to->hash, argument);
        return;
    }
    for (to->size++; at && to->before(&event, &to->queue[(at - 1) / 2]); at = (at - 1) / 2)
        to->queue[at] = to->queue[(at - 1) / 2];
    to->queue[at] = event;
}

static struct event take(struct bus *from)
{
    struct event first = from->queue[0], last = from->queue[--from->size];
    uint32_t at = 0, child;
    while ((child = 2 * at + 1) < from->size) {
        if (child + 1 < from->size && from->before(&from->queue[child + 1], &from->queue[child]))
            child++;
        if (!from->before(&from->queue[child], &last))
            break;
        from->queue[at] = from->queue[child];
        at = child;
    }
    from->queue[at] = last;
    return first;
}

static uint32_t read_word(struct device *device, uint32_t place) { return device->words[place & 7]; }

static uint32_t read_counter(struct device *device, uint32_t place) { return device->count++ + place; }

static uint32_t read_sum(struct device *device, uint32_t place)
{
    return device->words[place & 7] + device->words[(place + 1) & 7];
}

static void write_word(struct device *device, uint32_t place, uint32_t value) { device->words[place & 7] = value; }

static void write_mixed(struct device *device, uint32_t place, uint32_t value)
{
    device->words[place & 7] = device->words[place & 7] << 1 ^ value;
}

static void note(struct bus *to, struct device *device, uint32_t argument)
{
    to->hash = mix32(to->hash, argument ^ device->count);
}

static void answer(struct bus *to, struct device *device, uint32_t argument)
{
    struct device *peer = device->peer;
    to->hash += argument;
    peer->operations->write(peer, argument, device->operations->read(device, argument >> 3));
}

static void tick(struct device *device, struct bus *on, const struct event *event)
{
    device->state++;
    post(on, device->peer, 3 + (event->argument & 15), device->state, device->state & 1 ? note : answer);
    post(on, device, 16, event->argument * 5 + 1, NULL);
}

static void transfer(struct device *device, struct bus *on, const struct event *event)
{
    struct device *peer = device->peer;
    for (uint32_t i = 0; i < 4; i++)
        peer->operations->write(peer, i, device->operations->read(device, event->argument + i));
    if (device->count++ & 1)
        post(on, peer, 5, event->argument >> 1, note);
}

static void receive(struct device *device, struct bus *on, const struct event *event)
{
    uint32_t value = device->operations->read(device, event->time);
    device->operations->write(device, event->argument, value ^ event->argument);
    if (value & 3)
        note(on, device, value);
}

static void watch(struct device *device, struct bus *on, const struct event *event)
{
    for (uint32_t i = 0; i < DEVICES; i += 3) {
        struct device *other = &on->devices[i];
        device->state = mix32(device->state, other->operations->read(other, i + event->argument));
    }
    device->operations->write(device, event->argument, device->state);
}

static const struct operations operations[KINDS] = {
    {read_counter, write_word, tick},
    {read_word, write_mixed, transfer},
    {read_sum, write_word, receive},
    {read_word, write_word, watch},
};

static uint32_t device_round(uint32_t *random, uint32_t hash)
{
    bus.before = is_earlier;
    bus.size = bus.time = bus.posted = 0;
    bus.hash = hash;
    for (uint32_t i = 0; i < DEVICES; i++) {
        struct device *device = &bus.devices[i];
        memset(device, 0, sizeof *device);
        device->operations = &operations[i % KINDS];
        device->peer = &bus.devices[(i + 1 + random32(random) % (DEVICES - 1)) % DEVICES];
        device->words[i & 7] = random32(random);
        post(&bus, device, i, random32(random) >> 20, note);
    }
    for (uint32_t events = 0; events < 1200 && bus.size; events++) {
        struct event event = take(&bus);
        bus.time = event.time;
        event.device->operations->notify(event.device, &bus, &event);
        if (event.complete)
            event.complete(&bus, event.device, event.argument);
    }
    return mix32(bus.hash, bus.time);
}

/* ---- visitors of a tree of elements, as of a document ---- */

enum { ELEMENTS = 500 };

struct element {
    uint32_t tag, value;
    struct element *first, *next;
};

struct visitor {
    int32_t (*enter)(struct visitor *visitor, const struct element *element); /* 0: not what is below it */
    void (*leaf)(struct visitor *visitor, const struct element *element);
    void (*leave)(struct visitor *visitor, const struct element *element);
    uint32_t depth, wanted, result;
};

static struct element elements[ELEMENTS];

static void visit(struct visitor *visitor, const struct element *element)
{
    if (!element->first) {
        visitor->leaf(visitor, element);
    } else if (visitor->enter(visitor, element)) {
        for (const struct element *part = element->first; part; part = part->next)
            visit(visitor, part);
        visitor->leave(visitor, element);
    }
}

static int32_t enter_all(struct visitor *visitor, const struct element *element)
{
    visitor->depth += element->tag != visitor->wanted;
    return 1;
}

static int32_t enter_others(struct visitor *visitor, const struct element *element)
{
    return element->tag != visitor->wanted;
}

static void leave_deeper(struct visitor *visitor, const struct element *element)
{
    visitor->depth -= element->tag != visitor->wanted;
}

static void leave_hash(struct visitor *visitor, const struct element *element)
{
    visitor->result = mix32(visitor->result, element->tag);
}

static void leaf_sum(struct visitor *visitor, const struct element *element)
{
    visitor->result += element->value * (visitor->depth + 1);
}

static void leaf_hash(struct visitor *visitor, const struct element *element)
{
    visitor->result = mix32(visitor->result, element->value);
}

static void leaf_greatest(struct visitor *visitor, const struct element *element)
{
    if (element->value > visitor->result)
        visitor->result = element->value;
}

static const struct visitor visitors[] = {
    {enter_all, leaf_sum, leave_deeper, 0, 2, 0},
    {enter_others, leaf_hash, leave_hash, 0, 1, 0},
    {enter_all, leaf_greatest, leave_deeper, 0, 5, 0},
    {enter_others, leaf_sum, leave_deeper, 9, 4, 0},
};

static uint32_t visitor_round(uint32_t *random, uint32_t hash)
{
    for (uint32_t i = 0; i < ELEMENTS; i++) {
        uint32_t choice = random32(random), place = i ? i - 1 - (choice >> 8) % (i < 40 ? i : 40) : 0;
        elements[i] = (struct element){choice & 7, choice >> 20, NULL, NULL};
        if (i) {
            elements[i].next = elements[place].first;
            elements[place].first = &elements[i];
        }
    }
    for (uint32_t i = 0; i < sizeof visitors / sizeof *visitors; i++) {
        struct visitor visitor = visitors[i];
        visit(&visitor, elements);
        hash = mix32(mix32(hash, visitor.result), visitor.depth);
    }
    return hash;
}

/* ---- sorting records by several keys: the order is a list of keys, which the comparison gets as its context ---- */

enum { RECORDS = 200, KEYS = 3 };

struct record {
    uint32_t number;
    int16_t weight, height;
    uint8_t name[8];
};

typedef int32_t key_function(const struct record *left, const struct record *right);

struct key {
    key_function *compare;
    int32_t direction;
    const struct key *next;
};

typedef int32_t order_function(const void *left, const void *right, const void *context);

static struct record records[RECORDS];
static const struct record *sorted[RECORDS], *scratch[RECORDS];

static int32_t by_weight(const struct record *left, const struct record *right) { return left->weight - right->weight; }
static int32_t by_height(const struct record *left, const struct record *right) { return left->height - right->height; }
static int32_t by_name(const struct record *left, const struct record *right)
{
    return memcmp(left->name, right->name, sizeof left->name);
}
static int32_t by_number(const struct record *left, const struct record *right)
{
    return (left->number > right->number) - (left->number < right->number);
}

static int32_t compare_keys(const void *left, const void *right, const void *context)
{
    for (const struct key *key = context; key; key = key->next) {
        int32_t order = key->compare(left, right);
        if (order)
            return order * key->direction;
    }
    return 0;
}

static void sort(const struct record **from, uint32_t count, order_function *order, const void *context)
{
    uint32_t half = count / 2, left = 0, right = half, at = 0;
    if (count < 2)
        return;
    sort(from, half, order, context);
    sort(from + half, count - half, order, context);
    while (left < half && right < count)
        scratch[at++] = order(from[left], from[right], context) <= 0 ? from[left++] : from[right++];
    while (left < half)
        scratch[at++] = from[left++];
    for (uint32_t i = 0; i < at; i++) /* what is left of the right half is in its place */
        from[i] = scratch[i];
}

static uint32_t record_round(uint32_t *random, uint32_t hash)
{
    static key_function *const compares[] = {by_weight, by_height, by_name, by_number};
    struct key keys[KEYS];
    for (uint32_t i = 0; i < RECORDS; i++) {
        uint32_t choice = random32(random);
        records[i] = (struct record){i, (int16_t)(choice & 15), (int16_t)((int32_t)(choice >> 4 & 7) - 4), {0}};
        for (uint32_t j = 0; j < 4; j++)
            records[i].name[j] = (uint8_t)('a' + (choice >> (8 + 2 * j) & 3));
        sorted[i] = &records[i];
    }
    for (uint32_t i = 0; i < KEYS; i++) {
        uint32_t choice = random32(random) >> 9;
        keys[i] = (struct key){compares[choice & 3], choice & 4 ? 1 : -1, i + 1 < KEYS ? &keys[i + 1] : NULL};
    }
    sort(sorted, RECORDS, compare_keys, keys);
    for (uint32_t i = 0; i < RECORDS; i++)
        hash = mix32(hash, sorted[i]->number);
    return hash;
}

int main(int argc, char **argv)
{
    uint32_t rounds = sample_begin(argc, argv, 4), random = 1181783497, devices = 1, visited = 2, ordered = 3;
    for (uint32_t round = 0; round < rounds; round++) {
        devices = device_round(&random, devices);
        visited = visitor_round(&random, visited);
        ordered = record_round(&random, ordered);
    }
    out_line("devices", devices);
    out_line("visitors", visited);
    out_line("records", ordered);
    return sample_end(mix32(mix32(devices, visited), ordered));
}
