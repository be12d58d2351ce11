/*
 * memcpy, memmove, memset, memcmp and strlen. Native builds link these too, so that both sides of a comparison run the
 * same algorithm. Words are moved when both ends are aligned alike; the compiler must not turn a loop into a call to
 * the function it stands in.
 */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-tree-loop-distribute-patterns")
#endif
#include "out.h"

typedef uint32_t __attribute__((may_alias)) word;

static int alike(const void *left, const void *right)
{
    return (((uintptr_t)left ^ (uintptr_t)right) & 3) == 0;
}

void *memcpy(void *to, const void *from, size_t size)
{
    uint8_t *target = to;
    const uint8_t *source = from;
    if (alike(to, from)) {
        for (; size && ((uintptr_t)target & 3); size--)
            *target++ = *source++;
        for (; size >= 16; size -= 16, target += 16, source += 16) {
            word a = ((const word *)source)[0], b = ((const word *)source)[1];
            word c = ((const word *)source)[2], d = ((const word *)source)[3];
            ((word *)target)[0] = a;
            ((word *)target)[1] = b;
            ((word *)target)[2] = c;
            ((word *)target)[3] = d;
        }
        for (; size >= 4; size -= 4, target += 4, source += 4)
            *(word *)target = *(const word *)source;
    }
    while (size--)
        *target++ = *source++;
    return to;
}

void *memmove(void *to, const void *from, size_t size)
{
    uint8_t *target = to;
    const uint8_t *source = from;
    if ((uintptr_t)to - (uintptr_t)from >= size)
        return memcpy(to, from, size); /* copying upward never reads a byte already overwritten */
    while (size--)
        target[size] = source[size];
    return to;
}

void *memset(void *to, int byte, size_t size)
{
    uint8_t *target = to;
    word pattern = (uint8_t)byte * 0x01010101u;
    for (; size && ((uintptr_t)target & 3); size--)
        *target++ = (uint8_t)byte;
    for (; size >= 4; size -= 4, target += 4)
        *(word *)target = pattern;
    while (size--)
        *target++ = (uint8_t)byte;
    return to;
}

int memcmp(const void *left, const void *right, size_t size)
{
    const uint8_t *a = left, *b = right;
    for (; size; size--, a++, b++)
        if (*a != *b)
            return *a - *b;
    return 0;
}

size_t strlen(const char *text)
{
    const char *end = text;
    while (*end)
        end++;
    return (size_t)(end - text);
}
