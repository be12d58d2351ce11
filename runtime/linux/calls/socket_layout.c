/* Structures converted by a text that says what they consist of (socket_layout.h). */
#include "linux/calls/socket_layout.h"

#include "linux/abi.h"
#include "linux/calls/socket.h"
#include "memory/values.h"

#include <string.h>

/* ---- members ---- */

struct member {
    char letter;
    uint8_t guest_bytes, host_bytes;
};

static const struct member members[] = {
    {'b', 1, 1}, {'h', 2, 2}, {'w', 4, 4}, {'d', 8, 8},     {'l', 4, 8}, {'p', 0, 1}, {'g', 1, 0},
    {'e', 4, 4}, {'t', 4, 4}, {'n', 1, 1}, {'f', 1, 1},     {'r', 1, 1}, {'a', MR_STORAGE_BYTES, MR_STORAGE_BYTES},
};

static const struct member *find_member(char letter)
{
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (members[i].letter == letter)
            return &members[i];
    return NULL;
}

/* Where a walk through a layout is. */
struct walk {
    const char *rest;
    const struct member *member;
    size_t left; /* of this member */
};

/* Returns the next member, or NULL. */
static const struct member *next_member(struct walk *walk)
{
    while (walk->left == 0) {
        size_t count = 0;
        bool counted = *walk->rest >= '0' && *walk->rest <= '9';
        for (; *walk->rest >= '0' && *walk->rest <= '9'; walk->rest++)
            count = 10 * count + (size_t)(*walk->rest - '0');
        if (*walk->rest == '*') {
            count = SIZE_MAX;
            walk->rest++;
        }
        if (*walk->rest == 0)
            return NULL;
        walk->member = find_member(*walk->rest++);
        walk->left = counted || count ? count : 1;
    }
    walk->left--;
    return walk->member;
}

/* ---- bit fields of one byte: the compiler begins at the lowest bit, or at the highest one where the guest is big ---- */

static uint8_t reversed(uint8_t byte)
{
    uint8_t result = 0;
    for (int bit = 0; bit < 8; bit++)
        result |= (uint8_t)((byte >> bit & 1) << (7 - bit));
    return result;
}

static uint8_t bit_fields(char letter, uint8_t byte, bool to_guest)
{
    if (!mr_big_endian)
        return byte;
    if (letter == 'n')
        return (uint8_t)(byte << 4 | byte >> 4);
    if (letter == 'r')
        return reversed(byte);
    return to_guest ? (uint8_t)((byte & 1) << 7 | (byte & 6) << 4 | byte >> 3)
                    : (uint8_t)(byte >> 7 | (byte >> 4 & 6) | byte << 3);
}

/* ---- one member ---- */

static void member_to_host(const struct member *member, const uint8_t *guest, uint8_t *host)
{
    uint16_t half;
    uint32_t word;
    uint64_t wide;
    switch (member->letter) {
    case 'h': half = mr_get16(guest), memcpy(host, &half, sizeof half); break;
    case 'w':
    case 'e': word = mr_get32(guest), memcpy(host, &word, sizeof word); break;
    case 't': word = (uint32_t)mr_socket_type_swapped((int)mr_get32(guest)), memcpy(host, &word, sizeof word); break;
    case 'd': wide = mr_get64(guest), memcpy(host, &wide, sizeof wide); break;
    case 'l': wide = (uint64_t)(int64_t)(int32_t)mr_get32(guest), memcpy(host, &wide, sizeof wide); break;
    case 'a': mr_address_to_host(guest, MR_STORAGE_BYTES, host); break;
    case 'p': *host = 0; break;
    case 'g': break;
    case 'b': *host = *guest; break;
    default: *host = bit_fields(member->letter, *guest, false); break;
    }
}

static void member_to_guest(const struct member *member, const uint8_t *host, uint8_t *guest)
{
    uint16_t half;
    uint32_t word;
    uint64_t wide;
    switch (member->letter) {
    case 'h': memcpy(&half, host, sizeof half), mr_put16(guest, half); break;
    case 'w': memcpy(&word, host, sizeof word), mr_put32(guest, word); break;
    case 'e': memcpy(&word, host, sizeof word), mr_put32(guest, (uint32_t)mr_errno_to_mips((int)word)); break;
    case 't': memcpy(&word, host, sizeof word), mr_put32(guest, (uint32_t)mr_socket_type_swapped((int)word)); break;
    case 'd': memcpy(&wide, host, sizeof wide), mr_put64(guest, wide); break;
    case 'l': memcpy(&wide, host, sizeof wide), mr_put32(guest, (uint32_t)wide); break;
    case 'a': mr_address_to_guest(host, MR_STORAGE_BYTES, guest); break;
    case 'g': *guest = 0; break;
    case 'p': break;
    case 'b': *guest = *host; break;
    default: *guest = bit_fields(member->letter, *host, true); break;
    }
}

/* ---- structures ---- */

static size_t copy_part(const uint8_t *from, size_t size_bytes, uint8_t *to, size_t room)
{
    size_t part = size_bytes < room ? size_bytes : room;
    memmove(to, from, part);
    return part;
}

size_t mr_socket_layout_to_host(const char *layout, const void *guest, size_t guest_bytes, void *host, size_t host_room)
{
    struct walk walk = {.rest = layout};
    const uint8_t *from = guest;
    uint8_t *to = host;
    size_t read = 0, written = 0;
    for (const struct member *member; read < guest_bytes && (member = next_member(&walk)) != NULL;) {
        if (guest_bytes - read < member->guest_bytes || host_room - written < member->host_bytes)
            return written + copy_part(from + read, guest_bytes - read, to + written, host_room - written);
        member_to_host(member, from + read, to + written);
        read += member->guest_bytes;
        written += member->host_bytes;
    }
    return written;
}

size_t mr_socket_layout_to_guest(const char *layout, const void *host, size_t host_bytes, void *guest, size_t guest_room)
{
    struct walk walk = {.rest = layout};
    const uint8_t *from = host;
    uint8_t *to = guest;
    size_t read = 0, written = 0;
    for (const struct member *member; read < host_bytes && (member = next_member(&walk)) != NULL;) {
        if (host_bytes - read < member->host_bytes || guest_room - written < member->guest_bytes)
            return written + copy_part(from + read, host_bytes - read, to + written, guest_room - written);
        member_to_guest(member, from + read, to + written);
        read += member->host_bytes;
        written += member->guest_bytes;
    }
    return written;
}

static size_t size_of(const char *layout, bool of_guest)
{
    struct walk walk = {.rest = layout};
    size_t size_bytes = 0;
    for (const struct member *member; (member = next_member(&walk)) != NULL && walk.left < SIZE_MAX - 1;)
        size_bytes += of_guest ? member->guest_bytes : member->host_bytes;
    return size_bytes;
}

size_t mr_socket_layout_guest_bytes(const char *layout)
{
    return size_of(layout, true);
}

size_t mr_socket_layout_host_bytes(const char *layout)
{
    return size_of(layout, false);
}
