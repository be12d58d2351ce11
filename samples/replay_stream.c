/* Records the stream of the replay sample: commands as a graphics driver's trace has them, each leaving the stack empty. */
#include "replay_vm.h"

enum { VARIABLES = 32, BUFFERS_AT = 0x400, BUFFERS_SIZE = VOLATILE_SIZE - BUFFERS_AT, STRING_SIZE = 32, STRINGS = 128 };

struct recorder {
    uint32_t *code;
    uint32_t size, random, labels, commands;
};

static uint32_t below(struct recorder *r, uint32_t limit)
{
    return (random32(&r->random) >> 8) % limit;
}

static void emit(struct recorder *r, uint32_t code, uint32_t data)
{
    r->code[r->size++] = opcode(code, data);
}

/* Integers and pointers: one opcode when 20 bits are enough, else the upper bits and an EXTEND. */
static void push_integer(struct recorder *r, uint32_t type, int64_t value)
{
    if (value >= -0x80000 && value < 0x80000) {
        emit(r, PUSH_I, type << 20 | ((uint32_t)value & 0xfffff));
    } else {
        emit(r, PUSH_I, type << 20 | ((uint32_t)(value >> 26) & 0xfffff));
        emit(r, EXTEND, (uint32_t)value & 0x3ffffff);
    }
}

static void push_float(struct recorder *r, float value)
{
    uint32_t bits = float_bits(value);
    emit(r, PUSH_I, FLOAT << 20 | bits >> 23);
    if (bits & 0x7fffff)
        emit(r, EXTEND, bits & 0x7fffff);
}

static void push_double(struct recorder *r, double value)
{
    uint64_t bits = double_bits(value);
    emit(r, PUSH_I, DOUBLE << 20 | (uint32_t)(bits >> 52));
    if (bits << 12) {
        emit(r, EXTEND, (uint32_t)(bits >> 26) & 0x3ffffff);
        emit(r, EXTEND, (uint32_t)bits & 0x3ffffff);
    }
}

/* A pointer to size bytes among the buffers, as volatile or as absolute one. */
static void push_buffer(struct recorder *r, uint32_t size)
{
    uint32_t at = BUFFERS_AT + below(r, (BUFFERS_SIZE - size) / 16) * 16;
    if (below(r, 4))
        push_integer(r, VOLATILE, at);
    else
        push_integer(r, ABSOLUTE, VOLATILE_BASE + at);
}

/* Variable n is always of type n % TYPES, so that no load sees another type's bits. */
static uint32_t variable(struct recorder *r, uint32_t type)
{
    return (type + below(r, VARIABLES / TYPES) * TYPES) * 8;
}

static void record_draw(struct recorder *r)
{
    push_integer(r, UINT16, below(r, 65536));
    push_integer(r, UINT32, below(r, 100000000));
    emit(r, CALL, 1 << 20);
    emit(r, STORE_V, variable(r, UINT32));
}

static void record_clear(struct recorder *r)
{
    for (uint32_t i = 0; i < 4; i++)
        push_float(r, (float)below(r, 256) / 255.0f);
    emit(r, CALL, 1);
}

static void record_depth_range(struct recorder *r)
{
    push_double(r, below(r, 1000) / 4096.0);
    push_double(r, 1.0 - below(r, 1000) / 3000.0);
    emit(r, CALL, 2);
}

static void record_viewport(struct recorder *r)
{
    push_integer(r, INT16, (int32_t)below(r, 4000) - 2000);
    push_integer(r, INT32, (int32_t)below(r, 40000000) - 20000000);
    emit(r, CALL, 1 << 20 | 1 << 16);
    emit(r, POP, 1);
}

static void record_bind(struct recorder *r)
{
    push_integer(r, BOOL, below(r, 2));
    push_buffer(r, 16);
    emit(r, CALL, 1 << 16 | 1);
}

static void record_upload(struct recorder *r)
{
    uint32_t id = below(r, 4) ? below(r, 16) : below(r, RESOURCES); /* some resources are in demand */
    push_buffer(r, SLOT_SIZE);
    emit(r, RESOURCE, id);
}

static void record_copy(struct recorder *r)
{
    uint32_t size = 1 + below(r, 256);
    push_buffer(r, size);
    push_buffer(r, size);
    emit(r, COPY, size);
}

static void record_string(struct recorder *r)
{
    uint32_t place = below(r, STRINGS) * STRING_SIZE, size = 1 + below(r, 40);
    if (below(r, 2))
        push_integer(r, CONSTANT, place);
    else
        push_integer(r, ABSOLUTE, CONSTANT_BASE + place);
    push_buffer(r, size);
    emit(r, STRCPY, size);
}

static void record_post(struct recorder *r)
{
    uint32_t size = 16 + below(r, 64);
    push_buffer(r, size);
    push_integer(r, UINT32, size);
    emit(r, POST, 0);
}

/* variable = variable + constant + number, for each arithmetic type */
static void record_sum(struct recorder *r)
{
    uint32_t type = 1 + below(r, DOUBLE), place = variable(r, type);
    emit(r, LOAD_V, type << 20 | place);
    if (type == FLOAT) {
        push_float(r, (float)below(r, 1000) / 7.0f - 71.0f);
        emit(r, ADD, 2);
    } else if (type == DOUBLE) {
        push_double(r, below(r, 1000) / 7.0 - 71.0);
        emit(r, ADD, 2);
    } else {
        emit(r, LOAD_C, type << 20 | (STRINGS * STRING_SIZE + below(r, 1000) * 8));
        push_integer(r, type, below(r, 100));
        emit(r, ADD, 3);
    }
    emit(r, STORE_V, place);
}

/* Through pointers: *(buffer) = *(buffer) + 1, with the pointer computed on the stack and cloned. */
static void record_pointer(struct recorder *r)
{
    push_buffer(r, 1024);
    if (r->code[r->size - 1] >> 26 == PUSH_I) { /* volatile: an offset of the same type can be added */
        emit(r, PUSH_I, VOLATILE << 20 | below(r, 250) * 4);
        emit(r, ADD, 2);
    }
    emit(r, CLONE, 0);
    emit(r, LOAD, UINT32);
    push_integer(r, UINT32, 1);
    emit(r, ADD, 2);
    emit(r, CLONE, 1);
    emit(r, STORE, 0);
    emit(r, POP, 1);
}

/* for (counter = n; counter; counter--) { a few commands } */
static void record_loop(struct recorder *r)
{
    uint32_t label = r->labels++, counter = 0x300 + below(r, 8) * 8;
    push_integer(r, INT32, 1 + below(r, 5));
    emit(r, STORE_V, counter);
    emit(r, JUMPLABEL, label);
    record_copy(r);
    record_sum(r);
    emit(r, LOAD_V, INT32 << 20 | counter);
    push_integer(r, INT32, -1);
    emit(r, ADD, 2);
    emit(r, CLONE, 0);
    emit(r, STORE_V, counter);
    emit(r, JUMPNZ, label);
}

/* if (variable) { a few commands } */
static void record_condition(struct recorder *r)
{
    uint32_t label = r->labels++, type = UINT8 + below(r, 3);
    emit(r, LOAD_V, type << 20 | variable(r, type));
    emit(r, JUMPZ, label);
    record_draw(r);
    record_viewport(r);
    emit(r, JUMPLABEL, label);
}

typedef void record_function(struct recorder *r);

uint32_t record_stream(uint32_t *code, uint32_t limit)
{
    static record_function *const commands[16] = {
        record_draw, record_draw, record_sum, record_sum, record_sum, record_clear, record_depth_range, record_viewport,
        record_bind, record_upload, record_copy, record_string, record_post, record_pointer, record_loop, record_condition};
    struct recorder recorder = {code, 0, 20190707, 1, 0};
    while (recorder.size + 40 < limit && recorder.labels < LABELS) { /* no command has more than 40 opcodes */
        emit(&recorder, LABEL, ++recorder.commands);
        commands[below(&recorder, 16)](&recorder);
    }
    return recorder.size;
}

void fill_constants(uint8_t constant_memory[CONSTANT_SIZE])
{
    uint32_t random = 7;
    for (uint32_t i = 0; i < CONSTANT_SIZE; i++)
        constant_memory[i] = (uint8_t)(random32(&random) >> 5);
    for (uint32_t i = 0; i < STRINGS; i++) {
        uint8_t *string = constant_memory + i * STRING_SIZE;
        for (uint32_t j = 0; j < STRING_SIZE; j++)
            string[j] = j < i % (STRING_SIZE - 1) ? (uint8_t)('a' + string[j] % 26) : 0;
    }
}
