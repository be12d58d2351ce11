/* x86-64: the constants and inline functions of host/host.h. Sources: the psABI for x86-64, Intel's manual (SDM). */
#ifndef MR_HOST_INLINE_H
#define MR_HOST_INLINE_H

#include <asm/prctl.h>
#include <elf.h>
#include <emmintrin.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- contexts ---- */

static inline uintptr_t mr_context_pc(const ucontext_t *context)
{
    return (uintptr_t)context->uc_mcontext.gregs[REG_RIP];
}

static inline uintptr_t mr_context_sp(const ucontext_t *context)
{
    return (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
}

static inline uintptr_t mr_context_fault_address(const ucontext_t *context)
{
    return (uintptr_t)context->uc_mcontext.gregs[REG_CR2];
}

static inline void mr_context_resume_float(const ucontext_t *context)
{
    if (context->uc_mcontext.fpregs != NULL)
        _mm_setcsr(context->uc_mcontext.fpregs->mxcsr);
}

/* ---- floating point: MXCSR has the flags where FE_... have them, and the rounding mode three bits above ---- */

#define MXCSR_FLAGS 0x3fu
#define MXCSR_MASKED 0x1f80u /* no exception traps */
#define MXCSR_ROUNDING_SHIFT 3
#define MXCSR_FLUSH 0x8000u

static inline int mr_float_raised(void)
{
    return (int)(_mm_getcsr() & MXCSR_FLAGS);
}

static inline void mr_float_clear(void)
{
    uint32_t now = _mm_getcsr();
    if (now & MXCSR_FLAGS)
        _mm_setcsr(now & ~MXCSR_FLAGS);
}

/* Writing MXCSR is what costs. */
static inline void mr_float_set_modes(int rounding, bool flushes, bool keeps_flags)
{
    uint32_t now = _mm_getcsr();
    uint32_t wanted = MXCSR_MASKED | (uint32_t)rounding << MXCSR_ROUNDING_SHIFT | (flushes ? MXCSR_FLUSH : 0) |
                      (keeps_flags ? now & MXCSR_FLAGS : 0);
    if (now != wanted)
        _mm_setcsr(wanted);
}

static inline float mr_sqrt_single(float a)
{
    return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(a)));
}

static inline double mr_sqrt_double(double a)
{
    return _mm_cvtsd_f64(_mm_sqrt_pd(_mm_set1_pd(a)));
}

/* ---- stacks and the kernel ---- */

#define MR_RED_ZONE_BYTES 128u
#define MR_HOST_LARGEFILE 0100000

static inline void mr_call_on_stack(uintptr_t top, void (*body)(void *), void *argument)
{
    __asm__ volatile("movq %%rsp, %%rbx\n\tmovq %0, %%rsp\n\tcallq *%1\n\tmovq %%rbx, %%rsp"
                     : "+r"(top), "+r"(body), "+D"(argument)
                     :
                     : "rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "xmm0", "xmm1", "xmm2", "xmm3", "xmm4",
                       "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "cc",
                       "memory");
}

static inline void mr_set_counters(uint8_t *map)
{
    syscall(SYS_arch_prctl, ARCH_SET_GS, map);
}

/* ---- shared objects ---- */

#define MR_ELF_MACHINE EM_X86_64
enum {
    MR_RELOCATION_RELATIVE = R_X86_64_RELATIVE,
    MR_RELOCATION_ENTRY = R_X86_64_GLOB_DAT,
    MR_RELOCATION_JUMP = R_X86_64_JUMP_SLOT,
    MR_RELOCATION_ABSOLUTE = R_X86_64_64,
};

static inline uint8_t *mr_write_far_jump(uint8_t *to, uintptr_t target)
{
    static const uint8_t jump[] = {0xff, 0x25, 0, 0, 0, 0}; /* jmp *0(%rip) */
    memcpy(to, jump, sizeof jump);
    memcpy(to + sizeof jump, &target, sizeof target);
    return to + sizeof jump + sizeof target;
}

/* ---- levels of processors ---- */

#define MR_MOST_LEVEL 3u /* code for x86-64-v4 was slower */

/* ---- the baseline tier ---- */

enum { MR_JUMP_BYTES = 5, MR_ENTRANCE_BYTES = 512 };

#endif
