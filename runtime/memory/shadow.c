/* The shadow of guest memory. */
#include "memory/shadow.h"

#include <string.h>

#define FORBIDDEN (-1)

bool mr_checking;
int8_t *mr_shadow;

uint32_t mr_shadow_find(uint32_t guest, uint32_t size_bytes)
{
    uint64_t at = guest, end = (uint64_t)guest + size_bytes;
    while (at < end && at <= UINT32_MAX && mr_shadow_allows((uint32_t)at))
        at = (at & 7) == 0 && mr_shadow[at >> MR_SHADOW_SHIFT] == 0 ? at + 8 : at + 1;
    return at < end ? (uint32_t)at : (uint32_t)end;
}

void mr_shadow_forbid(uint32_t guest, uint32_t size_bytes)
{
    memset(mr_shadow + (guest >> MR_SHADOW_SHIFT), FORBIDDEN, size_bytes >> MR_SHADOW_SHIFT);
}

void mr_shadow_allow(uint32_t guest, uint32_t size_bytes)
{
    int8_t *to = mr_shadow + (guest >> MR_SHADOW_SHIFT);
    memset(to, 0, size_bytes >> MR_SHADOW_SHIFT);
    if ((size_bytes & 7) != 0)
        to[size_bytes >> MR_SHADOW_SHIFT] = (int8_t)(size_bytes & 7);
}
