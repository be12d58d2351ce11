/*
 * Start-up of a MIPS o32 program without libc: the kernel leaves argc at 0($sp) and the argv pointers above it
 * (System V ABI, MIPS supplement, "Process Initialization"). Natively libc starts the same sources.
 */
    .text
    .globl  __start
    .globl  _start
    .type   __start, @function
    .ent    __start
__start:
_start:
    .set    noreorder
    move    $fp, $zero
    bal     1f                  /* the address of the next label; .cpload derives gp from it */
    nop
1:  .cpload $ra                 /* vanishes when assembled without -mabicalls or -KPIC */
    .set    reorder
    lw      $a0, 0($sp)
    addiu   $a1, $sp, 4
    li      $t0, -8
    and     $sp, $sp, $t0
    addiu   $sp, $sp, -16       /* the argument save area every o32 callee may use */
    la      $t9, main
    jalr    $t9
    move    $a0, $v0
    li      $v0, 4001           /* exit */
    syscall
    .end    __start
    .size   __start, . - __start
