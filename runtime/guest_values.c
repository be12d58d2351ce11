/* Values in guest byte order: in guest memory by guest address, and in host-side images of guest structures. */
#include "host.h"

#include <string.h>

static void *host_at(uint32_t guest)
{
    return (void *)((uintptr_t)mr_window + guest);
}

uint8_t mr_peek8(uint32_t guest)
{
    return *(uint8_t *)host_at(guest);
}

uint16_t mr_peek16(uint32_t guest)
{
    uint16_t value;
    memcpy(&value, host_at(guest), sizeof value);
    return mr_swap16(value);
}

uint32_t mr_peek32(uint32_t guest)
{
    uint32_t value;
    memcpy(&value, host_at(guest), sizeof value);
    return mr_swap32(value);
}

uint64_t mr_peek64(uint32_t guest)
{
    uint64_t value;
    memcpy(&value, host_at(guest), sizeof value);
    return mr_swap64(value);
}

void mr_poke8(uint32_t guest, uint8_t value)
{
    mr_watch_store(guest, sizeof value);
    *(uint8_t *)host_at(guest) = value;
}

void mr_poke16(uint32_t guest, uint16_t value)
{
    mr_watch_store(guest, sizeof value);
    value = mr_swap16(value);
    memcpy(host_at(guest), &value, sizeof value);
}

void mr_poke32(uint32_t guest, uint32_t value)
{
    mr_watch_store(guest, sizeof value);
    value = mr_swap32(value);
    memcpy(host_at(guest), &value, sizeof value);
}

void mr_poke64(uint32_t guest, uint64_t value)
{
    mr_watch_store(guest, sizeof value);
    value = mr_swap64(value);
    memcpy(host_at(guest), &value, sizeof value);
}

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
