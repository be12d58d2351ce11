/* Non-local jumps of libc: out of deep recursion, out of a qsort callback, again and again into the same frame. */
#include "freestanding/out.h"

#include <setjmp.h>
#include <stdlib.h>

static jmp_buf escape, resume;
static volatile uint32_t compares;

static uint32_t dive(uint32_t depth, uint32_t goal)
{
    if (depth == goal)
        longjmp(escape, (int)(goal + 1));
    if (depth > 1000)
        return depth; /* never: the goal is nearer */
    return dive(depth + 1, goal) * 3 + depth; /* not a tail call: every frame is real */
}

static int compare_until(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (compares-- == 0)
        longjmp(resume, 1);
    return (a > b) - (a < b);
}

/* Sorts with at most `limit` comparisons; returns a checksum of the sorted numbers, or 1 when the sort was left. */
static uint32_t sort_interrupted(uint32_t limit, uint32_t *random)
{
    static uint32_t numbers[100];
    static volatile uint32_t interrupted;
    uint32_t sum = 0;
    interrupted = 0;
    for (uint32_t i = 0; i < 100; i++)
        numbers[i] = random32(random);
    compares = limit;
    if (setjmp(resume) == 0)
        qsort(numbers, 100, sizeof *numbers, compare_until);
    else
        interrupted = 1;
    for (uint32_t i = 0; i < 100 && !interrupted; i++)
        sum = mix32(sum, numbers[i]);
    return sum + interrupted;
}

/* A loop made of setjmp and longjmp alone; doubles and integers must survive in callee-saved registers. */
static double count_up(uint32_t goal)
{
    static jmp_buf again;
    volatile uint32_t count = 0;
    volatile double sum = 0.5;
    double kept = goal * 0.125;
    setjmp(again);
    count++;
    sum = sum + count * kept;
    if (count < goal)
        longjmp(again, 1);
    return sum;
}

int main(int argc, char **argv)
{
    volatile uint32_t rounds = sample_begin(argc, argv, 100), hash = 1;
    uint32_t sorts = rounds < 100 ? rounds : 100; /* a long run is one of jumps */
    uint32_t random = 17;
    for (volatile uint32_t round = 0; round < rounds; round++) {
        int value = setjmp(escape);
        if (value == 0)
            hash = mix32(hash, dive(0, round % 50));
        hash = mix32(hash, (uint32_t)value);
    }
    out_line("recursion", hash);
    for (uint32_t limit = 0; limit < sorts; limit++)
        hash = mix32(hash, sort_interrupted(limit < 90 ? limit * 2 : 100000, &random));
    out_line("callbacks", hash);
    double sum = 0;
    for (uint32_t done = 0; done < rounds; done += 100)
        sum += count_up(rounds - done < 100 ? (rounds - done) * 10 : 1000);
    out_line64("loop", double_bits(sum));
    return sample_end(mix64(hash, double_bits(sum)));
}
