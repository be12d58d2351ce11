/* The checksum of a library file.
 *
 * mr_checksum(bytes, size) = crc | (uint64_t)(uint32_t)size << 32, where crc is the CRC-32 of zlib, PNG and Ethernet:
 * polynomial 0x04c11db7 reflected (0xedb88320), initial value and final exclusive-or 0xffffffff. mipsrec/files/checksum.py
 * computes the same with zlib.crc32.
 *
 * A host reads megabytes of it at every start, so processors with a carry-less multiply fold 64 bytes at a time
 * (host/host.h). What is left, and every other processor, goes eight bytes at a time through eight tables ("slicing by 8").
 */
#include "base/checksum.h"

#include "host/host.h"

#define POLYNOMIAL 0xedb88320u

static uint32_t slices[8][256];

static void make_slices(void)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        uint32_t crc = byte;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (POLYNOMIAL & (0u - (crc & 1u)));
        slices[0][byte] = crc;
    }
    for (int slice = 1; slice < 8; slice++)
        for (int byte = 0; byte < 256; byte++) {
            uint32_t crc = slices[slice - 1][byte];
            slices[slice][byte] = crc >> 8 ^ slices[0][crc & 0xff];
        }
}

/* Returns the running CRC-32 register (not inverted) after size_bytes more bytes. */
static uint32_t crc_by_slices(uint32_t crc, const uint8_t *bytes, size_t size_bytes)
{
    for (; size_bytes >= 8; bytes += 8, size_bytes -= 8) {
        uint64_t eight = 0;
        for (int i = 0; i < 8; i++)
            eight |= (uint64_t)bytes[i] << (8 * i);
        eight ^= crc;
        crc = 0;
        for (int i = 0; i < 8; i++)
            crc ^= slices[7 - i][eight >> (8 * i) & 0xff];
    }
    for (; size_bytes > 0; bytes++, size_bytes--)
        crc = crc >> 8 ^ slices[0][(crc ^ *bytes) & 0xff];
    return crc;
}

uint64_t mr_checksum(const uint8_t *bytes, size_t size_bytes)
{
    uint32_t crc = 0xffffffffu;
    size_t folded_bytes = mr_crc_can_fold() ? size_bytes / MR_CRC_FOLD_BYTES * MR_CRC_FOLD_BYTES : 0;
    make_slices();
    if (folded_bytes > 0) {
        uint8_t rest[MR_CRC_REST_BYTES];
        mr_crc_fold(crc, bytes, folded_bytes, rest);
        crc = crc_by_slices(0, rest, sizeof rest);
    }
    crc = crc_by_slices(crc, bytes + folded_bytes, size_bytes - folded_bytes);
    return (uint64_t)(uint32_t)~crc | (uint64_t)(uint32_t)size_bytes << 32;
}
