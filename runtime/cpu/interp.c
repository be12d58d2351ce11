/* The interpreter's instructions: decoding, and everything that jumps.
 *
 * It runs what no one lifted, and everything under --tier interp (run/interpret.c). It states the meaning of the
 * instructions a second time, from the MIPS32 release 2 manual (volumes I-A and II-A), and must never be made from the rows of
 * mipsrec/isa.
 *
 * s->pc is the address of the instruction under way, or of the branch whose delay slot is under way: what EPC would
 * hold. Fault handlers read it.
 */
#include "cpu/interp.h"

#include "base/counters.h"
#include "base/instructions.h"
#include "base/marks.h"
#include "cpu/mips16.h"
#include "cpu/model.h"
#include "cpu/upcalls.h"

/* ---- jumps and branches, whose delay slot is at `next` ---- */

#define NOP 0u /* sll $zero, $zero, 0 */

void mr_decide_branch(const struct mr_state *s, uint32_t word, bool taken)
{
    uint32_t counter;
    if (mr_is_decision(word) && mr_counter_at(s->pc, &counter))
        mr_count(counter + taken);
}

void mr_decide_jump(const struct mr_state *s, unsigned number, uint32_t target)
{
    uint32_t counter;
    if (number != MR_REG_RA && mr_counter_at(s->pc, &counter))
        mr_count(mr_counter_of_jump(counter, target));
}

/* The only place that knows of delay slots: runs the slot of the branch at s->pc. The target was latched before. */
static inline uint32_t run_delay_slot(struct mr_state *s, uint32_t slot_pc, uint32_t target)
{
    uint32_t word = mr_fetch(slot_pc);
    mr_mark(slot_pc, MR_INSTRUCTION_BYTES, true);
    if (word == NOP)
        return target;
    if (mr_has_delay_slot(word))
        return raise_reserved(s, word); /* unpredictable by the manual */
    return mr_perform(s, word, target);
}

uint32_t mr_branch(struct mr_state *s, uint32_t word, uint32_t slot_pc, bool taken, bool likely)
{
    uint32_t target = taken ? slot_pc + (signed_immediate(word) << 2) : mr_next_pc(slot_pc), next = target;
    if (taken || !likely)
        next = run_delay_slot(s, slot_pc, target);
    if (mr_counting && next == target)
        mr_decide_branch(s, word, taken);
    return next;
}

/* A conditional branch: a is GPR[rs], b is GPR[rt]. */
#define BRANCH(name, condition, likely)                            \
    static uint32_t op_##name(struct mr_state *s, uint32_t word, uint32_t next) \
    {                                                              \
        uint32_t a = GPR(s, rs(word)), b = GPR(s, rt(word));       \
        (void)b;                                                   \
        return mr_branch(s, word, next, (condition), (likely));    \
    }

BRANCH(beq, a == b, false)
BRANCH(bne, a != b, false)
BRANCH(blez, (int32_t)a <= 0, false)
BRANCH(bgtz, (int32_t)a > 0, false)
BRANCH(bltz, (int32_t)a < 0, false)
BRANCH(bgez, (int32_t)a >= 0, false)
BRANCH(beql, a == b, true)
BRANCH(bnel, a != b, true)
BRANCH(blezl, (int32_t)a <= 0, true)
BRANCH(bgtzl, (int32_t)a > 0, true)
BRANCH(bltzl, (int32_t)a < 0, true)
BRANCH(bgezl, (int32_t)a >= 0, true)
BRANCH(posge32, a == 0 && rs(word) == 0 && s->dsp_control.value & 32, false)

static uint32_t op_bposge32(struct mr_state *s, uint32_t word, uint32_t next)
{
    return mr_cpu_lacks(MR_CPU_DSP) ? raise_reserved(s, word) : op_posge32(s, word, next);
}

/* A branch that links whether taken or not. The condition is read first. */
#define BRANCH_AND_LINK(name, condition, likely)                   \
    static uint32_t op_##name(struct mr_state *s, uint32_t word, uint32_t next) \
    {                                                              \
        bool taken = (int32_t)GPR(s, rs(word)) condition;          \
        set_gpr(s, MR_REG_RA, mr_next_pc(next));                   \
        return mr_branch(s, word, next, taken, (likely));          \
    }

BRANCH_AND_LINK(bltzal, < 0, false)
BRANCH_AND_LINK(bgezal, >= 0, false)
BRANCH_AND_LINK(bltzall, < 0, true)
BRANCH_AND_LINK(bgezall, >= 0, true)

/* Within the 256 MiB region of the delay slot. */
static inline uint32_t jump_target(uint32_t slot_pc, uint32_t word)
{
    return (slot_pc & 0xf0000000u) | (word & 0x03ffffffu) << 2;
}

static uint32_t op_j(struct mr_state *s, uint32_t word, uint32_t next)
{
    return run_delay_slot(s, next, jump_target(next, word));
}

static uint32_t op_jal(struct mr_state *s, uint32_t word, uint32_t next)
{
    set_gpr(s, MR_REG_RA, mr_next_pc(next));
    return run_delay_slot(s, next, jump_target(next, word));
}

/* To MIPS16 code. */
static uint32_t op_jalx(struct mr_state *s, uint32_t word, uint32_t next)
{
    if (mr_cpu_lacks(MR_CPU_MIPS16))
        return raise_reserved(s, word);
    set_gpr(s, MR_REG_RA, mr_next_pc(next));
    return run_delay_slot(s, next, jump_target(next, word) | 1);
}

/* By register `number`, which the slot may change. */
static inline uint32_t jump_register(struct mr_state *s, uint32_t slot_pc, unsigned number, uint32_t target)
{
    uint32_t next = run_delay_slot(s, slot_pc, target);
    if (mr_counting && next == target)
        mr_decide_jump(s, number, target);
    return next;
}

static uint32_t op_jr(struct mr_state *s, uint32_t word, uint32_t next)
{
    return jump_register(s, next, rs(word), GPR(s, rs(word)));
}

static uint32_t op_jalr(struct mr_state *s, uint32_t word, uint32_t next)
{
    uint32_t target = GPR(s, rs(word));
    set_gpr(s, rd(word), mr_next_pc(next));
    return jump_register(s, next, rs(word), target);
}

/* ---- exceptions ---- */

static uint32_t op_syscall(struct mr_state *s, uint32_t word, uint32_t next)
{
    uint32_t pc = s->pc, after = mr_syscall(s, pc);
    (void)word;
    return after == mr_next_pc(pc) ? next : after; /* in a delay slot, pc is the branch's: a restart runs both again */
}

#define EXCEPTION(name, cause)                                     \
    static uint32_t op_##name(struct mr_state *s, uint32_t word, uint32_t next) \
    {                                                              \
        (void)next;                                                \
        return mr_exception(s, s->pc, cause, word);                \
    }

EXCEPTION(break, MR_BREAK)
EXCEPTION(unusable_coprocessor, MR_COPROCESSOR)
EXCEPTION(reserved, MR_RESERVED)

/* A trap: a is GPR[rs], b is `operand`. */
#define TRAP(name, operand, condition)                             \
    static uint32_t op_##name(struct mr_state *s, uint32_t word, uint32_t next) \
    {                                                              \
        uint32_t a = GPR(s, rs(word)), b = (operand);              \
        return (condition) ? mr_exception(s, s->pc, MR_TRAP, word) : next; \
    }

TRAP(tge, GPR(s, rt(word)), (int32_t)a >= (int32_t)b)
TRAP(tgeu, GPR(s, rt(word)), a >= b)
TRAP(tlt, GPR(s, rt(word)), (int32_t)a < (int32_t)b)
TRAP(tltu, GPR(s, rt(word)), a < b)
TRAP(teq, GPR(s, rt(word)), a == b)
TRAP(tne, GPR(s, rt(word)), a != b)
TRAP(tgei, signed_immediate(word), (int32_t)a >= (int32_t)b)
TRAP(tgeiu, signed_immediate(word), a >= b)
TRAP(tlti, signed_immediate(word), (int32_t)a < (int32_t)b)
TRAP(tltiu, signed_immediate(word), a < b)
TRAP(teqi, signed_immediate(word), a == b)
TRAP(tnei, signed_immediate(word), a != b)

/* ---- dispatch ---- */

static mr_operation *const regimm[32] = {
    [0x00] = op_bltz, [0x01] = op_bgez, [0x02] = op_bltzl, [0x03] = op_bgezl,
    [0x08] = op_tgei, [0x09] = op_tgeiu, [0x0a] = op_tlti, [0x0b] = op_tltiu, [0x0c] = op_teqi, [0x0e] = op_tnei,
    [0x10] = op_bltzal, [0x11] = op_bgezal, [0x12] = op_bltzall, [0x13] = op_bgezall, [0x1c] = op_bposge32,
    [0x1f] = op_synci,
};

static uint32_t op_regimm(struct mr_state *s, uint32_t word, uint32_t next)
{
    mr_operation *operation = regimm[rt(word)];
    return operation ? operation(s, word, next) : raise_reserved(s, word);
}

enum { SPECIAL = 0, OPCODE = MR_OPCODE_OPERATIONS };
mr_operation *const mr_operations[128] = {
    [SPECIAL + 0x00] = op_sll, op_movci, op_srl, op_sra, op_sllv, op_reserved, op_srlv, op_srav,
    [SPECIAL + 0x08] = op_jr, op_jalr, op_movz, op_movn, op_syscall, op_break, op_reserved, op_sync,
    [SPECIAL + 0x10] = op_mfhi, op_mthi, op_mflo, op_mtlo, op_reserved, op_reserved, op_reserved, op_reserved,
    [SPECIAL + 0x18] = op_mult, op_multu, op_div, op_divu, op_reserved, op_reserved, op_reserved, op_reserved,
    [SPECIAL + 0x20] = op_add, op_addu, op_sub, op_subu, op_and, op_or, op_xor, op_nor,
    [SPECIAL + 0x28] = op_reserved, op_reserved, op_slt, op_sltu, op_reserved, op_reserved, op_reserved, op_reserved,
    [SPECIAL + 0x30] = op_tge, op_tgeu, op_tlt, op_tltu, op_teq, op_reserved, op_tne, op_reserved,
    [SPECIAL + 0x38] = op_reserved, op_reserved, op_reserved, op_reserved, op_reserved, op_reserved, op_reserved,
    op_reserved,
    [OPCODE + 0x00] = op_reserved, op_regimm, op_j, op_jal, op_beq, op_bne, op_blez, op_bgtz,
    [OPCODE + 0x08] = op_addi, op_addiu, op_slti, op_sltiu, op_andi, op_ori, op_xori, op_lui,
    [OPCODE + 0x10] = op_unusable_coprocessor, op_cop1, op_unusable_coprocessor, op_cop1x,
    [OPCODE + 0x14] = op_beql, op_bnel, op_blezl, op_bgtzl,
    [OPCODE + 0x18] = op_reserved, op_reserved, op_reserved, op_reserved, op_special2, op_jalx, op_reserved,
    op_special3,
    [OPCODE + 0x20] = op_lb, op_lh, op_lwl, op_lw, op_lbu, op_lhu, op_lwr, op_reserved,
    [OPCODE + 0x28] = op_sb, op_sh, op_swl, op_sw, op_reserved, op_reserved, op_swr,
    op_unusable_coprocessor, /* cache */
    [OPCODE + 0x30] = op_ll, op_lwc1, op_unusable_coprocessor, op_pref,
    [OPCODE + 0x34] = op_reserved, op_ldc1, op_unusable_coprocessor, op_reserved,
    [OPCODE + 0x38] = op_sc, op_swc1, op_unusable_coprocessor, op_reserved,
    [OPCODE + 0x3c] = op_reserved, op_sdc1, op_unusable_coprocessor, op_reserved,
};

/* ---- single instructions ---- */

uint32_t mr_aligned(struct mr_state *s, uint32_t pc)
{
    while (!mr_may_fetch(pc)) {
        s->pc = pc;
        pc = mr_exception(s, pc, MR_ADDRESS, 0);
    }
    return pc;
}

uint32_t mr_interpret_step(struct mr_state *s, uint32_t pc)
{
    pc = mr_aligned(s, pc);
    if (mr_is_mips16(pc))
        return mr_mips16_step(s, pc);
    *(volatile uint32_t *)&s->pc = pc;
    uint32_t word = mr_fetch(pc);
    mr_mark(pc, MR_INSTRUCTION_BYTES, false);
    return mr_perform(s, word, mr_next_pc(pc));
}
