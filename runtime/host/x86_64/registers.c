/* Registers of interrupted code, by DWARF's numbers: table 3.36 of the psABI for x86-64. */
#include "host/host.h"

#include <string.h>

enum { GENERAL_COUNT = 16, FIRST_VECTOR = 17, VECTOR_COUNT = 16 };

bool mr_context_register(const ucontext_t *context, unsigned number, uint64_t *value)
{
    static const uint8_t general[GENERAL_COUNT] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI, REG_RBP, REG_RSP,
                                                   REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
    const mcontext_t *registers = &context->uc_mcontext;
    if (number < GENERAL_COUNT) {
        *value = (uint64_t)registers->gregs[general[number]];
        return true;
    }
    if (number < FIRST_VECTOR || number >= FIRST_VECTOR + VECTOR_COUNT || registers->fpregs == NULL)
        return false;
    memcpy(value, &registers->fpregs->_xmm[number - FIRST_VECTOR], sizeof *value);
    return true;
}
