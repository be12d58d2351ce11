/* A system call that is given up where a signal has come: its code, and how handlers move a thread in it. */
#include "host/host.h"

#include <errno.h>

_Static_assert(ERESTART == 85, "the number in the code below");

extern const uint8_t mr_kernel_call_begin[], mr_kernel_call_enter[], mr_kernel_call_made[], mr_kernel_call_given_up[];

__asm__(".text\n"
        ".globl mr_kernel_call_unless, mr_kernel_call_begin, mr_kernel_call_enter, mr_kernel_call_made, mr_kernel_call_given_up\n"
        ".type mr_kernel_call_unless, @function\n"
        "mr_kernel_call_unless:\n\t"
        ".cfi_startproc\n\t"
        "movq %rdi, %r11\n\t"
        "movq %rsi, %rax\n\t"
        "movq %rdx, %rdi\n\t"
        "movq %rcx, %rsi\n\t"
        "movq %r8, %rdx\n\t"
        "movq %r9, %r10\n\t"
        "movq 8(%rsp), %r8\n\t"
        "movq 16(%rsp), %r9\n"
        "mr_kernel_call_begin:\n\t"
        "cmpl $0, (%r11)\n\t"
        "jne mr_kernel_call_given_up\n"
        "mr_kernel_call_enter:\n\t"
        "syscall\n"
        "mr_kernel_call_made:\n\t"
        "ret\n"
        "mr_kernel_call_given_up:\n\t"
        "movq $-85, %rax\n\t"
        "ret\n\t"
        ".cfi_endproc\n"
        ".size mr_kernel_call_unless, . - mr_kernel_call_unless\n");

void mr_kernel_call_give_up(ucontext_t *context)
{
    greg_t *pc = &context->uc_mcontext.gregs[REG_RIP];
    if ((uintptr_t)*pc >= (uintptr_t)mr_kernel_call_begin && (uintptr_t)*pc < (uintptr_t)mr_kernel_call_made)
        *pc = (greg_t)(uintptr_t)mr_kernel_call_given_up;
}

/* A call that the kernel restarts stands before `syscall` again, and so does one that is not made yet: both are over in vain.
 * Before that, the word decides, and is looked at again: a handler above this one may have set it. */
void mr_kernel_call_end_in_vain(ucontext_t *context)
{
    greg_t *registers = context->uc_mcontext.gregs;
    uintptr_t pc = (uintptr_t)registers[REG_RIP];
    if (pc == (uintptr_t)mr_kernel_call_enter) {
        registers[REG_RIP] = (greg_t)(uintptr_t)mr_kernel_call_made;
        registers[REG_RAX] = -EINTR;
    } else if (pc > (uintptr_t)mr_kernel_call_begin && pc < (uintptr_t)mr_kernel_call_enter) {
        registers[REG_RIP] = (greg_t)(uintptr_t)mr_kernel_call_begin;
    }
}

bool mr_kernel_call_waits(const ucontext_t *context)
{
    const greg_t *registers = context->uc_mcontext.gregs;
    uintptr_t pc = (uintptr_t)registers[REG_RIP];
    return (pc >= (uintptr_t)mr_kernel_call_begin && pc < (uintptr_t)mr_kernel_call_made) ||
           (pc == (uintptr_t)mr_kernel_call_made && registers[REG_RAX] == -EINTR);
}
