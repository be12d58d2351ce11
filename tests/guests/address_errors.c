/* Accesses that no program should make, in MIPS16 code: what the kernel mends, and its signals.
 *
 * Each case prints its name, then a result, or si_signo, si_code, si_addr and the pc. The pc is
 * printed as what it is behind the start of the case's function. */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { PAGE = 4096, DATA = 0x20000000 };
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
    else
        printf("%d %d %08x at +%u\n", seen.number, seen.code, (unsigned)seen.address, (unsigned)(seen.pc - start));
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
    return 0;
}
