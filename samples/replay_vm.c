/*
 * A stack machine that replays a recorded stream of graphics-like commands, with the generator of such a stream.
 *
 * The stack holds pairs of type and value. An opcode is 32 bits: 6 bits of code on top, then its operands. Memory is two
 * pools, volatile and constant, and a cache of resources; it is little-endian by definition, on any machine. Bad opcodes
 * stop the replay with an error. The argument is the number of opcodes to replay, in thousands.
 */
#include "replay_vm.h"

static struct machine machine;
static uint32_t stream[OPCODES], label_places[LABELS];

static const uint8_t type_sizes[TYPES] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 4, 4, 4};

/* ---- values ---- */

static uint64_t normalize(uint32_t type, uint64_t bits)
{
    switch (type) {
    case BOOL: return bits != 0;
    case INT8: return (uint64_t)(int64_t)(int8_t)bits;
    case INT16: return (uint64_t)(int64_t)(int16_t)bits;
    case INT32: return (uint64_t)(int64_t)(int32_t)bits;
    case UINT8: return (uint8_t)bits;
    case UINT16: return (uint16_t)bits;
    case INT64: case UINT64: case DOUBLE: return bits;
    default: return (uint32_t)bits;
    }
}

static double as_double(uint64_t bits)
{
    union { uint64_t bits; double value; } both = {bits};
    return both.value;
}

static float as_float(uint64_t bits)
{
    union { uint32_t bits; float value; } both = {(uint32_t)bits};
    return both.value;
}

static void fault(struct machine *m, enum status status)
{
    if (m->status == RUNNING)
        m->status = status;
}

static void push(struct machine *m, uint32_t type, uint64_t bits)
{
    if (m->depth == STACK_SIZE) {
        fault(m, STACK_FAULT);
    } else {
        m->stack[m->depth].type = type;
        m->stack[m->depth++].bits = normalize(type, bits);
    }
}

static struct value pop(struct machine *m)
{
    if (m->depth)
        return m->stack[--m->depth];
    fault(m, STACK_FAULT);
    return (struct value){0, BOOL};
}

static uint64_t pop_typed(struct machine *m, uint32_t type)
{
    struct value value = pop(m);
    if (value.type != type)
        fault(m, TYPE_FAULT);
    return value.bits;
}

/* ---- memory ---- */

enum access { READ, WRITE };

/* The bytes [address, address + size) of a pool, or NULL after a fault. */
static uint8_t *locate(struct machine *m, uint32_t type, uint32_t address, uint32_t size, enum access access)
{
    uint8_t *pool = m->volatile_memory;
    uint32_t pool_size = VOLATILE_SIZE;
    if (type == ABSOLUTE && address >= CONSTANT_BASE) {
        type = CONSTANT;
        address -= CONSTANT_BASE;
    } else if (type == ABSOLUTE) {
        type = VOLATILE;
        address -= VOLATILE_BASE;
    }
    if (type == CONSTANT && access == READ) {
        pool = m->constant_memory;
        pool_size = CONSTANT_SIZE;
    } else if (type != VOLATILE) {
        fault(m, type == CONSTANT ? MEMORY_FAULT : TYPE_FAULT);
        return NULL;
    }
    if (address > pool_size || size > pool_size - address) {
        fault(m, MEMORY_FAULT);
        return NULL;
    }
    return pool + address;
}

static uint8_t *pop_pointer(struct machine *m, uint32_t size, enum access access)
{
    struct value pointer = pop(m);
    return locate(m, pointer.type, (uint32_t)pointer.bits, size, access);
}

static void load(struct machine *m, uint32_t type, const uint8_t *from)
{
    uint64_t bits = 0;
    if (!from)
        return;
    for (uint32_t i = type_sizes[type]; i-- > 0;)
        bits = bits << 8 | from[i];
    push(m, type, bits);
}

static void store(uint8_t *to, struct value value)
{
    for (uint32_t i = 0; to && i < type_sizes[value.type]; i++, value.bits >>= 8)
        to[i] = (uint8_t)value.bits;
}

/* ---- the functions a stream may call ---- */

typedef uint32_t api_function(struct machine *m); /* pops its arguments, returns its result */

static uint32_t draw(struct machine *m)
{
    uint32_t count = (uint32_t)pop_typed(m, UINT32), first = (uint32_t)pop_typed(m, UINT16);
    return mix32(first, count);
}

static uint32_t clear(struct machine *m)
{
    uint32_t hash = 0;
    for (uint32_t i = 0; i < 4; i++)
        hash = mix32(hash, (uint32_t)(int32_t)(as_float(pop_typed(m, FLOAT)) * 255.0f));
    return hash;
}

static uint32_t depth_range(struct machine *m)
{
    double far_depth = as_double(pop_typed(m, DOUBLE)), near_depth = as_double(pop_typed(m, DOUBLE));
    return (uint32_t)(int32_t)((far_depth - near_depth) * 65536.0);
}

static uint32_t viewport(struct machine *m)
{
    int32_t height = (int32_t)pop_typed(m, INT32), width = (int32_t)pop_typed(m, INT16);
    return (uint32_t)(width * 5 + height / 3);
}

static uint32_t bind_buffer(struct machine *m)
{
    const uint8_t *bytes = pop_pointer(m, 16, READ);
    uint32_t enabled = (uint32_t)pop_typed(m, BOOL), hash = enabled;
    for (uint32_t i = 0; bytes && i < 16; i++)
        hash = mix32(hash, bytes[i]);
    return hash;
}

static api_function *const functions[2][3] = {{draw, clear, depth_range}, {viewport, bind_buffer, draw}};

/* ---- opcodes: each takes the operands' 26 bits ---- */

static void op_call(struct machine *m, uint32_t data)
{
    uint32_t push_return = data >> 20 & 1, api = data >> 16 & 15, function = data & 0xffff;
    if (api >= 2 || function >= 3) {
        fault(m, CODE_FAULT);
        return;
    }
    uint32_t result = functions[api][function](m);
    m->hash = mix32(m->hash, result + m->label);
    m->calls++;
    if (push_return)
        push(m, UINT32, result);
}

static void op_push(struct machine *m, uint32_t data)
{
    uint32_t type = data >> 20;
    uint64_t bits = data & 0xfffff;
    if (type >= INT8 && type <= INT64)
        bits = (uint64_t)(int64_t)((int32_t)(data << 12) >> 12);
    else if (type == FLOAT)
        bits <<= 23;
    else if (type == DOUBLE)
        bits <<= 52;
    else if (type >= TYPES)
        fault(m, TYPE_FAULT);
    if (m->status == RUNNING)
        push(m, type, bits);
}

/* Floating-point numbers take the new bits into the mantissa and keep sign and exponent. */
static void op_extend(struct machine *m, uint32_t data)
{
    struct value top = pop(m);
    uint64_t extended = top.bits << 26 | data;
    if (top.type == FLOAT)
        extended = top.bits | (data & 0x7fffff);
    else if (top.type == DOUBLE)
        extended = (extended & 0xfffffffffffffull) | (top.bits & 0xfff0000000000000ull);
    push(m, top.type, extended);
}

static void op_add(struct machine *m, uint32_t count)
{
    struct value sum = pop(m);
    if (!count)
        fault(m, CODE_FAULT);
    while (m->status == RUNNING && --count) {
        uint64_t bits = pop_typed(m, sum.type);
        if (sum.type == FLOAT)
            sum.bits = float_bits(as_float(sum.bits) + as_float(bits));
        else if (sum.type == DOUBLE)
            sum.bits = double_bits(as_double(sum.bits) + as_double(bits));
        else
            sum.bits += bits;
    }
    push(m, sum.type, sum.bits);
}

static void op_resource(struct machine *m, uint32_t id)
{
    uint8_t *to = id < RESOURCES ? pop_pointer(m, resource_size(id), WRITE) : NULL;
    if (to)
        memcpy(to, cached_resource(&m->cache, id), resource_size(id));
    else
        fault(m, CODE_FAULT);
}

static void op_post(struct machine *m)
{
    uint32_t size = (uint32_t)pop_typed(m, UINT32), hash = 2166136261u;
    const uint8_t *bytes = pop_pointer(m, size, READ);
    for (uint32_t i = 0; bytes && i < size; i++)
        hash = (hash ^ bytes[i]) * 16777619u;
    m->hash = mix32(m->hash, hash);
    m->posts++;
}

static void op_copy(struct machine *m, uint32_t size)
{
    uint8_t *to = pop_pointer(m, size, WRITE), *from = pop_pointer(m, size, READ);
    if (to && from)
        memmove(to, from, size);
}

static void op_strcpy(struct machine *m, uint32_t size)
{
    uint8_t *to = pop_pointer(m, size, WRITE), *from = pop_pointer(m, size, READ);
    uint32_t i = 0;
    if (!to || !from || !size)
        return;
    for (; i < size - 1 && from[i]; i++)
        to[i] = from[i];
    memset(to + i, 0, size - i);
}

static void op_clone(struct machine *m, uint32_t below)
{
    if (below < m->depth)
        push(m, m->stack[m->depth - 1 - below].type, m->stack[m->depth - 1 - below].bits);
    else
        fault(m, STACK_FAULT);
}

static void op_load(struct machine *m, uint32_t type, uint32_t pool, uint32_t address)
{
    if (type < TYPES)
        load(m, type, locate(m, pool, address, type_sizes[type], READ));
    else
        fault(m, TYPE_FAULT);
}

static void op_store(struct machine *m, uint32_t pool, uint32_t address)
{
    struct value value = pop(m);
    store(locate(m, pool, address, type_sizes[value.type], WRITE), value);
}

static uint32_t jump(struct machine *m, uint32_t label, uint32_t wanted, uint32_t next)
{
    if ((pop(m).bits != 0) != wanted)
        return next;
    if (label < LABELS && label_places[label])
        return label_places[label];
    fault(m, CODE_FAULT);
    return next;
}

/* Executes code[at] and returns the place of the next opcode. */
static uint32_t step(struct machine *m, const uint32_t *code, uint32_t at)
{
    uint32_t data = code[at] & 0x3ffffff;
    struct value pointer;
    switch (code[at++] >> 26) {
    case CALL: op_call(m, data); break;
    case PUSH_I: op_push(m, data); break;
    case LOAD_C: op_load(m, data >> 20, CONSTANT, data & 0xfffff); break;
    case LOAD_V: op_load(m, data >> 20, VOLATILE, data & 0xfffff); break;
    case LOAD:
        pointer = pop(m);
        op_load(m, data, pointer.type, (uint32_t)pointer.bits);
        break;
    case POP:
        if (data > m->depth)
            fault(m, STACK_FAULT);
        else
            m->depth -= data;
        break;
    case STORE_V: op_store(m, VOLATILE, data); break;
    case STORE:
        pointer = pop(m);
        op_store(m, pointer.type, (uint32_t)pointer.bits);
        break;
    case RESOURCE: op_resource(m, data); break;
    case POST: op_post(m); break;
    case COPY: op_copy(m, data); break;
    case CLONE: op_clone(m, data); break;
    case STRCPY: op_strcpy(m, data); break;
    case EXTEND: op_extend(m, data); break;
    case ADD: op_add(m, data); break;
    case LABEL: m->label = data; break;
    case JUMPLABEL: break;
    case JUMPNZ: return jump(m, data, 1, at);
    case JUMPZ: return jump(m, data, 0, at);
    default: fault(m, CODE_FAULT);
    }
    return at;
}

static void replay(struct machine *m, const uint32_t *code, uint32_t size)
{
    memset(label_places, 0, sizeof label_places);
    for (uint32_t at = 0; at < size; at++)
        if (code[at] >> 26 == JUMPLABEL && (code[at] & 0x3ffffff) < LABELS)
            label_places[code[at] & 0x3ffffff] = at + 1;
    memset(m->volatile_memory, 0, sizeof m->volatile_memory);
    cache_clear(&m->cache);
    m->depth = m->label = 0;
    m->status = RUNNING;
    for (uint32_t at = 0; m->status == RUNNING; at = step(m, code, at))
        if (at >= size)
            m->status = ENDED;
}

/* Streams that must end in a fault each; returns how each of them ended, one decimal digit each. */
static uint32_t faults_found(struct machine *m)
{
    const uint32_t streams[][4] = {
        {opcode(POP, 1), 0, 0, 0},
        {opcode(LOAD_V, (UINT32 << 20) + VOLATILE_SIZE - 3), 0, 0, 0},
        {opcode(PUSH_I, UINT8 << 20), opcode(PUSH_I, INT8 << 20), opcode(ADD, 2), 0},
        {opcode(PUSH_I, UINT8 << 20 | 1), opcode(JUMPNZ, 1), 0, 0},
        {opcode(PUSH_I, UINT8 << 20), opcode(PUSH_I, CONSTANT << 20), opcode(STORE, 0), 0},
        {opcode(CODES, 0), 0, 0, 0},
    };
    uint32_t found = 0;
    for (uint32_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        replay(m, streams[i], 3);
        found = found * 10 + (uint32_t)m->status;
    }
    return found;
}

int main(int argc, char **argv)
{
    uint32_t thousands = sample_begin(argc, argv, 100), replays;
    uint32_t limit = thousands < OPCODES / 1000 ? thousands * 1000 : 1000000;
    struct machine *m = &machine;
    fill_constants(m->constant_memory);
    out_line_decimal("faults", (int32_t)faults_found(m));
    m->hash = m->posts = m->calls = 0;
    uint32_t size = record_stream(stream, limit);
    for (replays = limit ? thousands * 1000 / limit : 0; replays; replays--)
        replay(m, stream, size);
    out_line_decimal("opcodes", (int32_t)size);
    out_line_decimal("status", (int32_t)m->status);
    out_line_decimal("left on the stack", (int32_t)m->depth);
    out_line_decimal("calls", (int32_t)m->calls);
    out_line_decimal("posts", (int32_t)m->posts);
    out_line_decimal("cache misses of the last replay", (int32_t)m->cache.misses);
    return sample_end(m->hash);
}
