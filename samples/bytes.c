/* Loops over bytes and halfwords, signed and unsigned, and unaligned words (lwl/lwr and swl/swr on MIPS). */
#include "freestanding/out.h"

enum { SIZE = 2048 };
static uint8_t bytes[SIZE];

/* Fields at odd addresses; what is stored is loaded the same way, so the byte order cannot be seen. */
struct __attribute__((packed)) record {
    uint8_t tag;
    uint32_t word;
    int16_t half;
    uint64_t wide;
    uint8_t end;
};

static struct record records[32];

static uint32_t histogram_hash(void)
{
    uint32_t counts[256] = {0}, hash = 0;
    for (uint32_t i = 0; i < SIZE; i++)
        counts[bytes[i]]++;
    for (uint32_t i = 0; i < 256; i++)
        hash = mix32(hash, counts[i]);
    return hash;
}

static void reverse(uint8_t *from, uint32_t size)
{
    for (uint32_t i = 0; i < size / 2; i++) {
        uint8_t byte = from[i];
        from[i] = from[size - 1 - i];
        from[size - 1 - i] = byte;
    }
}

static void swap_case(uint8_t *text, uint32_t size)
{
    for (uint32_t i = 0; i < size; i++)
        if ((text[i] | 32) >= 'a' && (text[i] | 32) <= 'z')
            text[i] ^= 32;
}

/* A smoothing filter over signed bytes that saturates. */
static int32_t smooth(int8_t *samples, uint32_t size)
{
    int32_t sum = 0;
    for (uint32_t i = 1; i + 1 < size; i++) {
        int32_t value = (samples[i - 1] + 6 * samples[i] + samples[i + 1]) / 4;
        samples[i] = (int8_t)(value > 127 ? 127 : value < -128 ? -128 : value);
        sum += samples[i];
    }
    return sum;
}

static uint32_t halfwords(uint32_t hash)
{
    static uint16_t plain[SIZE / 2];
    static int16_t with_sign[SIZE / 2];
    for (uint32_t i = 0; i < SIZE / 2; i++) {
        plain[i] = (uint16_t)(bytes[2 * i] << 8 | bytes[2 * i + 1]);
        with_sign[i] = (int16_t)plain[i];
    }
    for (uint32_t i = 1; i < SIZE / 2; i++) {
        plain[i] = (uint16_t)(plain[i] + plain[i - 1] * 3);
        with_sign[i] = (int16_t)(with_sign[i] / 2 - with_sign[i - 1] / 3);
        hash = mix32(hash, plain[i] + (uint32_t)(int32_t)with_sign[i]);
    }
    return hash;
}

static uint32_t unaligned(uint32_t hash, uint32_t round)
{
    for (uint32_t i = 0; i < 32; i++) {
        records[i].tag = (uint8_t)(round + i);
        records[i].word += hash ^ i << 27;
        records[i].half = (int16_t)(hash >> (i & 15));
        records[i].wide = records[i].wide * 3 + records[i].word;
        records[i].end = (uint8_t)~records[i].tag;
        hash = mix64(mix32(hash, records[i].word + (uint32_t)records[i].half), records[i].wide);
    }
    return hash;
}

int main(int argc, char **argv)
{
    uint32_t rounds = sample_begin(argc, argv, 20), random = 3, hash = 0;
    for (uint32_t i = 0; i < SIZE; i++)
        bytes[i] = (uint8_t)(random32(&random) >> 9);
    for (uint32_t round = 0; round < rounds; round++) {
        reverse(bytes + round % 64, SIZE - 64);
        swap_case(bytes, SIZE);
        memmove(bytes + round % 5, bytes + round % 7, SIZE - 8);
        memcpy(bytes + SIZE / 2 + round % 4, bytes + round % 9, 301);
        memset(bytes + round * 37 % (SIZE - 40), (int)round, 33);
        hash = mix32(hash, histogram_hash());
        hash = mix32(hash, (uint32_t)smooth((int8_t *)bytes + round % SIZE / 2, 256));
        hash = unaligned(halfwords(hash), round);
        for (uint32_t i = 0; i < 64; i++)
            bytes[i * 31 % SIZE] = (uint8_t)random32(&random);
    }
    return sample_end(hash);
}
