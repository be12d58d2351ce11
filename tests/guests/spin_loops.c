/* Waits, in loops, for memory that another thread writes; its exit status says what it found.
 *
 * Without a libc: standard input is a file of a page, to be mapped twice. The first letter of the argument says who writes:
 * m: the loop itself, through the other mapping; c: a child; a: a child, and the loop counts to an end and makes the
 * address anew in each round, as compilers do at -O0; b: a child the other bytes of the same words; h: a signal
 * handler. Or how the handler of an alarm ends
 * another kind of loop: l: the loop calls a leaf; e: it is empty; j: it is left by longjmp; t: two functions that call
 * each other last; n: a nest of counted loops; w:
 * counters that jump over their limit; i: none, a computation is right though a timer interrupts it. */
#include <asm/signal.h>
#include <stdint.h>

#include "calls.h"

enum { EXIT = 4001, FORK = 4002, PAUSE = 4029, KILL = 4037, SETITIMER = 4104, NANOSLEEP = 4166, SIGACTION = 4194, MMAP2 = 4210 };

static volatile uint32_t flag;

static void on_alarm(int number)
{
    flag = (uint32_t)number;
}

static void set_alarm(void (*handler)(int), uint32_t first, uint32_t interval)
{
    struct {
        uint32_t flags, handler, mask[4];
    } action = {SA_NODEFER, (uintptr_t)handler, {0}};
    uint32_t times[] = {0, interval, 0, first};
    call(SIGACTION, SIGALRM, (uintptr_t)&action, 0, 16, 0);
    call(SETITIMER, 0, (uintptr_t)times, 0, 0, 0);
}

static volatile uint32_t *map(void)
{
    return (volatile uint32_t *)(uintptr_t)call(MMAP2, 0, 4096, 3, 1, 0); /* PROT_READ | PROT_WRITE, MAP_SHARED */
}

static uint32_t by_handler(void)
{
    set_alarm(on_alarm, 50000, 0);
    while (!flag)
        ;
    return flag;
}

static __attribute__((noipa)) uint32_t leaf(uint32_t x)
{
    return x + 1;
}

static uint32_t with_leaf(void)
{
    uint32_t rounds = 0;
    set_alarm(on_alarm, 50000, 0);
    while (!flag)
        rounds = leaf(rounds);
    return rounds != 0 ? flag : 0;
}

static void on_alarm_end(int number)
{
    call(EXIT, (uintptr_t)number, 0, 0, 0, 0);
}

static uint32_t empty(void)
{
    set_alarm(on_alarm_end, 50000, 0);
    for (;;)
        ;
}

static void *place[5];

static __attribute__((noipa)) void on_alarm_jump(int number)
{
    flag = (uint32_t)number;
    __builtin_longjmp(place, 1);
}

enum { JUMPS = 40 };
static volatile uint32_t jumps;

/* After the last jump the alarms go on, and change nothing. */
static __attribute__((noipa)) void on_alarms_jump(int number)
{
    if (jumps < JUMPS)
        on_alarm_jump(number);
}

/* Forty times, from a depth of the stack that changes: more often than frames may wait for handlers that never return. */
static __attribute__((noipa)) uint32_t descend(uint32_t depth)
{
    volatile uint32_t keep = depth;
    if (depth != 0)
        return descend(depth - 1) + keep;
    for (volatile uint32_t rounds = 0;; rounds++)
        ;
}

static uint32_t left_by_jump(void)
{
    if (__builtin_setjmp(place) == 0)
        set_alarm(on_alarms_jump, 1000, 1000);
    jumps = jumps + 1;
    if (jumps < JUMPS)
        descend(jumps % 5);
    return jumps == JUMPS ? flag : 0;
}

static __attribute__((noipa)) uint32_t pong(uint32_t x, uint32_t y);

static __attribute__((noipa)) uint32_t ping(uint32_t x, uint32_t y)
{
    return flag ? flag : pong(y, x);
}

static __attribute__((noipa)) uint32_t pong(uint32_t x, uint32_t y)
{
    return ping(y, x + 1);
}

static uint32_t called_last(void)
{
    set_alarm(on_alarm, 50000, 0);
    return ping(1, 2);
}

static uint32_t nest(void)
{
    uint32_t sum = 0;
    set_alarm(on_alarm_end, 50000, 0);
    for (uint32_t i = 0; i < 3000000000u; i++)
        for (uint32_t j = 0; j < 1000; j++) {
            sum = sum * 31 + j;
            __asm__ volatile("" : "+r"(sum));
        }
    return sum;
}

/* The loop goes on forever: `step` changes the counter, `test` sets %0 from the counter %1 and the limit %2. */
#define ENDLESS(name, step, test, branch) \
    static __attribute__((noipa)) void name(uint32_t counter, uint32_t limit) \
    { \
        uint32_t found; \
        __asm__ volatile(".set push\n\t.set noreorder\n1:\t" step "\n\t" test "\n\t" branch "\n\tnop\n\t.set pop" \
                         : "=&r"(found), "+r"(counter) \
                         : "r"(limit)); \
    }
ENDLESS(other_parity, "addiu %1, %1, 2", "", "bne %1, %2, 1b")
ENDLESS(below_most, "addiu %1, %1, 4", "sltu %0, %1, %2", "bnez %0, 1b")
ENDLESS(not_below_least, "addiu %1, %1, -1", "sltu %0, %1, %2", "beqz %0, 1b")
ENDLESS(at_most_most, "addiu %1, %1, 1", "slt %0, %2, %1", "beqz %0, 1b")
ENDLESS(jumps_over_few, "addiu %1, %1, -16", "sltiu %0, %1, 15", "beqz %0, 1b")
ENDLESS(beside_itself, "addiu %1, %1, 1", "addu %0, %1, %1", "bne %0, %2, 1b")
ENDLESS(by_itself, "addiu %1, %1, 1", "", "beq %1, %1, 1b")
ENDLESS(shifted_nothing, "srl %1, %1, 1", "", "beqz %1, 1b")
ENDLESS(stands_still, "addu %1, %1, $0", "sltu %0, %1, %2", "bnez %0, 1b")

/* Every loop is left by a jump of the handler; one that ends is an error. */
static __attribute__((noipa)) uint32_t limits_jumped_over(void)
{
    static const struct {
        void (*loop)(uint32_t, uint32_t);
        uint32_t counter, limit;
    } loops[] = {
        {other_parity, 0, 1}, {below_most, 0, 0xffffffff}, {not_below_least, 9, 0}, {at_most_most, 0, 0x7fffffff},
        {jumps_over_few, 0xff, 0}, {beside_itself, 0, 1}, {by_itself, 0, 0}, {shifted_nothing, 0, 0}, {stands_still, 0, 1},
    };
    static uint32_t at;
    if (__builtin_setjmp(place) != 0)
        at++;
    if (at == sizeof loops / sizeof *loops)
        return flag;
    set_alarm(on_alarm_jump, 5000, 0);
    loops[at].loop(loops[at].counter, loops[at].limit);
    return 0x80 + at;
}

static volatile uint32_t ticks;

static void on_tick(int number)
{
    volatile double dirt = number; /* other registers than those of the computation, and its rounding */
    ticks += (uint32_t)(dirt / 3 * 0 + 1);
}

static uint32_t compute(uint32_t rounds)
{
    uint32_t x = 1;
    double sum = 0;
    for (uint32_t i = 0; i < rounds; i++) {
        uint32_t steps = 0;
        for (uint32_t y = i; y != 0; y &= y - 1)
            steps++;
        x = (x ^ x << 13) * 9 + steps;
        sum = sum * 0.75 + (double)(int32_t)x / (steps + 1);
    }
    return x ^ (uint32_t)(int32_t)(sum / 16);
}

static uint32_t interrupted(void)
{
    uint32_t right = compute(20000), wrong = 0;
    set_alarm(on_tick, 500, 500);
    while (ticks < 40)
        wrong += compute(20000) != right;
    return wrong == 0 ? SIGALRM : wrong;
}

static uint32_t by_mapping(volatile uint32_t *one, volatile uint32_t *other)
{
    uint32_t rounds = 0;
    do
        *one = ++rounds;
    while (*other != 5);
    return rounds;
}

static uint32_t by_child(volatile uint32_t *one, volatile uint32_t *other)
{
    if (call(FORK, 0, 0, 0, 0, 0) == 0) {
        uint32_t pause[] = {0, 50000000};
        call(NANOSLEEP, (uintptr_t)pause, 0, 0, 0, 0);
        *one = 77;
        call(EXIT, 0, 0, 0, 0, 0);
    }
    while (*other != 77)
        ;
    return *one;
}

static __attribute__((noipa)) uint32_t wait_at_constant(uint32_t rounds)
{
    uint32_t found;
    __asm__ volatile(".set push\n\t.set noreorder\n1:\tlui %0, 0x1000\n\taddiu %0, %0, 16\n\tlw %0, -16(%0)\n\t"
                     "bnez %0, 2f\n\taddiu %1, %1, -1\n\tbnez %1, 1b\n\tnop\n2:\t.set pop"
                     : "=&r"(found), "+r"(rounds)
                     :
                     : "memory");
    return found;
}

static uint32_t at_constant(volatile uint32_t *one, volatile uint32_t *other)
{
    (void)other;
    call(MMAP2, 0x10000000, 4096, 3, 0x11, 0); /* MAP_SHARED | MAP_FIXED */
    if (call(FORK, 0, 0, 0, 0, 0) == 0) {
        uint32_t pause[] = {0, 50000000};
        call(NANOSLEEP, (uintptr_t)pause, 0, 0, 0, 0);
        *one = 77;
        call(EXIT, 0, 0, 0, 0, 0);
    }
    return wait_at_constant(0x7fffffff);
}

/* The first byte of one word, and the last three of the next. */
static __attribute__((noipa)) void store_parts(volatile uint32_t *words)
{
    for (uint32_t rounds = 0; rounds < 1000000000; rounds++)
#ifdef __MIPSEB__
        __asm__ volatile("swr %0, 0(%1)\n\tswl %0, 5(%1)" : : "r"(rounds), "r"(words) : "memory");
#else
        __asm__ volatile("swl %0, 0(%1)\n\tswr %0, 5(%1)" : : "r"(rounds), "r"(words) : "memory");
#endif
}

/* Returns whether a byte was lost that lies beside those. */
static uint32_t beside_parts(volatile uint32_t *one, volatile uint32_t *other)
{
    int child = call(FORK, 0, 0, 0, 0, 0);
    if (child == 0) {
        store_parts(one);
        call(EXIT, 0, 0, 0, 0, 0);
    }
    volatile uint8_t *second = (volatile uint8_t *)other + 1, *fifth = (volatile uint8_t *)other + 4;
    uint32_t lost = 0;
    for (uint32_t round = 0; round < 2000000 && !lost; round++) {
        *second = *fifth = (uint8_t)round;
        __asm__ volatile("sync" : : : "memory");
        lost = *second != (uint8_t)round || *fifth != (uint8_t)round;
    }
    call(KILL, (uintptr_t)child, SIGKILL, 0, 0, 0);
    return lost;
}

static uint32_t run(char who)
{
    switch (who) {
    case 'h': return by_handler();
    case 'l': return with_leaf();
    case 'e': return empty();
    case 'j': return left_by_jump();
    case 't': return called_last();
    case 'n': return nest();
    case 'w': return limits_jumped_over();
    default: return interrupted();
    }
}

__attribute__((used)) void start(uint32_t count, char **words)
{
    char who = count > 1 ? words[1][0] : 'm';
    static const struct {
        char who;
        uint32_t (*wait)(volatile uint32_t *, volatile uint32_t *);
    } others[] = {{'m', by_mapping}, {'c', by_child}, {'a', at_constant}, {'b', beside_parts}};
    for (uint32_t i = 0; i < sizeof others / sizeof *others; i++)
        if (others[i].who == who) {
            volatile uint32_t *one = map(), *other = map();
            call(EXIT, others[i].wait(one, other), 0, 0, 0, 0);
        }
    call(EXIT, run(who), 0, 0, 0, 0);
}

__asm__(".globl __start\n\t.set noreorder\n__start:\n\tlw $4, 0($29)\n\taddiu $5, $29, 4\n\tjal start\n\taddiu $29, $29, -32");
