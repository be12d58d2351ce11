/*
 * What compilers call for 64-bit division, shifts and byte swaps on 32-bit MIPS, and for square roots on MIPS I, under
 * the names libgcc and libm give them. Ours, so that freestanding samples contain nobody else's code. Empty natively.
 */
#include "out.h"

#ifdef SAMPLE_FREESTANDING

uint64_t __udivdi3(uint64_t dividend, uint64_t divisor);
uint64_t __umoddi3(uint64_t dividend, uint64_t divisor);
int64_t __divdi3(int64_t dividend, int64_t divisor);
int64_t __moddi3(int64_t dividend, int64_t divisor);
uint64_t __ashldi3(uint64_t value, int count);
uint64_t __lshrdi3(uint64_t value, int count);
int64_t __ashrdi3(int64_t value, int count);
uint32_t __bswapsi2(uint32_t value);
uint64_t __bswapdi2(uint64_t value);
double sqrt(double value);

union halves {
    uint64_t whole;
    int64_t whole_signed;
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    struct { uint32_t high, low; } half;
#else
    struct { uint32_t low, high; } half;
#endif
};

uint64_t __ashldi3(uint64_t value, int count)
{
    union halves v = {value}, result = {0};
    if (count >= 32) {
        result.half.high = v.half.low << (count - 32);
    } else {
        result.half.high = v.half.high << count | (count ? v.half.low >> (32 - count) : 0);
        result.half.low = v.half.low << count;
    }
    return result.whole;
}

uint64_t __lshrdi3(uint64_t value, int count)
{
    union halves v = {value}, result = {0};
    if (count >= 32) {
        result.half.low = v.half.high >> (count - 32);
    } else {
        result.half.low = v.half.low >> count | (count ? v.half.high << (32 - count) : 0);
        result.half.high = v.half.high >> count;
    }
    return result.whole;
}

int64_t __ashrdi3(int64_t value, int count)
{
    union halves v = {(uint64_t)value}, result = {0};
    int32_t high = (int32_t)v.half.high;
    if (count >= 32) {
        result.half.low = (uint32_t)(high >> (count - 32));
        result.half.high = (uint32_t)(high >> 31);
    } else {
        result.half.low = v.half.low >> count | (count ? v.half.high << (32 - count) : 0);
        result.half.high = (uint32_t)(high >> count);
    }
    return result.whole_signed;
}

/* Shift and subtract, one bit at a time, after skipping the dividend's leading zero word. Division by zero gives ~0. */
static uint64_t divide(uint64_t dividend, uint64_t divisor, uint64_t *remainder)
{
    uint64_t quotient = 0, rest = 0;
    int32_t bit = 63;
    if (!(dividend >> 32)) {
        if (!(divisor >> 32) && divisor) {
            *remainder = (uint32_t)dividend % (uint32_t)divisor;
            return (uint32_t)dividend / (uint32_t)divisor;
        }
        bit = 31;
    }
    for (; bit >= 0; bit--) {
        uint32_t carry = (uint32_t)(rest >> 63);
        rest = rest << 1 | ((dividend >> bit) & 1);
        quotient <<= 1;
        if (carry || rest >= divisor) {
            rest -= divisor;
            quotient |= 1;
        }
    }
    *remainder = rest;
    return quotient;
}

uint64_t __udivdi3(uint64_t dividend, uint64_t divisor)
{
    uint64_t remainder;
    return divide(dividend, divisor, &remainder);
}

uint64_t __umoddi3(uint64_t dividend, uint64_t divisor)
{
    uint64_t remainder;
    divide(dividend, divisor, &remainder);
    return remainder;
}

static uint64_t magnitude(int64_t value)
{
    return value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
}

int64_t __divdi3(int64_t dividend, int64_t divisor)
{
    uint64_t quotient = __udivdi3(magnitude(dividend), magnitude(divisor));
    return (int64_t)((dividend < 0) != (divisor < 0) ? 0 - quotient : quotient);
}

int64_t __moddi3(int64_t dividend, int64_t divisor)
{
    uint64_t remainder = __umoddi3(magnitude(dividend), magnitude(divisor));
    return (int64_t)(dividend < 0 ? 0 - remainder : remainder);
}

uint32_t __bswapsi2(uint32_t value)
{
    return value << 24 | (value & 0xff00u) << 8 | ((value >> 8) & 0xff00u) | value >> 24;
}

uint64_t __bswapdi2(uint64_t value)
{
    return (uint64_t)__bswapsi2((uint32_t)value) << 32 | __bswapsi2((uint32_t)(value >> 32));
}

/* Correctly rounded to nearest for positive normal numbers, bit by bit; 0, infinity and NaN as IEEE 754 asks. */
double sqrt(double value)
{
    union { double value; uint64_t bits; } v;
    v.value = value;
    int32_t exponent = (int32_t)(v.bits >> 52) - 1023;
    uint64_t mantissa = (v.bits & 0xfffffffffffffull) | 0x10000000000000ull;
    uint64_t root = 0, rest = 0;
    if (value == 0 || value != value || v.bits == 0x7ff0000000000000ull)
        return value;
    if (v.bits >> 63)
        return (value - value) / 0.0; /* a NaN, raising "invalid" */
    if (exponent & 1) {
        mantissa <<= 1;
        exponent--;
    }
    for (int32_t i = 0; i < 54; i++) { /* 53 bits of root and one to round by */
        uint32_t pair = i < 27 ? (uint32_t)(mantissa >> (52 - 2 * i)) & 3 : 0;
        uint64_t trial = root << 2 | 1;
        rest = rest << 2 | pair;
        root <<= 1;
        if (rest >= trial) {
            rest -= trial;
            root |= 1;
        }
    }
    root = (root >> 1) + (root & 1); /* never halfway: a root with 54 bits has a square with more bits than 53 */
    v.bits = ((uint64_t)(uint32_t)(exponent / 2 + 1022) << 52) + root;
    return v.value;
}

#endif
