/* A line `a=bc` says that the letter a stands for b and c. One that stands for itself has no end. */
#include "input.h"

static const unsigned char *rules[256];

static APART int length_of(unsigned letter)
{
    int length = 1;
    for (const unsigned char *at = rules[letter]; at != NULL && *at > ' '; at++)
        length += length_of(*at);
    return length;
}

int main(int count, char **words)
{
    size_t size = take_input(count, words);
    for (size_t i = 0; i + 2 < size; i++)
        if (input[i + 1] == '=')
            rules[input[i]] = input + i + 2;
    return length_of(input[0]) & 1;
}
