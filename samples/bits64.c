/* 64-bit arithmetic on a 32-bit machine: carries, shifts, wide products, comparisons, bit counts and permutations. */
#include "freestanding/out.h"

static uint64_t rotate_left(uint64_t value, uint32_t count)
{
    return value << (count & 63) | value >> (-count & 63);
}

static uint32_t population(uint64_t value)
{
    value -= value >> 1 & 0x5555555555555555ull;
    value = (value & 0x3333333333333333ull) + (value >> 2 & 0x3333333333333333ull);
    value = (value + (value >> 4)) & 0x0f0f0f0f0f0f0f0full;
    return (uint32_t)(value * 0x0101010101010101ull >> 56);
}

static uint32_t leading_zeros(uint64_t value)
{
    uint32_t count = 0;
    for (uint32_t width = 32; width; width >>= 1) {
        if (!(value >> (64 - width))) {
            count += width;
            value <<= width;
        }
    }
    return count + !(value >> 63);
}

static uint64_t reverse_bits(uint64_t value)
{
    static const uint64_t masks[] = {0x5555555555555555ull, 0x3333333333333333ull, 0x0f0f0f0f0f0f0f0full,
                                     0x00ff00ff00ff00ffull, 0x0000ffff0000ffffull, 0x00000000ffffffffull};
    for (uint32_t i = 0; i < 6; i++)
        value = (value >> (1u << i) & masks[i]) | (value & masks[i]) << (1u << i);
    return value;
}

/* High 64 bits of the product of two 64-bit numbers, from four 32-bit products. */
static uint64_t multiply_high(uint64_t a, uint64_t b)
{
    uint64_t a_low = (uint32_t)a, a_high = a >> 32, b_low = (uint32_t)b, b_high = b >> 32;
    uint64_t middle = a_high * b_low + (a_low * b_low >> 32);
    uint64_t other = a_low * b_high + (uint32_t)middle;
    return a_high * b_high + (middle >> 32) + (other >> 32);
}

/* base^exponent modulo a prime below 2^31, so that products fit in 64 bits. */
static uint32_t power_modulo(uint32_t base, uint32_t exponent, uint32_t prime)
{
    uint64_t result = 1, square = base % prime;
    for (; exponent; exponent >>= 1) {
        if (exponent & 1)
            result = result * square % prime;
        square = square * square % prime;
    }
    return (uint32_t)result;
}

static int64_t saturating_add(int64_t a, int64_t b)
{
    int64_t sum = (int64_t)((uint64_t)a + (uint64_t)b);
    if (((a ^ sum) & (b ^ sum)) < 0)
        return a < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

/* The splitmix64 step: two wide multiplications and xor-shifts. */
static uint64_t scramble(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

int main(int argc, char **argv)
{
    uint32_t rounds = sample_begin(argc, argv, 1000), hash = 0, orders = 0;
    uint64_t state = 42, folded = 0, previous = 0;
    int64_t saturated = 0;
    for (uint32_t round = 0; round < rounds; round++) {
        uint64_t value = scramble(&state);
        uint32_t count = (uint32_t)(value >> 58);
        folded = rotate_left(folded, count) ^ multiply_high(value, previous) ^ reverse_bits(value);
        folded += (value << count) - (previous >> count) + (uint64_t)((int64_t)value >> count);
        saturated = saturating_add(saturated, (int64_t)value) / 2 + (int64_t)(value * previous >> 40);
        orders += (value < previous) + 2 * ((int64_t)value < (int64_t)previous) + 4 * (value >= (previous ^ value));
        hash = mix32(hash, population(value) << 8 | leading_zeros(value >> count));
        previous = value;
    }
    uint32_t power = power_modulo(123456789, 1000000007u - 2, 1000000007u);
    out_line64("folded", folded);
    out_line64("saturated", (uint64_t)saturated);
    out_line("orders", orders);
    out_line("inverse", power);
    return sample_end(mix64(mix64(mix32(hash, orders), folded), (uint64_t)saturated) ^ power);
}
