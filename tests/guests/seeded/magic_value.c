/* A file begins with eight bytes that no chance would find. The reader of files of this kind was never written. */
#include <string.h>
#include "input.h"

static int (*volatile reader)(const unsigned char *);

static APART int read_file(const unsigned char *file)
{
    return reader(file);
}

int main(int count, char **words)
{
    size_t size = take_input(count, words);
    return size >= 8 && memcmp(input, "\x93MPSREC\n", 8) == 0 ? read_file(input) : 0;
}
