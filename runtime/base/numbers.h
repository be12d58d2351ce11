/* Numbers on a command line, and in files of either byte order. */
#ifndef MR_BASE_NUMBERS_H
#define MR_BASE_NUMBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool mr_parse_number(const char *text, int base, uint32_t *value); /* 32 bits, signed or unsigned */
bool mr_parse_integer(const char *text, uint32_t *value); /* decimal, 0x and negative; 32 bits */
bool mr_parse_address(const char *text, uint32_t *value); /* hexadecimal, with or without 0x */

static inline uint32_t mr_number_at(const void *at, size_t size_bytes, bool big_endian) /* of at most 4 bytes */
{
    const uint8_t *bytes = at;
    uint32_t value = 0;
    for (size_t i = 0; i < size_bytes; i++)
        value = value << 8 | bytes[big_endian ? i : size_bytes - 1 - i];
    return value;
}

#endif
