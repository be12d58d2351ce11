/* What a program compares, for AFL++'s CMPLOG: it looks for these values in the input, and puts in what they were compared
 * with.
 *
 * AFL++ starts a second fork server for that, with another map in shared memory. That has one of two forms of its
 * include/cmplog.h, which differ in size. All of that one's code is interpreted. A comparison is a beq or bne of two
 * registers, a slt, or an xor, which compilers make of equality as a value, and of all equality in MIPS16e code. They
 * also add what is to be zero then, and ask whether the sum is: `addu; sltiu 1`. Or it is a call whose first two
 * arguments are addresses of bytes that differ, as of memcmp. Those of files that do not count (coverage.c) are left
 * out.
 */
#include "coverage/coverage.h"

#include "base/counters.h"
#include "base/host_thread.h"
#include "base/messages.h"
#include "cpu/upcalls.h"
#include "memory/values.h"

#include <string.h>

enum { ROWS = 65536, LOGGED = 32, CALLS_LOGGED = LOGGED / 2, CALL_BYTES = 31 };
enum kind { OF_INSTRUCTION, OF_CALL };

/* Up to version 4.19; a kind is one more there. */
struct first_header {
    unsigned hits : 24, id : 24, shape : 5, type : 2, attribute : 4, overflow : 1, reserved : 4;
} __attribute__((packed));
struct first_operands {
    uint64_t values[2], upper[2];
} __attribute__((packed));
struct first_call {
    struct {
        uint8_t bytes[CALL_BYTES], count;
    } arguments[2];
} __attribute__((packed));
struct first_map {
    struct first_header headers[ROWS];
    union {
        struct first_operands operands[LOGGED];
        struct first_call calls[CALLS_LOGGED];
    } rows[ROWS];
};

/* From version 4.20 on. */
struct second_header {
    unsigned hits : 6, shape : 5, type : 1, attribute : 4;
} __attribute__((packed));
struct second_operands {
    uint64_t values[2], upper[2], unused;
    uint8_t more_unused[2];
} __attribute__((packed));
struct second_call {
    struct {
        uint8_t bytes[CALL_BYTES + 1], count;
    } arguments[2];
} __attribute__((packed));
struct second_map {
    struct second_header headers[ROWS];
    union {
        struct second_operands operands[LOGGED];
        struct second_call calls[CALLS_LOGGED];
    } rows[ROWS];
};
_Static_assert(sizeof(struct first_header) == 8 && sizeof(struct first_operands) == 32 && sizeof(struct first_call) == 64,
               "4.0");
_Static_assert(sizeof(struct second_header) == 2 && sizeof(struct second_operands) == 42 && sizeof(struct second_call) == 66,
               "4.2");

static struct first_map *first; /* one of them is NULL */
static struct second_map *second;
static uint32_t call_pc; /* of the call whose first instruction is next, or 0 */
static struct {
    uint32_t number, a, b; /* a register, and what the last addition into it was of; 0: it is none */
} sum;

bool mr_fuzzer_compares(void)
{
    size_t size_bytes = 0;
    void *map = mr_fuzzer_memory("__AFL_CMPLOG_SHM_ID", "comparisons", &size_bytes);
    if (map == NULL)
        return false;
    if (size_bytes == sizeof *first)
        first = map;
    else if (size_bytes == sizeof *second)
        second = map;
    else
        mr_fail("AFL++'s map of comparisons has %zu bytes; versions 4.0 to 4.21 have %zu or %zu", size_bytes, sizeof *first,
                sizeof *second);
    return true;
}

static uint32_t first_hit(struct first_header *header, enum kind kind, unsigned shape)
{
    unsigned type = kind + 1;
    if (header->type != type)
        header->hits = 0;
    header->type = type & 3;
    header->shape = shape & 31;
    return header->hits++;
}

/* A place that is never hit is one whose hits are 0: so they do not become that again. */
static uint32_t second_hit(struct second_header *header, enum kind kind, unsigned shape)
{
    if (header->type != kind)
        header->hits = 0;
    header->type = kind & 1;
    header->shape = shape & 31;
    uint32_t number = header->hits;
    header->hits = (number == 2 * LOGGED - 1 ? LOGGED : number + 1) & 63;
    return number;
}

/* Finds the row of a place, for one more hit of a kind, and the number of that hit; false where the place does not count. */
static bool hit(uint32_t pc, enum kind kind, unsigned shape, uint32_t *row, uint32_t *number)
{
    if (!mr_counter_at(pc, row))
        return false;
    *row %= ROWS;
    *number = first != NULL ? first_hit(&first->headers[*row], kind, shape) : second_hit(&second->headers[*row], kind, shape);
    return true;
}

static void note_values(uint32_t pc, uint32_t a, uint32_t b)
{
    uint32_t row, number;
    if (!hit(pc, OF_INSTRUCTION, 3, &row, &number))
        return;
    if (first != NULL)
        first->rows[row].operands[number % LOGGED] = (struct first_operands){{a, b}, {0, 0}};
    else
        second->rows[row].operands[number % LOGGED] = (struct second_operands){.values = {a, b}};
}

/* Strings end behind their zero. */
static void note_argument(uint8_t *to, uint8_t *count, const uint8_t *bytes)
{
    memcpy(to, bytes, CALL_BYTES);
    *count = (uint8_t)(strnlen((const char *)bytes, CALL_BYTES) | 0x80);
}

static void note_call(const struct mr_state *s, uint32_t pc)
{
    uint32_t row, number;
    const uint8_t *bytes[2];
    for (unsigned i = 0; i < 2; i++)
        if ((bytes[i] = mr_guest_bytes(GPR(s, MR_REG_A0 + i), CALL_BYTES, MR_READ)) == NULL)
            return;
    if (memcmp(bytes[0], bytes[1], CALL_BYTES) == 0 || !hit(pc, OF_CALL, CALL_BYTES - 1, &row, &number))
        return;
    number %= CALLS_LOGGED;
    for (unsigned i = 0; i < 2 && first != NULL; i++) {
        struct first_call *call = &first->rows[row].calls[number];
        note_argument(call->arguments[i].bytes, &call->arguments[i].count, bytes[i]);
    }
    for (unsigned i = 0; i < 2 && second != NULL; i++) {
        struct second_call *call = &second->rows[row].calls[number];
        note_argument(call->arguments[i].bytes, &call->arguments[i].count, bytes[i]);
    }
}

/* `addu` and `addiu` with other operands than 0. */
static void remember_sum(uint32_t word, uint32_t a, uint32_t b)
{
    uint32_t rs = word >> 21 & 31, rt = word >> 16 & 31;
    if (word >> 26 == 0x09 && rs != 0)
        sum.number = rt, sum.a = a, sum.b = (uint32_t)(int16_t)word;
    else if (word >> 26 == 0x00 && (word & 63) == 0x21 && rs != 0 && rt != 0)
        sum.number = word >> 11 & 31, sum.a = a, sum.b = b;
}

/* Whether a comparison asks if the register is zero: sltiu with 1, or sltu of zero and it. */
static bool asks_for_zero(uint32_t word, uint32_t number)
{
    uint32_t rs = word >> 21 & 31, rt = word >> 16 & 31;
    bool by_sltiu = word >> 26 == 0x0b && (word & 0xffff) == 1 && rs == number;
    return number != 0 && (by_sltiu || (word >> 26 == 0x00 && (word & 63) == 0x2b && rs == 0 && rt == number));
}

void mr_note_comparison(const struct mr_state *s, uint32_t pc, uint32_t word)
{
    uint32_t rs = word >> 21 & 31, rt = word >> 16 & 31, a = GPR(s, rs), b = GPR(s, rt);
    if (call_pc != 0)
        note_call(s, call_pc);
    call_pc = 0;
    if (asks_for_zero(word, sum.number)) {
        note_values(pc, sum.a, 0u - sum.b);
        return;
    }
    sum.number = 0;
    remember_sum(word, a, b);
    switch (word >> 26) {
    case 0x00:
        if ((word & 63) == 0x09)
            call_pc = pc; /* jalr */
        else if (((word & 62) == 0x2a || (word & 63) == 0x26) && rs != rt && rs != 0 && rt != 0)
            note_values(pc, a, b); /* slt sltu xor */
        return;
    case 0x01:
        if (rt == 0x11 && rs == 0)
            call_pc = pc; /* bal, which linkers make of jalr */
        return;
    case 0x03: case 0x1d: call_pc = pc; return; /* jal jalx */
    case 0x04: case 0x05: case 0x14: case 0x15: /* beq bne, and likely */
        if (rs != rt && rs != 0 && rt != 0)
            note_values(pc, a, b);
        return;
    case 0x0a: case 0x0b: note_values(pc, a, (uint32_t)(int16_t)word); return; /* slti sltiu */
    case 0x0e: note_values(pc, a, word & 0xffff); return;                     /* xori */
    default: return;
    }
}
