/* SHA-256 (FIPS 180-4) of "abc" and of a generated message; bytes are put together by hand, in no byte order. */
#include "freestanding/out.h"

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static const uint32_t initial_state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                          0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};

static inline uint32_t rotate_right(uint32_t value, uint32_t count)
{
    return value >> count | value << (32 - count);
}

static void compress(uint32_t state[8], const uint8_t *block)
{
    uint32_t w[64], a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (uint32_t i = 0; i < 16; i++, block += 4)
        w[i] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 | (uint32_t)block[2] << 8 | block[3];
    for (uint32_t i = 16; i < 64; i++) {
        uint32_t s0 = rotate_right(w[i - 15], 7) ^ rotate_right(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t s1 = rotate_right(w[i - 2], 17) ^ rotate_right(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    for (uint32_t i = 0; i < 64; i++) {
        uint32_t s1 = rotate_right(e, 6) ^ rotate_right(e, 11) ^ rotate_right(e, 25);
        uint32_t s0 = rotate_right(a, 2) ^ rotate_right(a, 13) ^ rotate_right(a, 22);
        uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + round_constants[i] + w[i];
        uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
        h = g; g = f; f = e; e = d + t1;
        d = c; c = b; b = a; a = t1 + t2;
    }
    state[0] += a; state[1] += b; state[2] += c; state[3] += d;
    state[4] += e; state[5] += f; state[6] += g; state[7] += h;
}

/* Messages up to 512 MiB: the length in bits is kept in 32 bits. */
static void sha256(const uint8_t *message, uint32_t size, uint32_t state[8])
{
    uint8_t tail[128];
    uint32_t whole = size & ~63u, rest = size - whole, tail_size = rest < 56 ? 64 : 128, bits = size * 8;
    memcpy(state, initial_state, sizeof initial_state);
    for (uint32_t at = 0; at < whole; at += 64)
        compress(state, message + at);
    memset(tail, 0, sizeof tail);
    memcpy(tail, message + whole, rest);
    tail[rest] = 0x80;
    for (uint32_t i = 0; i < 4; i++)
        tail[tail_size - 1 - i] = (uint8_t)(bits >> (8 * i));
    for (uint32_t at = 0; at < tail_size; at += 64)
        compress(state, tail + at);
}

static void out_digest(const uint32_t state[8])
{
    for (uint32_t i = 0; i < 8; i++)
        out_hex(state[i]);
    out_char('\n');
}

int main(int argc, char **argv)
{
    static uint8_t message[10000];
    uint32_t rounds = sample_begin(argc, argv, 5), random = 7, state[8];
    sha256((const uint8_t *)"abc", 3, state);
    out_digest(state);
    for (uint32_t i = 0; i < sizeof message; i++)
        message[i] = (uint8_t)random32(&random);
    for (uint32_t round = 0; round < rounds; round++) {
        sha256(message, sizeof message - round % 130, state);
        for (uint32_t i = 0; i < 8; i++)
            message[round % 1000 + i] ^= (uint8_t)state[i]; /* each round depends on the one before */
    }
    out_digest(state);
    return sample_end(state[0] ^ state[7]);
}
