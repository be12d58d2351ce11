/* Jumps that no compiler makes: in number, which must not fill the stack of the executor, and of handlers.
 *
 * Without a libc. The first letter of the argument says which: l: calls that link through another register than ra; g: code
 * that is generated and the program's own jump to each other; s: they do so with two stack pointers in turn; c: the handler
 * of a fault is generated code, and comes to the instruction that faulted by a call; m: the handler of an alarm jumps to a
 * misaligned place with sp above the frame of the loop that it interrupted; p: the handler of a fault goes on past it;
 * o: it calls without an end, and stores nothing: an endless loop, but not where the calls are calls of the host. The exit
 * status is 7 where the result is right; 8 where the process had more memory than a few megabytes besides. */
#include <asm/signal.h>
#include <stdint.h>

#include "calls.h"

enum {
    EXIT = 4001, READ = 4003, OPEN = 4005, SETITIMER = 4104, MPROTECT = 4125, CACHEFLUSH = 4147, SIGACTION = 4194,
    MMAP2 = 4210
};
enum { ROUNDS = 1000000, TURNS = 5000000, MOST_KILOBYTES = 20000, PAGE = 4096 };

/* VmHWM of /proc/self/status. */
static int most_kilobytes(void)
{
    static char text[4096];
    int kilobytes = 0;
    int size = call(READ, (uintptr_t)call(OPEN, (uintptr_t)"/proc/self/status", 0, 0, 0, 0), (uintptr_t)text,
                    sizeof text, 0, 0);
    for (int i = 0; i + 6 < size; i++)
        if (text[i] == 'H' && text[i + 1] == 'W' && text[i + 2] == 'M')
            for (i += 4; text[i] != 'k'; i++)
                kilobytes = text[i] >= '0' && text[i] <= '9' ? kilobytes * 10 + (text[i] - '0') : kilobytes;
    return kilobytes;
}

static int right(uint32_t found, uint32_t expected)
{
    return found != expected ? 1 : most_kilobytes() > MOST_KILOBYTES ? 8 : 7;
}

#define FUNCTION(name, body) \
    __asm__(".set push\n.set noreorder\n.globl " #name "\n.ent " #name "\n.type " #name ", @function\n" #name ":\n" body \
            ".end " #name "\n.size " #name ", . - " #name "\n.set pop\n")

uint32_t links(uint32_t rounds);
FUNCTION(links, "move $2, $0\n"
                "lui $25, %hi(back)\n"
                "addiu $25, $25, %lo(back)\n"
                "1: jalr $24, $25\n"
                "addiu $4, $4, -1\n"
                "bnez $4, 1b\n"
                "addiu $2, $2, 1\n"
                "jr $31\n"
                "nop\n");
FUNCTION(back, "jr $24\n"
               "addiu $2, $2, 1\n");

/* a0: rounds; a1: what is jumped to, and from there back to t9. */
uint32_t turns(uint32_t rounds, const void *other), lower(uint32_t rounds, const void *other);
FUNCTION(turns, "lui $25, %hi(turn)\n"
                "addiu $25, $25, %lo(turn)\n"
                "b turn\n"
                "move $2, $0\n");
FUNCTION(turn, "beqz $4, 1f\n"
               "addiu $4, $4, -1\n"
               "jr $5\n"
               "nop\n"
               "1: jr $31\n"
               "nop\n");
FUNCTION(lower, "lui $8, %hi(down)\n"
                "addiu $8, $8, %lo(down)\n"
                "lui $9, %hi(up)\n"
                "addiu $9, $9, %lo(up)\n"
                "b down\n"
                "move $2, $0\n");
FUNCTION(down, "beqz $4, 1f\n"
               "addiu $4, $4, -1\n"
               "addiu $29, $29, -1024\n"
               "jr $5\n"
               "move $25, $9\n"
               "1: jr $31\n"
               "nop\n");
FUNCTION(up, "addiu $29, $29, 1024\n"
             "jr $5\n"
             "move $25, $8\n");

/* Anonymous memory that may be executed. */
static uint32_t *pages(uint32_t size_bytes)
{
    return (uint32_t *)(uintptr_t)call(MMAP2, 0, size_bytes, 7, 0x802, (uintptr_t)-1);
}

static const void *generated(void)
{
    const uint32_t jump = 0x03200008, add = 0x24420001; /* jr t9; addiu v0, v0, 1 */
    uint32_t *code = pages(PAGE);
    code[0] = jump;
    code[1] = add;
    call(CACHEFLUSH, (uintptr_t)code, 8, 3, 0, 0);
    return code;
}

static void set_handler(int number, const void *handler, uint32_t flags)
{
    const struct {
        uint32_t flags, handler, mask[4];
    } action = {flags, (uintptr_t)handler, {0}};
    call(SIGACTION, (uintptr_t)number, (uintptr_t)&action, 0, 16, 0);
}

/* The words of memory up to `end`, and their sum. */
uint32_t sum(const uint32_t *words, const uint32_t *end);
FUNCTION(sum, "move $2, $0\n"
              ".globl sum_load\n"
              "sum_load: lw $3, 0($4)\n"
              "addu $2, $2, $3\n"
              "addiu $4, $4, 4\n"
              "bne $4, $5, sum_load\n"
              "nop\n"
              "jr $31\n"
              "nop\n");

uint32_t *hidden, *other_words, other_sum;
extern const uint32_t repair[], repair_end[];
FUNCTION(repair, "move $17, $31\n"
                 "move $16, $29\n"
                 "lui $9, %hi(hidden)\n"
                 "lw $4, %lo(hidden)($9)\n"
                 "li $5, 4096\n"
                 "li $6, 3\n"
                 "li $2, 4125\n" /* mprotect */
                 "syscall\n"
                 "lui $9, %hi(other_words)\n"
                 "lw $4, %lo(other_words)($9)\n"
                 "addiu $5, $4, 16\n"
                 "move $2, $0\n"
                 "addiu $29, $29, -64\n"
                 "lui $25, %hi(sum_load)\n"
                 "addiu $25, $25, %lo(sum_load)\n"
                 "jalr $25\n"
                 "nop\n"
                 "lui $9, %hi(other_sum)\n"
                 "sw $2, %lo(other_sum)($9)\n"
                 "move $29, $16\n"
                 "jr $17\n"
                 "nop\n"
                 ".globl repair_end\n"
                 "repair_end: nop\n");

static int comes_itself(void)
{
    enum { WORDS = PAGE / 4 };
    static uint32_t four[] = {1, 2, 3, 4};
    uint32_t *memory = pages(3 * PAGE), *code = memory + 2 * WORDS;
    for (const uint32_t *from = repair; from < repair_end; from++)
        code[from - repair] = *from;
    call(CACHEFLUSH, (uintptr_t)code, PAGE, 3, 0, 0);
    set_handler(SIGSEGV, code, 0);
    for (uint32_t i = 0; i < WORDS; i++)
        memory[i] = 1;
    hidden = memory + WORDS;
    hidden[0] = 1000;
    hidden[1] = 2000;
    other_words = four;
    call(MPROTECT, (uintptr_t)hidden, PAGE, 0, 0, 0);
    return sum(memory, hidden + 2) == WORDS + 3000 && other_sum == 10 ? 7 : 1;
}

void misaligned(int number);
FUNCTION(misaligned, "li $9, 4096\n"
                     "addu $29, $29, $9\n"
                     "li $8, 2\n"
                     "jr $8\n"
                     "nop\n");
uint32_t spin(const volatile uint32_t *word);
FUNCTION(spin, "1: lw $3, 0($4)\n"
               "beqz $3, 1b\n"
               "addiu $2, $2, 1\n"
               "jr $31\n"
               "nop\n");

static void on_misaligned(int number)
{
    call(EXIT, number == SIGBUS ? 7 : 1, 0, 0, 0, 0);
}

static int to_misaligned(void)
{
    static volatile uint32_t never;
    volatile char room[2 * PAGE];
    const uint32_t times[] = {0, 0, 0, 10000};
    room[0] = 1;
    set_handler(SIGBUS, on_misaligned, 0);
    set_handler(SIGALRM, misaligned, SA_NODEFER);
    call(SETITIMER, 0, (uintptr_t)times, 0, 0, 0);
    return (int)spin(&never) + room[0];
}

/* Its return addresses are in `links`, where the callers of a function would not look for them. */
uint32_t deep(uint32_t depth, uint32_t *links);
FUNCTION(deep, "beqz $4, 1f\n"
               "move $2, $0\n"
               "sw $31, 0($5)\n"
               "addiu $5, $5, 4\n"
               "bal deep\n"
               "addiu $4, $4, -1\n"
               "addiu $5, $5, -4\n"
               "lw $31, 0($5)\n"
               "addiu $2, $2, 1\n"
               "1: jr $31\n"
               "nop\n");
uint32_t deep_after_fault(uint32_t depth, uint32_t *links, uint32_t *nowhere);
FUNCTION(deep_after_fault, "addiu $29, $29, -24\n"
                           "sw $31, 20($29)\n"
                           "sw $4, 24($29)\n"
                           "sw $5, 28($29)\n"
                           "sw $0, 0($6)\n"
                           "lw $4, 24($29)\n"
                           "jal deep\n"
                           "lw $5, 28($29)\n"
                           "lw $31, 20($29)\n"
                           "jr $31\n"
                           "addiu $29, $29, 24\n");

static void go_past(int number, uint32_t code, uint32_t *context)
{
    (void)number, (void)code;
    context[__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? 3 : 2] += 4; /* sc_pc */
}

static int past(void)
{
    static uint32_t links[ROUNDS];
    set_handler(SIGSEGV, go_past, 0);
    uint32_t found = deep(ROUNDS, links);
    int before = most_kilobytes();
    found += deep_after_fault(ROUNDS, links, (uint32_t *)PAGE);
    return found != 2 * ROUNDS ? 1 : most_kilobytes() - before > 4000 ? 8 : 7;
}

void endless(void);
FUNCTION(endless, "addiu $2, $2, 1\n"
                  "jal endless_too\n"
                  "nop\n"
                  "jr $31\n"
                  "addiu $2, $2, 2\n");
FUNCTION(endless_too, "addiu $2, $2, 3\n"
                      "jal endless\n"
                      "nop\n"
                      "jr $31\n"
                      "addiu $2, $2, 4\n");

static void overflow(int number)
{
    static int count;
    if (count++ > 0)
        call(EXIT, number == SIGSEGV ? 7 : 1, 0, 0, 0, 0);
    endless();
}

static int overflows(void)
{
    set_handler(SIGSEGV, overflow, SA_NODEFER);
    return (int)sum((uint32_t *)PAGE, 0);
}

static int run(char letter)
{
    switch (letter) {
    case 'l':
        return right(links(ROUNDS), 2 * ROUNDS);
    case 'g':
        return right(turns(ROUNDS, generated()), ROUNDS);
    case 's': /* until the host's stack is full */
        return lower(TURNS, generated()) == 2 * TURNS ? 7 : 1;
    case 'c':
        return comes_itself();
    case 'm':
        return to_misaligned();
    case 'p':
        return past();
    case 'o':
        return overflows();
    default:
        return 1;
    }
}

__attribute__((used)) void from_start(uint32_t *stack)
{
    uint32_t words = stack[0];
    call(EXIT, (uintptr_t)(words < 2 ? 1 : run(*(const char *)(uintptr_t)stack[2])), 0, 0, 0, 0);
}

FUNCTION(__start, "move $4, $29\n"
                  "li $8, -4096\n"
                  "and $29, $29, $8\n"
                  "jal from_start\n"
                  "addiu $29, $29, -32\n");
