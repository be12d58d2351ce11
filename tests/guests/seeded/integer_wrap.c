/* A picture says how many points of 16 bytes it has. Their size in bytes wraps at 32 bits, so a check lets it pass. */
#include <stdint.h>
#include <stdlib.h>
#include "input.h"

enum { POINT_BYTES = 16, MOST_BYTES = 4096 };

static APART int clear_points(uint32_t points)
{
    uint32_t size_bytes = points * POINT_BYTES;
    if (size_bytes > MOST_BYTES)
        return 1;
    volatile char *picture = malloc(size_bytes + 1);
    if (picture == NULL)
        return 1;
    for (size_t i = 0; i < points; i++)
        picture[i * POINT_BYTES] = 1;
    return 0;
}

int main(int count, char **words)
{
    if (take_input(count, words) < 5 || input[0] != 'P')
        return 0;
    return clear_points(input[1] | (uint32_t)input[2] << 8 | (uint32_t)input[3] << 16 | (uint32_t)input[4] << 24);
}
