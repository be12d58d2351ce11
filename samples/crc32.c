/* CRC-32 (polynomial 0x04c11db7, reflected) bit by bit, with one table, and four bytes at a time with four tables. */
#include "freestanding/out.h"

static uint32_t tables[4][256];

static void make_tables(void)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t value = i;
        for (uint32_t bit = 0; bit < 8; bit++)
            value = value >> 1 ^ (value & 1 ? 0xedb88320u : 0);
        tables[0][i] = value;
    }
    for (uint32_t i = 0; i < 256; i++)
        for (uint32_t k = 1; k < 4; k++)
            tables[k][i] = tables[k - 1][i] >> 8 ^ tables[0][tables[k - 1][i] & 255];
}

static uint32_t crc_by_bit(const uint8_t *bytes, uint32_t size)
{
    uint32_t crc = ~0u;
    while (size--) {
        crc ^= *bytes++;
        for (uint32_t bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (0xedb88320u & (0u - (crc & 1)));
    }
    return ~crc;
}

static uint32_t crc_by_byte(const uint8_t *bytes, uint32_t size)
{
    uint32_t crc = ~0u;
    while (size--)
        crc = crc >> 8 ^ tables[0][(crc ^ *bytes++) & 255];
    return ~crc;
}

static uint32_t crc_by_four(const uint8_t *bytes, uint32_t size)
{
    uint32_t crc = ~0u;
    for (; size >= 4; size -= 4, bytes += 4) {
        crc ^= bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
        crc = tables[3][crc & 255] ^ tables[2][crc >> 8 & 255] ^ tables[1][crc >> 16 & 255] ^ tables[0][crc >> 24];
    }
    while (size--)
        crc = crc >> 8 ^ tables[0][(crc ^ *bytes++) & 255];
    return ~crc;
}

int main(int argc, char **argv)
{
    static uint8_t bytes[16384];
    uint32_t rounds = sample_begin(argc, argv, 4), random = 1, hash = 0;
    make_tables();
    for (uint32_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(random32(&random) >> 11);
    for (uint32_t round = 0; round < rounds; round++) {
        bytes[round % sizeof bytes]++;
        hash = mix32(hash, crc_by_byte(bytes, sizeof bytes));
        hash = mix32(hash, crc_by_four(bytes + round % 7, sizeof bytes - round % 7));
    }
    out_line("check", crc_by_byte((const uint8_t *)"123456789", 9));
    uint32_t by_bit = crc_by_bit(bytes, 1001), by_byte = crc_by_byte(bytes, 1001), by_four = crc_by_four(bytes, 1001);
    out_string(by_bit == by_byte && by_byte == by_four ? "all ways agree\n" : "WAYS DIFFER\n");
    return sample_end(mix32(hash, by_bit));
}
