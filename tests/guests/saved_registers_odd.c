/* Functions that call themselves, one for each CASE, whose loads fault though nobody needs them, or which return oddly.
 *
 * Without a libc. Called with memory that is there, and with some that is not. */
#include "registers.h"

#ifdef __MIPSEB__
#define LEFT "0"
#define RIGHT "3"
#else
#define LEFT "3"
#define RIGHT "0"
#endif
#define PUT \
    "addiu $t3,$s0,100\n addiu $t4,$s0,2000\n addiu $t5,$s0,30000\n sw $t3,0($sp)\n sw $t4,4($sp)\n sw $t5,8($sp)\n"
#define TAKE "lw $t3,0($sp)\n lw $t4,4($sp)\n lw $t5,8($sp)\n"
#define LATER "b 3f\n nop\n3: "
#define TAKE_SUM TAKE "addu $v0,$v0,$t3\n addu $v0,$v0,$t4\n addu $v0,$v0,$t5\n"
#define LATE_RA "1: addiu $ra,$ra,8\n lw $s0,24($sp)\n lw $s1,20($sp)\n addiu $sp,$sp,32\n jr $ra\n lw $ra,-4($sp)\n"

#if CASE == 1 /* a load where the function returns at once */
FUNCTION(f, ENTER "beqz $a0,1f\n move $s0,$a0\n jal f\n addiu $a0,$a0,-1\n li $t2,3\n addu $v0,$v0,$t2\n" LEAVE
            "1: lw $t2,0($a1)\n li $v0,4\n" LEAVE);
#elif CASE == 2 /* in the slot of the branch that decides it */
FUNCTION(f, ENTER "beqz $a0,1f\n lw $v1,0($a1)\n move $s0,$a0\n jal f\n addiu $a0,$a0,-1\n li $v1,3\n addu $v0,$v0,$v1\n" LEAVE
            "1: li $v0,4\n" LEAVE);
#elif CASE == 3 /* before a call that returns at once */
FUNCTION(f, ENTER "beqz $a0,1f\n move $s0,$a0\n lw $t2,0($a1)\n jal f\n addiu $a0,$a0,-1\n li $t2,3\n addu $v0,$v0,$t2\n" LEAVE
            "1: li $v0,4\n" LEAVE);
#elif CASE == 4 /* of a register that is written again after the call */
FUNCTION(f, ENTER LATER "move $s0,$a0\n beqz $a0,1f\n li $v0,0\n" PUT "lw $t3,0($a1)\n jal f\n addiu $a0,$s0,-1\n" TAKE_SUM
            "1: " LEAVE);
#elif CASE == 5 /* the same, before the return */
FUNCTION(f, ENTER LATER "move $s0,$a0\n beqz $a0,1f\n li $v0,0\n" PUT "jal f\n addiu $a0,$s0,-1\n" TAKE_SUM LEAVE
            "1: lw $t3,0($a1)\n" LEAVE);
#elif CASE == 6 /* ra is loaded back in the slot of a return to elsewhere */
FUNCTION(f, ENTER LATER "move $s0,$a0\n beqz $a0,1f\n li $v0,0\n jal f\n addiu $a0,$s0,-1\n"
            "addiu $v0,$v0,100\n addiu $v0,$v0,100\n addiu $v0,$v0,7\n" LEAVE LATE_RA);
#elif CASE == 7 /* the same, with temporaries on the stack */
FUNCTION(f, ENTER LATER "move $s0,$a0\n beqz $a0,1f\n li $v0,0\n" PUT "jal f\n addiu $a0,$s0,-1\n" TAKE_SUM LEAVE LATE_RA);
#elif CASE == 8 /* halves of an unaligned word */
FUNCTION(f, ENTER "beqz $a0,1f\n move $s0,$a0\n jal f\n addiu $a0,$a0,-1\n li $t2,3\n addu $v0,$v0,$t2\n" LEAVE
            "1: lwl $t2," LEFT "($a1)\n lwr $t2," RIGHT "($a1)\n li $v0,4\n" LEAVE);
#endif

__attribute__((used)) static void begin(void)
{
    uint32_t words[4] = {0};
    show("there", f(1, words));
    show("not there", f(1, (uint32_t *)16));
    register uintptr_t v0 __asm__("$2") = 4001, a0 __asm__("$4") = 0;
    __asm__ volatile("syscall" : : "r"(v0), "r"(a0) : "$7");
}

__asm__(".globl __start\n.ent __start\n.type __start,@function\n__start:\n.set noreorder\n li $s0,0\n jal begin\n nop\n break\n"
        ".set reorder\n.end __start\n");
