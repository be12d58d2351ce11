/* NaNs as legacy MIPS has them; see specialize.h. */
#include "platform.h"
#include "internals.h"
#include "specialize.h"

bool specialize_default_nans;

void softfloat_raiseFlags(uint_fast8_t flags)
{
    softfloat_exceptionFlags |= flags;
}

void softfloat_f32UIToCommonNaN(uint_fast32_t a, struct commonNaN *nan)
{
    nan->is_default = softfloat_isSigNaNF32UI(a) || specialize_default_nans;
    if (softfloat_isSigNaNF32UI(a))
        softfloat_raiseFlags(softfloat_flag_invalid);
    nan->sign = a >> 31;
    nan->payload = (uint64_t)a << 41;
}

void softfloat_f64UIToCommonNaN(uint_fast64_t a, struct commonNaN *nan)
{
    nan->is_default = softfloat_isSigNaNF64UI(a) || specialize_default_nans;
    if (softfloat_isSigNaNF64UI(a))
        softfloat_raiseFlags(softfloat_flag_invalid);
    nan->sign = a >> 63;
    nan->payload = a << 12;
}

/* A payload of which no bit is left would be an infinity. */
uint_fast32_t softfloat_commonNaNToF32UI(const struct commonNaN *nan)
{
    uint32_t payload = (uint32_t)(nan->payload >> 41);
    return nan->is_default || payload == 0 ? defaultNaNF32UI : (uint32_t)nan->sign << 31 | 0x7f800000 | payload;
}

uint_fast64_t softfloat_commonNaNToF64UI(const struct commonNaN *nan)
{
    return nan->is_default ? defaultNaNF64UI : (uint64_t)nan->sign << 63 | (uint64_t)0x7ff << 52 | nan->payload >> 12;
}

/* The first operand when both are quiet. */
uint_fast32_t softfloat_propagateNaNF32UI(uint_fast32_t a, uint_fast32_t b)
{
    if (softfloat_isSigNaNF32UI(a) || softfloat_isSigNaNF32UI(b)) {
        softfloat_raiseFlags(softfloat_flag_invalid);
        return defaultNaNF32UI;
    }
    return specialize_default_nans ? defaultNaNF32UI : isNaNF32UI(a) ? a : b;
}

uint_fast64_t softfloat_propagateNaNF64UI(uint_fast64_t a, uint_fast64_t b)
{
    if (softfloat_isSigNaNF64UI(a) || softfloat_isSigNaNF64UI(b)) {
        softfloat_raiseFlags(softfloat_flag_invalid);
        return defaultNaNF64UI;
    }
    return specialize_default_nans ? defaultNaNF64UI : isNaNF64UI(a) ? a : b;
}
