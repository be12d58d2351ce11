/* Faults whose handler repairs the page and returns: the access is made again, as if nothing had been, wherever it stands.
 * Prints for each kind of access what it gave, and how many faults it took. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define PAGE 4096
#define ROUNDS 8
#define NEAR 256 /* bytes before and behind the start of the middle page: all that is accessed */
#define RW (PROT_READ | PROT_WRITE)
#define OWN __attribute__((noipa))
#define CODE(name, text)                                                                                             \
    unsigned name(unsigned char *at, unsigned value);                                                                \
    __asm__(".text\n.align 2\n.globl " #name "\n.ent " #name "\n.type " #name ", @function\n" #name ":\n.set push\n" \
            ".set noreorder\n" text "\n.set pop\n.end " #name "\n.size " #name ", . - " #name "\n")

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define FIRST "0"
#define LAST "3"
#else
#define FIRST "3"
#define LAST "0"
#endif

static unsigned char *pages; /* three, of which the middle one comes and goes */
static volatile int faults, by_mapping;

static void repair(int number, siginfo_t *info, void *context)
{
    unsigned char *page = (unsigned char *)((uintptr_t)info->si_addr & -PAGE);
    (void)number, (void)context;
    faults++;
    if (page != pages + PAGE)
        signal(SIGSEGV, SIG_DFL);
    if (by_mapping) {
        mmap(page, PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        for (int i = 0; i < NEAR; i++)
            page[i] = (unsigned char)(i * 7 + 1);
    } else
        mprotect(page, PAGE, RW);
}

CODE(load, "jr $31\n lw $2, 0($4)");
CODE(load_base, "lw $4, 0($4)\n jr $31\n addu $2, $4, $5");
CODE(load_byte, "lb $2, 1($4)\n jr $31\n nop");
CODE(load_half, "lhu $2, 2($4)\n addu $2, $2, $5\n jr $31\n nop");
CODE(store, "sw $5, 4($4)\n move $2, $5\n jr $31\n nop");
CODE(store_slot, "move $2, $5\n jr $31\n sw $5, 8($4)");
CODE(store_byte, "sb $5, 3($4)\n lw $2, 0($4)\n jr $31\n nop");
CODE(unaligned_load, "move $2, $5\n lwl $2, 1+" FIRST "($4)\n lwr $2, 1+" LAST "($4)\n jr $31\n nop");
CODE(unaligned_swapped, "move $2, $5\n lwr $2, 1+" LAST "($4)\n lwl $2, 1+" FIRST "($4)\n jr $31\n nop");
CODE(unaligned_base, "lwl $4, 3+" FIRST "($4)\n jr $31\n move $2, $4");
CODE(unaligned_store, "swl $5, 1+" FIRST "($4)\n swr $5, 1+" LAST "($4)\n lbu $2, 2($4)\n jr $31\n addu $2, $2, $5");
CODE(unaligned_slot, "move $2, $5\n lwl $2, 2+" FIRST "($4)\n jr $31\n lwr $2, 2+" LAST "($4)");
CODE(edge_load, "addiu $4, $4, -2\n move $2, $5\n lwl $2, " FIRST "($4)\n lwr $2, " LAST "($4)\n jr $31\n nop");
CODE(edge_store, "addiu $4, $4, -2\n swl $5, " FIRST "($4)\n swr $5, " LAST "($4)\n lhu $2, 2($4)\n jr $31\n nop");
CODE(taken, "li $2, 5\n beq $0, $0, 1f\n lw $2, 12($4)\n li $2, 9\n1: jr $31\n addiu $2, $2, 1");
CODE(untaken, "li $2, 5\n bne $0, $0, 1f\n lw $2, 12($4)\n addiu $2, $2, 9\n1: jr $31\n addiu $2, $2, 1");
CODE(likely, "li $2, 5\n beql $0, $0, 1f\n lw $2, 16($4)\n li $2, 9\n1: jr $31\n addiu $2, $2, 1");
CODE(on_condition, "andi $2, $5, 1\n bne $2, $0, 1f\n lw $2, 12($4)\n addiu $2, $2, 9\n1: jr $31\n addiu $2, $2, 1");
CODE(overwritten, "move $2, $4\n bne $2, $0, 1f\n lw $2, 20($2)\n li $2, 0\n1: jr $31\n xor $2, $2, $5");
CODE(called, "move $9, $31\n bal 1f\n lw $2, 24($4)\n addiu $2, $2, 2\n jr $9\n nop\n1: jr $31\n"
     "addiu $2, $2, 1");
CODE(by_register, "la $8, 1f\n jr $8\n lw $8, 28($4)\n nop\n1: jr $31\n addu $2, $8, $5");
CODE(linked, "1: ll $2, 32($4)\n addu $3, $2, $5\n sc $3, 32($4)\n beqz $3, 1b\n nop\n lw $2, 32($4)\n"
     "jr $31\n nop");
CODE(doubles, "ldc1 $f2, 40($4)\n add.d $f2, $f2, $f2\n sdc1 $f2, 48($4)\n lw $2, 52($4)\n lw $3, 48($4)\n"
     "jr $31\n addu $2, $2, $3");
CODE(singles, "mtc1 $5, $f4\n swc1 $f4, 56($4)\n lwc1 $f0, 56($4)\n mfc1 $2, $f0\n jr $31\n nop");
CODE(sum, "move $2, $0\n addiu $4, $4, -64\n addiu $3, $4, 128\n1: lw $8, 0($4)\n addiu $4, $4, 4\n"
     "bne $4, $3, 1b\n addu $2, $2, $8\n jr $31\n nop");
CODE(sum_slot, "move $2, $0\n addiu $4, $4, -64\n addiu $3, $4, 128\n1: addiu $4, $4, 4\n addu $2, $2, $5\n"
     "bne $4, $3, 1b\n lw $5, -4($4)\n jr $31\n addu $2, $2, $5");
CODE(fill, "addiu $4, $4, -64\n addiu $3, $4, 128\n1: sw $5, 0($4)\n addiu $5, $5, 3\n addiu $4, $4, 4\n"
     "bne $4, $3, 1b\n sb $5, -1($4)\n jr $31\n lw $2, -8($4)");
CODE(copy, "addiu $3, $4, 64\n1: lwl $2, -63+" FIRST "($4)\n lwr $2, -63+" LAST "($4)\n"
     "swl $2, 1+" FIRST "($4)\n swr $2, 1+" LAST "($4)\n addiu $4, $4, 4\n bne $4, $3, 1b\n nop\n"
     "jr $31\n addu $2, $2, $5");
CODE(pair, "lw $8, 0($4)\n lw $9, 4($4)\n sw $9, 0($4)\n sw $8, 4($4)\n jr $31\n subu $2, $8, $9");
CODE(indirect, "sw $5, 0($4)\n sw $4, 4($4)\n lw $8, 4($4)\n lw $2, 0($8)\n jr $31\n addu $2, $2, $5");

static OWN unsigned leaf(unsigned char *at, unsigned value) { return *(volatile unsigned *)at + value; }

static OWN unsigned leaf_store(unsigned char *at, unsigned value) { return *(volatile unsigned *)at = value * 3; }

static OWN unsigned nested(unsigned char *at, unsigned value)
{
    unsigned total = value;
    for (int i = 0; i < 8; i++) {
        total = total * 31 + leaf(at + 4 * i, value);
        if ((i & 3) == 3)
            mprotect(pages + PAGE, PAGE, PROT_NONE);
    }
    return total;
}

static OWN unsigned blocks(unsigned char *at, unsigned value)
{
    unsigned char bytes[100];
    memcpy(at - 50, at + 50 + (value & 3), 100);
    memcpy(bytes, at - 50, 100);
    memset(at - 8, (int)value, 30);
    return bytes[0] + bytes[99] * 256u + at[20];
}

static OWN unsigned structure(unsigned char *at, unsigned value)
{
    struct __attribute__((packed)) odd {
        char byte;
        unsigned word;
        long long both;
        short half;
    } *it = (struct odd *)(at - 6);
    it->word += value, it->both ^= (long long)value << 20, it->half++;
    return it->word + (unsigned)it->both + (unsigned)(it->both >> 32) + (unsigned)it->half;
}


typedef unsigned accesses(unsigned char *, unsigned);
static const struct {
    const char *name;
    accesses *run;
} kinds[] = {
#define K(name) {#name, name}
    K(load), K(load_base), K(load_byte), K(load_half), K(store), K(store_slot), K(store_byte),
    K(unaligned_load), K(unaligned_swapped), K(unaligned_base), K(unaligned_store), K(unaligned_slot),
    K(edge_load), K(edge_store), K(taken), K(untaken), K(likely), K(on_condition), K(overwritten), K(called),
    K(by_register), K(linked), K(doubles), K(singles), K(sum), K(sum_slot), K(fill), K(copy), K(pair),
    K(indirect), K(leaf), K(leaf_store), K(nested), K(blocks), K(structure),
};

int main(void)
{
    struct sigaction action = {.sa_sigaction = repair, .sa_flags = SA_SIGINFO};
    pages = mmap((void *)0x20000000, 3 * PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    sigaction(SIGSEGV, &action, NULL);
    for (unsigned kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        unsigned long long given = 0;
        faults = 0;
        for (int round = 0; round < ROUNDS; round++) {
            by_mapping = round & 1;
            for (int i = PAGE - NEAR; i < PAGE + NEAR; i++)
                pages[i] = (unsigned char)(i * 7 + 1);
            if (round & 2) {
                if (by_mapping)
                    munmap(pages + PAGE, PAGE);
                else
                    mprotect(pages + PAGE, PAGE, round & 4 ? PROT_READ : PROT_NONE);
            }
            given = given * 31 + kinds[kind].run(pages + PAGE, 1000003u * (unsigned)round + 7);
            mprotect(pages + PAGE, PAGE, RW);
            for (int i = PAGE - NEAR; i < PAGE + NEAR; i++)
                given = given * 31 + pages[i];
        }
        printf("%s: %016llx, %d faults\n", kinds[kind].name, given, faults);
    }
    return 0;
}
