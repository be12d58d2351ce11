/* 'T' and a digit choose one of eight functions. The check lets an index of 8 pass, and there stands a number. */
#include "input.h"

static int nothing(void)
{
    return 0;
}

static struct {
    int (*functions[8])(void);
    unsigned long calls;
} table = {{nothing, nothing, nothing, nothing, nothing, nothing, nothing, nothing}, 1};

static APART int call(unsigned index)
{
    table.calls++;
    return index <= 8 ? table.functions[index]() : 1;
}

int main(int count, char **words)
{
    size_t size = take_input(count, words);
    return size > 1 && input[0] == 'T' ? call(input[1] - (unsigned)'0') : 0;
}
