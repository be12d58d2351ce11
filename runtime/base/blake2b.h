/* BLAKE2b-256 (RFC 7693), unkeyed: Python's hashlib.blake2b(data, digest_size=32). */
#ifndef MR_BLAKE2B_H
#define MR_BLAKE2B_H

#include <stddef.h>
#include <stdint.h>

void mr_blake2b_256(const uint8_t *data, size_t size_bytes, uint8_t digest[32]);

#endif
