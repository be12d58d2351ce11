/* ETC2 blocks (Khronos Data Format Specification, "ETC2 Compressed Texture Image Formats") and EAC alpha. */
#include "texture.h"

static const uint8_t table_small[8] = {2, 5, 9, 13, 18, 24, 33, 47};
static const uint8_t table_large[8] = {8, 17, 29, 42, 60, 80, 106, 183};
static const uint8_t distances[8] = {3, 6, 11, 16, 23, 32, 41, 64};

static const int8_t alpha_modifiers[16][8] = {
    {-3, -6, -9, -15, 2, 5, 8, 14}, {-3, -7, -10, -13, 2, 6, 9, 12}, {-2, -5, -8, -13, 1, 4, 7, 12}, {-2, -4, -6, -13, 1, 3, 5, 12},
    {-3, -6, -8, -12, 2, 5, 7, 11}, {-3, -7, -9, -11, 2, 6, 8, 10}, {-4, -7, -8, -11, 3, 6, 7, 10}, {-3, -5, -8, -11, 2, 4, 7, 10},
    {-2, -6, -8, -10, 1, 5, 7, 9}, {-2, -5, -8, -10, 1, 4, 7, 9}, {-2, -4, -8, -10, 1, 3, 7, 9}, {-2, -5, -7, -10, 1, 4, 6, 9},
    {-3, -4, -7, -10, 2, 3, 6, 9}, {-1, -2, -3, -10, 0, 1, 2, 9}, {-4, -6, -8, -9, 3, 5, 7, 8}, {-3, -5, -7, -9, 2, 4, 6, 8},
};

struct colour {
    int32_t component[3];
};

static uint8_t clamp(int32_t value)
{
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

static void set_pixel(struct pixel *p, struct colour c, int32_t offset)
{
    p->red = clamp(c.component[0] + offset);
    p->green = clamp(c.component[1] + offset);
    p->blue = clamp(c.component[2] + offset);
}

static int32_t widen4(uint32_t v) { return (int32_t)((v & 15) * 17); }
static int32_t widen5(uint32_t v) { return (int32_t)((v & 31) << 3 | (v & 31) >> 2); }
static int32_t widen6(uint32_t v) { return (int32_t)((v & 63) << 2 | (v & 63) >> 4); }
static int32_t widen7(uint32_t v) { return (int32_t)((v & 127) << 1 | (v & 127) >> 6); }

/* Two bits per pixel, their upper halves above their lower ones, column by column. */
static uint32_t index_of(uint32_t indices, uint32_t x, uint32_t y)
{
    uint32_t place = 4 * x + y;
    return (indices >> (16 + place) & 1) << 1 | (indices >> place & 1);
}

/* Individual and differential mode: two halves, each a base colour plus one of four offsets. */
static void decode_halves(uint32_t head, uint32_t indices, const struct colour bases[2], struct pixel pixels[16])
{
    uint32_t tables[2] = {head >> 5 & 7, head >> 2 & 7}, flip = head & 1;
    for (uint32_t y = 0; y < 4; y++) {
        for (uint32_t x = 0; x < 4; x++) {
            uint32_t half = flip ? y / 2 : x / 2, index = index_of(indices, x, y);
            int32_t offset = index & 1 ? table_large[tables[half]] : table_small[tables[half]];
            set_pixel(&pixels[4 * y + x], bases[half], index & 2 ? -offset : offset);
        }
    }
}

/* T and H mode: four paint colours. */
static void decode_paints(const struct colour paints[4], const int32_t offsets[4], uint32_t indices, struct pixel pixels[16])
{
    for (uint32_t y = 0; y < 4; y++) {
        for (uint32_t x = 0; x < 4; x++) {
            uint32_t index = index_of(indices, x, y);
            set_pixel(&pixels[4 * y + x], paints[index], offsets[index]);
        }
    }
}

static void decode_t(uint32_t head, uint32_t indices, struct pixel pixels[16])
{
    struct colour first = {{widen4((head >> 25 & 12) | (head >> 24 & 3)), widen4(head >> 20), widen4(head >> 16)}};
    struct colour second = {{widen4(head >> 12), widen4(head >> 8), widen4(head >> 4)}};
    int32_t distance = distances[(head >> 1 & 6) | (head & 1)];
    const struct colour paints[4] = {first, second, second, second};
    const int32_t offsets[4] = {0, distance, 0, -distance};
    decode_paints(paints, offsets, indices, pixels);
}

static void decode_h(uint32_t head, uint32_t indices, struct pixel pixels[16])
{
    uint32_t red1 = head >> 27 & 15, green1 = (head >> 23 & 14) | (head >> 20 & 1);
    uint32_t blue1 = (head >> 16 & 8) | (head >> 15 & 7), red2 = head >> 11 & 15;
    uint32_t green2 = head >> 7 & 15, blue2 = head >> 3 & 15;
    struct colour first = {{widen4(red1), widen4(green1), widen4(blue1)}};
    struct colour second = {{widen4(red2), widen4(green2), widen4(blue2)}};
    uint32_t ordered = (red1 << 8 | green1 << 4 | blue1) >= (red2 << 8 | green2 << 4 | blue2); /* the lowest bit of all */
    int32_t distance = distances[(head & 4) | (head << 1 & 2) | ordered];
    const struct colour paints[4] = {first, first, second, second};
    const int32_t offsets[4] = {distance, -distance, distance, -distance};
    decode_paints(paints, offsets, indices, pixels);
}

/* Planar mode: colours at three corners, linear in between. */
static void decode_planar(uint32_t head, uint32_t tail, struct pixel pixels[16])
{
    struct colour origin = {{widen6(head >> 25), widen7((head >> 18 & 64) | (head >> 17 & 63)),
                             widen6((head >> 11 & 32) | (head >> 8 & 24) | (head >> 7 & 7))}};
    struct colour horizontal = {{widen6((head >> 1 & 62) | (head & 1)), widen7(tail >> 25), widen6(tail >> 19)}};
    struct colour vertical = {{widen6(tail >> 13), widen7(tail >> 6), widen6(tail)}};
    for (int32_t y = 0; y < 4; y++) {
        for (int32_t x = 0; x < 4; x++) {
            struct colour c;
            for (uint32_t i = 0; i < 3; i++) {
                int32_t o = origin.component[i];
                c.component[i] = (x * (horizontal.component[i] - o) + y * (vertical.component[i] - o) + 4 * o + 2) >> 2;
            }
            set_pixel(&pixels[4 * y + x], c, 0);
        }
    }
}

static uint32_t read_big_endian(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

void decode_etc2(const uint8_t block[8], struct pixel pixels[16])
{
    uint32_t head = read_big_endian(block), indices = read_big_endian(block + 4);
    struct colour bases[2];
    if (!(head & 2)) { /* individual: four bits per component */
        for (uint32_t i = 0; i < 3; i++) {
            bases[0].component[i] = widen4(head >> (28 - 8 * i));
            bases[1].component[i] = widen4(head >> (24 - 8 * i));
        }
        decode_halves(head, indices, bases, pixels);
        return;
    }
    for (uint32_t i = 0; i < 3; i++) { /* differential: five bits, and three signed ones; overflow means another mode */
        int32_t base = (int32_t)(head >> (27 - 8 * i) & 31), change = (int32_t)(head >> (24 - 8 * i) & 7);
        int32_t sum = base + (change ^ 4) - 4;
        if (sum < 0 || sum > 31) {
            if (i == 0)
                decode_t(head, indices, pixels);
            else if (i == 1)
                decode_h(head, indices, pixels);
            else
                decode_planar(head, indices, pixels);
            return;
        }
        bases[0].component[i] = widen5((uint32_t)base);
        bases[1].component[i] = widen5((uint32_t)sum);
    }
    decode_halves(head, indices, bases, pixels);
}

void decode_etc2_eac(const uint8_t block[16], struct pixel pixels[16])
{
    int32_t base = block[0], multiplier = block[1] >> 4;
    const int8_t *modifiers = alpha_modifiers[block[1] & 15];
    uint64_t indices = (uint64_t)(block[2] << 8 | block[3]) << 32 | read_big_endian(block + 4);
    decode_etc2(block + 8, pixels);
    for (uint32_t place = 0; place < 16; place++) {
        uint32_t index = (uint32_t)(indices >> (45 - 3 * place)) & 7;
        pixels[place % 4 * 4 + place / 4].alpha = clamp(base + multiplier * modifiers[index]);
    }
}
