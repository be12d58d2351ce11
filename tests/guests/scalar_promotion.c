/* Loops that change a word of memory in each round, written down to the instruction; prints what memory is after each.
 *
 * With "page" those run for which a page is mapped twice, standard input; with "aligned" all others, as far as words
 * are at their places; else all others. */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* Each has a frame of 64 bytes with words 0(sp) to 60(sp), copied from words[] and back. a0: words, a1: pointer,
 * a2: count. */
#define LOOP(name, body)                                                                                               \
    __asm__(".text\n.globl loop_" #name "\n.ent loop_" #name "\nloop_" #name ":\n.set push\n.set noreorder\n"          \
            ".set nomacro\naddiu $29, $29, -64\n"                                                                      \
            "move $10, $0\n9: addu $8, $4, $10\naddu $9, $29, $10\nlw $11, 0($8)\nsw $11, 0($9)\n"                     \
            "addiu $10, $10, 4\n"                                                                                      \
            "sltiu $8, $10, 64\nbnez $8, 9b\nnop\n" body                                                               \
            "move $10, $0\n9: addu $8, $4, $10\naddu $9, $29, $10\nlw $11, 0($9)\nsw $11, 0($8)\n"                     \
            "addiu $10, $10, 4\n"                                                                                      \
            "sltiu $8, $10, 64\nbnez $8, 9b\nnop\n"                                                                    \
            "jr $31\naddiu $29, $29, 64\n.set pop\n.end loop_" #name "\n");                                            \
    void loop_##name(uint32_t *words, void *pointer, uint32_t count)

#define SEEN "lw $2, 24($29)\n"
#define COUNT "addiu $6, $6, -1\n"

/* sums of each kind */
LOOP(word, SEEN "1: lw $2, 24($29)\naddiu $2, $2, 7\n" COUNT "bnez $6, 1b\nsw $2, 24($29)\n");
LOOP(half, SEEN "1: lh $2, 24($29)\naddiu $2, $2, 4099\nsh $2, 24($29)\n" COUNT "bnez $6, 1b\nnop\n");
LOOP(byte, SEEN "1: lbu $2, 25($29)\naddiu $2, $2, 77\nsb $2, 25($29)\nlb $3, 25($29)\naddu $5, $5, $3\n" COUNT
                "bnez $6, 1b\nnop\nsw $5, 40($29)\n");
LOOP(single, SEEN "lwc1 $f4, 28($29)\n1: lwc1 $f0, 24($29)\nadd.s $f0, $f0, $f4\n" COUNT
                  "bnez $6, 1b\nswc1 $f0, 24($29)\n");
LOOP(product, SEEN "lwc1 $f4, 28($29)\n1: lwc1 $f0, 24($29)\nmul.s $f0, $f0, $f4\n" COUNT
                   "bnez $6, 1b\nswc1 $f0, 24($29)\n");
LOOP(in_double, "ldc1 $f2, 24($29)\nldc1 $f4, 32($29)\n1: ldc1 $f0, 24($29)\nadd.d $f0, $f0, $f4\n"
     "sdc1 $f0, 24($29)\n" COUNT
                "bnez $6, 1b\nnop\n");
LOOP(in_parts, SEEN "1: lw $2, 24($29)\naddiu $2, $2, 257\nsw $2, 24($29)\nlbu $3, 26($29)\nlhu $8, 24($29)\n"
                    "addu $5, $5, $3\naddu $5, $5, $8\n" COUNT "bnez $6, 1b\nnop\nsw $5, 40($29)\n");
LOOP(annulled, SEEN "1: lw $2, 24($29)\n" COUNT "addiu $2, $2, 5\nbnezl $6, 1b\nsw $2, 24($29)\n");
LOOP(annulled_load, SEEN "move $3, $0\n1: addu $2, $2, $3\naddiu $3, $2, 1\nsw $3, 24($29)\n" COUNT
                         "bnezl $6, 1b\nlw $2, 24($29)\nsw $2, 40($29)\n");
/* several blocks: a store on one way; the test above */
LOOP(on_one_way, SEEN "1: lw $2, 24($29)\nandi $3, $6, 3\nbnez $3, 2f\naddiu $2, $2, 3\nsw $2, 24($29)\n2: " COUNT
                      "bnez $6, 1b\nnop\n");
LOOP(test_above, SEEN "sw $6, 32($29)\nb 2f\nnop\n1: lw $2, 24($29)\nlw $3, 32($29)\naddu $2, $2, $3\nsw $2, 24($29)\n"
                      "addiu $3, $3, -1\nsw $3, 32($29)\n2: lw $3, 32($29)\nbgtz $3, 1b\nnop\n");
/* two words that go round */
LOOP(through_two, "lw $3, 28($29)\n" SEEN "1: lw $2, 24($29)\naddiu $2, $2, 3\nsw $2, 28($29)\nlw $3, 28($29)\n"
                  "sll $3, $3, 1\nsw $3, 24($29)\n" COUNT "bnez $6, 1b\nnop\n");
/* stores by another register, that touch the word or not */
LOOP(stores, SEEN "addu $5, $5, $29\n1: lw $2, 24($29)\naddiu $2, $2, 3\nsw $2, 24($29)\nsw $6, 0($5)\n"
     "addiu $5, $5, 4\n" COUNT
                  "bnez $6, 1b\nnop\n");
LOOP(stores_bytes, SEEN "addu $5, $5, $29\n1: lw $2, 24($29)\naddiu $2, $2, 3\nsw $2, 24($29)\nsb $6, 3($5)\n"
                        "addiu $5, $5, 1\n" COUNT "bnez $6, 1b\nnop\n");
LOOP(stores_singles, SEEN "addu $5, $5, $29\nlwc1 $f4, 28($29)\n1: lwc1 $f0, 24($29)\nadd.s $f0, $f0, $f4\n"
                          "swc1 $f0, 24($29)\nswc1 $f4, 0($5)\naddiu $5, $5, 4\n" COUNT "bnez $6, 1b\nnop\n");
LOOP(stores_across, SEEN "addu $5, $5, $29\n1: lhu $2, 24($29)\naddiu $2, $2, 3\nsh $2, 24($29)\nsw $6, 0($5)\n"
                         "addiu $5, $5, 4\n" COUNT "bnez $6, 1b\nnop\n");

/* those that are left alone: parts are stored by the same register */
LOOP(part_stored, SEEN "1: lw $2, 24($29)\naddiu $2, $2, 3\nsw $2, 24($29)\nsb $6, 26($29)\n"
     COUNT "bnez $6, 1b\nnop\n");
LOOP(left_stored, SEEN "1: lw $2, 24($29)\naddiu $2, $2, 3\nsw $2, 24($29)\nswl $6, 25($29)\n"
     COUNT "bnez $6, 1b\nnop\n");
LOOP(other_kind, SEEN "1: lwc1 $f0, 24($29)\nadd.s $f0, $f0, $f0\nswc1 $f0, 24($29)\nsw $6, 24($29)\n" COUNT
                      "bnez $6, 1b\nnop\n");
LOOP(base_moves, SEEN "move $8, $29\n1: lw $2, 24($8)\naddiu $2, $2, 3\nsw $2, 24($8)\naddiu $8, $8, 4\n" COUNT
                      "bnez $6, 1b\nnop\n");
LOOP(ordered, SEEN "1: lw $2, 24($29)\nsync\naddiu $2, $2, 3\nsw $2, 24($29)\n" COUNT "bnez $6, 1b\nnop\n");
LOOP(linked, SEEN "addiu $8, $29, 24\n1: lw $2, 24($29)\naddiu $2, $2, 3\nsw $2, 24($29)\n2: ll $3, 0($8)\n"
     "addiu $3, $3, 1\n"
                  "sc $3, 0($8)\nbeqz $3, 2b\nnop\n" COUNT "bnez $6, 1b\nnop\n");
LOOP(in_the_middle, SEEN "andi $3, $6, 1\nbnez $3, 2f\nnop\n1: lw $2, 24($29)\naddiu $2, $2, 3\n2: addiu $2, $2, 1\n"
                         "sw $2, 24($29)\n" COUNT "bgtz $6, 1b\nnop\n");
LOOP(calls, SEEN "move $9, $31\n1: lw $2, 24($29)\naddiu $2, $2, 3\nbal loop_leaf\nsw $2, 24($29)\n" COUNT
                 "bnez $6, 1b\nnop\nmove $31, $9\n");
LOOP(not_changed, SEEN "1: lw $2, 24($29)\naddu $3, $3, $2\nsw $6, 24($29)\n" COUNT "bnez $6, 1b\nnop\n"
     "sw $3, 40($29)\n");
__asm__(".text\n.ent loop_leaf\nloop_leaf:\n.set push\n.set noreorder\nlw $3, 24($29)\naddiu $3, $3, 1\njr $31\n"
        "sw $3, 24($29)\n"
        ".set pop\n.end loop_leaf\n");
/* the word is not there, and not reached: as the pointer was set after the access, or nothing has accessed it */
LOOP(not_there, "1: andi $3, $6, 0x100\nbeqz $3, 2f\nnop\nlw $2, 0($5)\naddiu $2, $2, 3\nsw $2, 0($5)\n2: " COUNT
                "bnez $6, 1b\nnop\n");
LOOP(set_again, "move $8, $29\nlw $2, 0($8)\nmove $8, $5\n1: andi $3, $6, 0x100\nbeqz $3, 2f\nnop\nlw $2, 0($8)\n"
                "addiu $2, $2, 3\nsw $2, 0($8)\n2: " COUNT "bnez $6, 1b\nnop\n");
/* a word by a pointer: alone it is kept, not beside stores by another, nor in a loop that may go on for long */
LOOP(by_pointer, "lw $2, 0($5)\n1: lw $2, 0($5)\naddiu $2, $2, 3\nsw $2, 0($5)\n" COUNT "bnez $6, 1b\nnop\n");
LOOP(mapped_twice, "lw $2, 0($5)\nxor $8, $5, $6\nsrl $8, $8, 12\nsll $8, $8, 12\nandi $6, $6, 0xfff\n"
     "1: lw $2, 0($5)\naddiu $2, $2, 3\nsw $2, 0($5)\n"
                   "sw $6, 0($8)\n" COUNT "bnez $6, 1b\nnop\n");
LOOP(far_apart, "lw $2, 0($5)\n1: lw $2, 0($5)\naddiu $2, $2, 3\nsw $2, 0($5)\nsw $6, 4096($5)\n"
     COUNT "bnez $6, 1b\nnop\n");
LOOP(until_others, "lw $2, 0($5)\n1: lw $2, 0($5)\nori $2, $2, 256\nandi $3, $2, 1\nbeqz $3, 1b\nsw $2, 0($5)\n");
/* until a handler changes the word */
LOOP(until_handled, SEEN "addiu $8, $29, 24\nsw $8, 0($5)\n1: lw $2, 24($29)\nori $2, $2, 2\nslti $3, $2, 1000\n"
                         "bnez $3, 1b\nsw $2, 24($29)\n");
/* until a page ends; another word is stored to last */
LOOP(faults, SEEN "addiu $8, $29, 24\nsw $8, 0($4)\n1: lw $2, 24($29)\naddiu $2, $2, 3\nsw $2, 24($29)\nlw $3, 0($5)\n"
                  "addiu $5, $5, 4\naddu $2, $2, $3\n" COUNT "bnez $6, 1b\nsw $2, 24($29)\n");
LOOP(faults_at_once, "sw $5, 0($4)\nlw $2, 0($5)\nmove $8, $0\n1: lw $2, 0($5)\naddiu $2, $2, 3\nsw $2, 0($5)\n"
                     "lw $3, 8($5)\naddu $8, $8, $3\n" COUNT "bnez $6, 1b\nnop\nsw $8, 40($29)\n");
/* over pages that a handler makes accessible: it changes the word as well */
LOOP(handled, SEEN "addiu $8, $29, 24\nsw $8, 0($4)\n1: lw $2, 24($29)\naddiu $2, $2, 3\nsw $2, 24($29)\n"
                   "lw $3, 0($5)\naddiu $5, $5, 2048\n" COUNT "bnez $6, 1b\nnop\n");
LOOP(handled_global, "lw $7, 0($4)\nlw $2, 0($7)\n1: lw $2, 0($7)\naddiu $2, $2, 3\nsw $2, 0($7)\n"
                     "lw $3, 0($5)\naddiu $5, $5, 2048\n" COUNT "bnez $6, 1b\nnop\n");
/* the stack as an -O0 build uses it: by fp, and by a register that only has its number */
LOOP(by_frame, "move $9, $30\nmove $30, $29\nlw $2, 24($30)\naddu $5, $5, $29\n1: lw $2, 24($30)\n"
     "addiu $2, $2, 3\nsw $2, 24($30)\n"
               "sw $6, 0($5)\naddiu $5, $5, 4\n" COUNT "bnez $6, 1b\nnop\nmove $30, $9\n");
LOOP(by_s8, "move $9, $30\naddiu $30, $4, 0\nlw $2, 24($30)\naddu $5, $5, $4\n1: lw $2, 24($30)\naddiu $2, $2, 3\n"
     "sw $2, 24($30)\n"
            "sw $6, 0($5)\naddiu $5, $5, 4\n" COUNT "bnez $6, 1b\nnop\nlw $2, 24($30)\nsw $2, 24($29)\nmove $30, $9\n");

static uint32_t words[16], page[1024] __attribute__((aligned(4096)));

static void fill(uint32_t seed)
{
    for (uint32_t i = 0; i < 16; i++)
        words[i] = seed ^ i * 0x01010101;
}

static void show(const char *name)
{
    uint32_t hash = 0;
    for (uint32_t i = 0; i < 16; i++)
        hash = (hash ^ words[i]) * 16777619 + (hash >> 7);
    printf("%-16s %08x %08x %08x %08x\n", name, words[6], words[7], words[10], hash);
}

#define EACH(way)                                                                                                      \
    way(word) way(half) way(byte) way(single) way(product) way(in_double) way(in_parts) way(annulled)                  \
    way(annulled_load) way(on_one_way) way(test_above) way(through_two) way(part_stored) way(left_stored)              \
    way(other_kind) way(ordered) way(linked) way(in_the_middle) way(calls) way(not_changed)
#define EACH_WITH_STORES(way)                                                                                          \
    way(stores) way(stores_bytes) way(stores_singles) way(stores_across) way(by_frame) way(by_s8)

static void run_each(uint32_t seed, uint32_t step)
{
#define RUN(name) fill(seed), loop_##name(words, 0, 9), show(#name);
    EACH(RUN)
    fill(seed), loop_base_moves(words, 0, 5), show("base_moves");
#define RUN_WITH_STORES(name)                                                                                          \
    for (uint32_t at = 0; at < 28; at += step)                                                                         \
        fill(seed), loop_##name(words, (void *)(uintptr_t)at, 9), show(#name);
    EACH_WITH_STORES(RUN_WITH_STORES)
}

static uint32_t *word_of_loop;
static sigjmp_buf back;

static void on_alarm(int number)
{
    *word_of_loop = 1000 + (uint32_t)number;
}

static void on_fault(int number)
{
    printf("fault            %d %08x\n", number, *(uint32_t *)(uintptr_t)words[0]);
    siglongjmp(back, 1);
}

static void on_closed_page(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    *(uint32_t *)(uintptr_t)words[0] += 1000;
    mprotect((void *)((uintptr_t)info->si_addr & ~(uintptr_t)4095), 4096, PROT_READ);
}

static void run_over_closed_pages(void)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO};
    action.sa_sigaction = on_closed_page;
    sigaction(SIGSEGV, &action, 0);
    char *closed = mmap(0, 6 * 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    fill(0), loop_handled(words, closed, 12), show("handled");
    mprotect(closed, 6 * 4096, PROT_NONE);
    page[0] = 0, words[0] = (uint32_t)(uintptr_t)page;
    loop_handled_global(words, closed, 12), printf("handled_global   %08x\n", page[0]);
}

static void run_handlers(void)
{
    struct itimerval once = {{0, 0}, {0, 30000}};
    fill(0), words[6] = 0;
    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &once, 0);
    loop_until_handled(words, &word_of_loop, 0);
    show("until_handled");
    signal(SIGSEGV, on_fault);
    char *two = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(two + 4096, 4096);
    for (volatile uint32_t at = 4096 - 48; at < 4096; at += 12)
        if (!sigsetjmp(back, 1))
            fill(0), loop_faults(words, two + at, 100);
    if (!sigsetjmp(back, 1))
        loop_faults_at_once(words, two + 4088, 9);
    fill(0), loop_not_there(words, two + 4096, 200), show("not_there");
    fill(0), loop_set_again(words, two + 4096, 200), show("set_again");
    run_over_closed_pages();
}

static int run_page(void)
{
    uint32_t *a = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mmap(a, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, 0, 0);
    uint32_t *b = mmap(a + 1024, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, 0, 0);
    loop_mapped_twice(words, a, ((uintptr_t)a ^ (uintptr_t)b) + 9), printf("mapped_twice     %08x\n", *a);
    *a = 0, loop_far_apart(words, a, 9), printf("far_apart        %08x\n", *a);
    *a = 0;
    int child = fork();
    if (child == 0)
        for (;;)
            *(volatile uint32_t *)b = 1;
    loop_until_others(words, a, 0);
    kill(child, SIGKILL);
    waitpid(child, 0, 0);
    printf("until_others     %08x\n", *a & 1);
    return 0;
}

int main(int count, char **arguments)
{
    if (count > 1 && arguments[1][0] == 'p')
        return run_page();
    uint32_t step = arguments[1] ? 4 : 1; /* qemu takes no words from odd places */
    run_each(0, step), run_each(0x3f800000, step), run_each(0x40490fdb, step);
    if (step == 1)
        run_each(0x7f812345, step); /* NaNs, of which it has its own */
    for (uint32_t i = 0; i < 40; i += 3)
        page[0] = i, loop_by_pointer(words, page, i + 1), printf("by_pointer       %08x\n", page[0]);
    run_handlers();
    return 0;
}
