/* SoftFloat's choices as MIPS makes them with legacy NaNs (MIPS32 manual, volume I-A, chapter on the FPU): the bit that
 * IEEE 754-2008 sets in quiet NaNs is set in signalling ones, an invalid operation gives 7fbfffff or 7ff7ffffffffffff,
 * invalid conversions give the largest integer, tininess is detected after rounding. */
#ifndef specialize_h
#define specialize_h 1

#include <stdbool.h>
#include <stdint.h>
#include "softfloat.h"

#define init_detectTininess softfloat_tininess_afterRounding

#define i32_fromPosOverflow 0x7fffffff
#define i32_fromNegOverflow 0x7fffffff
#define i32_fromNaN 0x7fffffff
#define i64_fromPosOverflow INT64_C(0x7fffffffffffffff)
#define i64_fromNegOverflow INT64_C(0x7fffffffffffffff)
#define i64_fromNaN INT64_C(0x7fffffffffffffff)

#define defaultNaNF32UI 0x7fbfffffu
#define defaultNaNF64UI UINT64_C(0x7ff7ffffffffffff)
#define softfloat_isSigNaNF32UI(a) (((a) & 0x7fc00000) == 0x7fc00000)
#define softfloat_isSigNaNF64UI(a) (((a) & UINT64_C(0x7ff8000000000000)) == UINT64_C(0x7ff8000000000000))

/* Makes every NaN result the default one, as qemu has it with legacy NaNs; the manual wants the operand where possible. */
extern bool specialize_default_nans;

/* A NaN on its way from one format to another: quiet, its payload at the top of `payload`, or the default one. */
struct commonNaN {
    bool sign, is_default;
    uint64_t payload;
};
void softfloat_f32UIToCommonNaN(uint_fast32_t a, struct commonNaN *nan);
void softfloat_f64UIToCommonNaN(uint_fast64_t a, struct commonNaN *nan);
uint_fast32_t softfloat_commonNaNToF32UI(const struct commonNaN *nan);
uint_fast64_t softfloat_commonNaNToF64UI(const struct commonNaN *nan);
uint_fast32_t softfloat_propagateNaNF32UI(uint_fast32_t a, uint_fast32_t b);
uint_fast64_t softfloat_propagateNaNF64UI(uint_fast64_t a, uint_fast64_t b);

#endif
