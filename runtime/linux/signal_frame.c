/* Frames of signal handlers on the guest's stack, as arch/mips/kernel/signal.c lays them out for o32 (struct sigframe and
 * struct rt_sigframe; asm/sigcontext.h, asm/ucontext.h). Enters: a state and a signal. Leaves: the state in the handler, and
 * later, from sigreturn, the state before. The trampolines lie on a page of their own, where a kernel has its vDSO.
 */
#include "base/host_thread.h"
#include "base/lock.h"
#include "cpu/fpu.h"
#include "cpu/registers.h"
#include "linux/abi.h"
#include "linux/signals.h"
#include "memory/values.h"

#include <string.h>
#include <sys/mman.h>

#define SIGRETURN_NUMBER 4119u
#define RT_SIGRETURN_NUMBER 4193u
#define INSTRUCTION_LI_V0 0x24020000u /* addiu $v0, $zero, n */
#define INSTRUCTION_SYSCALL 0x0000000cu

/* struct sigcontext; registers have their places in the table (mipsrec/state.py). */
enum {
    SC_PC = 8, SC_USED_MATH = 540, SIGCONTEXT_BYTES = 592,
};
enum { USED_FP = 1, USED_FR1 = 2 };

/* struct sigframe: four words for the handler's arguments, two once used for a trampoline, sigcontext, mask. */
enum { FRAME_CONTEXT = 24, FRAME_MASK = FRAME_CONTEXT + SIGCONTEXT_BYTES, FRAME_BYTES = FRAME_MASK + 16 };

/* struct rt_sigframe: the same six words, siginfo, ucontext (flags, link, stack, padding, sigcontext, mask). */
enum {
    RT_INFO = 24, RT_UCONTEXT = RT_INFO + (int)MR_SIGINFO_BYTES, RT_STACK = RT_UCONTEXT + 8, RT_CONTEXT = RT_UCONTEXT + 24,
    RT_MASK = RT_CONTEXT + SIGCONTEXT_BYTES, RT_FRAME_BYTES = RT_MASK + 16,
};

#define ROOM_FOR_FPU_EMULATOR 32u /* the kernel leaves as much above the frame */
#define FCSR_CAUSES 0x0003f000u
#define FCSR_UNIMPLEMENTED 0x00020000u

/* ---- trampolines ---- */

static uint32_t trampolines; /* guest address of two of them, 8 bytes each; 0 until the first signal */

/* Under mr_lock: the only accesses to guest memory under it are to the page that was just made. */
static void map_trampolines(void)
{
    int64_t page = mr_map(0, MR_PAGE_BYTES, MR_READ | MR_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, false);
    if (page < 0)
        return;
    const uint32_t code[] = {
        INSTRUCTION_LI_V0 | SIGRETURN_NUMBER, INSTRUCTION_SYSCALL,
        INSTRUCTION_LI_V0 | RT_SIGRETURN_NUMBER, INSTRUCTION_SYSCALL,
    };
    for (uint32_t i = 0; i < sizeof code / sizeof *code; i++)
        mr_poke32((uint32_t)page + 4 * i, code[i]);
    mr_protect((uint32_t)page, MR_PAGE_BYTES, MR_READ | MR_EXEC);
    trampolines = (uint32_t)page;
}

static bool make_trampolines(void)
{
    mr_lock();
    if (!trampolines)
        map_trampolines();
    mr_unlock();
    return trampolines != 0;
}

/* ---- sigcontext ---- */

/* Register 0 has a place that nobody writes; with FR=0 the odd floating-point registers are part of the even ones. */
static bool is_in_frame(const struct mr_state *s, unsigned number)
{
    bool is_odd_half = mr_registers[number].kind == MR_KIND_FLOAT && !s->fr && (number - MR_REG_F0) % 2 != 0;
    return mr_registers[number].frame != 0 && number != MR_REG_ZERO && !is_odd_half;
}

static void put_register(uint8_t *to, struct mr_state *s, unsigned number)
{
    const struct mr_register *row = &mr_registers[number];
    uint64_t value = row->kind == MR_KIND_FCSR ? mr_cfc1(s, 31) : mr_register(s, number);
    if (row->frame_bytes == 4)
        mr_put32(to + row->frame, (uint32_t)value);
    else /* a 32-bit kernel extends registers by their sign */
        mr_put64(to + row->frame, row->size_bytes == 4 ? (uint64_t)(int64_t)(int32_t)value : value);
}

static void get_register(const uint8_t *from, struct mr_state *s, unsigned number)
{
    const struct mr_register *row = &mr_registers[number];
    uint64_t value = row->frame_bytes == 4 ? mr_get32(from + row->frame) : mr_get64(from + row->frame);
    if (row->kind != MR_KIND_FCSR) {
        mr_set_register(s, number, value);
        return;
    }
    uint32_t control = (uint32_t)value; /* a cause that is enabled would trap here */
    mr_ctc1(s, 31, control & ~((control << 5 & FCSR_CAUSES) | FCSR_UNIMPLEMENTED));
}

static void put_context(uint8_t *to, struct mr_state *s, uint32_t pc)
{
    memset(to, 0, SIGCONTEXT_BYTES);
    mr_put64(to + SC_PC, pc);
    mr_put32(to + SC_USED_MATH, USED_FP | (s->fr ? USED_FR1 : 0));
    for (unsigned number = 0; number < MR_REGISTERS; number++)
        if (is_in_frame(s, number))
            put_register(to, s, number);
}

static uint32_t get_context(const uint8_t *from, struct mr_state *s)
{
    bool used_fp = mr_get32(from + SC_USED_MATH) & USED_FP;
    for (unsigned number = 0; number < MR_REGISTERS; number++)
        if (is_in_frame(s, number) && (used_fp || mr_registers[number].kind == MR_KIND_PLAIN))
            get_register(from, s, number);
    return (uint32_t)mr_get64(from + SC_PC);
}

/* ---- stacks ---- */

/* One that disarms itself is never in use: it is none from when a handler begins on it until that returns. */
bool mr_on_alternate_stack(const struct mr_alternate_stack *stack, uint32_t sp)
{
    return !(stack->flags & (MR_SS_DISABLE | MR_SS_AUTODISARM)) && sp - stack->sp <= stack->size_bytes && sp != stack->sp;
}

/* Returns the address of a frame of so many bytes. */
static uint32_t place_frame(const struct mr_state *s, const struct mr_signal_action *action, uint32_t size_bytes)
{
    const struct mr_alternate_stack *stack = &mr_thread_signals.stack;
    uint32_t sp = GPR(s, MR_REG_SP);
    if (action->flags & MR_SA_ONSTACK && !(stack->flags & MR_SS_DISABLE) && !mr_on_alternate_stack(stack, sp))
        sp = stack->sp + stack->size_bytes;
    return (sp - ROOM_FOR_FPU_EMULATOR - size_bytes) & ~7u;
}

static void put_alternate_stack(uint8_t *to, uint32_t sp)
{
    const struct mr_alternate_stack *stack = &mr_thread_signals.stack;
    mr_put32(to, stack->sp);
    mr_put32(to + 4, stack->size_bytes);
    mr_put32(to + 8, mr_on_alternate_stack(stack, sp) ? MR_SS_ONSTACK : stack->flags);
}

/* ---- frames ---- */

static uint32_t push_frame(struct mr_state *s, const struct mr_signal_action *action, const struct mr_signal_info *info,
                           uint32_t pc, const struct mr_signal_set *mask)
{
    bool with_info = action->flags & MR_SA_SIGINFO;
    uint32_t size_bytes = with_info ? RT_FRAME_BYTES : FRAME_BYTES, frame = place_frame(s, action, size_bytes);
    uint8_t *to = make_trampolines() ? mr_guest_bytes(frame, size_bytes, MR_WRITE) : NULL;
    if (!to)
        return 0;
    memset(to, 0, FRAME_CONTEXT);
    if (with_info) {
        mr_signal_info_to_bytes(to + RT_INFO, info);
        memset(to + RT_UCONTEXT, 0, RT_CONTEXT - RT_UCONTEXT);
        put_alternate_stack(to + RT_STACK, GPR(s, MR_REG_SP));
    }
    put_context(to + (with_info ? RT_CONTEXT : FRAME_CONTEXT), s, pc);
    mr_put_signal_set(frame + (with_info ? RT_MASK : FRAME_MASK), mask);
    if (mr_thread_signals.stack.flags & MR_SS_AUTODISARM)
        mr_thread_signals.stack = (struct mr_alternate_stack){0, 0, MR_SS_DISABLE};
    GPR(s, MR_REG_A0) = (uint32_t)info->signal;
    GPR(s, MR_REG_A1) = with_info ? frame + RT_INFO : 0;
    GPR(s, MR_REG_A2) = frame + (with_info ? (uint32_t)RT_UCONTEXT : (uint32_t)FRAME_CONTEXT);
    GPR(s, MR_REG_SP) = frame;
    GPR(s, MR_REG_RA) = trampolines + (with_info ? 8 : 0);
    GPR(s, MR_REG_T9) = action->handler;
    s->ll_valid = 0;
    return action->handler;
}

/* The stack may lie beyond the end of a file. Registers change only when the frame is there. */
uint32_t mr_signal_frame(struct mr_state *s, const struct mr_signal_action *action, const struct mr_signal_info *info,
                         uint32_t pc, const struct mr_signal_set *mask)
{
    jmp_buf *outer = mr_host_thread.recovery, faulted;
    uint32_t handler_pc = 0;
    if (setjmp(faulted) == 0) {
        mr_host_thread.recovery = &faulted;
        handler_pc = push_frame(s, action, info, pc, mask);
    }
    mr_host_thread.recovery = outer;
    return handler_pc;
}

bool mr_signal_return(struct mr_state *s, bool with_info, uint32_t *pc)
{
    uint32_t frame = GPR(s, MR_REG_SP);
    const uint8_t *from = mr_guest_bytes(frame, with_info ? RT_FRAME_BYTES : FRAME_BYTES, MR_READ);
    struct mr_signal_set mask;
    if (!from || frame & 3 || mr_get_signal_set(frame + (with_info ? RT_MASK : FRAME_MASK), &mask))
        return false;
    *pc = get_context(from + (with_info ? RT_CONTEXT : FRAME_CONTEXT), s);
    if (with_info && !mr_on_alternate_stack(&mr_thread_signals.stack, GPR(s, MR_REG_SP))) {
        uint32_t flags = mr_get32(from + RT_STACK + 8);
        mr_thread_signals.stack = (struct mr_alternate_stack){
            mr_get32(from + RT_STACK), mr_get32(from + RT_STACK + 4), flags & ~(uint32_t)MR_SS_ONSTACK};
    }
    s->ll_valid = 0;
    mr_signal_block(mask);
    return true;
}
