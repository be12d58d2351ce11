/* Loops that step through memory, to the end of what is mapped and beyond: the first letter of the argument says which.
 *
 * Without a libc. The handler of the fault ends the program: with status 0 if the address is the end of the mapping, the
 * pc is the loop's, and the loop has stored what it should have by then; all but the last LATE bytes at least, since
 * stores of neighbours may be joined. */
#include <asm/signal.h>
#include <stdint.h>

enum { EXIT = 4001, MMAP = 4090, MUNMAP = 4091, SIGACTION = 4194, SIZE = 65536, LATE = 128 };

static int call(int number, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d)
{
    register uintptr_t v0 __asm__("$2") = (uintptr_t)number;
    register uintptr_t a0 __asm__("$4") = a, a1 __asm__("$5") = b, a2 __asm__("$6") = c, a3 __asm__("$7") = d;
    __asm__ volatile("addiu $29, $29, -32\n\tsw %[e], 16($29)\n\tsw $0, 20($29)\n\tsyscall\n\taddiu $29, $29, 32"
                     : "+r"(v0), "+r"(a3)
                     : "r"(a0), "r"(a1), "r"(a2), [e] "r"(-1)
                     : "$1", "$3", "$8", "$9", "$10", "$11", "$12", "$13", "$14", "$15", "$24", "$25", "hi", "lo",
                       "memory");
    return a3 ? -1 : (int)v0;
}

#define LOOP __attribute__((noipa, optimize("no-tree-loop-distribute-patterns")))

LOOP void fill(uint8_t *to, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        to[i] = 0;
}

LOOP void copy(uint32_t *to, const uint32_t *from, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        to[i] = from[i];
}

LOOP uint32_t length(const char *text)
{
    uint32_t found = 0;
    while (text[found])
        found++;
    return found;
}

LOOP uint32_t sum(const uint32_t *from, uint32_t count)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++)
        found += from[i];
    return found;
}

static uint8_t *memory;
static uint8_t *stored; /* where the loop stores */
static uint8_t pattern;
static uint32_t to_store; /* bytes */

static void on_fault(int number, uint32_t *info, uint32_t *context)
{
    static const uint16_t one = 1;
    uint32_t pc = context[*(const uint8_t *)&one ? 8 : 9], wrong = number != SIGSEGV;
    wrong |= (info[3] != (uintptr_t)memory + SIZE) << 1;
    wrong |= (pc < 0x400000 || pc >= 0x500000) << 2;
    for (uint32_t i = 0; i + LATE < to_store; i++)
        wrong |= (stored[i] != pattern) << 3;
    call(EXIT, wrong, 0, 0, 0);
}

__attribute__((used)) static void begin(uintptr_t *stack)
{
    struct {
        uint32_t flags, handler, mask[4];
    } action = {SA_SIGINFO, (uintptr_t)on_fault, {0}};
    static uint8_t other[SIZE + 4096];
    const char *words = (const char *)stack[2];
    memory = (uint8_t *)(uintptr_t)call(MMAP, 0, 2 * SIZE, 3, 0x802); /* PROT_READ | PROT_WRITE, private, anonymous */
    call(MUNMAP, (uintptr_t)memory + SIZE, SIZE, 0, 0);
    for (uint32_t i = 0; i < SIZE; i++)
        memory[i] = 7;
    call(SIGACTION, SIGSEGV, (uintptr_t)&action, 0, 16);
    if (words[0] == 'f') {
        stored = memory + 3;
        to_store = SIZE - 3;
        fill(stored, SIZE);
    } else if (words[0] == 'c') {
        stored = other;
        to_store = SIZE;
        pattern = 7;
        copy((uint32_t *)other, (uint32_t *)memory, SIZE / 4 + 1);
    } else if (words[0] == 'l') {
        call(EXIT, length((char *)memory), 0, 0, 0);
    } else {
        call(EXIT, sum((uint32_t *)memory, SIZE), 0, 0, 0);
    }
    call(EXIT, 99, 0, 0, 0);
}

__asm__(".globl __start\n__start:\n\tmove $4, $29\n\taddiu $29, $29, -32\n\tjal begin\n\tnop");
