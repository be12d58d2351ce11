/* Checksums of byte strings. */
#ifndef MR_CHECKSUM_H
#define MR_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

uint64_t mr_checksum(const uint8_t *bytes, size_t size_bytes); /* in the footer of a recompiled library */
/* BLAKE2b-256 (RFC 7693), unkeyed: Python's hashlib.blake2b(data, digest_size=32). */
void mr_blake2b_256(const uint8_t *data, size_t size_bytes, uint8_t digest[32]);

#endif
