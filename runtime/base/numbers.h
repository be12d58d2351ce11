/* Numbers on a command line. */
#ifndef MR_BASE_NUMBERS_H
#define MR_BASE_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

bool mr_parse_number(const char *text, int base, uint32_t *value); /* 32 bits, signed or unsigned */
bool mr_parse_integer(const char *text, uint32_t *value); /* decimal, 0x and negative; 32 bits */
bool mr_parse_address(const char *text, uint32_t *value); /* hexadecimal, with or without 0x */

#endif
