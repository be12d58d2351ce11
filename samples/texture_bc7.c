/* BC7 blocks (Direct3D 11's "BC7 Format", Khronos's BPTC): eight modes of endpoints, partitions and index widths. */
#include "texture.h"

struct mode {
    uint8_t subsets, partition_bits, rotation_bits, selection_bits, colour_bits, alpha_bits;
    uint8_t endpoint_pbits, shared_pbits, index_bits, second_index_bits;
};

static const struct mode modes[8] = {
    {3, 4, 0, 0, 4, 0, 1, 0, 3, 0}, {2, 6, 0, 0, 6, 0, 0, 1, 3, 0}, {3, 6, 0, 0, 5, 0, 0, 0, 2, 0},
    {2, 6, 0, 0, 7, 0, 1, 0, 2, 0}, {1, 0, 2, 1, 5, 6, 0, 0, 2, 3}, {1, 0, 2, 0, 7, 8, 0, 0, 2, 2},
    {1, 0, 0, 0, 7, 7, 1, 0, 4, 0}, {2, 6, 0, 0, 5, 5, 1, 0, 2, 0},
};

static const uint8_t weights2[4] = {0, 21, 43, 64};
static const uint8_t weights3[8] = {0, 9, 18, 27, 37, 46, 55, 64};
static const uint8_t weights4[16] = {0, 4, 9, 13, 17, 21, 26, 30, 34, 38, 43, 47, 51, 55, 60, 64};
static const uint8_t *const weights[5] = {NULL, NULL, weights2, weights3, weights4};

/* Subset of each pixel: one bit per pixel for two subsets, two bits for three; pixel 0 lowest. */
static const uint16_t partitions2[64] = {
    0xcccc, 0x8888, 0xeeee, 0xecc8, 0xc880, 0xfeec, 0xfec8, 0xec80, 0xc800, 0xffec, 0xfe80, 0xe800, 0xffe8, 0xff00, 0xfff0, 0xf000,
    0xf710, 0x008e, 0x7100, 0x08ce, 0x008c, 0x7310, 0x3100, 0x8cce, 0x088c, 0x3110, 0x6666, 0x366c, 0x17e8, 0x0ff0, 0x718e, 0x399c,
    0xaaaa, 0xf0f0, 0x5a5a, 0x33cc, 0x3c3c, 0x55aa, 0x9696, 0xa55a, 0x73ce, 0x13c8, 0x324c, 0x3bdc, 0x6996, 0xc33c, 0x9966, 0x0660,
    0x0272, 0x04e4, 0x4e40, 0x2720, 0xc936, 0x936c, 0x39c6, 0x639c, 0x9336, 0x9cc6, 0x817e, 0xe718, 0xccf0, 0x0fcc, 0x7744, 0xee22};

static const uint32_t partitions3[64] = {
    0xaa685050, 0x6a5a5040, 0x5a5a4200, 0x5450a0a8, 0xa5a50000, 0xa0a05050, 0x5555a0a0, 0x5a5a5050, 0xaa550000, 0xaa555500,
    0xaaaa5500, 0x90909090, 0x94949494, 0xa4a4a4a4, 0xa9a59450, 0x2a0a4250, 0xa5945040, 0x0a425054, 0xa5a5a500, 0x55a0a0a0,
    0xa8a85454, 0x6a6a4040, 0xa4a45000, 0x1a1a0500, 0x0050a4a4, 0xaaa59090, 0x14696914, 0x69691400, 0xa08585a0, 0xaa821414,
    0x50a4a450, 0x6a5a0200, 0xa9a58000, 0x5090a0a8, 0xa8a09050, 0x24242424, 0x00aa5500, 0x24924924, 0x24499224, 0x50a50a50,
    0x500aa550, 0xaaaa4444, 0x66660000, 0xa5a0a5a0, 0x50a050a0, 0x69286928, 0x44aaaa44, 0x66666600, 0xaa444444, 0x54a854a8,
    0x95809580, 0x96969600, 0xa85454a8, 0x80959580, 0xaa141414, 0x96960000, 0xaaaa1414, 0xa05050a0, 0xa0a5a5a0, 0x96000000,
    0x40804080, 0xa9a8a9a8, 0xaaaaaa44, 0x2a4a5254};

/* The pixel of each further subset whose index lacks its top bit: of two subsets, then second and third of three. */
static const uint8_t anchors[3][64] = {
    {15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 2, 8, 2, 2, 8, 8, 15, 2, 8, 2, 2, 8, 8, 2, 2,
     15, 15, 6, 8, 2, 8, 15, 15, 2, 8, 2, 2, 2, 15, 15, 6, 6, 2, 6, 8, 15, 15, 2, 2, 15, 15, 15, 15, 15, 2, 2, 15},
    {3, 3, 15, 15, 8, 3, 15, 15, 8, 8, 6, 6, 6, 5, 3, 3, 3, 3, 8, 15, 3, 3, 6, 10, 5, 8, 8, 6, 8, 5, 15, 15,
     8, 15, 3, 5, 6, 10, 8, 15, 15, 3, 15, 5, 15, 15, 15, 15, 3, 15, 5, 5, 5, 8, 5, 10, 5, 10, 8, 13, 15, 12, 3, 3},
    {15, 8, 8, 3, 15, 15, 3, 8, 15, 15, 15, 15, 15, 15, 15, 8, 15, 8, 15, 3, 15, 8, 15, 8, 3, 15, 6, 10, 15, 15, 10, 8,
     15, 3, 15, 10, 10, 8, 9, 10, 6, 15, 8, 15, 3, 6, 6, 8, 15, 3, 15, 15, 15, 15, 15, 15, 15, 15, 15, 15, 3, 15, 15, 8},
};

struct bits {
    uint64_t low, high;
};

static uint32_t take(struct bits *b, uint32_t count)
{
    uint32_t value = (uint32_t)b->low & ((1u << count) - 1);
    if (count) {
        b->low = b->low >> count | b->high << (64 - count);
        b->high >>= count;
    }
    return value;
}

static uint32_t subset_of(const struct mode *mode, uint32_t partition, uint32_t pixel)
{
    if (mode->subsets == 2)
        return partitions2[partition] >> pixel & 1;
    return mode->subsets == 3 ? partitions3[partition] >> (2 * pixel) & 3 : 0;
}

static uint32_t is_anchor(const struct mode *mode, uint32_t partition, uint32_t pixel)
{
    if (mode->subsets == 2)
        return pixel == 0 || pixel == anchors[0][partition];
    if (mode->subsets == 3)
        return pixel == 0 || pixel == anchors[1][partition] || pixel == anchors[2][partition];
    return pixel == 0;
}

/* Eight bits from width bits: shifted to the top, the gap filled with the top bits again. */
static uint8_t widen(uint32_t value, uint32_t width)
{
    value <<= 8 - width;
    return (uint8_t)(value | value >> width);
}

/* Reads the endpoints of all subsets, RGBA each; a p-bit is one more bit below every component. */
static void take_endpoints(struct bits *b, const struct mode *mode, uint8_t endpoints[6][4])
{
    uint32_t count = mode->subsets * 2u, pbits[6] = {0}, has_pbits = mode->endpoint_pbits | mode->shared_pbits;
    for (uint32_t component = 0; component < 4; component++)
        for (uint32_t i = 0; i < count; i++)
            endpoints[i][component] = (uint8_t)take(b, component < 3 ? mode->colour_bits : mode->alpha_bits);
    for (uint32_t i = 0; i < count && has_pbits; i++)
        pbits[i] = mode->shared_pbits && i & 1 ? pbits[i - 1] : take(b, 1);
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t component = 0; component < 4; component++) {
            uint32_t width = component < 3 ? mode->colour_bits : mode->alpha_bits;
            uint32_t value = endpoints[i][component];
            if (!width)
                endpoints[i][component] = 255;
            else if (has_pbits)
                endpoints[i][component] = widen(value << 1 | pbits[i], width + 1);
            else
                endpoints[i][component] = widen(value, width);
        }
    }
}

static void take_indices(struct bits *b, const struct mode *mode, uint32_t partition, uint32_t width, uint8_t indices[16])
{
    for (uint32_t pixel = 0; pixel < 16; pixel++)
        indices[pixel] = (uint8_t)take(b, width - is_anchor(mode, partition, pixel));
}

static uint8_t interpolate(uint8_t from, uint8_t to, uint32_t weight)
{
    return (uint8_t)((from * (64 - weight) + to * weight + 32) >> 6);
}

static void rotate(struct pixel *p, uint32_t rotation)
{
    uint8_t alpha = p->alpha;
    uint8_t *component = rotation == 1 ? &p->red : rotation == 2 ? &p->green : &p->blue;
    if (rotation) {
        p->alpha = *component;
        *component = alpha;
    }
}

void decode_bc7(const uint8_t block[16], struct pixel pixels[16])
{
    struct bits b = {0, 0};
    uint8_t endpoints[6][4], indices[2][16];
    uint32_t number = 0;
    for (uint32_t i = 8; i-- > 0;) {
        b.low = b.low << 8 | block[i];
        b.high = b.high << 8 | block[8 + i];
    }
    while (number < 8 && !take(&b, 1))
        number++;
    if (number == 8) { /* reserved: transparent black */
        memset(pixels, 0, 16 * sizeof *pixels);
        return;
    }
    const struct mode *mode = &modes[number];
    uint32_t partition = take(&b, mode->partition_bits), rotation = take(&b, mode->rotation_bits);
    uint32_t selection = take(&b, mode->selection_bits);
    take_endpoints(&b, mode, endpoints);
    take_indices(&b, mode, partition, mode->index_bits, indices[0]);
    if (mode->second_index_bits)
        take_indices(&b, mode, partition, mode->second_index_bits, indices[1]);
    /* With two sets of indices one is for colour and one for alpha; the selection bit exchanges them. */
    uint32_t colour_set = selection, alpha_set = mode->second_index_bits ? 1 - selection : 0;
    const uint8_t *colour_weights = weights[colour_set ? mode->second_index_bits : mode->index_bits];
    const uint8_t *alpha_weights = weights[alpha_set ? mode->second_index_bits : mode->index_bits];
    for (uint32_t i = 0; i < 16; i++) {
        const uint8_t *from = endpoints[2 * subset_of(mode, partition, i)], *to = from + 4;
        uint32_t weight = colour_weights[indices[colour_set][i]];
        pixels[i].red = interpolate(from[0], to[0], weight);
        pixels[i].green = interpolate(from[1], to[1], weight);
        pixels[i].blue = interpolate(from[2], to[2], weight);
        pixels[i].alpha = interpolate(from[3], to[3], alpha_weights[indices[alpha_set][i]]);
        rotate(&pixels[i], rotation);
    }
}
