/* The registers that mipsrec verify compares: each as a number of up to 64 bits, with a name.
 *
 * Not compared: the memory of ll and sc, which no program can see.
 */
#include "base/host_thread.h"
#include "verify/verify.h"

#include <stdio.h>
#include <string.h>

enum { HI = 32, LO, FPR, FCC = FPR + 32 };
_Static_assert(FCC + 8 == MR_VERIFY_FCSR && MR_VERIFY_FCSR + 2 == MR_VERIFY_REGISTERS, "numbers of registers");

static bool ignored[MR_VERIFY_REGISTERS];
static bool any_ignored;

uint64_t mr_verify_register(const struct mr_state *s, unsigned number)
{
    if (number < HI)
        return GPR(s, number);
    if (number == HI)
        return s->hilo >> 32;
    if (number == LO)
        return (uint32_t)s->hilo;
    if (number < FCC)
        return s->fpr[number - FPR].bits;
    if (number < MR_VERIFY_FCSR)
        return s->fcc[number - FCC].value;
    return number == MR_VERIFY_FCSR ? s->fcsr : s->tls;
}

void mr_verify_register_name(unsigned number, char name[MR_VERIFY_NAME_BYTES])
{
    static const char *const names[MR_VERIFY_REGISTERS] = {MR_GPR_NAMES, "hi", "lo", [MR_VERIFY_FCSR] = "fcsr", "tls"};
    if (number - FPR < 32)
        snprintf(name, MR_VERIFY_NAME_BYTES, "f%u", number - FPR);
    else if (number - FCC < 8)
        snprintf(name, MR_VERIFY_NAME_BYTES, "fcc%u", number - FCC);
    else
        snprintf(name, MR_VERIFY_NAME_BYTES, "%s", names[number]);
}

bool mr_verify_ignore(const char *name)
{
    char known[MR_VERIFY_NAME_BYTES];
    for (unsigned number = 0; number < MR_VERIFY_REGISTERS; number++) {
        mr_verify_register_name(number, known);
        if (strcmp(name, known) == 0)
            return any_ignored = ignored[number] = true;
    }
    return false;
}

bool mr_verify_register_differs(const struct mr_state *a, const struct mr_state *b, unsigned number)
{
    return !ignored[number] && mr_verify_register(a, number) != mr_verify_register(b, number);
}

unsigned mr_verify_count_differences(const struct mr_state *a, const struct mr_state *b)
{
    unsigned count = 0;
    for (unsigned number = 0; number < MR_VERIFY_REGISTERS; number++)
        count += mr_verify_register_differs(a, b, number);
    return count;
}

bool mr_verify_same_registers(const struct mr_state *a, const struct mr_state *b)
{
    bool same = memcmp(a->gpr, b->gpr, sizeof a->gpr) == 0 && a->hilo == b->hilo &&
                memcmp(a->fpr, b->fpr, sizeof a->fpr) == 0 && memcmp(a->fcc, b->fcc, sizeof a->fcc) == 0 &&
                a->fcsr == b->fcsr && a->tls == b->tls;
    return same || (any_ignored && mr_verify_count_differences(a, b) == 0);
}
