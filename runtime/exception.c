/* The guest's exceptions become its signals, as in Linux's arch/mips/kernel/traps.c.
 *
 * Enters: what an instruction did wrong. Leaves: the pc of the guest's handler, or the end of the guest.
 * Not done here: faults of host accesses (fault.c), and how a handler is called (signal_state.c, signal_frame.c).
 */
#include "control.h"
#include "signals.h"

#include <signal.h>

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

int mr_access_signal(const struct mr_access_fault *fault, int *code)
{
    if (fault->beyond_file) {
        *code = BUS_ADRERR;
        return MIPS_SIGBUS;
    }
    if (fault->address >= 0x80000000u) { /* the kernel's half is an address error: do_ade in unaligned.c */
        *code = CODE_KERNEL;
        return MIPS_SIGBUS;
    }
    *code = (mr_pages[fault->address / MR_PAGE_BYTES] & MR_MAPPED) != 0 ? SEGV_ACCERR : SEGV_MAPERR;
    return MIPS_SIGSEGV;
}

uint32_t mr_raise_access(struct mr_state *s, const struct mr_access_fault *fault)
{
    int code, mips_signal = mr_access_signal(fault, &code);
    return mr_raise(s, mips_signal, code, fault->pc, fault->address);
}

/* do_trap_or_bp. */
static uint32_t raise_trap(struct mr_state *s, uint32_t pc, uint32_t trap_code, int si_code)
{
    enum { OVERFLOW = 6, DIVISION_BY_ZERO = 7 };
    if (trap_code == OVERFLOW)
        return mr_raise(s, MIPS_SIGFPE, FPE_INTOVF, pc, pc);
    if (trap_code == DIVISION_BY_ZERO)
        return mr_raise(s, MIPS_SIGFPE, FPE_INTDIV, pc, pc);
    return mr_raise(s, MIPS_SIGTRAP, si_code, pc, si_code == CODE_KERNEL ? 0 : pc);
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

uint32_t mr_exception(struct mr_state *s, uint32_t pc, uint32_t cause, uint32_t word)
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
        return mr_raise(s, MIPS_SIGFPE, float_code(s), pc, pc);
    case MR_RESERVED:
    case MR_COPROCESSOR:
        return mr_raise(s, MIPS_SIGILL, CODE_KERNEL, pc, 0);
    }
    mr_fail("internal error: exception cause %u at guest pc 0x%08x, word 0x%08x", cause, pc, word);
}
