/* Which bytes of guest memory a program may touch, for --check-memory (heap/): one byte of shadow for eight of the guest.
 *
 * 0: all eight may be touched. 1 to 7: so many, from the first on. Negative: none. Translated code has the shadow behind the
 * counters of decisions, in the address space of mr_set_counters (host.h).
 */
#ifndef MR_MEMORY_SHADOW_H
#define MR_MEMORY_SHADOW_H

#include "mr_abi.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MR_SHADOW_SHIFT 3u
#define MR_SHADOW_BYTES ((size_t)1 << (32 - MR_SHADOW_SHIFT))
#define MR_SHADOW_OFFSET MR_COUNTER_BYTES /* from the counters */

extern bool mr_checking; /* every access is looked up */
extern int8_t *mr_shadow;

/* Whether a byte may be touched. */
static inline bool mr_shadow_allows(uint32_t guest)
{
    int8_t room = mr_shadow[guest >> MR_SHADOW_SHIFT];
    return room == 0 || (int8_t)(guest & 7) < room;
}

/* The first of some bytes that may not be touched; the end of them where there is none. */
uint32_t mr_shadow_find(uint32_t guest, uint32_t size_bytes);
/* Both: guest is a multiple of 8. The first: size_bytes, too. */
void mr_shadow_forbid(uint32_t guest, uint32_t size_bytes);
void mr_shadow_allow(uint32_t guest, uint32_t size_bytes);

#endif
