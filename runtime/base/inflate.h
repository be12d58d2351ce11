/* Unpacks what zlib has packed. */
#ifndef MR_INFLATE_H
#define MR_INFLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Unpacks a zlib stream (RFC 1950) into exactly `size_bytes`. Returns false where it is damaged or has another size. The
 * checksum at its end is not looked at: a library's own covers the file. */
bool mr_inflate(const uint8_t *packed, size_t packed_bytes, uint8_t *bytes, size_t size_bytes);

#endif
