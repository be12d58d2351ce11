# Which instructions run is known by hand (tests/runtime/test_marks.py): those behind a label `on_` run, those behind `off_`
# do not. With FAULT, the delay slot of a branch ends the program.
    .set    noreorder
    .text
    .globl  __start
__start:
on_1:
    li      $t0, 20
1:  addiu   $t0, $t0, -1
    bnez    $t0, 1b                 # taken 19 times
    nop
    li      $t1, 1
    beqzl   $t1, 2f                 # not taken: its slot is annulled
off_1:
    addiu   $t2, $t2, 1
on_2:
    bltzall $t0, function           # the same, and links
off_2:
    addiu   $t2, $t2, 1
on_3:
2:  bnezl   $t1, 3f                 # taken, so its slot runs
    addiu   $t2, $t2, 1
off_3:
    break
on_4:
3:  beqz    $t0, 4f                 # taken; its slot writes what it compares
    li      $t0, 5
off_4:
    nop
on_5:
4:  bgezal  $t0, function           # taken
    nop
    bltzal  $t0, never              # not taken, and its slot runs
    nop
    la      $t9, 5f
    jr      $t9
    li      $t9, 0                  # writes what the jump has read
off_5:
    break
    nop
on_6:
5:  la      $t9, function
    jalr    $t9
    teq     $zero, $t1              # traps not, and is in a slot
    li      $t3, 3
6:  addiu   $t3, $t3, -1
    blez    $t3, 7f                 # taken the third time
    nop
    b       6b
    nop
off_6:
    break
on_7:
7:
.ifdef FAULT
    beqz    $zero, 8f
    lw      $t0, 0($zero)           # control comes here, and no further
off_7:
.else
    nop
    nop
.endif
8:  li      $a0, 7
    li      $v0, 4001               # exit
    syscall
off_8:
    nop
never:
    jr      $ra
    nop
on_9:
function:
    jr      $ra
    move    $t4, $ra
off_9:
    nop
