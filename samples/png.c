/*
 * PNG: decode and encode one picture again and again with the stb libraries
 * (Debian: libstb-dev; neither copied nor kept here).
 *
 *   png IN.png OUT.png [ROUNDS]   ROUNDS times: decode IN, encode to OUT
 *   png --generate OUT.png        write the 1024x768 test picture
 *   png ROUNDS                    ROUNDS times: encode and decode the test picture in memory
 *   png                           encode and decode a small picture in memory
 *
 * PNG_CHANNELS says how many bytes a pixel has: 3 (RGB) or 4 (RGBA), for which the libraries have other loops.
 * Each form prints a checksum of the decoded pixels and one of the encoded file.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STB_IMAGE_IMPLEMENTATION
#define STBI_ONLY_PNG
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb_image.h>
#include <stb_image_write.h>

#ifndef PNG_CHANNELS
#define PNG_CHANNELS 3
#endif

enum { CHANNELS = PNG_CHANNELS, DEFAULT_ROUNDS = 20 };

static uint32_t fnv1a(const uint8_t *bytes, uint32_t size)
{
    uint32_t hash = 2166136261u;
    for (uint32_t i = 0; i < size; i++)
        hash = (hash ^ bytes[i]) * 16777619u;
    return hash;
}

/* Three kinds of 64x64 tiles: smooth gradients, gradients with a little noise, flat colour; real pictures mix them too. */
static uint8_t *make_picture(uint32_t width, uint32_t height)
{
    uint8_t *pixels = malloc((size_t)width * height * CHANNELS);
    uint32_t random = 0x2545f491u;
    if (!pixels)
        return NULL;
    for (uint32_t y = 0; y < height; y++) {
        for (uint32_t x = 0; x < width; x++) {
            uint8_t *pixel = pixels + ((size_t)y * width + x) * CHANNELS;
            uint32_t tile = (x / 64 * 7 + y / 64 * 5) % 4;
            random ^= random << 13;
            random ^= random >> 17;
            random ^= random << 5;
            for (uint32_t c = 0; c < CHANNELS; c++) {
                uint32_t gradient = (x * (c + 1) / 4 + y * (3 - c) / 3) & 255;
                uint32_t noise = (random >> (8 * c)) & (tile == 3 ? 31 : 3);
                pixel[c] = (uint8_t)(tile == 0 ? gradient : tile == 1 ? tile * 40 + c * 50 : gradient / 2 + noise);
            }
        }
    }
    return pixels;
}

static int generate(const char *path)
{
    uint8_t *pixels = make_picture(1024, 768);
    int ok = pixels && stbi_write_png(path, 1024, 768, CHANNELS, pixels, 1024 * CHANNELS);
    free(pixels);
    return ok ? 0 : 1;
}

static int decode_encode(const char *in_path, const char *out_path, int rounds)
{
    uint32_t pixel_hash = 0;
    int width = 0, height = 0, channels = 0;
    for (int round = 0; round < rounds; round++) {
        uint8_t *pixels = stbi_load(in_path, &width, &height, &channels, 0);
        if (!pixels) {
            fprintf(stderr, "png: %s: %s\n", in_path, stbi_failure_reason());
            return 1;
        }
        pixel_hash = fnv1a(pixels, (uint32_t)(width * height * channels));
        if (!stbi_write_png(out_path, width, height, channels, pixels, width * channels)) {
            fprintf(stderr, "png: %s: cannot be written\n", out_path);
            return 1;
        }
        stbi_image_free(pixels);
    }
    printf("%dx%dx%d rounds %d pixels %08x\n", width, height, channels, rounds, (unsigned)pixel_hash);
    return 0;
}

/* Returns whether decoding what was encoded gives the same pixels; mixes file and pixels into hashes. */
static int round_trip(uint8_t *pixels, int width, int height, uint32_t hashes[2], int *file_size)
{
    int decoded_width, decoded_height, channels, same = 0;
    uint8_t *file = stbi_write_png_to_mem(pixels, width * CHANNELS, width, height, CHANNELS, file_size);
    uint8_t *again = file ? stbi_load_from_memory(file, *file_size, &decoded_width, &decoded_height, &channels, 0) : NULL;
    if (again && decoded_width == width && decoded_height == height && channels == CHANNELS) {
        uint32_t pixels_size = (uint32_t)(width * height * CHANNELS);
        same = !memcmp(pixels, again, pixels_size);
        hashes[0] = fnv1a(file, (uint32_t)*file_size);
        hashes[1] = fnv1a(again, pixels_size);
    }
    free(again);
    free(file);
    return same;
}

static int in_memory(int width, int height, int rounds)
{
    uint32_t hashes[2] = {0, 0};
    int file_size = 0;
    uint8_t *pixels = make_picture((uint32_t)width, (uint32_t)height);
    int same = pixels != NULL;
    for (int round = 0; round < rounds && same; round++)
        same = round_trip(pixels, width, height, hashes, &file_size);
    printf("png: %s, file %d bytes %08x, pixels %08x\n", same ? "round trip ok" : "ROUND TRIP FAILED", file_size,
           (unsigned)hashes[0], (unsigned)hashes[1]);
    free(pixels);
    return same ? 0 : 1;
}

int main(int argc, char **argv)
{
    if (argc == 1)
        return in_memory(192, 128, 1);
    if (argc == 2 && atoi(argv[1]) > 0)
        return in_memory(1024, 768, atoi(argv[1]));
    if (argc == 3 && !strcmp(argv[1], "--generate"))
        return generate(argv[2]);
    int rounds = argc > 3 ? atoi(argv[3]) : DEFAULT_ROUNDS;
    if (argc < 3 || argc > 4 || rounds < 1) {
        fprintf(stderr, "usage: png IN.png OUT.png [ROUNDS] | png --generate OUT.png | png [ROUNDS]\n");
        return 2;
    }
    return decode_encode(argv[1], argv[2], rounds);
}
