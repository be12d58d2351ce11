/* A packet is its checksum (Fletcher's, 4 bytes), its kind, and data. Of the kind 'X' nothing was thought of, which no
 * packet with a wrong checksum shows. */
#include <stdint.h>
#include <stdlib.h>
#include "input.h"

static APART uint32_t checksum(const unsigned char *bytes, size_t count)
{
    uint32_t low = 1, high = 0;
    for (size_t i = 0; i < count; i++) {
        low = (low + bytes[i]) % 65521;
        high = (high + low) % 65521;
    }
    return high << 16 | low;
}

static APART int open_packet(int is_extended)
{
    if (is_extended)
        abort();
    return 0;
}

int main(int count, char **words)
{
    size_t size = take_input(count, words);
    if (size < 8)
        return 0;
    volatile int is_extended = 0;
    if (input[4] == 'X')
        is_extended = 1;
    uint32_t said = (uint32_t)input[0] << 24 | (uint32_t)input[1] << 16 | (uint32_t)input[2] << 8 | input[3];
    if (said != checksum(input + 4, size - 4))
        return 1;
    return open_packet(is_extended);
}
