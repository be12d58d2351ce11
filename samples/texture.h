/* Decoders of compressed texture blocks: 4x4 pixels of RGBA8 each, row by row. Blocks are bytes, in no byte order. */
#ifndef SAMPLES_TEXTURE_H
#define SAMPLES_TEXTURE_H

#include "freestanding/out.h"

struct pixel {
    uint8_t red, green, blue, alpha;
};

void decode_bc1(const uint8_t block[8], struct pixel pixels[16]);
void decode_bc3(const uint8_t block[16], struct pixel pixels[16]);
void decode_bc7(const uint8_t block[16], struct pixel pixels[16]);       /* texture_bc7.c */
void decode_etc2(const uint8_t block[8], struct pixel pixels[16]);       /* texture_etc2.c; leaves alpha alone */
void decode_etc2_eac(const uint8_t block[16], struct pixel pixels[16]);  /* alpha first, then the colours */

#endif
