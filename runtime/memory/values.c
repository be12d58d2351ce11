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
    while (!mr_accessible(guest, size_bytes, prot))
        if (mr_pages[guest / MR_PAGE_BYTES] || !mr_grow(guest))
            return NULL;
    if (mr_verifying && prot & MR_WRITE)
        mr_observe.range(guest, size_bytes);
    return mr_host_at(guest);
}

const char *mr_guest_string(uint32_t guest)
{
    uint64_t at = guest;
    if (!mr_pages[guest / MR_PAGE_BYTES])
        mr_grow(guest);
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
    if (size_bytes != 0 && !mr_pages[guest / MR_PAGE_BYTES])
        mr_grow(guest); /* the kernel cannot, for it does not know of that */
    MR_TELL(range, guest, size_bytes);
    return mr_host_at(guest);
}

/* ---- single words in guest memory ---- */

#define DEFINE_CHECKED_ACCESS(bits)                                             \
    int mr_read##bits(uint32_t guest, uint##bits##_t *value)                    \
    {                                                                           \
        const void *from = mr_guest_bytes(guest, sizeof *value, MR_READ);       \
        if (!from)                                                              \
            return -EFAULT;                                                     \
        *value = mr_get##bits(from);                                            \
        return 0;                                                               \
    }                                                                           \
    int mr_write##bits(uint32_t guest, uint##bits##_t value)                    \
    {                                                                           \
        void *to = mr_guest_bytes(guest, sizeof value, MR_WRITE);               \
        if (!to)                                                                \
            return -EFAULT;                                                     \
        mr_put##bits(to, value);                                                \
        return 0;                                                               \
    }

DEFINE_CHECKED_ACCESS(32)
DEFINE_CHECKED_ACCESS(64)
