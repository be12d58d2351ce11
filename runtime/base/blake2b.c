/* BLAKE2b-256 of a byte string, unkeyed (RFC 7693). Enters: bytes. Leaves: 32 bytes that name them. */
#include "base/checksum.h"

#include <string.h>

#define BLOCK_BYTES 128
#define DIGEST_BYTES 32

/* RFC 7693 section 2.6. */
static const uint64_t initial[8] = {
    0x6a09e667f3bcc908u, 0xbb67ae8584caa73bu, 0x3c6ef372fe94f82bu, 0xa54ff53a5f1d36f1u,
    0x510e527fade682d1u, 0x9b05688c2b3e6c1fu, 0x1f83d9abfb41bd6bu, 0x5be0cd19137e2179u,
};

/* RFC 7693 section 2.7; rounds 10 and 11 use rows 0 and 1 again. */
static const uint8_t sigma[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
};

static uint64_t rotate_right(uint64_t value, unsigned count)
{
    return value >> count | value << (64 - count);
}

static uint64_t little_endian64(const uint8_t *from)
{
    uint64_t value = 0;
    for (int byte = 7; byte >= 0; byte--)
        value = value << 8 | from[byte];
    return value;
}

static inline void mix(uint64_t v[16], int a, int b, int c, int d, uint64_t x, uint64_t y)
{
    v[a] = v[a] + v[b] + x;
    v[d] = rotate_right(v[d] ^ v[a], 32);
    v[c] = v[c] + v[d];
    v[b] = rotate_right(v[b] ^ v[c], 24);
    v[a] = v[a] + v[b] + y;
    v[d] = rotate_right(v[d] ^ v[a], 16);
    v[c] = v[c] + v[d];
    v[b] = rotate_right(v[b] ^ v[c], 63);
}

/* Folds one block into h; `count` bytes have been taken in with it. */
static void compress(uint64_t h[8], const uint8_t block[BLOCK_BYTES], uint64_t count, int last)
{
    uint64_t m[16], v[16];
    for (int i = 0; i < 16; i++)
        m[i] = little_endian64(block + 8 * i);
    memcpy(v, h, 8 * sizeof *v);
    memcpy(v + 8, initial, 8 * sizeof *v);
    v[12] ^= count; /* the upper half of the 128-bit count is zero */
    v[14] ^= last ? ~(uint64_t)0 : 0;
    for (int round = 0; round < 12; round++) {
        const uint8_t *s = sigma[round % 10];
        mix(v, 0, 4, 8, 12, m[s[0]], m[s[1]]);
        mix(v, 1, 5, 9, 13, m[s[2]], m[s[3]]);
        mix(v, 2, 6, 10, 14, m[s[4]], m[s[5]]);
        mix(v, 3, 7, 11, 15, m[s[6]], m[s[7]]);
        mix(v, 0, 5, 10, 15, m[s[8]], m[s[9]]);
        mix(v, 1, 6, 11, 12, m[s[10]], m[s[11]]);
        mix(v, 2, 7, 8, 13, m[s[12]], m[s[13]]);
        mix(v, 3, 4, 9, 14, m[s[14]], m[s[15]]);
    }
    for (int i = 0; i < 8; i++)
        h[i] ^= v[i] ^ v[i + 8];
}

void mr_blake2b_256(const uint8_t *data, size_t size_bytes, uint8_t digest[32])
{
    uint64_t h[8], count = 0;
    memcpy(h, initial, sizeof h);
    h[0] ^= 0x01010000u ^ DIGEST_BYTES; /* parameter block: fanout 1, depth 1, no key */
    while (size_bytes - count > BLOCK_BYTES) {
        compress(h, data + count, count + BLOCK_BYTES, 0);
        count += BLOCK_BYTES;
    }
    uint8_t block[BLOCK_BYTES] = {0};
    if (size_bytes > count)
        memcpy(block, data + count, size_bytes - count);
    compress(h, block, size_bytes, 1);
    for (int i = 0; i < DIGEST_BYTES; i++)
        digest[i] = (uint8_t)(h[i / 8] >> 8 * (i % 8));
}
