/* The registers that mipsrec verify compares: the first MR_VERIFIED_REGISTERS of the table, but for those that it ignores.
 *
 * Not compared: the memory of ll and sc, which no program can see.
 */
#include "cpu/registers.h"
#include "verify/verify.h"

static bool ignored[MR_VERIFIED_REGISTERS];
static bool any_ignored;

bool mr_verify_ignore(const char *name)
{
    for (unsigned number = 0; number < MR_VERIFIED_REGISTERS; number++)
        if (strcmp(name, mr_registers[number].name) == 0)
            return any_ignored = ignored[number] = true;
    return false;
}

bool mr_verify_register_differs(const struct mr_state *a, const struct mr_state *b, unsigned number)
{
    return !ignored[number] && mr_register(a, number) != mr_register(b, number);
}

unsigned mr_verify_count_differences(const struct mr_state *a, const struct mr_state *b)
{
    unsigned count = 0;
    for (unsigned number = 0; number < MR_VERIFIED_REGISTERS; number++)
        count += mr_verify_register_differs(a, b, number);
    return count;
}

bool mr_verify_same_registers(const struct mr_state *a, const struct mr_state *b)
{
    return mr_same_registers(a, b) || (any_ignored && mr_verify_count_differences(a, b) == 0);
}
