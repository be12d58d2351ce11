/* The input of a program with a seeded fault: the file that its first argument names, or standard input. */
#ifndef SEEDED_INPUT_H
#define SEEDED_INPUT_H

#include <stdio.h>

#define APART __attribute__((noinline))

enum { MOST_INPUT = 512 };

static unsigned char input[MOST_INPUT];

/* Returns the size of the input in bytes; the bytes behind it are 0. */
static APART size_t take_input(int count, char **words)
{
    FILE *stream = count > 1 ? fopen(words[1], "rb") : stdin;
    return stream != NULL ? fread(input, 1, sizeof input, stream) : 0;
}

#endif
