/* Values in guest byte order, in host-side images of guest structures. */
#include "base/host.h"

#include <string.h>

void mr_put16(void *to, uint16_t value)
{
    value = mr_swap16(value);
    memcpy(to, &value, sizeof value);
}

void mr_put32(void *to, uint32_t value)
{
    value = mr_swap32(value);
    memcpy(to, &value, sizeof value);
}

void mr_put64(void *to, uint64_t value)
{
    value = mr_swap64(value);
    memcpy(to, &value, sizeof value);
}

uint16_t mr_get16(const void *from)
{
    uint16_t value;
    memcpy(&value, from, sizeof value);
    return mr_swap16(value);
}

uint32_t mr_get32(const void *from)
{
    uint32_t value;
    memcpy(&value, from, sizeof value);
    return mr_swap32(value);
}

uint64_t mr_get64(const void *from)
{
    uint64_t value;
    memcpy(&value, from, sizeof value);
    return mr_swap64(value);
}
