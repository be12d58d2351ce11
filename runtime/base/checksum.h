/* The checksum in the footer of a recompiled library. */
#ifndef MR_CHECKSUM_H
#define MR_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

uint64_t mr_checksum(const uint8_t *bytes, size_t size_bytes);

#endif
