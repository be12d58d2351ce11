/* The guest's exceptions become its signals, as in Linux's arch/mips/kernel/traps.c.
 *
 * Enters: what an instruction did wrong. Leaves: the pc of the guest's handler, or the end of the guest.
 * Not done here: faults of host accesses (fault.c), and how a handler is called (signal_delivery.c, signal_frame.c).
 */
#include "base/instructions.h"
#include "base/messages.h"
#include "base/observe.h"
#include "cpu/interp.h"
#include "cpu/mips16.h"
#include "lifted/code_files.h"
#include "linux/fault.h"
#include "linux/signals.h"
#include "linux/upcalls.h"
#include "memory/values.h"
#include "run/upcalls.h"

#include <signal.h>
#include <sys/uio.h>
#include <unistd.h>

#define CODE_KERNEL 0x80     /* SI_KERNEL, as force_sig sends it */
#define CODE_FLOAT_UNKNOWN 14 /* FPE_FLTUNK */

uint32_t mr_raise(struct mr_state *s, int mips_signal, int code, uint32_t pc, uint32_t address)
{
    uint32_t new_pc;
    s->ll_valid = 0;
    if (mr_signal_deliver(s, mips_signal, code, pc, address, &new_pc))
        return new_pc;
    mr_die_by_signal(s, mips_signal, pc, address);
}

/* ---- memory ---- */

#define KERNEL_HALF 0x80000000u

/* How an instruction reaches memory, as far as do_ade in unaligned.c cares. */
struct access {
    uint32_t aligned_to; /* bytes; 1 where every address is aligned */
    bool by_fpu;         /* the kernel's FPU emulator makes it when it is misaligned */
    bool not_emulated;   /* the kernel takes the instruction for a reserved one */
};

enum { COP1X = 0x13, SPECIAL3 = 0x1f, LX = 0x0a /* function of SPECIAL3: lwx, lhx, lbux, by the field sa */ };

static struct access access_of(uint32_t word)
{
    uint32_t opcode = word >> 26;
    switch (opcode) {
    case 0x21: case 0x25: case 0x29: /* lh lhu sh */
        return (struct access){.aligned_to = 2};
    case 0x23: case 0x2b: /* lw sw */
        return (struct access){.aligned_to = 4};
    case 0x31: case 0x39: /* lwc1 swc1 */
        return (struct access){.aligned_to = 4, .by_fpu = true};
    case 0x35: case 0x3d: /* ldc1 sdc1 */
        return (struct access){.aligned_to = 8, .by_fpu = true};
    case COP1X: /* by bits 2 to 0, lwxc1 swxc1, ldxc1 sdxc1, luxc1 suxc1 (which has no bits for misalignment) */
        return (struct access){.aligned_to = (word & 7) == 0 ? 4 : (word & 7) == 1 ? 8 : 1, .by_fpu = true};
    case SPECIAL3:
        return sa(word) == 0x00   ? (struct access){.aligned_to = 4}  /* lwx */
               : sa(word) == 0x04 ? (struct access){.aligned_to = 2}  /* lhx */
                                  : (struct access){.aligned_to = 1, .not_emulated = true}; /* lbux */
    default:
        return (struct access){.aligned_to = 1};
    }
}

/* Copies code, which may have gone from memory: a fault of the host would be one too many. */
static bool copied(void *to, uint32_t from, size_t size_bytes)
{
    struct iovec local = {to, size_bytes}, remote = {(void *)((uintptr_t)mr_window + from), size_bytes};
    return mr_accessible(from, (uint32_t)size_bytes, MR_READ) &&
           process_vm_readv(getpid(), &local, 1, &remote, 1, 0) == (ssize_t)size_bytes;
}

static bool code_half(uint32_t pc, uint32_t *half)
{
    uint16_t found;
    bool is_there = copied(&found, pc & ~1u, sizeof found);
    *half = is_there ? mr_swap16(found) : 0;
    return is_there;
}

struct mr_mips16 mr_code_mips16(uint32_t pc)
{
    uint32_t first, second = 0;
    if (!code_half(pc, &first) || (mr_mips16_is_long(first) && !code_half(pc + MR_HALF_BYTES, &second)))
        return (struct mr_mips16){.kind = MR16_RESERVED};
    return mr_mips16_decode(first, second);
}

uint32_t mr_code_word(uint32_t pc)
{
    uint32_t word;
    if (mr_is_mips16(pc))
        return mr_code_mips16(pc).word;
    return copied(&word, pc, sizeof word) ? mr_swap32(word) : 0;
}

enum { MOST_MIPS16_BYTES = 5 }; /* of an instruction and its delay slot, less one */

/* Of a jump at pc. */
static uint32_t slot_pc_of(uint32_t pc)
{
    uint32_t half;
    if (!mr_is_mips16(pc))
        return mr_next_pc(pc);
    bool is_long = code_half(pc, &half) && mr_mips16_is_long(half);
    return pc + (is_long ? 2 * MR_HALF_BYTES : MR_HALF_BYTES);
}

/* Whether the fault was that of a fetch, of the instruction or of its delay slot; else *word is what made the access. */
static bool is_fetch(const struct mr_access_fault *fault, uint32_t *word)
{
    *word = mr_code_word(fault->pc);
    if (fault->address == (fault->pc & ~1u))
        return true;
    if (mr_is_mips16(fault->pc) && fault->address - fault->pc < MOST_MIPS16_BYTES)
        return true;
    if (!mr_has_delay_slot(*word))
        return false;
    *word = mr_code_word(slot_pc_of(fault->pc));
    return fault->address == mr_next_pc(fault->pc);
}

static struct mr_mips16 mips16_at(uint32_t pc) /* plain where the code is MIPS32 code */
{
    return mr_is_mips16(pc) ? mr_code_mips16(pc) : (struct mr_mips16){.kind = MR16_PLAIN};
}

/* Whether a load made the access that is relative to its pc. Then fault->address becomes what it loads, which may be
 * misaligned where it is extended. */
static bool is_load_by_pc(struct mr_access_fault *fault)
{
    struct mr_mips16 found = mips16_at(fault->pc);
    if (found.kind != MR16_PC_LOAD)
        return false;
    fault->address = mr_aligned_down(fault->pc) + found.value;
    return true;
}

static bool is_indexed(uint32_t word)
{
    return word >> 26 == COP1X || (word >> 26 == SPECIAL3 && funct(word) == LX);
}

static uint32_t effective_address(const struct mr_state *s, uint32_t word)
{
    return GPR(s, rs(word)) + (is_indexed(word) ? GPR(s, rt(word)) : signed_immediate(word));
}

static bool is_store(uint32_t word)
{
    uint32_t opcode = word >> 26;
    return opcode == 0x28 || opcode == 0x29 || opcode == 0x2b; /* sb sh sw */
}

/* Whether `load` loads what `store` stores to: as many bytes at the same offset from the same register. */
static bool is_load_for(uint32_t store, uint32_t load)
{
    enum { STORE_BIT = 0x08, UNSIGNED_BIT = 0x04 };
    uint32_t wanted = store >> 26 & ~(uint32_t)STORE_BIT, opcode = load >> 26; /* lb lh lw */
    bool same_width = opcode == wanted || (opcode == (wanted | UNSIGNED_BIT) && wanted != 0x23);
    return same_width && (load >> 21 & 31) == (store >> 21 & 31) && (load & 0xffff) == (store & 0xffff);
}

static bool may_write(uint32_t word, uint32_t number)
{
    return (word >> 16 & 31) == number || (word >> 11 & 31) == number;
}

/* Of the instruction right before the one at pc. One of MIPS16 code has two bytes, if no longer one begins four bytes before. */
static uint32_t pc_before(uint32_t pc)
{
    uint32_t half;
    if (!mr_is_mips16(pc))
        return pc - MR_INSTRUCTION_BYTES;
    bool is_long = code_half(pc - 2 * MR_HALF_BYTES, &half) && mr_mips16_is_long(half);
    return pc - (is_long ? 2 * MR_HALF_BYTES : MR_HALF_BYTES);
}

static bool has_slot(uint32_t pc)
{
    if (!mr_is_mips16(pc))
        return mr_has_delay_slot(mr_code_word(pc));
    enum mr_mips16_kind kind = mr_code_mips16(pc).kind;
    return kind == MR16_JUMP || kind == MR16_JUMP_REGISTER;
}

/* A word that stands for the instruction at pc, if it is neither jump nor branch and in no slot, since that belongs to the
 * block before; else 0. */
static uint32_t word_in_block(uint32_t pc)
{
    uint32_t word = mr_code_word(pc);
    struct mr_mips16 found = mips16_at(pc);
    if (found.kind == MR16_PC_LOAD || found.kind == MR16_PC_ADD)
        word = (uint32_t)found.number << 16;
    return mr_has_delay_slot(word) || has_slot(pc_before(pc)) ? 0 : word;
}

uint32_t mr_first_access(const struct mr_access_fault *fault)
{
    enum { FARTHEST = 16 };
    uint32_t store = mr_code_word(fault->pc), pc = fault->pc;
    if (mr_has_delay_slot(store))
        store = mr_code_word(slot_pc_of(pc));
    if (!is_store(store) || ((mr_pages[fault->address / MR_PAGE_BYTES] & MR_READ) != 0 && !fault->beyond_file))
        return fault->pc;
    for (int i = 0; i < FARTHEST; i++) {
        uint32_t word = word_in_block(pc = pc_before(pc));
        if (word == 0)
            break;
        if (is_load_for(store, word))
            return pc;
        if (may_write(word, store >> 21 & 31))
            break;
    }
    return fault->pc;
}

/* do_page_fault. */
static int page_fault(const struct mr_access_fault *fault, int *code)
{
    *code = fault->beyond_file                                                     ? BUS_ADRERR
            : (mr_pages[fault->address / MR_PAGE_BYTES] & MR_MAPPED) != 0 ? SEGV_ACCERR
                                                                                   : SEGV_MAPERR;
    return fault->beyond_file ? MIPS_SIGBUS : MIPS_SIGSEGV;
}

/* do_ade. The kernel makes the access itself, and what is wrong with it is the kernel's own fault then. */
static int address_error(struct mr_access_fault *fault, struct access access, int *code)
{
    bool outside = (uint64_t)fault->address + access.aligned_to > KERNEL_HALF;
    if (access.by_fpu) { /* process_fpemu_return */
        fault->beyond_file = outside;
        return page_fault(fault, code);
    }
    fault->address = 0;
    *code = CODE_KERNEL;
    if (access.not_emulated)
        return MIPS_SIGILL;
    return outside ? MIPS_SIGBUS : MIPS_SIGSEGV;
}

/* Returns the MIPS signal for a fault, and its si_code; fault->address becomes its si_addr. Recompiled code that
 * crosses into a page it may not touch is reported as an aligned access there. LLVM also makes code access only the bytes of a
 * word that matter: then it is taken for an aligned access. */
static int access_signal(const struct mr_state *s, struct mr_access_fault *fault, int *code)
{
    uint32_t word;
    struct access access = {.aligned_to = 1};
    if (!is_fetch(fault, &word)) {
        access = access_of(word);
        if (is_load_by_pc(fault))
            access.aligned_to = 4;
        if (fault->registers_exact && (word >> 26 >= 0x20 || is_indexed(word)))
            fault->address = effective_address(s, word);
        if (fault->host_bytes != 0 && fault->host_bytes < access.aligned_to)
            fault->address -= fault->address % access.aligned_to;
    }
    if (fault->address >= KERNEL_HALF || fault->address % access.aligned_to != 0)
        return address_error(fault, access, code);
    return page_fault(fault, code);
}

static uint32_t raise_access(struct mr_state *s, struct mr_access_fault fault)
{
    uint32_t accessed = fault.address, new_pc;
    int code, mips_signal = access_signal(s, &fault, &code);
    s->ll_valid = 0;
    if (mr_signal_deliver(s, mips_signal, code, fault.pc, fault.address, &new_pc))
        return new_pc;
    mr_die_by_signal(s, mips_signal, fault.pc, accessed); /* a report is for people */
}

bool mr_access_is_caught(const struct mr_state *s, struct mr_access_fault fault)
{
    int code, mips_signal = access_signal(s, &fault, &code);
    return mr_signal_actions[mips_signal].handler > MR_SIG_IGNORE &&
           !mr_signal_in(&mr_thread_signals.blocked, mips_signal);
}

uint32_t mr_raise_access(struct mr_state *s, struct mr_access_fault fault)
{
    if (!mr_verifying)
        return raise_access(s, fault);
    mr_observe.begin_once(s, (struct mr_point){MR_AT_FAULT, fault.pc, fault.address});
    return mr_observe.end_once(s, raise_access(s, fault));
}

/* ---- exceptions ---- */

/* do_trap_or_bp. Only arithmetic has an address. */
static uint32_t raise_trap(struct mr_state *s, uint32_t pc, uint32_t trap_code, int si_code)
{
    enum { OVERFLOW = 6, DIVISION_BY_ZERO = 7, KERNEL_BUG = 12, FPU_EMULATOR = 514 };
    switch (trap_code) {
    case OVERFLOW:
        return mr_raise(s, MIPS_SIGFPE, FPE_INTOVF, pc, pc);
    case DIVISION_BY_ZERO:
        return mr_raise(s, MIPS_SIGFPE, FPE_INTDIV, pc, pc);
    case KERNEL_BUG:
    case FPU_EMULATOR:
        return mr_raise(s, MIPS_SIGTRAP, CODE_KERNEL, pc, 0);
    default:
        return mr_raise(s, MIPS_SIGTRAP, si_code, pc, 0);
    }
}

/* do_bp: gas has always put the ten-bit code of `break` into the upper half of the field; both are understood. */
static uint32_t break_code(uint32_t word)
{
    uint32_t code = word >> 6 & 0xfffff;
    return code >= 0x400 ? (code & 0x3ff) << 10 | code >> 10 : code;
}

/* do_tr: the immediate forms carry no code. */
static uint32_t trap_code(uint32_t word)
{
    return word >> 26 == 0 ? word >> 6 & 0x3ff : 0;
}

/* force_fcr31_sig: the first enabled cause, in this order. */
static int float_code(const struct mr_state *s)
{
    uint32_t causes = s->fcsr >> 12 & s->fcsr >> 7 & 0x1f;
    return (causes & 0x10) != 0   ? FPE_FLTINV
           : (causes & 0x08) != 0 ? FPE_FLTDIV
           : (causes & 0x04) != 0 ? FPE_FLTOVF
           : (causes & 0x02) != 0 ? FPE_FLTUND
           : (causes & 0x01) != 0 ? FPE_FLTRES
                                  : CODE_FLOAT_UNKNOWN;
}

/* do_fpe: the causes that trapped are cleared first, or else the handler's own ctc1 would trap again, for ever. */
static uint32_t raise_float(struct mr_state *s, uint32_t pc)
{
    int code = float_code(s);
    s->fcsr &= ~((s->fcsr << 5 & 0x1f000u) | 0x20000u);
    return mr_raise(s, MIPS_SIGFPE, code, pc, pc);
}

static uint32_t raise_exception(struct mr_state *s, uint32_t pc, uint32_t cause, uint32_t word)
{
    switch ((enum mr_cause)cause) {
    case MR_OVERFLOW:
        return mr_raise(s, MIPS_SIGFPE, FPE_INTOVF, pc, pc);
    case MR_TRAP:
        return raise_trap(s, pc, trap_code(word), CODE_KERNEL);
    case MR_BREAK:
        return raise_trap(s, pc, break_code(word), TRAP_BRKPT);
    case MR_ADDRESS: /* do_ade */
        return mr_raise(s, MIPS_SIGBUS, CODE_KERNEL, pc, 0);
    case MR_FPE:
        return raise_float(s, pc);
    case MR_RESERVED:
    case MR_COPROCESSOR:
        return mr_raise(s, MIPS_SIGILL, CODE_KERNEL, pc, 0);
    }
    char place[400];
    bool known = mr_code_file_describe(pc, false, place, sizeof place);
    mr_fail("internal error: exception cause %u at guest pc 0x%08x%s%s, word 0x%08x", cause, pc, known ? ", " : "",
            known ? place : "", word);
}

uint32_t mr_exception(struct mr_state *s, uint32_t pc, uint32_t cause, uint32_t word)
{
    if (!mr_verifying)
        return raise_exception(s, pc, cause, word);
    mr_observe.begin_once(s, (struct mr_point){MR_AT_EXCEPTION, pc, cause});
    return mr_observe.end_once(s, raise_exception(s, pc, cause, word));
}
