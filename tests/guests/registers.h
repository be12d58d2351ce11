/* What guests that are written in assembly, without a libc, print with, and how they save registers. */
#include <stdint.h>

static void put(const char *text, uint32_t size)
{
    register uintptr_t v0 __asm__("$2") = 4004, a0 __asm__("$4") = 1, a1 __asm__("$5") = (uintptr_t)text;
    register uintptr_t a2 __asm__("$6") = size, a3 __asm__("$7");
    __asm__ volatile("syscall" : "+r"(v0), "=r"(a3) : "r"(a0), "r"(a1), "r"(a2)
                     : "$1", "$3", "$8", "$9", "$10", "$11", "$12", "$13", "$14", "$15", "$24", "$25", "hi", "lo", "memory");
}

static void show(const char *name, uint32_t value)
{
    char line[40];
    uint32_t size = 0;
    while (*name)
        line[size++] = *name++;
    line[size++] = ' ';
    for (int shift = 28; shift >= 0; shift -= 4)
        line[size++] = "0123456789abcdef"[value >> shift & 15];
    line[size++] = '\n';
    put(line, size);
}

#define FUNCTION(name, body) \
    uint32_t name(uint32_t, uint32_t *); \
    __asm__(".text\n.align 2\n.globl " #name "\n.ent " #name "\n.type " #name ",@function\n" #name \
            ":\n.set noreorder\n" body "\n.set reorder\n.end " #name "\n.size " #name ",.-" #name "\n")
#define ENTER "addiu $sp,$sp,-32\n sw $ra,28($sp)\n sw $s0,24($sp)\n sw $s1,20($sp)\n"
#define RESTORE "lw $ra,28($sp)\n lw $s0,24($sp)\n lw $s1,20($sp)\n"
#define LEAVE RESTORE "jr $ra\n addiu $sp,$sp,32\n"
