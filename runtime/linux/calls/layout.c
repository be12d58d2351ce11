/* Conversion of structures by layouts; see layout.h. */
#include "linux/calls/layout.h"

#include "linux/abi.h"
#include "linux/calls/socket.h"
#include "memory/values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- members ---- */

enum side { GUEST, HOST };

struct member {
    char kind;
    uint8_t size_bytes[2], alignment[2]; /* by side */
};

#define SAME(KIND, BYTES) {KIND, {BYTES, BYTES}, {BYTES, BYTES}}
#define LONG(KIND) {KIND, {4, sizeof(long)}, {4, sizeof(long)}}
static const struct member members[] = {
    SAME('b', 1), SAME('h', 2), SAME('w', 4), SAME('q', 8), LONG('l'), LONG('u'), SAME('e', 4), SAME('t', 4),
    SAME('n', 1), SAME('f', 1), SAME('r', 1), {'a', {MR_STORAGE_BYTES, MR_STORAGE_BYTES}, {4, sizeof(long)}},
};

/* Where a walk through a layout is. */
struct walk {
    const char *next;
    const struct member *member;
    size_t left;           /* members of this kind still to come */
    size_t at[2], end[2]; /* of this member, by side */
};

/* Returns false at the end of the layout. */
static bool next_member(struct walk *walk)
{
    if (walk->left == 0) {
        char *kind;
        walk->left = strtoul(walk->next, &kind, 10);
        walk->left = *kind == '*' ? SIZE_MAX : walk->left ? walk->left : 1;
        kind += *kind == '*';
        if (!*kind)
            return false;
        walk->next = kind + 1;
        for (walk->member = members; walk->member->kind != *kind;)
            walk->member++;
    }
    walk->left--;
    for (int side = GUEST; side <= HOST; side++) {
        size_t alignment = walk->member->alignment[side];
        walk->at[side] = (walk->end[side] + alignment - 1) & ~(alignment - 1);
        walk->end[side] = walk->at[side] + walk->member->size_bytes[side];
    }
    return true;
}

struct mr_layout_size mr_layout_size(const char *layout)
{
    struct walk walk = {.next = layout};
    size_t size[2] = {0, 0}, alignment[2] = {1, 1};
    while (next_member(&walk) && walk.left < SIZE_MAX - 1)
        for (int side = GUEST; side <= HOST; side++) {
            size[side] = walk.end[side];
            if (alignment[side] < walk.member->alignment[side])
                alignment[side] = walk.member->alignment[side];
        }
    return (struct mr_layout_size){(uint32_t)((size[GUEST] + alignment[GUEST] - 1) & ~(alignment[GUEST] - 1)),
                                   (uint32_t)((size[HOST] + alignment[HOST] - 1) & ~(alignment[HOST] - 1))};
}

/* ---- values ---- */

static uint64_t get_number(const uint8_t *from, uint32_t size_bytes, bool big_endian)
{
    uint64_t value = 0;
    for (uint32_t i = 0; i < size_bytes; i++)
        value |= (uint64_t)from[i] << 8 * (big_endian ? size_bytes - 1 - i : i);
    return value;
}

static void put_number(uint8_t *to, uint32_t size_bytes, bool big_endian, uint64_t value)
{
    for (uint32_t i = 0; i < size_bytes; i++)
        to[i] = (uint8_t)(value >> 8 * (big_endian ? size_bytes - 1 - i : i));
}

/* The compiler begins at the lowest bit, or at the highest one where the guest is big. */
static uint64_t bit_fields(char kind, uint64_t byte, enum side from)
{
    uint64_t reversed = 0;
    if (!mr_big_endian)
        return byte;
    if (kind == 'n')
        return byte << 4 | byte >> 4;
    if (kind == 'f')
        return from == HOST ? (byte & 1) << 7 | (byte & 6) << 4 | byte >> 3 : byte >> 7 | (byte >> 4 & 6) | byte << 3;
    for (int bit = 0; bit < 8; bit++)
        reversed |= (byte >> bit & 1) << (7 - bit);
    return reversed;
}

static void convert_member(const struct member *member, const uint8_t *input, uint8_t *output, enum side from)
{
    if (member->kind == 'a') {
        (from == GUEST ? mr_address_to_host : mr_address_to_guest)(input, MR_STORAGE_BYTES, output);
        return;
    }
    uint64_t value = get_number(input, member->size_bytes[from], from == GUEST && mr_big_endian);
    switch (member->kind) {
    case 'l': value = (uint64_t)(int64_t)(int32_t)value; break;
    case 'e': value = from == HOST ? (uint64_t)mr_errno_to_mips((int)value) : value; break;
    case 't': value = (uint64_t)mr_socket_type_swapped((int)value); break;
    case 'n':
    case 'f':
    case 'r': value = bit_fields(member->kind, value, from); break;
    default: break;
    }
    put_number(output, member->size_bytes[!from], from == HOST && mr_big_endian, value);
}

/* ---- structures ---- */

static size_t convert(const char *layout, const uint8_t *input, size_t input_bytes, uint8_t *output, size_t room,
                      enum side from)
{
    struct walk walk = {.next = layout};
    enum side to = from == GUEST ? HOST : GUEST;
    size_t written = 0;
    for (; walk.end[from] < input_bytes && next_member(&walk); written = walk.end[to]) {
        size_t at = walk.at[from], to_at = walk.at[to];
        if (at >= input_bytes || to_at >= room)
            return written;
        if (walk.end[from] > input_bytes || walk.end[to] > room) {
            size_t part = input_bytes - at < room - to_at ? input_bytes - at : room - to_at;
            memmove(output + to_at, input + at, part);
            return to_at + part;
        }
        convert_member(walk.member, input + at, output + to_at, from);
    }
    return written;
}

size_t mr_layout_to_host(const char *layout, const void *guest, size_t guest_bytes, void *host, size_t host_room)
{
    return convert(layout, guest, guest_bytes, host, host_room, GUEST);
}

size_t mr_layout_to_guest(const char *layout, const void *host, size_t host_bytes, void *guest, size_t guest_room)
{
    return convert(layout, host, host_bytes, guest, guest_room, HOST);
}

int mr_get_struct(const char *layout, uint32_t guest, void *host)
{
    const void *from = mr_guest_bytes(guest, mr_layout_size(layout).guest, MR_READ);
    if (!from)
        return -EFAULT;
    mr_layout_to_host(layout, from, MR_WHOLE, host, MR_WHOLE);
    return 0;
}

int mr_put_struct(const char *layout, uint32_t guest, const void *host)
{
    void *to = mr_guest_bytes(guest, mr_layout_size(layout).guest, MR_WRITE);
    if (!to)
        return -EFAULT;
    mr_layout_to_guest(layout, host, MR_WHOLE, to, MR_WHOLE);
    return 0;
}

int mr_get_words(uint32_t guest, uint32_t *words, uint32_t count)
{
    const uint8_t *from = mr_guest_bytes(guest, 4 * count, MR_READ);
    for (uint32_t i = 0; from && i < count; i++)
        words[i] = mr_get32(from + 4 * i);
    return from ? 0 : -EFAULT;
}

int mr_put_words(uint32_t guest, const uint32_t *words, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (mr_write32(guest + 4 * i, words[i])) /* as put_user: what fits is written */
            return -EFAULT;
    return 0;
}
