/* The checksum in the footer of a recompiled library. */
#ifndef MR_CHECKSUM_H
#define MR_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

/* A finished library ends in 16 bytes: these 8, then mr_checksum of every byte before them, little-endian. */
#define MR_FOOTER_MAGIC "MIPSREC1"
#define MR_FOOTER_BYTES 16u

uint64_t mr_checksum(const uint8_t *bytes, size_t size_bytes);

#endif
