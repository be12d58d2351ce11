/* Functions that save registers on the stack and are called by others: each prints what its caller finds afterwards.
 *
 * Without a libc. The functions are written in assembly, so that their frames are as the cases need them. */
#include "registers.h"

/* Returns a0 + 1, by way of s0; what each of the others calls. */
FUNCTION(plain, ENTER "move $s0,$a0\n addiu $v0,$s0,1\n" LEAVE);

/* Stores a0 to where its caller's s0 is saved. */
FUNCTION(overwrites, ENTER "sw $a0,24($sp)\n li $v0,0\n" LEAVE);

/* The same through a pointer, from a function that it calls. */
FUNCTION(store, "sw $a0,0($a1)\n jr $ra\n nop\n");
FUNCTION(overwrites_far, ENTER "addiu $a1,$sp,24\n jal store\n nop\n li $v0,0\n" LEAVE);

/* After s0 is loaded back, stores to where it was: the caller must not see that. */
FUNCTION(stores_late, ENTER "move $t0,$sp\n" RESTORE "sw $a0,24($t0)\n li $v0,0\n jr $ra\n addiu $sp,$sp,32\n");
FUNCTION(stores_bytes_late, ENTER "addiu $t0,$sp,27\n" RESTORE "sb $a0,0($t0)\n sb $a0,-3($t0)\n li $v0,0\n"
                            "jr $ra\n addiu $sp,$sp,32\n");

/* Stores by a pointer that has nothing to do with the frame, as the code of a compiler does. */
FUNCTION(stores_elsewhere, ENTER "move $s0,$a0\n addiu $v0,$s0,2\n" RESTORE "sw $v0,0($a1)\n jr $ra\n addiu $sp,$sp,32\n");

/* Its return address is changed on the stack: it returns eight bytes further on. */
FUNCTION(skips, ENTER "addiu $t0,$ra,8\n sw $t0,28($sp)\n li $v0,0\n" LEAVE);

/* Stores before it saves: the save comes later and stays. a1 points to below the stack, where the frame will be. */
FUNCTION(saves_late, "addiu $sp,$sp,-32\n sw $ra,28($sp)\n sw $a0,0($a1)\n sw $s0,24($sp)\n sw $s1,20($sp)\n"
                     "lw $v0,0($a1)\n move $s0,$a0\n" LEAVE);

/* Two ways back, one of which leaves s1 changed. */
FUNCTION(sometimes, ENTER "li $s0,1\n li $s1,77\n beqz $a0,1f\n nop\n" LEAVE
                    "1: lw $ra,28($sp)\n lw $s0,24($sp)\n li $v0,0\n jr $ra\n addiu $sp,$sp,32\n");

/* Reads the frame of its caller, as an unwinder does. */
FUNCTION(peeks, "lw $v0,24($sp)\n jr $ra\n nop\n");
FUNCTION(is_seen, ENTER "li $s0,5\n jal peeks\n li $s1,6\n" LEAVE);

/* Calls itself a0 times; each frame saves what the one before it made. */
FUNCTION(deep, ENTER "move $s1,$a0\n beqz $a0,1f\n addu $s0,$s0,$a0\n jal deep\n addiu $a0,$a0,-1\n addu $v0,$v0,$s1\n"
               "1: " LEAVE);

/* Goes back to its start, where it saves what it has made. */
FUNCTION(again, ENTER "addiu $s0,$s0,3\n addiu $a0,$a0,-1\n blez $a0,1f\n nop\n lw $ra,28($sp)\n b again\n"
                "addiu $sp,$sp,32\n 1: li $v0,0\n" LEAVE);

/* Saves s0 and s1, but not ra, which its caller sets in the delay slot of the call: it returns past two instructions. */
FUNCTION(leaf, "addiu $sp,$sp,-16\n sw $s0,12($sp)\n sw $s1,8($sp)\n move $s0,$a0\n addiu $v0,$s0,3\n"
               "lw $s0,12($sp)\n lw $s1,8($sp)\n jr $ra\n addiu $sp,$sp,16\n");
FUNCTION(calls_leaf_from_elsewhere, "addiu $sp,$sp,-48\n sw $ra,44($sp)\n sw $s0,40($sp)\n sw $s1,36($sp)\n"
                                    "lui $t0,%hi(1f)\n addiu $t0,$t0,%lo(1f)\n li $s0,0x1234\n li $s1,0x5678\n"
                                    "jal leaf\n move $ra,$t0\n addiu $v0,$v0,1000\n addiu $v0,$v0,1000\n"
                                    "1: addu $v0,$v0,$s0\n addu $v0,$v0,$s1\n lw $ra,44($sp)\n lw $s0,40($sp)\n"
                                    "lw $s1,36($sp)\n jr $ra\n addiu $sp,$sp,48\n");

/* Calls with another link register: the callee returns by the ra of its caller's caller. */
FUNCTION(hop, "lui $t0,%hi(leaf)\n addiu $t0,$t0,%lo(leaf)\n jalr $t1,$t0\n addiu $a0,$a0,100\n jr $t1\n nop\n");
FUNCTION(calls_hop, "addiu $sp,$sp,-48\n sw $ra,44($sp)\n sw $s0,40($sp)\n li $s0,0x1234\n jal hop\n nop\n"
                    "addu $v0,$v0,$s0\n lw $ra,44($sp)\n lw $s0,40($sp)\n jr $ra\n addiu $sp,$sp,48\n");

/* Calls f(a0, &word) with s0 and s1 set; returns a mixture of all that it finds. */
#define CALLER(name, callee, after) \
    FUNCTION(name, "addiu $sp,$sp,-48\n sw $ra,44($sp)\n sw $s0,40($sp)\n sw $s1,36($sp)\n li $s0,0x1234\n" \
                   "li $s1,0x5678\n jal " #callee "\n li $v0,0\n" after "sll $s0,$s0,4\n addu $v0,$v0,$s0\n" \
                   "sll $s1,$s1,9\n xor $v0,$v0,$s1\n lw $ra,44($sp)\n lw $s0,40($sp)\n lw $s1,36($sp)\n" \
                   "jr $ra\n addiu $sp,$sp,48\n")
CALLER(calls_plain, plain, "");
CALLER(calls_overwrites, overwrites, "");
CALLER(calls_overwrites_far, overwrites_far, "");
CALLER(calls_stores_late, stores_late, "");
CALLER(calls_stores_bytes_late, stores_bytes_late, "");
CALLER(calls_stores_elsewhere, stores_elsewhere, "");
CALLER(calls_skips, skips, "addiu $s0,$s0,1\n addiu $s1,$s1,1\n");
CALLER(calls_sometimes, sometimes, "");
CALLER(calls_is_seen, is_seen, "");
CALLER(calls_again, again, "");
CALLER(calls_leaf, leaf, "");

/* As the callers above, with a1 pointing to where saves_late will save s0. */
FUNCTION(calls_saves_late, "addiu $sp,$sp,-48\n sw $ra,44($sp)\n sw $s0,40($sp)\n li $s0,0x1234\n addiu $a1,$sp,-8\n"
                           "jal saves_late\n nop\n sll $s0,$s0,4\n addu $v0,$v0,$s0\n lw $ra,44($sp)\n lw $s0,40($sp)\n"
                           "jr $ra\n addiu $sp,$sp,48\n");

/* Functions that call themselves and have temporaries on the stack meanwhile. */
#define PUT \
    "addiu $t3,$s0,100\n addiu $t4,$s0,2000\n addiu $t5,$s0,30000\n sw $t3,0($sp)\n sw $t4,4($sp)\n sw $t5,8($sp)\n"
#define TAKE "lw $t3,0($sp)\n lw $t4,4($sp)\n lw $t5,8($sp)\n"
#define LATER "b 3f\n nop\n 3: " /* the first test comes later */

FUNCTION(temps, ENTER "sltiu $t0,$a0,2\n bnez $t0,1f\n move $v0,$a0\n move $s0,$a0\n" PUT
                "jal temps\n addiu $a0,$s0,-1\n" TAKE "addu $s1,$v0,$t3\n jal temps\n addiu $a0,$s0,-2\n" TAKE
                "addu $v0,$v0,$s1\n xor $v0,$v0,$t4\n 1: " LEAVE);

/* Hands on to another function what the caller has in them. */
FUNCTION(reads_temps, "addu $v0,$t3,$t4\n addu $v0,$v0,$t5\n jr $ra\n nop\n");
FUNCTION(tells, ENTER LATER "move $s0,$a0\n move $s1,$zero\n beqz $a0,1f\n li $v0,0\n andi $t0,$a0,1\n beqz $t0,2f\n"
                "nop\n jal reads_temps\n nop\n move $s1,$v0\n 2: " PUT "jal tells\n addiu $a0,$s0,-1\n" TAKE
                "addu $v0,$v0,$s1\n 1: " LEAVE);

/* Reads after the call what the callee has left in two of them. */
FUNCTION(hears, ENTER LATER "move $s0,$a0\n beqz $a0,1f\n li $v0,0\n" PUT "jal hears\n addiu $a0,$s0,-1\n"
                "addu $v0,$v0,$t3\n sll $v0,$v0,1\n addu $v0,$v0,$t4\n" TAKE "1: " LEAVE);

/* The innermost call returns eight bytes further on, where the caller's temporaries have not been loaded again. */
#define MOVES_ON(name, first, last) \
    FUNCTION(name, ENTER LATER "move $s0,$a0\n" first "beqz $a0,1f\n move $t6,$sp\n" PUT "jal " #name "\n" \
                   "addiu $a0,$s0,-1\n" TAKE "addu $v0,$v0,$t3\n addu $v0,$v0,$t4\n" LEAVE \
                   "1: addiu $t7,$ra,8\n" last "li $v0,0\n" LEAVE)
MOVES_ON(moves_on, "", "sw $t7,28($t6)\n");
MOVES_ON(moves_on_at_sp, "", "sw $t7,28($sp)\n");

/* Writes them, and then returns to elsewhere: what it has written is what is found there. */
MOVES_ON(leaves_some, "addiu $t3,$a0,1\n addiu $t4,$a0,2\n addiu $t5,$a0,3\n", "sw $t7,28($t6)\n");

/* May raise an exception before it writes them. */
FUNCTION(traps, ENTER LATER "move $s0,$a0\n beqz $a0,1f\n li $v0,0\n teq $a0,$a1\n" PUT "jal traps\n addiu $a0,$s0,-1\n"
                TAKE "1: " LEAVE);

/* Returns at once where a0 is 0, eight bytes further on. */
FUNCTION(skips_at_once, ENTER "sltiu $t0,$a0,1\n sll $t1,$t0,3\n addu $t1,$t1,$ra\n sw $t1,28($sp)\n bnez $t0,1f\n"
                        "li $t2,9\n move $s0,$a0\n jal skips_at_once\n addiu $a0,$a0,-1\n addiu $v0,$v0,1000\n"
                        "addiu $v0,$v0,1000\n addu $v0,$v0,$s0\n addu $v0,$v0,$t2\n " LEAVE "1: li $v0,4\n" LEAVE);

/* The same, but what it looks at is in memory. */
FUNCTION(looks, ENTER "lw $t0,0($a1)\n addiu $t0,$t0,-1\n blez $t0,1f\n li $v0,1\n sw $t0,0($a1)\n jal looks\n nop\n"
                "addiu $v0,$v0,2\n 1: " LEAVE);

/* Calls with temporaries set; returns a mixture of what it finds in them. */
#define KEEPER(name, callee) \
    FUNCTION(name, "addiu $sp,$sp,-32\n sw $ra,28($sp)\n li $t3,1\n li $t4,20\n jal " #callee "\n li $t5,300\n" \
                   "addu $v0,$v0,$t3\n sll $t4,$t4,5\n addu $v0,$v0,$t4\n sll $t5,$t5,9\n xor $v0,$v0,$t5\n" \
                   "lw $ra,28($sp)\n jr $ra\n addiu $sp,$sp,32\n")
KEEPER(calls_temps, temps);
KEEPER(calls_tells, tells);
KEEPER(calls_hears, hears);
KEEPER(calls_moves_on, moves_on);
KEEPER(calls_moves_on_at_sp, moves_on_at_sp);
KEEPER(calls_leaves_some, leaves_some);
KEEPER(calls_traps, traps);

/* Calls itself by a pointer, and counts in a register that nobody saves. */
FUNCTION(walk,
         "addiu $sp,$sp,-32\n slti $v0,$a0,2\n sw $ra,28($sp)\n sw $s0,24($sp)\n bnez $v0,9f\n move $v0,$a0\n move $s0,$a0\n"
         "lui $t9,%hi(walk)\n addiu $t9,$t9,%lo(walk)\n addiu $t5,$t5,1\n jalr $t9\n addiu $a0,$s0,-1\n"
         "lui $t9,%hi(walk)\n addiu $t9,$t9,%lo(walk)\n addiu $t5,$t5,1\n jalr $t9\n addiu $a0,$s0,-2\n"
         "9: lw $ra,28($sp)\n lw $s0,24($sp)\n jr $ra\n addiu $sp,$sp,32\n");
FUNCTION(counts,
         "addiu $sp,$sp,-32\n sw $ra,28($sp)\n jal walk\n li $t5,0\n lw $ra,28($sp)\n move $v0,$t5\n jr $ra\n"
         "addiu $sp,$sp,32\n");

__attribute__((used)) void start(void)
{
    uint32_t word = 0;
    show("plain", calls_plain(7, &word));
    show("overwrites", calls_overwrites(7, &word));
    show("overwrites far", calls_overwrites_far(7, &word));
    show("stores late", calls_stores_late(7, &word));
    show("stores bytes late", calls_stores_bytes_late(7, &word));
    show("stores elsewhere", calls_stores_elsewhere(7, &word) + word);
    show("skips", calls_skips(7, &word));
    show("sometimes", calls_sometimes(0, &word));
    show("always", calls_sometimes(1, &word));
    show("is seen", calls_is_seen(7, &word));
    show("again", calls_again(3, &word));
    show("leaf", calls_leaf(7, &word));
    show("leaf from elsewhere", calls_leaf_from_elsewhere(7, &word));
    show("hop", calls_hop(7, &word));
    show("saves late", calls_saves_late(7, &word));
    show("deep", deep(1000, &word));
    show("temps", calls_temps(9, &word));
    show("temps at once", calls_temps(1, &word));
    show("tells", calls_tells(6, &word));
    show("hears", calls_hears(6, &word));
    show("moves on", calls_moves_on(5, &word));
    show("moves on at sp", calls_moves_on_at_sp(5, &word));
    show("leaves some", calls_leaves_some(5, &word));
    show("traps", calls_traps(5, &word));
    show("skips at once", skips_at_once(5, &word));
    word = 7;
    show("looks", looks(0, &word));
    show("counts", counts(10, 0));
    register uintptr_t v0 __asm__("$2") = 4001, a0 __asm__("$4") = 0;
    __asm__ volatile("syscall" : : "r"(v0), "r"(a0) : "$7");
}

__asm__(".text\n.globl __start\n.ent __start\n.type __start,@function\n__start:\n.set noreorder\n li $s0,0\n jal start\n nop\n"
        "break\n.set reorder\n.end __start\n");
