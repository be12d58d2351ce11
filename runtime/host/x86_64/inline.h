/* x86-64: the constants and inline functions of host/host.h. Sources: the psABI for x86-64, Intel's manual (SDM). */
#ifndef MR_HOST_INLINE_H
#define MR_HOST_INLINE_H

#include <xmmintrin.h>

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

#endif
