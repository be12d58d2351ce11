/* The smallest guest: one write and an exit, in assembly, without libc. The x86-64 text is for native builds. */
    .section .rodata
message:
    .ascii  "Hello from MIPS.\n"
    .equ    message_size, . - message

    .text
#if defined(__mips__)
    .globl  __start
    .ent    __start
__start:
    .set    noreorder
    bal     1f
    nop
1:  .cpload $ra                 /* gp for the `la` below; vanishes without -mabicalls */
    .set    reorder
    li      $a0, 1
    la      $a1, message
    li      $a2, message_size
    li      $v0, 4004           /* write */
    syscall
    move    $a0, $a3            /* a3 is 1 when the write failed */
    li      $v0, 4001           /* exit */
    syscall
    .end    __start
#elif defined(__x86_64__)
    .globl  _start
_start:
    mov     $1, %edi
    lea     message(%rip), %rsi
    mov     $message_size, %edx
    mov     $1, %eax            /* write */
    syscall
    shr     $63, %rax           /* negative when the write failed */
    mov     %eax, %edi
    mov     $60, %eax           /* exit */
    syscall
#else
#error "hello.S has code for MIPS and x86-64 only"
#endif
    .section .note.GNU-stack, "", @progbits
