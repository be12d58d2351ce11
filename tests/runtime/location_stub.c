/* What location.c needs of the host, made small, to test it as a shared library: registers are an array. */
#include "host/host.h"
#include "lifted/places.h"

enum { REGISTERS = 33 };
static const uint64_t *registers;

bool evaluate(struct mr_bytes expression, struct mr_bytes frame_base, const uint64_t values[REGISTERS], uintptr_t stack_low,
              uintptr_t stack_high, uint32_t *value);

bool mr_context_register(const ucontext_t *context, unsigned number, uint64_t *value)
{
    (void)context;
    if (number >= REGISTERS)
        return false;
    *value = registers[number];
    return true;
}

bool evaluate(struct mr_bytes expression, struct mr_bytes frame_base, const uint64_t values[REGISTERS], uintptr_t stack_low,
              uintptr_t stack_high, uint32_t *value)
{
    struct mr_host_frame frame = {NULL, stack_low, stack_high};
    registers = values;
    return mr_location_value(expression, frame_base, &frame, value);
}
