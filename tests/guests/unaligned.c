// Words loaded and stored by halves, which may be one access or may not: other instructions stand between the halves,
// change or read the registers, store there; the second is in a delay slot. Writes what is left after each.
#include "ways.h"

#ifdef __MIPSEB__
#define LOAD_A(to, at, base) "lwl " to "," #at "+0(" base ");"
#define LOAD_B(to, at, base) "lwr " to "," #at "+3(" base ");"
#define STORE_A(to, at, base) "swl " to "," #at "+0(" base ");"
#define STORE_B(to, at, base) "swr " to "," #at "+3(" base ");"
#else
#define LOAD_A(to, at, base) "lwl " to "," #at "+3(" base ");"
#define LOAD_B(to, at, base) "lwr " to "," #at "+0(" base ");"
#define STORE_A(to, at, base) "swl " to "," #at "+3(" base ");"
#define STORE_B(to, at, base) "swr " to "," #at "+0(" base ");"
#endif
#define BEFORE                                                                                                         \
    "lui $t0,0x1122; ori $t0,$t0,0x3344; lui $t1,0x5566; ori $t1,$t1,0x7788; lui $t2,0x99aa; ori $t2,$t2,0xbbcc;"
#define PUT "swl $t0,0($a0); swr $t0,7($a0); swl $t1,10($a0); swr $t2,13($a0);"

#define WAYS(way)                                                                                                      \
    way(next, BEFORE LOAD_A("$t0", 0, "$a1") LOAD_B("$t0", 0, "$a1") PUT)                                              \
    way(right_first, BEFORE LOAD_B("$t0", 0, "$a1") "addiu $t1,$a1,4;" LOAD_A("$t0", 0, "$a1") PUT)                    \
    way(apart, BEFORE LOAD_A("$t0", 0, "$a1") "addu $t1,$t2,$t2; sltu $t2,$t1,$a1;" LOAD_B("$t0", 0, "$a1") PUT)       \
    way(crossed, BEFORE LOAD_A("$t0", 0, "$a1") LOAD_A("$t1", 4, "$a1") LOAD_B("$t0", 0, "$a1")                        \
                 LOAD_B("$t1", 4, "$a1") PUT)                                                                          \
    way(in_slot, BEFORE LOAD_A("$t0", 0, "$a1") "bne $t1,$t2,1f;" LOAD_B("$t0", 0, "$a1") "addiu $t0,$t0,1; 1:" PUT)   \
    way(in_slot_of_jump, BEFORE LOAD_B("$t1", 0, "$a1") "b 1f;" LOAD_A("$t1", 0, "$a1") "addiu $t0,$t0,1; 1:" PUT)     \
    way(dead, BEFORE LOAD_A("$t0", 0, "$a1") "lui $t1,7;" LOAD_B("$t0", 0, "$a1") "addiu $t0,$zero,9;" PUT)            \
    way(branch_reads, BEFORE LOAD_A("$t0", 1, "$a1") "beq $t0,$zero,1f;" LOAD_B("$t0", 1, "$a1") "1:" PUT)             \
    way(likely, BEFORE LOAD_A("$t0", 0, "$a1") "beql $t1,$t2,1f;" LOAD_B("$t0", 0, "$a1") "1:" PUT)                    \
    way(read, BEFORE LOAD_A("$t0", 0, "$a1") "addu $t1,$t0,$t0;" LOAD_B("$t0", 0, "$a1") PUT)                          \
    way(changed, BEFORE LOAD_A("$t0", 0, "$a1") "addu $t0,$t1,$t1;" LOAD_B("$t0", 0, "$a1") PUT)                       \
    way(moved, BEFORE LOAD_A("$t0", 0, "$a1") "addiu $a1,$a1,4;" LOAD_B("$t0", 0, "$a1") PUT)                          \
    way(stored, BEFORE LOAD_A("$t0", 0, "$a1") "sb $t1,1($a1); sb $t1,2($a1);" LOAD_B("$t0", 0, "$a1") PUT)            \
    way(other_word, BEFORE LOAD_A("$t0", 0, "$a1") LOAD_B("$t0", 4, "$a1") PUT)                                        \
    way(alone, BEFORE LOAD_A("$t0", 0, "$a1") "addu $t1,$t1,$t2;" LOAD_B("$t2", 4, "$a1") PUT)                         \
    way(base, BEFORE "addu $t0,$a1,$zero;" LOAD_A("$t0", 0, "$t0") PUT)                                                \
    way(again, BEFORE LOAD_A("$t0", 0, "$a1") LOAD_A("$t0", 4, "$a1") LOAD_B("$t0", 4, "$a1") PUT)                     \
    way(put_next, BEFORE STORE_A("$t0", 0, "$a0") STORE_B("$t0", 0, "$a0"))                                            \
    way(put_apart, BEFORE STORE_A("$t0", 0, "$a0") "sb $t1,2($a0);" STORE_B("$t0", 0, "$a0"))                          \
    way(put_in_slot, BEFORE STORE_A("$t0", 0, "$a0") "bne $t1,$t2,1f;" STORE_B("$t0", 0, "$a0") "1:")

WAYS(CODE)
TRY(WAYS)
