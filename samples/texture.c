/*
 * Decodes compressed textures to RGBA8: BC1 and BC3 here, BC7 and ETC2 with EAC alpha in files of their own. The blocks
 * are pseudo-random, every mode of every format among them. The argument is the number of rows of a 1024 pixels wide
 * picture in each format.
 */
#include "texture.h"

static void split_565(uint32_t packed, struct pixel *p)
{
    uint32_t red = packed >> 11 & 31, green = packed >> 5 & 63, blue = packed & 31;
    *p = (struct pixel){(uint8_t)(red << 3 | red >> 2), (uint8_t)(green << 2 | green >> 4), (uint8_t)(blue << 3 | blue >> 2), 255};
}

static struct pixel blend(struct pixel a, struct pixel b, uint32_t a_parts, uint32_t b_parts)
{
    uint32_t parts = a_parts + b_parts;
    return (struct pixel){(uint8_t)((a.red * a_parts + b.red * b_parts) / parts),
                          (uint8_t)((a.green * a_parts + b.green * b_parts) / parts),
                          (uint8_t)((a.blue * a_parts + b.blue * b_parts) / parts), 255};
}

/* Two colours and two between them; or, in BC1 with the first not the larger, one between and transparent black. */
static void decode_colours(const uint8_t block[8], struct pixel pixels[16], uint32_t always_four)
{
    struct pixel palette[4];
    uint32_t first = block[0] | (uint32_t)block[1] << 8, second = block[2] | (uint32_t)block[3] << 8;
    uint32_t indices = block[4] | (uint32_t)block[5] << 8 | (uint32_t)block[6] << 16 | (uint32_t)block[7] << 24;
    split_565(first, &palette[0]);
    split_565(second, &palette[1]);
    if (always_four || first > second) {
        palette[2] = blend(palette[0], palette[1], 2, 1);
        palette[3] = blend(palette[0], palette[1], 1, 2);
    } else {
        palette[2] = blend(palette[0], palette[1], 1, 1);
        palette[3] = (struct pixel){0, 0, 0, 0};
    }
    for (uint32_t i = 0; i < 16; i++, indices >>= 2)
        pixels[i] = palette[indices & 3];
}

void decode_bc1(const uint8_t block[8], struct pixel pixels[16])
{
    decode_colours(block, pixels, 0);
}

void decode_bc3(const uint8_t block[16], struct pixel pixels[16])
{
    uint32_t palette[8] = {block[0], block[1]};
    uint64_t indices = 0;
    decode_colours(block + 8, pixels, 1);
    for (uint32_t i = 2; i < 8; i++) {
        if (palette[0] > palette[1])
            palette[i] = (palette[0] * (8 - i) + palette[1] * (i - 1)) / 7;
        else
            palette[i] = i == 6 ? 0 : i == 7 ? 255 : (palette[0] * (6 - i) + palette[1] * (i - 1)) / 5;
    }
    for (uint32_t i = 8; i-- > 2;)
        indices = indices << 8 | block[i];
    for (uint32_t i = 0; i < 16; i++, indices >>= 3)
        pixels[i].alpha = (uint8_t)palette[indices & 7];
}

enum { WIDTH = 1024 };

struct format {
    const char *name;
    void (*decode)(const uint8_t *block, struct pixel pixels[16]);
    uint32_t block_size;
};

static const struct format formats[] = {
    {"bc1", decode_bc1, 8}, {"bc3", decode_bc3, 16}, {"bc7", decode_bc7, 16}, {"etc2", decode_etc2, 8}, {"etc2 eac", decode_etc2_eac, 16},
};

static struct pixel rows[4][WIDTH];

/* One row of blocks into four rows of pixels. BC7's mode is chosen evenly: random bits would give mode 0 half the time. */
static void decode_row(const struct format *format, uint32_t *random)
{
    for (uint32_t x = 0; x < WIDTH; x += 4) {
        uint8_t block[16];
        struct pixel pixels[16];
        for (uint32_t i = 0; i < format->block_size; i += 4) {
            uint32_t word = random32(random);
            for (uint32_t j = 0; j < 4; j++)
                block[i + j] = (uint8_t)(word >> (8 * j));
        }
        if (format->decode == decode_bc7)
            block[0] = (uint8_t)((block[0] | 1) << (x / 4 & 7));
        memset(pixels, 255, sizeof pixels);
        format->decode(block, pixels);
        for (uint32_t y = 0; y < 4; y++)
            memcpy(&rows[y][x], &pixels[4 * y], 4 * sizeof *pixels);
    }
}

static uint32_t hash_rows(uint32_t hash)
{
    for (uint32_t y = 0; y < 4; y++)
        for (uint32_t x = 0; x < WIDTH; x++)
            hash = mix32(hash, rows[y][x].red | (uint32_t)rows[y][x].green << 8 | (uint32_t)rows[y][x].blue << 16 |
                                   (uint32_t)rows[y][x].alpha << 24);
    return hash;
}

int main(int argc, char **argv)
{
    uint32_t height = sample_begin(argc, argv, 16), checksum = 0;
    for (uint32_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        uint32_t random = 88172645, hash = 0;
        for (uint32_t y = 0; y < height; y += 4) {
            decode_row(&formats[i], &random);
            hash = hash_rows(hash);
        }
        out_line(formats[i].name, hash);
        checksum = mix32(checksum, hash);
    }
    return sample_end(checksum);
}
