// Stores and loads of s2 to s8, which may be done as vectors or may not: memory overlaps, registers change in between.
// Writes what memory and the registers hold after each. Some values are signalling NaNs if they are taken for floats.
#include "ways.h"

#define ENTER "addiu $sp,$sp,-64; sw $s8,40($sp); sw $s7,36($sp); sw $s2,16($sp); sw $s4,24($sp); li $t8,1; sw $s3,20($sp);" \
              "sw $s6,32($sp); sw $s5,28($sp); li $s2,0x7fa12233; li $s3,0x11223344; li $s4,0xffa00001; li $s5,0x80000000;" \
              "li $s6,0x55667788; li $s7,0x7f8000ff; li $s8,0x99aabbcc; b 9f; nop; 9:"
#define LEAVE "b 8f; nop; 8: move $t0,$s2; move $t1,$s3; move $t2,$s4; move $t3,$s5; move $t4,$s6; move $t5,$s7; move $t6,$s8;" \
              "lw $s8,40($sp); lw $s7,36($sp); lw $s6,32($sp); lw $s5,28($sp); lw $s4,24($sp); lw $s3,20($sp);"              \
              "lw $s2,16($sp); addiu $sp,$sp,64"
#define WAY(way, name, text) way(name, ENTER text LEAVE)
#define WAYS(way)                                                                                                      \
    WAY(way, in_order, "sw $s2,0($a0); sw $s3,4($a0); sw $s4,8($a0); sw $s5,12($a0); sw $s6,16($a0); sw $s7,20($a0);") \
    WAY(way, down, "sw $s8,20($a0); sw $s7,16($a0); sw $s6,12($a0); sw $s5,8($a0); sw $s4,4($a0); sw $s3,0($a0);")     \
    WAY(way, changed_after, "sw $s3,4($a0); move $s3,$a1; sw $s2,0($a0); li $s2,5; sw $s5,12($a0); sw $s4,8($a0);")    \
    WAY(way, changed_before, "sw $s3,4($a0); addiu $s2,$s2,1; sw $s2,0($a0); sw $s5,12($a0); sw $s4,8($a0);")          \
    WAY(way, byte_over, "sw $s2,0($a0); sb $v0,7($a0); sw $s3,4($a0); sb $v0,2($a0); sw $s4,8($a0); sw $s5,12($a0);")  \
    WAY(way, byte_beside, "sw $s2,0($a0); sb $a1,8($a0); sw $s3,4($a0); sb $a1,-1($a0);")                              \
    WAY(way, over_again, "sw $s2,0($a0); sw $s3,4($a0); sw $s4,0($a0); sw $s5,4($a0);")                                \
    WAY(way, loads_between, "sw $s2,0($a0); lw $t7,0($a1); sw $s3,4($a0); sw $t7,8($a0); lw $t7,4($a1);")              \
    WAY(way, stores_elsewhere, "sw $s2,0($a0); sw $s6,0($a1); sw $s3,4($a0); sw $s7,4($a1); sw $s4,8($a0);")           \
    WAY(way, base_steps, "sw $s2,0($a0); addiu $a0,$a0,4; sw $s3,0($a0); sw $s4,4($a0); sw $s5,8($a0);")               \
    WAY(way, same, "sw $s2,0($a0); sw $s2,4($a0); sw $s2,8($a0); sw $s3,12($a0); sw $s3,16($a0);")                     \
    WAY(way, loads, "sw $s2,0($a0); sw $s3,4($a0); sw $s4,8($a0); sw $s5,12($a0); sw $v0,0($a1); b 1f; nop; 1:"        \
                    "lw $s5,12($a0); addu $s4,$s4,$s5; lw $s4,8($a0); addu $t7,$s2,$s4; lw $s2,0($a0); lw $s3,4($a0);"   \
                    "sw $t7,16($a0);")                                                                                 \
    WAY(way, loads_others, "sw $s2,0($a0); sw $s3,4($a0); b 1f; nop; 1: lw $s3,0($a0); lw $s2,4($a0);")                \
    WAY(way, loads_again, "sw $s2,0($a0); sw $s3,4($a0); b 1f; nop; 1: lw $s3,4($a0); li $s3,3; lw $s2,0($a0);"        \
                          "sw $s3,8($a0); lw $s3,4($a0); lw $s2,0($a0);")

WAYS(CODE)
TRY(WAYS)
