# Decisions that can be counted by hand (tests/runtime/test_counters.py). With FAULT, a delay slot ends the program.
    .set    noreorder
    .text
    .globl  __start
    .globl  often, twice_likely, slot_of_nan, called, not_called, by_table, by_call, never, faults, middle
__start:
    li      $t0, 300
1:  addiu   $t0, $t0, -1
often:
    bnez    $t0, 1b                 # taken 299 times, once not
    nop
    li      $t1, 3
2:  addiu   $t1, $t1, -1
twice_likely:
    bnezl   $t1, 2b                 # taken twice, once not
    addiu   $t2, $t2, 1
    lui     $t1, 0x7f80             # a NaN, which the interpreter compares
    ori     $t1, $t1, 1
    mtc1    $t1, $f2
    li      $t1, 20
8:  addiu   $t1, $t1, -1
slot_of_nan:
    bnezl   $t1, 8b                 # taken 19 times, once not
    c.eq.s  $f2, $f2
    li      $t3, -1
called:
    bltzal  $t3, function           # taken
    nop
not_called:
    bgezal  $t3, function           # not
    nop
    b       3f                      # no decision
    nop
3:  beq     $t3, $t3, 4f            # none either
    nop
4:  la      $t9, 5f
by_table:
    jr      $t9                     # to the next instruction but one
    nop
    nop
5:
middle:
    la      $t9, function
by_call:
    jalr    $t9
    nop
    li      $t0, 1
never:
    beqz    $t0, 6f                 # not taken; its slot writes what it compares
    li      $t0, 0
6:
.ifdef FAULT
faults:
    beqz    $t0, 7f                 # its slot comes first, and nothing else does
    sw      $t0, 0($zero)
7:
.endif
    li      $a0, 7
    li      $v0, 4001               # exit
    syscall

function:
    jr      $ra                     # a return is no decision
    nop
