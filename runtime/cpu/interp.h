/* What the files of the interpreter share: how an instruction's function looks, its fields, and registers. */
#ifndef MR_INTERP_H
#define MR_INTERP_H

#include "base/host_thread.h"
#include "base/instructions.h"
#include "cpu/model.h"
#include "cpu/upcalls.h"
#include "memory/shadow.h"
#include "memory/values.h"

#include <stdbool.h>
#include <stdint.h>

/* Executes `word`, which lies at s->pc, or in the delay slot of the branch at s->pc. Returns the pc to go on at: `next`
 * (the one behind it, or in a delay slot the latched target), unless the instruction jumps or raises an exception. */
typedef uint32_t mr_operation(struct mr_state *s, uint32_t word, uint32_t next);

/* The manual's fields (volume I-A, instruction formats). */
static inline unsigned rs(uint32_t word) { return word >> 21 & 31; }
static inline unsigned rt(uint32_t word) { return word >> 16 & 31; }
static inline unsigned rd(uint32_t word) { return word >> 11 & 31; }
static inline unsigned sa(uint32_t word) { return word >> 6 & 31; }
static inline unsigned funct(uint32_t word) { return word & 63; }
static inline uint32_t signed_immediate(uint32_t word) { return (uint32_t)(int16_t)word; }
static inline uint32_t immediate(uint32_t word) { return word & 0xffff; }

/* Whether it is a branch or a jump. */
static inline bool mr_has_delay_slot(uint32_t word)
{
    const uint32_t jumping_opcodes = 0x20f200ffu; /* with jumps among them, one bit each */
    uint32_t opcode = word >> 26;
    if (opcode == 0x00)
        return (funct(word) & ~1u) == 0x08; /* jr jalr */
    if (opcode > 0x1d || !(jumping_opcodes >> opcode & 1))
        return false;
    if (opcode == 0x01)
        return (rt(word) & 0x0c) == 0 || rt(word) == 0x1c; /* bltz bgez and their links and likelies; bposge32 */
    return opcode != 0x11 || rs(word) == 0x08; /* bc1f bc1t */
}

/* For what the functions of some rows share: as a function of its own it would be called for each instruction. */
#define MR_INLINE __attribute__((always_inline)) static inline

/* The only place that keeps $zero zero. */
static inline void set_gpr(struct mr_state *s, unsigned number, uint32_t value)
{
    GPR(s, number) = value;
    GPR(s, 0) = 0;
}

static inline uint32_t raise_reserved(struct mr_state *s, uint32_t word)
{
    return mr_exception(s, s->pc, MR_RESERVED, word);
}

/* A host access that faults like a guest fetch. Volatile: s->pc must be in memory before. */
static inline uint32_t mr_fetch(uint32_t pc)
{
    return mr_swap32(*(const volatile uint32_t *)((uintptr_t)mr_window + pc));
}

/* SPECIAL by its function field, then the others by opcode. interp.c */
enum { MR_OPCODE_OPERATIONS = 64 };
extern mr_operation *const mr_operations[128];
static inline mr_operation *mr_operation_of(uint32_t word)
{
    uint32_t opcode = word >> 26;
    return mr_operations[opcode ? MR_OPCODE_OPERATIONS + opcode : funct(word)];
}

/* Performs an instruction that may access memory; `next` as for mr_operation. */
static inline uint32_t mr_perform(struct mr_state *s, uint32_t word, uint32_t next)
{
    if (__builtin_expect(mr_checking, false))
        mr_check_access(s, word);
    return mr_operation_of(word)(s, word, next);
}

/* Whether the processor has instructions that can be at an address. */
static inline bool mr_may_fetch(uint32_t pc)
{
    return mr_is_aligned(pc) || (mr_is_mips16(pc) && !mr_cpu_lacks(MR_CPU_MIPS16));
}

/* Raises the address exceptions of jumps to misaligned places until a handler has a proper one, or one of MIPS16 code, which is
 * odd; returns that. */
uint32_t mr_aligned(struct mr_state *s, uint32_t pc);
/* Runs one instruction, with its delay slot; returns the pc to go on at. */
uint32_t mr_interpret_step(struct mr_state *s, uint32_t pc);
/* Told of each value of the cycle counter, gives the one that the guest sees; NULL: nobody cares (verify.c). */
extern uint32_t (*mr_cycles_seen)(const struct mr_state *s, uint32_t cycles);

/* The branch at s->pc: runs or annuls its delay slot, at slot_pc; returns the target or the fall-through. interp.c */
uint32_t mr_branch(struct mr_state *s, uint32_t word, uint32_t slot_pc, bool taken, bool likely);

/* Counts the decision at s->pc, where decisions are counted: a branch, and a jump by a register to a target. */
void mr_decide_branch(const struct mr_state *s, uint32_t word, bool taken);
void mr_decide_jump(const struct mr_state *s, unsigned number, uint32_t target);

/* interp_integer.c */
mr_operation op_sll, op_srl, op_sra, op_sllv, op_srlv, op_srav, op_movz, op_movn;
mr_operation op_mfhi, op_mthi, op_mflo, op_mtlo, op_mult, op_multu, op_div, op_divu;
mr_operation op_add, op_addu, op_sub, op_subu, op_and, op_or, op_xor, op_nor, op_slt, op_sltu;
mr_operation op_addi, op_addiu, op_slti, op_sltiu, op_andi, op_ori, op_xori, op_lui;
mr_operation op_special2, op_special3;

/* interp_memory.c */
mr_operation op_lb, op_lh, op_lwl, op_lw, op_lbu, op_lhu, op_lwr, op_sb, op_sh, op_swl, op_sw, op_swr, op_ll, op_sc;
mr_operation op_lwc1, op_ldc1, op_swc1, op_sdc1, op_lwxc1, op_ldxc1, op_luxc1, op_swxc1, op_sdxc1, op_suxc1;
mr_operation op_sync, op_synci, op_pref;

/* All of SPECIAL3 that the DSP module has; then those that it consists of. interp_dsp.c, interp_dsp_accumulators.c,
 * interp_memory.c */
mr_operation op_dsp, op_lx;
mr_operation op_dsp_sum, op_dsp_half_sum, op_dsp_compare, op_dsp_extend, op_dsp_shift, op_dsp_append, op_dsp_insert;
mr_operation op_dsp_dot, op_dsp_extract;

/* interp_float.c */
mr_operation op_cop1, op_cop1x, op_movci;

#endif
