/* The checksum of a library file.
 *
 * mr_checksum(bytes, size) = crc | (uint64_t)(uint32_t)size << 32, where crc is the CRC-32 of zlib, PNG and Ethernet:
 * polynomial 0x04c11db7 reflected (0xedb88320), initial value and final exclusive-or 0xffffffff. mipsrec/files/checksum.py
 * computes the same with zlib.crc32.
 *
 * A host reads megabytes of it at every start, so processors with a carry-less multiply fold 64 bytes at a time
 * (Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ", Intel 2009); what is left, and every
 * other processor, goes eight bytes at a time through eight tables ("slicing by 8").
 */
#include "base/checksum.h"

#include <stdbool.h>

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

#if defined(__x86_64__)
#include <immintrin.h>

static bool can_fold(void)
{
    return __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("sse4.1");
}

__attribute__((target("pclmul,sse4.1"))) static __m128i fold(__m128i value, __m128i constants, __m128i next)
{
    __m128i low = _mm_clmulepi64_si128(value, constants, 0x00);
    __m128i high = _mm_clmulepi64_si128(value, constants, 0x11);
    return _mm_xor_si128(_mm_xor_si128(low, high), next);
}

static inline __attribute__((target("pclmul,sse4.1"))) __m128i load16(const uint8_t *bytes)
{
    return _mm_loadu_si128((const __m128i *)(const void *)bytes);
}

/* As crc_by_slices; size_bytes is a multiple of 64 and not 0. The constants are x^n mod P for the distances folded over. */
__attribute__((target("pclmul,sse4.1"))) static uint32_t crc_by_folding(uint32_t crc, const uint8_t *bytes,
                                                                        size_t size_bytes)
{
    const __m128i over_64 = _mm_set_epi64x(0x01c6e41596, 0x0154442bd4);
    const __m128i over_16 = _mm_set_epi64x(0x00ccaa009e, 0x01751997d0);
    __m128i lane[4];
    for (int i = 0; i < 4; i++)
        lane[i] = load16(bytes + 16 * i);
    lane[0] = _mm_xor_si128(lane[0], _mm_cvtsi32_si128((int)crc));
    for (size_t at = 64; at < size_bytes; at += 64)
        for (int i = 0; i < 4; i++)
            lane[i] = fold(lane[i], over_64, load16(bytes + at + 16 * (size_t)i));
    for (int i = 1; i < 4; i++)
        lane[i] = fold(lane[i - 1], over_16, lane[i]);
    uint8_t rest[16];
    _mm_storeu_si128((__m128i *)(void *)rest, lane[3]);
    return crc_by_slices(0, rest, sizeof rest);
}
#else
static bool can_fold(void)
{
    return false;
}

static uint32_t crc_by_folding(uint32_t crc, const uint8_t *bytes, size_t size_bytes)
{
    return crc_by_slices(crc, bytes, size_bytes);
}
#endif

uint64_t mr_checksum(const uint8_t *bytes, size_t size_bytes)
{
    uint32_t crc = 0xffffffffu;
    size_t folded_bytes = can_fold() ? size_bytes & ~(size_t)63 : 0;
    make_slices();
    if (folded_bytes > 0)
        crc = crc_by_folding(crc, bytes, folded_bytes);
    crc = crc_by_slices(crc, bytes + folded_bytes, size_bytes - folded_bytes);
    return (uint64_t)(uint32_t)~crc | (uint64_t)(uint32_t)size_bytes << 32;
}
