/* MIPS16 code and MIPS32 code in one program: calls both ways, directly and by pointers, numbers through helper functions,
 * jump tables, frames of all sizes, longjmp, and signals whose handlers are of either kind. */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>

#define SHORT __attribute__((mips16, noinline))
#define LONG __attribute__((nomips16, noinline))

static uint32_t random_state = 1;

SHORT static uint32_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    return random_state ^= random_state << 5;
}

LONG static uint32_t long_leaf(uint32_t a, uint32_t b) { return a * 31 + b; }
SHORT static uint32_t short_leaf(uint32_t a, uint32_t b) { return a * 33 ^ b; }
static uint32_t (*const leaves[])(uint32_t, uint32_t) = {long_leaf, short_leaf};
LONG static uint32_t long_calls(uint32_t a) { return short_leaf(a, 1) + leaves[a & 1](a, 2); }
SHORT static uint32_t short_calls(uint32_t a) { return long_leaf(a, 1) + leaves[a & 1](a, 2) + long_calls(a); }

SHORT static uint32_t many(uint32_t a, uint32_t b, uint32_t c, uint32_t d, uint32_t e, uint32_t f)
{
    uint32_t kept[40], hash = 0;
    for (int i = 0; i < 40; i++)
        kept[i] = a * i + (b ^ c) - (d >> (i & 31)) + e % (f | 1);
    for (int i = 0; i < 40; i++)
        hash = hash * 31 + kept[(i * 7) % 40] + short_calls(kept[i]);
    return hash;
}

SHORT static uint32_t chosen(uint32_t value)
{
    switch (value % 12) {
    case 0: return value + 1000;
    case 1: return value ^ 0x12345678;
    case 2: return (uint32_t)(int8_t)value;
    case 3: return (uint32_t)(int16_t)value;
    case 4: return value / 7;
    case 5: return (uint32_t)((int32_t)value % 13);
    case 6: return value << (value >> 27);
    case 7: return (uint32_t)((int32_t)value >> (value & 31));
    case 8: return (uint32_t)((uint64_t)value * value >> 32);
    case 9: return -value;
    case 10: return ~value;
    default: return value < 0x80000000u;
    }
}

SHORT static double mean(const float *numbers, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += numbers[i] * 1.5 - i;
    return sum / count;
}

static sigjmp_buf back;
static volatile uint32_t seen, place;

SHORT static void on_signal(int number)
{
    seen = seen * 31 + (uint32_t)number;
}

LONG static void on_fault(int number, siginfo_t *info, void *context)
{
    mcontext_t *frame = &((ucontext_t *)context)->uc_mcontext;
    seen = seen * 31 + (uint32_t)number + (uint32_t)(uintptr_t)info->si_addr + (uint32_t)(frame->pc & 1);
    place = (uint32_t)frame->pc;
    frame->gregs[2] = 77;
    frame->pc += 2; /* past the load */
}

SHORT static void jumps_back(int number)
{
    siglongjmp(back, number);
}

SHORT static int faults(const volatile int *address)
{
    return *address + 1;
}

SHORT static int compare(const void *a, const void *b)
{
    return memcmp(a, b, 4);
}

SHORT int main(void)
{
    uint32_t hash = 0, sorted[64];
    float numbers[50];
    for (int i = 0; i < 200; i++) {
        hash = hash * 31 + chosen(next_random());
        hash += many(next_random(), next_random(), next_random(), hash, i, next_random());
    }
    printf("%08x\n", (unsigned)hash);
    for (int i = 0; i < 50; i++)
        numbers[i] = (int)next_random() / 1e6f;
    for (int i = 0; i < 64; i++)
        sorted[i] = next_random();
    qsort(sorted, 64, sizeof *sorted, compare);
    for (int i = 0; i < 64; i++)
        hash = hash * 31 + sorted[i];
    printf("%08x %.9f %s\n", (unsigned)hash, mean(numbers, 50), strstr("one two three", "two"));
    struct sigaction fault = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO}, plain = {.sa_handler = on_signal};
    sigaction(SIGSEGV, &fault, NULL);
    sigaction(SIGUSR1, &plain, NULL);
    raise(SIGUSR1);
    int found = faults((const int *)8);
    printf("%u %d %d\n", (unsigned)seen, found, (place & ~1u) - ((uint32_t)(uintptr_t)faults & ~1u) < 16);
    plain.sa_handler = jumps_back;
    sigaction(SIGALRM, &plain, NULL);
    int number = sigsetjmp(back, 1);
    if (number == 0) {
        alarm(1);
        for (;;)
            hash += chosen(hash);
    }
    printf("%d\n", number);
    return 9;
}
