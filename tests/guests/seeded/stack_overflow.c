/* A record is 'L', its size, and so many bytes. A size from 128 on is negative where it is checked, but not where bytes
 * are copied: so they go over the return address of `copy_record`. */
#include "input.h"

static APART int copy_record(const unsigned char *record)
{
    volatile unsigned char copy[16];
    if ((signed char)record[1] > (int)sizeof copy)
        return 0;
    for (unsigned i = 0; i < record[1]; i++)
        copy[i] = record[2 + i];
    return copy[0];
}

int main(int count, char **words)
{
    size_t size = take_input(count, words);
    return size > 2 && input[0] == 'L' ? copy_record(input) & 1 : 0;
}
