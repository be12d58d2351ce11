/* What the parts of the replay sample share: the opcodes, the machine, its resources and the recorded stream. */
#ifndef SAMPLES_REPLAY_VM_H
#define SAMPLES_REPLAY_VM_H

#include "freestanding/out.h"

enum type {
    BOOL, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64, FLOAT, DOUBLE, ABSOLUTE, CONSTANT, VOLATILE, TYPES
};
enum code {
    CALL, PUSH_I, LOAD_C, LOAD_V, LOAD, POP, STORE_V, STORE, RESOURCE, POST, COPY, CLONE, STRCPY, EXTEND, ADD, LABEL,
    JUMPLABEL, JUMPNZ, JUMPZ, CODES
};
enum status { RUNNING, ENDED, STACK_FAULT, MEMORY_FAULT, TYPE_FAULT, CODE_FAULT };
enum {
    STACK_SIZE = 256, VOLATILE_SIZE = 1 << 16, CONSTANT_SIZE = 1 << 14, LABELS = 1 << 16, OPCODES = 1 << 20,
    RESOURCES = 128, SLOTS = 24, SLOT_SIZE = 1024, NO_SLOT = 255,
};
#define VOLATILE_BASE 0x10000000u /* where the pools lie for absolute pointers */
#define CONSTANT_BASE 0x20000000u

struct value {
    uint64_t bits; /* integers are kept sign- or zero-extended */
    uint32_t type;
};

/* Resources in use, most recently used first: a doubly linked list of slots. */
struct cache {
    uint8_t slot_of[RESOURCES], id_in[SLOTS], next[SLOTS], previous[SLOTS], first, last;
    uint32_t used, misses;
    uint8_t bytes[SLOTS][SLOT_SIZE];
};

struct machine {
    struct value stack[STACK_SIZE];
    uint32_t depth, label, posts, calls, hash;
    enum status status;
    uint8_t volatile_memory[VOLATILE_SIZE], constant_memory[CONSTANT_SIZE];
    struct cache cache;
};

/* replay_resources.c */
void cache_clear(struct cache *c);
uint32_t resource_size(uint32_t id);
const uint8_t *cached_resource(struct cache *c, uint32_t id);

/* replay_stream.c */
uint32_t record_stream(uint32_t *code, uint32_t limit);             /* returns the number of opcodes, at most limit */
void fill_constants(uint8_t constant_memory[CONSTANT_SIZE]);        /* what the stream expects there */

static inline uint32_t opcode(uint32_t code, uint32_t data)
{
    return code << 26 | data;
}

#endif
