/* Division and remainder: signed, unsigned, by constants, by variables, of 64-bit numbers, near the ends of the range. */
#include "freestanding/out.h"

static const uint32_t edges[] = {1, 2, 3, 7, 10, 255, 256, 65535, 65536, 0x7fffffff,
                                 0x80000000, 0x80000001, 0xfffffffe, 0xffffffff};
enum { EDGES = sizeof edges / sizeof *edges };

static uint32_t by_constants(uint32_t hash, uint32_t value)
{
    int32_t number = (int32_t)value;
    hash = mix32(hash, value / 3 + value / 5 * 2 + value / 7 + value / 10 + value / 641 + value / 1000003);
    hash = mix32(hash, value % 3 + value % 6 * 2 + value % 9 + value % 100 + value % 65537 + value % 0x80000001u);
    hash = mix32(hash, (uint32_t)(number / 3 + number / -5 + number / 8 + number / -16 + number / 1000));
    return mix32(hash, (uint32_t)(number % 3 + number % -5 + number % 8 + number % -16 + number % 1000));
}

static uint32_t by_variables(uint32_t hash, uint32_t dividend, uint32_t divisor)
{
    int32_t number = (int32_t)dividend, by = (int32_t)divisor;
    hash = mix32(mix32(hash, dividend / divisor), dividend % divisor);
    if (dividend == 0x80000000u && divisor == 0xffffffffu)
        return hash; /* undefined in C */
    return mix32(mix32(hash, (uint32_t)(number / by)), (uint32_t)(number % by));
}

static uint32_t of_64_bits(uint32_t hash, uint64_t dividend, uint64_t divisor)
{
    int64_t number = (int64_t)dividend, by = (int64_t)(divisor >> 1) + 1;
    hash = mix64(mix64(hash, dividend / divisor), dividend % divisor);
    hash = mix64(mix64(hash, (uint64_t)(number / by)), (uint64_t)(number % by));
    return mix64(hash, (uint64_t)(number / -by));
}

/* Decimal digits of n!, kept as an array of digits in base 10000. */
static uint32_t factorial_digit_sum(uint32_t n)
{
    uint32_t digits[100] = {1}, used = 1, sum = 0;
    for (uint32_t factor = 2; factor <= n; factor++) {
        uint32_t carry = 0;
        for (uint32_t i = 0; i < used || carry; i++) {
            uint32_t value = (i < used ? digits[i] : 0) * factor + carry;
            digits[i] = value % 10000;
            carry = value / 10000;
            used = i >= used ? i + 1 : used;
        }
    }
    for (uint32_t i = 0; i < used; i++)
        for (uint32_t rest = digits[i]; rest; rest /= 10)
            sum += rest % 10;
    return sum;
}

/* Longer runs time division of 32 bits only: for 64 bits x86-64 has an instruction, MIPS a loop in arithmetic.c. */
enum { WIDE_ROUNDS = 1000 };

int main(int argc, char **argv)
{
    uint32_t rounds = sample_begin(argc, argv, 1000), random = 777, constants = 0, variables = 0, wide = 0;
    for (uint32_t i = 0; i < EDGES; i++) {
        constants = by_constants(constants, edges[i]);
        for (uint32_t j = 0; j < EDGES; j++) {
            variables = by_variables(variables, edges[i], edges[j]);
            wide = of_64_bits(wide, (uint64_t)edges[i] << 32 | edges[j], edges[j]);
        }
    }
    for (uint32_t round = 0; round < rounds; round++) {
        uint32_t a = random32(&random), b = random32(&random) >> (round & 31) | 1;
        constants = by_constants(constants, a);
        variables = by_variables(variables, a, b);
        if (round < WIDE_ROUNDS)
            wide = of_64_bits(wide, (uint64_t)a << 32 | b, (uint64_t)b << (round & 31) | 1);
    }
    out_line("constants", constants);
    out_line("variables", variables);
    out_line("64 bits", wide);
    out_line_decimal("digit sum of 100!", (int32_t)factorial_digit_sum(100));
    return sample_end(mix32(mix32(constants, variables), wide));
}
