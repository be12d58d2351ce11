/* Number crunching: a prime sieve, Collatz chains, greatest common divisors and fixed-point square roots. */
#include "freestanding/out.h"

enum { SIEVE_SIZE = 8192 };
static uint8_t composite[SIEVE_SIZE];

static uint32_t count_primes(uint32_t limit)
{
    uint32_t count = 0;
    memset(composite, 0, sizeof composite);
    for (uint32_t n = 2; n < limit; n++) {
        if (composite[n])
            continue;
        count++;
        for (uint32_t multiple = n * n; multiple < limit; multiple += n)
            composite[multiple] = 1;
    }
    return count;
}

static uint32_t collatz_length(uint32_t n)
{
    uint32_t steps = 0;
    while (n != 1) {
        n = n & 1 ? 3 * n + 1 : n / 2;
        steps++;
    }
    return steps;
}

static uint32_t greatest_common_divisor(uint32_t a, uint32_t b)
{
    while (b) {
        uint32_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

/* floor(sqrt(n)), two bits at a time. */
static uint32_t integer_sqrt(uint32_t n)
{
    uint32_t root = 0;
    for (uint32_t bit = 1u << 30; bit; bit >>= 2) {
        uint32_t trial = root + bit;
        root >>= 1;
        if (n >= trial) {
            n -= trial;
            root += bit;
        }
    }
    return root;
}

int main(int argc, char **argv)
{
    uint32_t rounds = sample_begin(argc, argv, 3), hash = 1, random = 12345;
    uint32_t primes = 0, longest = 0, gcds = 0, roots = 0;
    for (uint32_t round = 0; round < rounds; round++) {
        primes += count_primes(SIEVE_SIZE - (round & 255));
        for (uint32_t n = 1; n < 2000; n++) {
            uint32_t length = collatz_length(n + (round & 1023));
            longest = length > longest ? length : longest;
        }
        for (uint32_t i = 0; i < 1000; i++) {
            gcds += greatest_common_divisor(random32(&random) | 1, 30030 * (i + 1));
            roots += integer_sqrt(random);
        }
        hash = mix32(mix32(mix32(hash, primes), gcds), roots);
    }
    out_line("primes", primes);
    out_line("longest", longest);
    out_line("gcds", gcds);
    out_line("roots", roots);
    return sample_end(mix32(hash, longest));
}
