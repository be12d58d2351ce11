/* Conversion of structures by layouts; see layout.h. */
#include "linux/calls/layout.h"

#include "linux/host_call.h"
#include "memory/values.h"

#include <errno.h>
#include <string.h>

struct walk {
    const char *next; /* in the layout */
    uint32_t rest;    /* members of this kind still to come */
    char kind;
    uint32_t guest_at, host_at, guest_bytes, host_bytes; /* of the member the walk stands at */
    uint32_t guest_end, host_end, guest_alignment, host_alignment;
};

static uint32_t guest_size(char kind)
{
    return kind == 'b' ? 1 : kind == 'h' ? 2 : kind == 'q' ? 8 : 4;
}

static uint32_t host_size(char kind)
{
    return kind == 'l' || kind == 'u' || kind == 'p' ? (uint32_t)sizeof(long) : guest_size(kind);
}

static uint32_t align_up(uint32_t at, uint32_t alignment)
{
    return (at + alignment - 1) & ~(alignment - 1);
}

static bool next_member(struct walk *walk)
{
    if (walk->rest == 0) {
        if (!*walk->next)
            return false;
        for (; *walk->next >= '0' && *walk->next <= '9'; walk->next++)
            walk->rest = 10 * walk->rest + (uint32_t)(*walk->next - '0');
        walk->rest += walk->rest == 0;
        walk->kind = *walk->next++;
        walk->guest_bytes = guest_size(walk->kind);
        walk->host_bytes = host_size(walk->kind);
        if (walk->guest_alignment < walk->guest_bytes)
            walk->guest_alignment = walk->guest_bytes;
        if (walk->host_alignment < walk->host_bytes)
            walk->host_alignment = walk->host_bytes;
    }
    walk->rest--;
    walk->guest_at = align_up(walk->guest_end, walk->guest_bytes);
    walk->host_at = align_up(walk->host_end, walk->host_bytes);
    walk->guest_end = walk->guest_at + walk->guest_bytes;
    walk->host_end = walk->host_at + walk->host_bytes;
    return true;
}

struct mr_layout_size mr_layout_size(const char *layout)
{
    struct walk walk = {.next = layout, .guest_alignment = 1, .host_alignment = 1};
    while (next_member(&walk))
        ;
    return (struct mr_layout_size){align_up(walk.guest_end, walk.guest_alignment),
                                   align_up(walk.host_end, walk.host_alignment)};
}

static uint64_t get_guest(const struct walk *walk, const uint8_t *at)
{
    uint32_t word;
    switch (walk->kind) {
    case 'b': return *at;
    case 'h': return mr_get16(at);
    case 'q': return mr_get64(at);
    case 'l': return (uint64_t)(int64_t)(int32_t)mr_get32(at);
    case 'p':
        word = mr_get32(at);
        return word ? MR_HOST(mr_user(word, 0)) : 0;
    default: return mr_get32(at);
    }
}

void mr_layout_to_host(const char *layout, const void *guest_image, void *host)
{
    struct walk walk = {.next = layout};
    while (next_member(&walk)) {
        uint64_t value = get_guest(&walk, (const uint8_t *)guest_image + walk.guest_at);
        uint8_t narrow[4] = {(uint8_t)value};
        uint16_t half = (uint16_t)value;
        uint32_t word = (uint32_t)value;
        const void *from = walk.host_bytes == 8   ? (const void *)&value
                           : walk.host_bytes == 4 ? (const void *)&word
                           : walk.host_bytes == 2 ? (const void *)&half
                                                  : narrow;
        memcpy((uint8_t *)host + walk.host_at, from, walk.host_bytes);
    }
}

static uint64_t get_host(const struct walk *walk, const uint8_t *at)
{
    uint16_t half;
    uint32_t word;
    uint64_t value;
    switch (walk->host_bytes) {
    case 1: return *at;
    case 2: memcpy(&half, at, sizeof half); return half;
    case 4: memcpy(&word, at, sizeof word); return word;
    default: memcpy(&value, at, sizeof value); return value;
    }
}

void mr_layout_to_guest(const char *layout, const void *host, void *guest_image)
{
    struct walk walk = {.next = layout};
    while (next_member(&walk)) {
        uint64_t value = get_host(&walk, (const uint8_t *)host + walk.host_at);
        uint8_t *to = (uint8_t *)guest_image + walk.guest_at;
        switch (walk.kind) {
        case 'b': *to = (uint8_t)value; break;
        case 'h': mr_put16(to, (uint16_t)value); break;
        case 'q': mr_put64(to, value); break;
        case 'p': break; /* what the host has there means nothing to the guest */
        default: mr_put32(to, (uint32_t)value); break;
        }
    }
}

int mr_get_struct(const char *layout, uint32_t guest, void *host)
{
    const void *from = mr_guest_bytes(guest, mr_layout_size(layout).guest, MR_READ);
    if (!from)
        return -EFAULT;
    mr_layout_to_host(layout, from, host);
    return 0;
}

int mr_put_struct(const char *layout, uint32_t guest, const void *host)
{
    void *to = mr_guest_bytes(guest, mr_layout_size(layout).guest, MR_WRITE);
    if (!to)
        return -EFAULT;
    mr_layout_to_guest(layout, host, to);
    return 0;
}
