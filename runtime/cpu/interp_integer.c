/* Integer instructions that neither jump nor touch memory (MIPS32 manual, volume II-A). */
#define _GNU_SOURCE
#include "cpu/interp.h"
#include "cpu/upcalls.h"

#include <time.h>

static mr_operation op_mul, op_clz, op_clo, op_madd, op_maddu, op_msub, op_msubu; /* of SPECIAL2, below */

static uint32_t leading_zeros(uint32_t value)
{
    return value ? (uint32_t)__builtin_clz(value) : 32;
}

static uint32_t rotate_right(uint32_t value, unsigned count)
{
    return count ? value >> count | value << (32 - count) : value;
}

/* A register operation: a is GPR[rs], b is GPR[rt], the value goes to GPR[rd]; `reserved`: encodings that are not it. */
#define CHECKED_REGISTER_OPERATION(name, reserved, value)          \
    uint32_t op_##name(struct mr_state *s, uint32_t word, uint32_t next) \
    {                                                              \
        uint32_t a = GPR(s, rs(word)), b = GPR(s, rt(word));       \
        (void)a, (void)b;                                          \
        if (reserved)                                              \
            return raise_reserved(s, word);                        \
        set_gpr(s, rd(word), (value));                             \
        return next;                                               \
    }
#define REGISTER_OPERATION(name, value) CHECKED_REGISTER_OPERATION(name, false, value)

REGISTER_OPERATION(addu, a + b)
REGISTER_OPERATION(subu, a - b)
REGISTER_OPERATION(and, a & b)
REGISTER_OPERATION(or, a | b)
REGISTER_OPERATION(xor, a ^ b)
REGISTER_OPERATION(nor, ~(a | b))
REGISTER_OPERATION(slt, (int32_t)a < (int32_t)b)
REGISTER_OPERATION(sltu, a < b)
REGISTER_OPERATION(sll, b << sa(word))
REGISTER_OPERATION(sra, (uint32_t)((int32_t)b >> sa(word)))
REGISTER_OPERATION(sllv, b << (a & 31))
REGISTER_OPERATION(srav, (uint32_t)((int32_t)b >> (a & 31)))
REGISTER_OPERATION(movz, b == 0 ? a : GPR(s, rd(word)))
REGISTER_OPERATION(movn, b != 0 ? a : GPR(s, rd(word)))
REGISTER_OPERATION(mul, a * b)
REGISTER_OPERATION(clz, leading_zeros(a))
REGISTER_OPERATION(clo, leading_zeros(~a))

/* Release 2 gives bit 0 of the otherwise zero field to the rotation; other values are reserved. */
static uint32_t shift_or_rotate(struct mr_state *s, uint32_t word, uint32_t next, unsigned zero_field, unsigned count)
{
    uint32_t value = GPR(s, rt(word));
    if (zero_field > 1)
        return raise_reserved(s, word);
    set_gpr(s, rd(word), zero_field ? rotate_right(value, count) : value >> count);
    return next;
}

uint32_t op_srl(struct mr_state *s, uint32_t word, uint32_t next)
{
    return shift_or_rotate(s, word, next, rs(word), sa(word));
}

uint32_t op_srlv(struct mr_state *s, uint32_t word, uint32_t next)
{
    return shift_or_rotate(s, word, next, sa(word), GPR(s, rs(word)) & 31);
}

/* An operation with a 16-bit immediate: a is GPR[rs], the value goes to GPR[rt]. */
#define IMMEDIATE_OPERATION(name, extension, value)                \
    uint32_t op_##name(struct mr_state *s, uint32_t word, uint32_t next) \
    {                                                              \
        uint32_t a = GPR(s, rs(word)), b = extension(word);        \
        (void)a;                                                   \
        set_gpr(s, rt(word), (value));                             \
        return next;                                               \
    }

IMMEDIATE_OPERATION(addiu, signed_immediate, a + b)
IMMEDIATE_OPERATION(slti, signed_immediate, (int32_t)a < (int32_t)b)
IMMEDIATE_OPERATION(sltiu, signed_immediate, a < b)
IMMEDIATE_OPERATION(andi, immediate, a & b)
IMMEDIATE_OPERATION(ori, immediate, a | b)
IMMEDIATE_OPERATION(xori, immediate, a ^ b)
IMMEDIATE_OPERATION(lui, immediate, b << 16)

/* ---- those that trap on overflow ---- */

/* Writes a + b to GPR[number], or raises the overflow exception when the signed sum does not fit. */
static uint32_t add_checked(struct mr_state *s, uint32_t word, uint32_t next, unsigned number, uint32_t a, uint32_t b)
{
    uint32_t sum = a + b;
    if (((a ^ sum) & (b ^ sum)) >> 31)
        return mr_exception(s, s->pc, MR_OVERFLOW, word);
    set_gpr(s, number, sum);
    return next;
}

uint32_t op_add(struct mr_state *s, uint32_t word, uint32_t next)
{
    return add_checked(s, word, next, rd(word), GPR(s, rs(word)), GPR(s, rt(word)));
}

uint32_t op_addi(struct mr_state *s, uint32_t word, uint32_t next)
{
    return add_checked(s, word, next, rt(word), GPR(s, rs(word)), signed_immediate(word));
}

uint32_t op_sub(struct mr_state *s, uint32_t word, uint32_t next)
{
    uint32_t a = GPR(s, rs(word)), b = GPR(s, rt(word)), difference = a - b;
    if (((a ^ b) & (a ^ difference)) >> 31)
        return mr_exception(s, s->pc, MR_OVERFLOW, word);
    set_gpr(s, rd(word), difference);
    return next;
}

/* ---- HI and LO ---- */

/* Two bits name one of the DSP module's four accumulators, of which HI and LO are the first. With sa, mult and multu are
 * the VR5400's multiply and accumulate instructions, and others are those of SmartMIPS. */
static inline bool is_no_accumulator(uint32_t word, unsigned number)
{
    return sa(word) != 0 || (number != 0 && mr_cpu_lacks(MR_CPU_DSP));
}

CHECKED_REGISTER_OPERATION(mfhi, is_no_accumulator(word, rs(word) & 3), (uint32_t)(s->hilo[rs(word) & 3] >> 32))
CHECKED_REGISTER_OPERATION(mflo, is_no_accumulator(word, rs(word) & 3), (uint32_t)s->hilo[rs(word) & 3])

/* An operation that writes HI and LO: a is GPR[rs], b is GPR[rt]. */
#define HILO_OPERATION(name, value)                                \
    uint32_t op_##name(struct mr_state *s, uint32_t word, uint32_t next) \
    {                                                              \
        uint32_t a = GPR(s, rs(word)), b = GPR(s, rt(word));       \
        uint64_t old = s->hilo[rd(word) & 3];                      \
        (void)b, (void)old;                                        \
        if (is_no_accumulator(word, rd(word) & 3))                 \
            return raise_reserved(s, word);                        \
        s->hilo[rd(word) & 3] = (value);                           \
        return next;                                               \
    }

static uint64_t signed_product(uint32_t a, uint32_t b)
{
    return (uint64_t)((int64_t)(int32_t)a * (int32_t)b);
}

static uint64_t unsigned_product(uint32_t a, uint32_t b)
{
    return (uint64_t)a * b;
}

HILO_OPERATION(mthi, (uint64_t)a << 32 | (uint32_t)old)
HILO_OPERATION(mtlo, (old >> 32 << 32) | a)
HILO_OPERATION(mult, signed_product(a, b))
HILO_OPERATION(multu, unsigned_product(a, b))
HILO_OPERATION(madd, old + signed_product(a, b))
HILO_OPERATION(maddu, old + unsigned_product(a, b))
HILO_OPERATION(msub, old - signed_product(a, b))
HILO_OPERATION(msubu, old - unsigned_product(a, b))

/* The manual leaves the result of a division by zero open; qemu divides by one then, and so does this. */
uint32_t op_div(struct mr_state *s, uint32_t word, uint32_t next)
{
    int64_t dividend = (int32_t)GPR(s, rs(word)), divisor = (int32_t)GPR(s, rt(word));
    if (divisor == 0)
        divisor = 1;
    s->hilo[0] = (uint64_t)(dividend % divisor) << 32 | (uint32_t)(dividend / divisor);
    return next;
}

uint32_t op_divu(struct mr_state *s, uint32_t word, uint32_t next)
{
    uint32_t dividend = GPR(s, rs(word)), divisor = GPR(s, rt(word));
    if (divisor == 0)
        divisor = 1;
    s->hilo[0] = (uint64_t)(dividend % divisor) << 32 | dividend / divisor;
    return next;
}

/* ---- SPECIAL2 ---- */

static mr_operation *const special2[64] = {
    [0x00] = op_madd, [0x01] = op_maddu, [0x02] = op_mul, [0x04] = op_msub, [0x05] = op_msubu,
    [0x20] = op_clz, [0x21] = op_clo,
};

uint32_t op_special2(struct mr_state *s, uint32_t word, uint32_t next)
{
    mr_operation *operation = special2[funct(word)];
    return operation ? operation(s, word, next) : raise_reserved(s, word);
}

/* ---- SPECIAL3 ---- */

static uint32_t op_ext(struct mr_state *s, uint32_t word, uint32_t next)
{
    unsigned lsb = sa(word), last = rd(word); /* last: size - 1 */
    if (lsb + last > 31)
        return raise_reserved(s, word);
    set_gpr(s, rt(word), GPR(s, rs(word)) >> lsb & (0xffffffffu >> (31 - last)));
    return next;
}

static uint32_t op_ins(struct mr_state *s, uint32_t word, uint32_t next)
{
    unsigned lsb = sa(word), msb = rd(word);
    if (lsb > msb)
        return raise_reserved(s, word);
    uint32_t mask = (0xffffffffu >> (31 - (msb - lsb))) << lsb;
    set_gpr(s, rt(word), (GPR(s, rt(word)) & ~mask) | (GPR(s, rs(word)) << lsb & mask));
    return next;
}

static uint32_t op_bshfl(struct mr_state *s, uint32_t word, uint32_t next)
{
    uint32_t value = GPR(s, rt(word));
    switch (sa(word)) {
    case 0x02: /* wsbh */
        value = (value << 8 & 0xff00ff00u) | (value >> 8 & 0x00ff00ffu);
        break;
    case 0x10: /* seb */
        value = (uint32_t)(int8_t)value;
        break;
    case 0x18: /* seh */
        value = (uint32_t)(int16_t)value;
        break;
    default:
        return raise_reserved(s, word);
    }
    set_gpr(s, rd(word), value);
    return next;
}

/* Hardware registers that this CPU has, one bit each. */
#define HARDWARE_REGISTERS (1u << 0 | 1u << 1 | 1u << 2 | 1u << 3 | 1u << 29)

uint32_t (*mr_cycles_seen)(const struct mr_state *s, uint32_t cycles);

static uint32_t hardware_register(const struct mr_state *s, uint32_t number)
{
    uint32_t cycles;
    struct timespec now;
    switch (number) {
    case 1: /* synci_step, the bytes that one synci takes care of */
        return 32;
    case 2: /* cc, the cycle counter */
        clock_gettime(CLOCK_MONOTONIC, &now);
        cycles = (uint32_t)((uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec);
        return mr_cycles_seen != NULL ? mr_cycles_seen(s, cycles) : cycles;
    case 3: /* ccres, the cycles between two values of cc */
        return 1;
    case 29: /* UserLocal */
        return s->tls;
    default: /* cpunum */
        return 0;
    }
}

uint32_t mr_rdhwr(struct mr_state *s, uint32_t number)
{
    if (number > 31 || !(HARDWARE_REGISTERS >> number & 1))
        mr_restart(s, mr_exception(s, s->pc, MR_RESERVED, 0x7c00003b | (number & 31) << 11));
    return hardware_register(s, number);
}

static uint32_t op_rdhwr(struct mr_state *s, uint32_t word, uint32_t next)
{
    if (!(HARDWARE_REGISTERS >> rd(word) & 1))
        return raise_reserved(s, word);
    set_gpr(s, rt(word), hardware_register(s, rd(word)));
    return next;
}

static mr_operation *const special3[64] = {
    [0x00] = op_ext, [0x04] = op_ins, [0x0a] = op_dsp, [0x0c] = op_dsp, [0x10] = op_dsp, [0x11] = op_dsp, [0x12] = op_dsp,
    [0x13] = op_dsp, [0x18] = op_dsp, [0x20] = op_bshfl, [0x30] = op_dsp, [0x31] = op_dsp, [0x38] = op_dsp, [0x3b] = op_rdhwr,
};

uint32_t op_special3(struct mr_state *s, uint32_t word, uint32_t next)
{
    mr_operation *operation = special3[funct(word)];
    return operation ? operation(s, word, next) : raise_reserved(s, word);
}
