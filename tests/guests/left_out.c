/* Registers that a call need not store, or seemingly need not: each function prints what is found in them afterwards.
 *
 * Without a libc, and in assembly, so that the registers are as the cases need them. */
#include "registers.h"

#define FRAME "addiu $sp,$sp,-32\n sw $ra,28($sp)\n"
#define BACK "lw $ra,28($sp)\n jr $ra\n addiu $sp,$sp,32\n"

FUNCTION(leaf, "addu $v0,$a0,$a0\n jr $ra\n nop\n");
FUNCTION(negative, "addiu $v0,$v0,100\n jr $ra\n nop\n");

/* The callee writes t5 never, the caller before it reads it; but the slot has the callee return behind that. */
FUNCTION(slot_links, FRAME "lui $t0,%hi(1f)\n addiu $t0,$t0,%lo(1f)\n addiu $t5,$a0,7\n jal leaf\n move $ra,$t0\n"
                           "li $t5,9\n 1: addu $v0,$v0,$t5\n" BACK);
FUNCTION(slot_adds, FRAME "addiu $t5,$a0,7\n jal leaf\n addiu $ra,$ra,4\n li $t5,9\n addu $v0,$v0,$t5\n" BACK);

/* The same one level up: the function itself seems to write t5 before it reads it. */
FUNCTION(inner, "lui $t0,%hi(1f)\n addiu $t0,$t0,%lo(1f)\n move $t9,$ra\n jal leaf\n move $ra,$t0\n li $t5,9\n"
                "1: addu $v0,$v0,$t5\n jr $t9\n nop\n");
FUNCTION(calls_inner, FRAME "addiu $t5,$a0,0x4f\n jal inner\n nop\n li $t5,1\n addu $v0,$v0,$t5\n" BACK);

/* Goes on elsewhere with another ra: what it goes to returns there. */
FUNCTION(goes_on, "lui $ra,%hi(after_goes_on)\n j leaf\n addiu $ra,$ra,%lo(after_goes_on)\n");
__asm__(".globl after_goes_on\n");
FUNCTION(calls_goes_on, FRAME "addiu $t5,$a0,7\n jal goes_on\n nop\n li $t5,9\n after_goes_on: addu $v0,$v0,$t5\n" BACK);

/* The return address is in another register than ra: the callee returns to the caller's caller. */
FUNCTION(hop, "addiu $t5,$a0,7\n lui $t0,%hi(leaf)\n addiu $t0,$t0,%lo(leaf)\n jalr $t1,$t0\n nop\n li $t5,9\n jr $t1\n nop\n");
FUNCTION(calls_hop, FRAME "li $t5,1\n jal hop\n nop\n addu $v0,$v0,$t5\n" BACK);

/* Branch-likely instructions that link read a register, and may annul the slot that writes it. */
FUNCTION(likely_reads, FRAME "li $v0,1\n li $t4,-7\n beqz $a0,1f\n nop\n li $t4,-9\n 1: addiu $v0,$v0,5\n"
                             "bltzall $t4,negative\n li $t4,3\n addu $v0,$v0,$t4\n" BACK);
FUNCTION(likely_annuls, FRAME "li $v0,1\n li $t4,77\n li $t6,1\n beqz $a0,1f\n nop\n li $t4,-9\n 1: addiu $v0,$v0,5\n"
                              "bltzall $t6,negative\n li $t4,3\n addu $v0,$v0,$t4\n" BACK);
FUNCTION(likely, FRAME "bltzall $t4,negative\n li $t4,3\n addu $v0,$v0,$t4\n" BACK);
FUNCTION(calls_likely, FRAME "li $t4,-7\n jal likely\n li $v0,1\n" BACK);

/* Takes t9 and reads it only where it has written it. */
FUNCTION(takes_t9, "beqz $a0,1f\n nop\n li $t9,5\n addu $v0,$t9,$v0\n 1: jr $ra\n addiu $v0,$v0,1\n");
FUNCTION(calls_takes_t9, FRAME "li $t9,-7\n jal takes_t9\n li $v0,3\n addu $v0,$v0,$t9\n" BACK);

/* Writes one half of a double. */
FUNCTION(low, "jr $ra\n mtc1 $zero,$f2\n");
FUNCTION(calls_low, FRAME "mtc1 $a0,$f0\n cvt.d.w $f2,$f0\n jal low\n nop\n mfhc1 $v0,$f2\n" BACK);
FUNCTION(high, "jr $ra\n mthc1 $a0,$f4\n");
FUNCTION(calls_high, FRAME "mtc1 $a0,$f0\n cvt.s.w $f0,$f0\n cvt.d.s $f4,$f0\n li $t0,0x1234\n mtc1 $t0,$f4\n jal high\n nop\n"
                           "mfc1 $v0,$f4\n" BACK);

__attribute__((used)) void start(void)
{
    uint32_t word = 0;
    for (uint32_t n = 0; n < 4; n += 3) {
        show("slot links", slot_links(n, &word));
        show("slot adds", slot_adds(n, &word));
        show("inner", calls_inner(n, &word));
        show("goes on", calls_goes_on(n, &word));
        show("hop", calls_hop(n, &word));
        show("likely reads", likely_reads(n, &word));
        show("likely annuls", likely_annuls(n, &word));
        show("likely", calls_likely(n, &word));
        show("takes t9", calls_takes_t9(n, &word));
        show("low half", calls_low(n, &word));
        show("high half", calls_high(n, &word));
    }
    call(4001, 0, 0, 0);
}

__asm__(".globl __start\n__start:\n jal start\n");
