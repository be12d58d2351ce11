/* Saves registers across the edge of a page that is not there; a handler makes it, and the saves are done again. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

static char *second;
static int faults;

static void handler(int number, siginfo_t *info, void *context)
{
    (void)number, (void)context;
    faults += (char *)info->si_addr >= second && (char *)info->si_addr < second + 4096;
    mprotect(second, 4096, PROT_READ | PROT_WRITE);
}

uint32_t save(uint32_t *at);
__asm__(".text\n.globl save\n.ent save\n.type save,@function\nsave:\n.set noreorder\n"
        "addiu $sp,$sp,-40\n sw $s2,16($sp)\n sw $s3,20($sp)\n sw $s4,24($sp)\n sw $s5,28($sp)\n"
        "li $s2,0x01020304\n li $s3,0x11121314\n li $s4,0x21222324\n li $s5,0x31323334\n b 1f\n nop\n 1:\n"
        "sw $s5,12($a0)\n move $s5,$a0\n sw $s3,4($a0)\n sw $s4,8($a0)\n addiu $v0,$s4,1\n sw $s2,0($a0)\n"
        "lw $s5,28($sp)\n lw $s4,24($sp)\n lw $s3,20($sp)\n lw $s2,16($sp)\n jr $ra\n addiu $sp,$sp,40\n"
        ".set reorder\n.end save\n.size save,.-save\n");

int main(void)
{
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
    for (int before = 0; before <= 16; before += 4) {
        char *first = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        second = first + 4096;
        mprotect(second, 4096, PROT_NONE);
        faults = 0;
        uint32_t *at = (uint32_t *)(second - before);
        uint32_t result = save(at);
        printf("%d %x %x %x %x %x\n", faults, result, at[0], at[1], at[2], at[3]);
        munmap(first, 8192);
    }
    return 0;
}
