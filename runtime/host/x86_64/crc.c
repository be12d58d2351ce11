/* CRC-32 by the carry-less multiply of PCLMULQDQ: Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ
 * Instruction", Intel 2009. Enters: whole blocks. Leaves: 16 bytes with the same remainder, for base/checksum.c. */
#include "host/host.h"

#include <immintrin.h>

bool mr_crc_can_fold(void)
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

/* The constants are x^n mod P for the distances folded over. */
__attribute__((target("pclmul,sse4.1"))) void mr_crc_fold(uint32_t crc, const uint8_t *bytes, size_t size_bytes,
                                                          uint8_t rest[MR_CRC_REST_BYTES])
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
    _mm_storeu_si128((__m128i *)(void *)rest, lane[3]);
}
