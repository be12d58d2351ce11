/* Loops over numbers among which are infinities and NaNs of all kinds, for `mipsrec verify`; without a libc.
 *
 * The shapes are those that recompiled code treats in ways of its own: sums kept in a register and in memory, results
 * that replace their operands, stores that may overwrite an operand, singles and doubles in the same registers. */
#include <stdint.h>

enum { COUNT = 12, ROUNDS = 3000 };
#define NOT_INLINED __attribute__((noinline))

static const uint64_t special[] = {
    0x7ff7ffffffffffff, 0x7ff0000000000001, 0xfff4000000000123, 0x7ff8000000000000, 0xfff8000000000001, 0xffffffffffffffff,
    0x7ff0000000000000, 0xfff0000000000000, 0x8000000000000000, 0x0000000000000000, 0x000fffffffffffff, 0x7fefffffffffffff,
};
static const uint32_t special_single[] = {
    0x7fbfffff, 0x7f800001, 0xffa00123, 0x7fc00000, 0xffc00001, 0xffffffff,
    0x7f800000, 0xff800000, 0x80000000, 0x00000000, 0x007fffff, 0x7f7fffff,
};

union real { uint64_t bits; double value; };
union single { uint32_t bits; float value; };
static union real left[COUNT], right[COUNT], found[COUNT];
static union single left_single[COUNT], right_single[COUNT], found_single[COUNT];
static uint32_t seed = 1;

static uint32_t random_number(void)
{
    seed = seed * 1664525 + 1013904223;
    return seed >> 8;
}

/* One in `rarity` of the numbers is special. */
static NOT_INLINED void fill(uint32_t rarity)
{
    for (uint32_t i = 0; i < COUNT; i++) {
        for (uint32_t side = 0; side < 2; side++) {
            union real *number = side ? &left[i] : &right[i];
            union single *single = side ? &left_single[i] : &right_single[i];
            number->value = (double)(int32_t)(random_number() - (1 << 23)) / 4096;
            single->value = (float)number->value * 0.3f;
            if (random_number() % rarity == 0)
                number->bits = special[random_number() % 12];
            if (random_number() % rarity == 0)
                single->bits = special_single[random_number() % 12];
        }
    }
}

static NOT_INLINED double product(const union real *a, const union real *b, uint32_t count)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += a[i].value * b[i].value;
    return sum;
}

static NOT_INLINED double largest(const union real *a, uint32_t count, double *sum, double *last)
{
    double most = a[0].value, total = 0, before = 0;
    for (uint32_t i = 0; i < count; i++) {
        before = a[i].value * 0.5; /* enters nothing else, but may raise a flag in any round */
        most = a[i].value > most ? a[i].value : most;
        total = a[i].value - total;
    }
    *sum = total;
    *last = before;
    return most;
}

static NOT_INLINED void scale(union real *a, double factor, const double *offset, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        a[i].value = a[i].value * factor + *offset; /* which may lie in a */
}

static NOT_INLINED void swing(union real *a, union real *b, union real *c, double by)
{
    double x = a[0].value - b[0].value, y = a[1].value - b[1].value, pull = by / (x * x + y * y);
    a[0].value -= x * c[0].value * pull;
    a[1].value -= y * c[0].value * pull;
    b[0].value += x * c[1].value * pull;
    c[0].bits = (uint32_t)a[0].bits;
    b[1].value += y * c[1].value * pull;
    c[1].value = __builtin_sqrt(c[1].value) + b[1].value;
}

/* Singles and doubles share registers, in one loop, and in two with a value between them. */
static NOT_INLINED double both(uint32_t count, float *rest)
{
    double sum = 0;
    float single = 1;
    for (uint32_t i = 0; i < count; i++)
        found_single[i].value = left_single[i].value * right_single[i].value + found_single[i].value;
    for (uint32_t i = 0; i < count; i++)
        sum += left[i].value * right[i].value;
    for (uint32_t i = 0; i < count; i++) {
        single = single * 0.25f + left_single[i].value;
        found[i].value = (double)single * sum;
        if (found[i].value < 0)
            single = (float)found[i].value;
    }
    *rest = single;
    return sum;
}

static NOT_INLINED uint32_t whole(uint32_t count)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += (uint32_t)(int32_t)(left[i].value * 3) + (uint32_t)(int32_t)left_single[i].value;
    return sum;
}

static NOT_INLINED void round_of_all(uint32_t rarity)
{
    double sum, last;
    fill(rarity);
    found[0].value = product(left, right, COUNT);
    found[1].value = largest(left, COUNT, &sum, &last);
    found[2].value = sum + last;
    swing(&left[0], &right[4], &left[8], found[2].value);
    scale(right, found[0].value, &right[COUNT / 2].value, COUNT);
    found[3].value = both(COUNT - 1, &found_single[COUNT - 1].value);
    found[4].bits = whole(COUNT);
    found[5].value = product(found, right, 7);
}

static void set_control(uint32_t modes)
{
    __asm__ volatile("ctc1 %0, $31" : : "r"(modes) : "memory");
}

static __attribute__((noreturn)) void leave(uint32_t status)
{
    register uint32_t v0 __asm__("$2") = 4001, a0 __asm__("$4") = status;
    __asm__ volatile("syscall" : : "r"(v0), "r"(a0));
    __builtin_unreachable();
}

void __start(void)
{
    for (uint32_t i = 0; i < ROUNDS; i++) {
        set_control(i & 3); /* a rounding mode, no flags */
        round_of_all(i % 3 ? 3 + i % 50 : 1000);
    }
    leave(0);
}
