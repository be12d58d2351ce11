/* Accesses and jumps that no program should make, in MIPS16 and MIPS32 code: what the kernel mends, and its signals.
 *
 * Each case prints its name, then a result, or si_signo, si_code, si_addr and the pc. A pc in the case's own function is
 * printed as what it is behind its start. */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/cachectl.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { PAGE = 4096, DATA = 0x20000000, CODE = 0x30000000, NOWHERE = 0x10000000, BARRED = 0x28000000 };
enum { KERNEL = (int)0x80000000 };

#define FUNCTION(name, kind, body)                                                                                     \
    uint32_t name(uint32_t);                                                                                           \
    __asm__(".set push\n.set " kind "\n.set noreorder\n.align 2\n.globl " #name "\n.ent " #name "\n.type " #name       \
            ", @function\n" #name ":\n.insn\n" body ".end " #name "\n.size " #name ", . - " #name "\n.set pop\n")

#define SHORT_ACCESS(name, access) FUNCTION(name, "mips16", access "\njr $31\nnop\n")
SHORT_ACCESS(load_word, "lw $2, 0($4)");
SHORT_ACCESS(load_half, "lh $2, 0($4)");
SHORT_ACCESS(load_unsigned, "lhu $2, 0($4)");
SHORT_ACCESS(load_byte, "lb $2, 0($4)");
SHORT_ACCESS(load_extended, "lw $2, 101($4)");
SHORT_ACCESS(store_word, "li $2, 9\nsw $2, 0($4)");
SHORT_ACCESS(store_half, "li $2, 8\nsh $2, 0($4)");
SHORT_ACCESS(load_relative, ".half 0xf000, 0xb201"); /* lw $2, 1($pc) */
SHORT_ACCESS(load_relative_nowhere, ".half 0xf7f1, 0xb21f"); /* lw $2, -0x7001($pc): below the program */
SHORT_ACCESS(load_and_store, "lw $2, 0($4)\naddiu $2, 1\nsw $2, 0($4)\nli $2, 3");
SHORT_ACCESS(load_and_store_later, "lw $2, 0($4)\naddiu $2, 1000\nmove $3, $5\nsw $2, 0($4)\nli $2, 3");
SHORT_ACCESS(load_and_store_soon, "addiu $2, 1000\nlh $2, 0($4)\naddu $2, $5, $2\nsh $2, 0($4)\nli $2, 3");
FUNCTION(load_in_slot, "mips16", "jr $31\nlw $2, 0($4)\n");

#define SP_ACCESS(name, access) \
    FUNCTION(name, "mips16", "move $3, $29\nmove $29, $4\n" access "\nmove $4, $29\nmove $29, $3\njr $31\nnop\n")
SP_ACCESS(load_by_sp, "lw $2, 4($29)");
SP_ACCESS(store_by_sp, "li $2, 7\nsw $2, 4($29)");
SP_ACCESS(save_two, ".half 0x64e4");             /* save 32, ra, s0 */
SP_ACCESS(save_argument, ".half 0xf004, 0x6484"); /* save a0, 32 */
SP_ACCESS(save_nothing, ".half 0x6484\nmove $2, $29");
SP_ACCESS(restore_two, ".half 0x6464");
SP_ACCESS(restore_static, ".half 0xf001, 0x6404"); /* restore 32, a3 */
SP_ACCESS(restore_nothing, ".half 0x6404\nmove $2, $29");

FUNCTION(long_jump, "nomips16", "jr $4\nnop\n");
FUNCTION(long_call, "nomips16", "move $3, $31\njalr $4\nnop\njr $3\nnop\n");
FUNCTION(short_jump, "mips16", "jr $4\nnop\n");
FUNCTION(short_compact, "mips16", ".half 0xec80\n"); /* jrc a0 */
FUNCTION(short_call, "mips16", "move $3, $31\njalr $4\nnop\njr $3\nnop\n");
FUNCTION(exchange_to_short, "nomips16", ".word 0x74000000 | 0x0ffffffc >> 2\nnop\n");      /* jalx 0x0ffffffc */
FUNCTION(exchange_to_long, "mips16", ".half 0x1fff, 0xffff\nnop\n");                        /* jalx 0x0ffffffc */
FUNCTION(is_long, "nomips16", "ori $2, $0, 0xe801\njr $31\nnop\n");                       /* 0xe801 is no MIPS16 code */
FUNCTION(extended_jump, "mips16", "move $2, $4\n.half 0xf000, 0xe8a0\n"); /* extend; jrc ra */
FUNCTION(extended_twice, "mips16", "move $2, $4\n.half 0xf000, 0xf000, 0x6500\n");
FUNCTION(extended_move, "mips16", "move $2, $4\n.half 0xf000, 0x6500\n"); /* extend; nop */

static struct {
    sigjmp_buf back;
    int number, code;
    uint32_t address, pc;
} seen;

static void on_signal(int number, siginfo_t *info, void *context)
{
    seen.number = number;
    seen.code = info->si_code;
    seen.address = (uint32_t)(uintptr_t)info->si_addr;
    seen.pc = (uint32_t)((ucontext_t *)context)->uc_mcontext.pc;
    siglongjmp(seen.back, 1);
}

static void try(const char *name, uint32_t (*function)(uint32_t), uint32_t argument)
{
    uint32_t start = (uint32_t)(uintptr_t)function & ~1u;
    printf("%s %08x: ", name, (unsigned)argument);
    fflush(stdout);
    if (sigsetjmp(seen.back, 1) == 0)
        printf("%08x\n", (unsigned)function(argument));
    else if (seen.pc - start < 64)
        printf("%d %d %08x at +%u\n", seen.number, seen.code, (unsigned)seen.address, (unsigned)(seen.pc - start));
    else
        printf("%d %d %08x at %08x\n", seen.number, seen.code, (unsigned)seen.address, (unsigned)seen.pc);
}
#define TRY(function, argument) try(#function, function, (uint32_t)(argument))

static uint8_t *map(uint32_t at, uint32_t size_bytes, int protection)
{
    return mmap((void *)(uintptr_t)at, size_bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
}

static void accesses(void)
{
    uint8_t *data = map(DATA, PAGE, PROT_READ | PROT_WRITE);
    for (int i = 0; i < PAGE; i++)
        data[i] = (uint8_t)(i * 7 + 128);
    TRY(load_word, DATA + 1);
    TRY(load_half, DATA + 3);
    TRY(load_unsigned, DATA + 5);
    TRY(load_extended, DATA + 4);
    TRY(load_in_slot, DATA + 2);
    TRY(load_relative, 0);
    TRY(store_word, DATA + 9);
    TRY(store_half, DATA + 15);
    TRY(load_by_sp, DATA + 1);
    TRY(store_by_sp, DATA + 17);
    for (int i = 0; i < 24; i++)
        printf("%02x", data[i]);
    printf("\n");
    TRY(load_half, DATA + PAGE + 1);
    TRY(load_relative_nowhere, 0);
    TRY(load_and_store, NOWHERE);
    TRY(load_and_store_later, NOWHERE);
    TRY(load_and_store_soon, NOWHERE);
    mprotect(data, PAGE, PROT_READ);
    TRY(load_and_store, DATA);
    TRY(load_and_store_later, DATA);
    TRY(load_and_store_soon, DATA);
    mprotect(data, PAGE, PROT_READ | PROT_WRITE);
    TRY(load_word, KERNEL);
    TRY(load_word, KERNEL + 1);
    TRY(load_byte, KERNEL);
    TRY(store_half, KERNEL + 1);
}

static void frames(void)
{
    for (int off = 1; off < 4; off++) {
        TRY(save_two, DATA + 64 + off);
        TRY(save_argument, DATA + 64 + off);
        TRY(save_nothing, DATA + 64 + off);
        TRY(restore_two, DATA + 64 + off);
        TRY(restore_static, DATA + 64 + off);
        TRY(restore_nothing, DATA + 64 + off);
    }
    TRY(save_two, DATA);
    TRY(save_two, DATA + 4);
    TRY(save_argument, DATA + PAGE);
    TRY(save_two, 0);
    TRY(save_two, KERNEL + 4);
    TRY(restore_two, DATA + PAGE - 28);
    TRY(restore_two, DATA - 28);
    TRY(restore_static, KERNEL - 28);
    TRY(restore_two, DATA + PAGE + 2);
}

static void jumps(void)
{
    static uint32_t (*const ways[])(uint32_t) = {long_jump, long_call, short_jump, short_compact, short_call};
    static const char *const names[] = {"long_jump", "long_call", "short_jump", "short_compact", "short_call"};
    static const uint32_t targets[] = {
        KERNEL, KERNEL + 1, KERNEL + 2, 0xfffffffc, 0xffffffff, NOWHERE, NOWHERE + 1, NOWHERE + 2, NOWHERE + 3,
        BARRED, BARRED + 1, 0, 1, 0x7fffeffd,
    };
    map(BARRED, PAGE, PROT_NONE);
    for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++)
        for (unsigned j = 0; j < sizeof targets / sizeof *targets; j++)
            try(names[i], ways[i], targets[j]);
    TRY(exchange_to_short, 0);
    TRY(exchange_to_long, 0);
    TRY(extended_jump, 0);
    TRY(extended_twice, 0);
    TRY(extended_move, 0);
    TRY(is_long, 0);
    try("not short", (uint32_t (*)(uint32_t))((uintptr_t)is_long | 1), 0);
}

/* Code that ends with a page, of halves. */
static void at_the_end(const char *name, unsigned count, uint16_t first, uint16_t second, int is_short)
{
    uint8_t *end = (uint8_t *)(uintptr_t)(CODE + PAGE);
    const uint16_t halves[] = {first, second};
    memcpy(end - 2 * count, halves, 2 * count);
    cacheflush(end - 2 * count, 2 * (int)count, BCACHE);
    try(name, (uint32_t (*)(uint32_t))((uintptr_t)(end - 2 * count) + (uintptr_t)is_short), 0);
}

static void ends_of_pages(void)
{
    map(CODE, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
    for (int barred = 0; barred < 2; barred++) {
        at_the_end("extend", 1, 0xf000, 0, 1);
        at_the_end("jal", 1, 0x1800, 0, 1);
        at_the_end("jr ra", 1, 0xe820, 0, 1);
        at_the_end("nop", 1, 0x6500, 0, 1);
#ifdef __MIPSEB__
        at_the_end("jr ra long", 2, 0x03e0, 0x0008, 0);
#else
        at_the_end("jr ra long", 2, 0x0008, 0x03e0, 0);
#endif
        map(CODE + PAGE, PAGE, PROT_NONE);
    }
}

/* Pages that may be read, and not executed. */
static void data_as_code(void)
{
    static const int protections[] = {PROT_READ | PROT_WRITE, PROT_READ, PROT_NONE};
    uint32_t *code = (uint32_t *)map(CODE, PAGE, PROT_READ | PROT_WRITE);
    code[0] = 0x03e00008; /* jr ra */
    code[1] = 0x34020009; /* ori v0, zero, 9 */
    ((uint16_t *)code)[4] = 0xe820; /* the same as MIPS16 code */
    ((uint16_t *)code)[5] = 0x6a09;
    cacheflush(code, 12, BCACHE);
    for (int i = 0; i < 3; i++) {
        mprotect(code, PAGE, protections[i]);
        try("data", (uint32_t (*)(uint32_t))(uintptr_t)code, (uint32_t)protections[i]);
        try("short data", (uint32_t (*)(uint32_t))((uintptr_t)code + 9), (uint32_t)protections[i]);
    }
}

int main(void)
{
    static char room[1 << 16];
    stack_t stack = {.ss_sp = room, .ss_size = sizeof room};
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaltstack(&stack, NULL);
    for (int i = 0; i < 3; i++)
        sigaction((const int[]){SIGSEGV, SIGBUS, SIGILL}[i], &action, NULL);
    accesses();
    frames();
    jumps();
    ends_of_pages();
    data_as_code();
    return 0;
}
