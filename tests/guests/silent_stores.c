/* Stores that put back what was loaded from the same place, on a page that can be read only: all fault. Then, on one
 * that can be written, each leaves it as it was. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#ifdef __MIPSEB__
#define HIGH "0"
#define LOW "3"
#define LAST_BYTE "3"
#else
#define HIGH "3"
#define LOW "0"
#define LAST_BYTE "0"
#endif

#define WAYS(way)                                                                                                      \
    way(word, "lw $t1,8($a0); sw $t1,8($a0)")                                                                          \
    way(half, "lhu $t1,8($a0); andi $t1,$t1,0xffff; sh $t1,8($a0)")                                                    \
    way(byte, "lbu $t1,8($a0); sll $t2,$t1,24; sra $t2,$t2,24; sb $t2,8($a0)")                                         \
    way(signed_byte, "lb $t1,8($a0); sb $t1,8($a0)")                                                                   \
    way(byte_of_word, "lw $t1,8($a0); addiu $t2,$a0,8; sb $t1," LAST_BYTE "($t2)")                                     \
    way(single, "lwc1 $f0,8($a0); swc1 $f0,8($a0)")                                                                    \
    way(two_doubles, "ldc1 $f0,8($a0); ldc1 $f2,16($a0); sdc1 $f2,16($a0)")                                            \
    way(to_single, "lw $t1,8($a0); mtc1 $t1,$f0; swc1 $f0,8($a0)")                                                     \
    way(parts, "lwl $t1,9+" HIGH "($a0); lwr $t1,9+" LOW "($a0); swl $t1,9+" HIGH "($a0); swr $t1,9+" LOW "($a0)")     \
    way(moved, "lw $t1,8($a0); move $t2,$t1; move $t3,$a0; sw $t2,8($t3)")                                             \
    way(stepped, "lw $t1,8($a0); addiu $a0,$a0,16; sw $t1,-8($a0)")                                                    \
    way(base_twice, "sw $a0,-4($sp); lw $t0,-4($sp); lw $t1,8($t0); lw $t0,-4($sp); sw $t1,8($t0)")                    \
    way(run, "lw $t0,0($a0); lw $t1,4($a0); lw $t2,8($a0); lw $t3,12($a0);"                                            \
             "sw $t0,0($a0); sw $t1,4($a0); sw $t2,8($a0); sw $t3,12($a0)")                                            \
    way(loop, "addiu $t0,$a0,64; 1: lw $t1,0($a0); addiu $a0,$a0,4; bne $a0,$t0,1b; sw $t1,-4($a0)")

#define CODE(name, text)                                                                                               \
    __asm__(".set noreorder\n.text\n.globl w_" #name "\n.ent w_" #name "\nw_" #name ":\n" text                         \
            "\njr $ra\nnop\n.end w_" #name "\n.set reorder\n");                                                        \
    void w_##name(void *);
WAYS(CODE)

#define ENTRY(name, text) {#name, w_##name},
static const struct {
    const char *name;
    void (*store)(void *);
} ways[] = {WAYS(ENTRY)};

static sigjmp_buf before;

static void leave(int number)
{
    siglongjmp(before, number);
}

int main(void)
{
    unsigned char *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), copy[64];
    for (unsigned at = 0; at < sizeof copy; at++)
        page[at] = copy[at] = (unsigned char)(at * 37);
    signal(SIGSEGV, leave);
    for (volatile unsigned way = 0; way < sizeof ways / sizeof *ways; way++) {
        mprotect(page, 4096, PROT_READ);
        int number = sigsetjmp(before, 1);
        if (number == 0)
            ways[way].store(page);
        mprotect(page, 4096, PROT_READ | PROT_WRITE);
        ways[way].store(page);
        printf("%s: signal %d, %s\n", ways[way].name, number, memcmp(page, copy, 64) ? "changed" : "as it was");
    }
    return 0;
}
