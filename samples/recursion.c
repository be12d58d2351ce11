/* Recursion: Fibonacci, Ackermann, the towers of Hanoi, eight queens and two functions that call each other. */
#include "freestanding/out.h"

static uint32_t fibonacci(uint32_t n)
{
    return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static uint32_t ackermann(uint32_t m, uint32_t n)
{
    if (!m)
        return n + 1;
    return ackermann(m - 1, n ? ackermann(m, n - 1) : 1);
}

static uint32_t hanoi_hash;

static void hanoi(uint32_t disks, uint32_t from, uint32_t to, uint32_t spare)
{
    if (!disks)
        return;
    hanoi(disks - 1, from, spare, to);
    hanoi_hash = mix32(hanoi_hash, disks << 16 | from << 8 | to);
    hanoi(disks - 1, spare, to, from);
}

/* Ways to place the remaining queens; each mask has a bit per column that is taken or under attack. */
static uint32_t queens(uint32_t all, uint32_t columns, uint32_t left, uint32_t right)
{
    uint32_t count = 0;
    if (columns == all)
        return 1;
    for (uint32_t free_columns = all & ~(columns | left | right); free_columns; free_columns &= free_columns - 1) {
        uint32_t queen = free_columns & (0u - free_columns);
        count += queens(all, columns | queen, (left | queen) << 1, (right | queen) >> 1);
    }
    return count;
}

static int32_t male(int32_t n);

/* Hofstadter's female and male sequences. */
static int32_t female(int32_t n)
{
    return n ? n - male(female(n - 1)) : 1;
}

static int32_t male(int32_t n)
{
    return n ? n - female(male(n - 1)) : 0;
}

int main(int argc, char **argv)
{
    uint32_t size = sample_begin(argc, argv, 18), hash = size;
    uint32_t fib = fibonacci(size), ack = ackermann(2, size * 4);
    uint32_t solutions = queens(255, 0, 0, 0);
    hanoi(size / 2 + 1, 0, 1, 2);
    int32_t hofstadter = female((int32_t)size) * 100 + male((int32_t)size);
    out_line_decimal("fibonacci", (int32_t)fib);
    out_line_decimal("ackermann", (int32_t)ack);
    out_line_decimal("queens", (int32_t)solutions);
    out_line("hanoi", hanoi_hash);
    out_line_decimal("hofstadter", hofstadter);
    hash = mix32(mix32(mix32(hash, fib), ack), solutions);
    return sample_end(mix32(mix32(hash, hanoi_hash), (uint32_t)hofstadter));
}
