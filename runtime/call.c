/* mipsrec call: runs one guest function without the guest's start-up code and prints the registers it changed.
 *
 * Arguments go where o32 puts integers: a0 to a3, then the stack from sp+16 on, with room for all of them. The function
 * returns, by whatever register, to an address where no code can be.
 */
#include "command_line.h"

#include "base/instructions.h"
#include "base/messages.h"
#include "base/numbers.h"
#include "base/options.h"
#include "cpu/registers.h"
#include "linux/upcalls.h"
#include "memory/values.h"
#include "report.h"
#include "run/host_stack.h"
#include "run/run.h"

#include <stdio.h>

/* Lowers sp by the argument area, 8-aligned, and fills registers and stack. */
static void place_arguments(struct mr_state *s)
{
    uint32_t slots = (uint32_t)mr_call_argument_count < 4 ? 4 : (uint32_t)mr_call_argument_count;
    uint32_t sp = (GPR(s, MR_REG_SP) - 4 * slots) & ~7u;
    GPR(s, MR_REG_SP) = sp;
    for (uint32_t i = 0; i < (uint32_t)mr_call_argument_count; i++) {
        uint32_t value = 0;
        mr_parse_integer(mr_call_arguments[i], &value);
        if (i < 4)
            GPR(s, MR_REG_A0 + i) = value;
        else if (mr_accessible(sp + 4 * i, 4, MR_WRITE))
            mr_poke32(sp + 4 * i, value);
        else
            mr_fail("--call: %d arguments do not fit the program's stack", mr_call_argument_count);
    }
}

static void print_word(const char *name, uint32_t value)
{
    printf("%s = 0x%08x (%d)\n", name, value, (int32_t)value);
}

/* v0 always, as the result may happen to be what it was. */
static void print_changes(const struct mr_state *before, const struct mr_state *after)
{
    for (unsigned number = 0; number < MR_REGISTERS; number++) {
        const struct mr_register *row = &mr_registers[number];
        uint64_t value = mr_register(after, number);
        if (number != MR_REG_V0 && value == mr_register(before, number))
            continue;
        if (row->dumped)
            print_word(row->name, (uint32_t)value);
        else if (row->kind == MR_KIND_FLOAT)
            printf("%s = 0x%016llx\n", row->name, (unsigned long long)value);
    }
}

void mr_call_function(struct mr_state *s)
{
    uint32_t target = 0;
    mr_parse_address(mr_options.call_function, &target);
    if (!mr_may_be_code(target) || !mr_accessible(target, 4, MR_READ))
        mr_fail("--call: the program has no code at 0x%08x", target);
    place_arguments(s);
    GPR(s, MR_REG_T9) = target; /* position-independent functions find their data through it */
    GPR(s, MR_REG_RA) = MR_RETURN_PC;
    struct mr_state before = *s;
    mr_signal_stack_enter();
    mr_run_outermost(s, target, MR_RETURN_PC);
    print_changes(&before, s);
    fflush(stdout);
    mr_exit_process(0);
}
