/* Rows of tables: elements of one size that grow in number, and some that are sorted by the uint32_t which each begins with. */
#include "lifted/rows.h"

#include <stdlib.h>

bool mr_has_room(void *elements, size_t element_bytes, size_t count, size_t *room)
{
    void **place = elements, *grown;
    if (count < *room)
        return true;
    size_t more = *room == 0 ? 256 : 2 * *room;
    grown = realloc(*place, more * element_bytes);
    if (grown == NULL)
        return false;
    *place = grown;
    *room = more;
    return true;
}

size_t mr_count_below(const void *elements, size_t count, size_t element_bytes, uint64_t limit)
{
    size_t low = 0, high = count; /* the elements before low are below the limit, those from high on are not */
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (*(const uint32_t *)((const char *)elements + middle * element_bytes) < limit)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
