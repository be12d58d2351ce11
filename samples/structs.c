/* Calling convention: structures by value and as results, many arguments, mixed floating-point and integer arguments. */
#include "freestanding/out.h"

#define OUT_OF_LINE __attribute__((noinline))

struct pair { int32_t first, second; };
struct triple { uint8_t bytes[3]; };
struct mixed { double number; uint16_t half; float single; };
struct large { uint32_t words[12]; };
struct complex_float { float real, imaginary; };

static OUT_OF_LINE struct pair swap(struct pair p) { return (struct pair){p.second, p.first + 1}; }

static OUT_OF_LINE struct triple rotate(uint8_t by, struct triple t)
{
    return (struct triple){{(uint8_t)(t.bytes[1] + by), (uint8_t)(t.bytes[2] - by), t.bytes[0]}};
}

static OUT_OF_LINE struct mixed scale(struct mixed m, float factor, double offset)
{
    return (struct mixed){m.number * (double)factor + offset, (uint16_t)(m.half * 3), m.single - factor};
}

static OUT_OF_LINE struct large spread(struct large from, uint32_t step, uint32_t seed)
{
    struct large to;
    for (uint32_t i = 0; i < 12; i++)
        to.words[i] = from.words[i * step % 12] ^ seed >> i;
    return to;
}

static OUT_OF_LINE struct complex_float multiply(struct complex_float a, struct complex_float b)
{
    return (struct complex_float){a.real * b.real - a.imaginary * b.imaginary, a.real * b.imaginary + a.imaginary * b.real};
}

/* float, float: both in FPU registers; the rest in integer registers and on the stack. */
static OUT_OF_LINE double two_floats(float a, float b, int32_t c, double d)
{
    return (double)a * 2 + (double)b * 3 + c + d;
}

static OUT_OF_LINE double double_first(double a, float b, int32_t c) { return a - (double)b + c; }

/* An integer first: doubles then travel in aligned pairs of integer registers. */
static OUT_OF_LINE double integer_first(int32_t a, double b, float c) { return a + b * (double)c; }

static OUT_OF_LINE uint64_t many(uint8_t a, int16_t b, uint64_t c, int32_t d, uint64_t e, int8_t f, double g, uint32_t h)
{
    uint64_t with_signs = (uint64_t)((int64_t)b + d + f + (int32_t)g);
    return a + with_signs + c * 3 + (e ^ c) + h;
}

static OUT_OF_LINE int32_t narrow(int8_t a, uint8_t b, int16_t c, uint16_t d)
{
    return a * 1000003 + b * 1009 + c * 31 + d;
}

static uint32_t call_all(uint32_t round, uint32_t hash)
{
    int32_t number = (int32_t)(hash ^ round);
    struct pair pair = swap(swap((struct pair){number & 0xffff, 7}));
    struct triple triple = rotate((uint8_t)round, (struct triple){{(uint8_t)number, 2, 3}});
    struct mixed mixed = scale((struct mixed){number / 16.0, (uint16_t)round, 0.5f}, 1.25f, -3.0);
    struct complex_float left = {1.5f, (float)(number & 255)}, product = multiply(left, (struct complex_float){-2, 0.125f});
    struct large large = {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}};
    large = spread(spread(large, 5, hash), 7, round);
    hash = mix32(mix32(hash, (uint32_t)(pair.first * 31 + pair.second)), triple.bytes[0] + 256u * triple.bytes[1] + triple.bytes[2]);
    hash = mix32(mix64(hash, double_bits(mixed.number)), mixed.half + float_bits(mixed.single));
    hash = mix32(mix32(hash, float_bits(product.real)), float_bits(product.imaginary));
    for (uint32_t i = 0; i < 12; i++)
        hash = mix32(hash, large.words[i]);
    hash = mix64(hash, double_bits(two_floats(1.5f, (float)(number % 1000), number, 0.25)));
    hash = mix64(hash, double_bits(double_first(number / 4.0, 2.5f, number)));
    hash = mix64(hash, double_bits(integer_first(number, 1.75, 8.5f)));
    hash = mix64(hash, many((uint8_t)number, (int16_t)number, hash, number, (uint64_t)hash << 20, (int8_t)number, -77.5, round));
    return mix32(hash, (uint32_t)narrow((int8_t)number, (uint8_t)number, (int16_t)number, (uint16_t)number));
}

int main(int argc, char **argv)
{
    uint32_t rounds = sample_begin(argc, argv, 100), hash = 1;
    for (uint32_t round = 0; round < rounds; round++)
        hash = call_all(round, hash);
    return sample_end(hash);
}
