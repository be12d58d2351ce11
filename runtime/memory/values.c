/* The one door to guest memory: checked pointers, and values in guest byte order. */
#include "memory/values.h"

#include "base/observe.h"
#include "memory/pages.h"

#include <errno.h>
#include <string.h>

bool mr_big_endian;
void (*mr_store_watch)(uint32_t guest, uint32_t size_bytes);

/* ---- pointers ---- */

void *mr_guest_bytes(uint32_t guest, uint32_t size_bytes, int prot)
{
    static uint8_t nothing[1]; /* address 0 is a fine place for no bytes, but NULL says failure */
    if (size_bytes == 0)
        return nothing;
    if (!mr_accessible(guest, size_bytes, prot))
        return NULL;
    if (mr_verifying && prot & MR_WRITE)
        mr_observe.range(guest, size_bytes);
    return mr_host_at(guest);
}

const char *mr_guest_string(uint32_t guest)
{
    uint64_t at = guest;
    while (at < MR_WINDOW_BYTES && mr_pages[at / MR_PAGE_BYTES] & MR_READ) {
        size_t rest = MR_PAGE_BYTES - at % MR_PAGE_BYTES;
        if (memchr(mr_host_at((uint32_t)at), 0, rest))
            return mr_host_at(guest);
        at += rest;
    }
    return NULL;
}

void *mr_user(uint32_t guest, uint32_t size_bytes)
{
    if ((uint64_t)guest + size_bytes > MR_USER_END)
        return (void *)(UINTPTR_MAX - MR_PAGE_BYTES + 1);
    if (mr_verifying)
        mr_observe.range(guest, size_bytes);
    return (void *)((uintptr_t)mr_window + guest);
}

/* ---- values in host-side images of guest structures ---- */

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

/* ---- single words in guest memory ---- */

int mr_read32(uint32_t guest, uint32_t *value)
{
    const void *from = mr_guest_bytes(guest, sizeof *value, MR_READ);
    if (!from)
        return -EFAULT;
    *value = mr_get32(from);
    return 0;
}

int mr_write32(uint32_t guest, uint32_t value)
{
    void *to = mr_guest_bytes(guest, sizeof value, MR_WRITE);
    if (!to)
        return -EFAULT;
    mr_put32(to, value);
    return 0;
}

int mr_read64(uint32_t guest, uint64_t *value)
{
    const void *from = mr_guest_bytes(guest, sizeof *value, MR_READ);
    if (!from)
        return -EFAULT;
    *value = mr_get64(from);
    return 0;
}

int mr_write64(uint32_t guest, uint64_t value)
{
    void *to = mr_guest_bytes(guest, sizeof value, MR_WRITE);
    if (!to)
        return -EFAULT;
    mr_put64(to, value);
    return 0;
}
