// Loads and stores of consecutive words, which may be done as vectors or may not: memory overlaps, registers and bases
// change in between, a trap stands between two stores. Writes what memory and the registers hold after each.
#include "ways.h"

#define WAYS(way)                                                                                                      \
    way(copy, "lw $t0,0($a1); lw $t1,4($a1); lw $t2,8($a1); lw $t3,12($a1);"                                           \
              "sw $t0,0($a0); sw $t1,4($a0); sw $t2,8($a0); sw $t3,12($a0)")                                           \
    way(stepped, "lw $t0,0($a1); addiu $a0,$a0,16; addiu $a1,$a1,16; lw $t1,-12($a1); lw $t2,-8($a1); lw $t3,-4($a1);" \
                 "sw $t0,-16($a0); sw $t1,-12($a0); sw $t2,-8($a0); sw $t3,-4($a0)")                                   \
    way(in_loop, "addiu $v1,$a1,48; 1: lw $t0,0($a1); addiu $a0,$a0,16; addiu $a1,$a1,16; lw $t3,-12($a1);"            \
                 "lw $t2,-8($a1); lw $t1,-4($a1); sw $t0,-16($a0); sw $t3,-12($a0); sw $t2,-8($a0);"                   \
                 "bne $a1,$v1,1b; sw $t1,-4($a0)")                                                                     \
    way(eight, "lw $t0,0($a1); lw $t1,4($a1); lw $t2,8($a1); lw $t3,12($a1); lw $t4,16($a1); lw $t5,20($a1);"          \
               "lw $t6,24($a1); lw $t7,28($a1); sw $t0,0($a0); sw $t1,4($a0); sw $t2,8($a0); sw $t3,12($a0);"          \
               "sw $t4,16($a0); sw $t5,20($a0); sw $t6,24($a0); sw $t7,28($a0)")                                       \
    way(changed, "lw $t0,0($a1); lw $t1,4($a1); lw $t2,8($a1); lw $t3,12($a1); addiu $t2,$t2,1;"                       \
                 "sw $t0,0($a0); sw $t1,4($a0); sw $t2,8($a0); sw $t3,12($a0)")                                        \
    way(base_lost, "addu $t1,$a1,$zero; lw $t0,0($t1); lw $t1,4($t1); lw $t2,8($a1); lw $t3,12($a1);"                  \
                   "sw $t0,0($a0); sw $t1,4($a0); sw $t2,8($a0); sw $t3,12($a0)")                                      \
    way(base_last, "addu $t3,$a1,$zero; lw $t0,0($t3); lw $t1,4($t3); lw $t2,8($t3); lw $t3,12($t3);"                  \
                   "sw $t0,0($a0); sw $t1,4($a0); sw $t2,8($a0); sw $t3,12($a0)")                                      \
    way(base_moved, "lw $t0,0($a1); lw $t1,4($a1); addu $a1,$a1,$v0; lw $t2,8($a1); lw $t3,12($a1);"                   \
                    "sw $t0,0($a0); sw $t1,4($a0); sw $t2,8($a0); sw $t3,12($a0)")                                     \
    way(stored_between, "lw $t0,0($a1); lw $t1,4($a1); sw $v0,8($a1); lw $t2,8($a1); lw $t3,12($a1);"                  \
                        "sw $t0,0($a0); sw $t1,4($a0); sw $t2,8($a0); sw $t3,12($a0)")                                 \
    way(read_between, "lw $t0,0($a1); lw $t1,4($a1); addu $t4,$t1,$t2; lw $t2,8($a1); addu $t5,$t2,$t0;"               \
                      "lw $t3,12($a1); sw $t0,0($a0); sw $t1,4($a0); sw $t2,8($a0); sw $t3,12($a0)")                   \
    way(order, "lw $t0,0($a1); lw $t1,4($a1); lw $t2,8($a1); lw $t3,12($a1);"                                          \
               "sw $t0,0($a0); sw $t2,4($a0); sw $t1,8($a0); sw $t3,12($a0)")                                          \
    way(own_base, "lw $t0,0($a1); lw $t1,4($a1); lw $t2,8($a1); lw $t3,12($a1); addiu $a0,$a0,4;"                      \
                  "sw $t0,0($a0); sw $t1,4($a0); sw $t2,8($a0); sw $t3,12($a0)")                                       \
    way(fill, "sw $v0,0($a0); sw $v0,4($a0); sw $v0,8($a0); sw $v0,12($a0)")                                           \
    way(fill_five, "sw $v0,4($a0); sw $v0,8($a0); sw $v0,12($a0); sw $v0,16($a0); sw $v0,20($a0)")                     \
    way(fill_gap, "sw $v0,0($a0); sw $v0,4($a0); sw $v0,12($a0); sw $v0,16($a0)")                                      \
    way(fill_base, "sw $a0,0($a0); sw $a0,4($a0); sw $a0,8($a0); b 1f; sw $a0,12($a0); 1: sw $zero,0($a0);"            \
                   "sw $zero,4($a0); sw $zero,8($a0); sw $zero,12($a0)")                                               \
    way(twice, "lw $t0,0($a1); lw $t1,4($a1); lw $t2,8($a1); lw $t3,12($a1); sw $t0,0($a0); sw $t1,4($a0);"            \
               "sw $t2,8($a0); sw $t3,12($a0); sw $t0,32($a0); sw $t1,36($a0); sw $t2,40($a0); sw $t3,44($a0)")        \
    way(linked, "addu $t7,$ra,$zero; sw $ra,0($a0); sw $ra,4($a0); sw $ra,8($a0); bal 1f; sw $ra,12($a0);"             \
                "1: addu $ra,$t7,$zero; addu $t7,$zero,$zero")                                                         \
    way(likely, "beql $v0,$zero,1f; sw $v0,12($a0); sw $v0,0($a0); sw $v0,4($a0); sw $v0,8($a0); bnel $v0,$v0,1f;"     \
                "sw $v0,12($a0); 1: nop")

WAYS(CODE)
TRY(WAYS)
