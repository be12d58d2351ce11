/* The table of the guest's registers (registers.h), from mipsrec/state.py. */
#include "cpu/registers.h"

const struct mr_register mr_registers[MR_REGISTERS] = {
#include "mr_registers.h"
};
