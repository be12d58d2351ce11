/* The interpreter that follows lifted code: it stops where it is told to, and takes no signals. */
#include "cpu/interp.h"
#include "lifted/dispatch_table.h"
#include "verify/verify.h"

/* jal, jalr with a register to link, and the branches that link. */
static bool links(uint32_t word)
{
    uint32_t opcode = word >> 26;
    return opcode == 0x03 || (opcode == 0x00 && funct(word) == 0x09 && rd(word) != 0) ||
           (opcode == 0x01 && (rt(word) & 0x1c) == 0x10);
}

uint32_t mr_interpret_to(struct mr_state *s, uint32_t pc, uint32_t wanted, uint64_t *steps)
{
    for (;;) {
        pc = mr_aligned(s, pc);
        *(volatile uint32_t *)&s->pc = pc;
        uint32_t word = mr_fetch(pc), next = mr_operation_of(word)(s, word, pc + 4);
        ++*steps;
        if (next == wanted || (next != pc + 4 && next != pc + 8 && links(word) && mr_lookup(next) != NULL))
            return next;
        pc = next;
    }
}
