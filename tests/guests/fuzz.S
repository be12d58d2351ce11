/* The way into a case and out of it, for tests/guests/fuzz.c: all registers from a `struct state`, and back into one.
 *
 * One register, the home, holds the address of the case meanwhile, and of the state on the way out; each of the pairs
 * below has another one.
 */
    .set noreorder
    .set noat
    .set nomacro

#define HI 128
#define LO 132
#define FCSR 136
#define ACCUMULATORS 160
#define DSPCTL 184
#define FPR 192
#define ALL_OF_DSPCTL 63
#ifdef HAS_DSP
    .set dspr2
#endif

    .macro each_gpr operation, home
    .irp number, 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
    .if \number - \home
    \operation $\number, 4*\number($\home)
    .endif
    .endr
    .endm

    .macro each_fpr operation, home
    .irp number, 0,2,4,6,8,10,12,14,16,18,20,22,24,26,28,30
    \operation $f\number, FPR+8*\number($\home)
    .endr
#if __mips_fpr == 64
    .irp number, 1,3,5,7,9,11,13,15,17,19,21,23,25,27,29,31
    \operation $f\number, FPR+8*\number($\home)
    .endr
#endif
    .endm

    .macro load_dsp home
#ifdef HAS_DSP
    .irp number, 1,2,3
    lw $t0, ACCUMULATORS+8*(\number-1)($\home)
    lw $t1, ACCUMULATORS+8*(\number-1)+4($\home)
    mthi $t0, $ac\number
    mtlo $t1, $ac\number
    .endr
    lw $t0, DSPCTL($\home)
    wrdsp $t0, ALL_OF_DSPCTL
#endif
    .endm

    .macro store_dsp home
#ifdef HAS_DSP
    .irp number, 1,2,3
    mfhi $t0, $ac\number
    mflo $t1, $ac\number
    sw $t0, ACCUMULATORS+8*(\number-1)($\home)
    sw $t1, ACCUMULATORS+8*(\number-1)+4($\home)
    .endr
    rddsp $t0, ALL_OF_DSPCTL
    sw $t0, DSPCTL($\home)
#endif
    .endm

    .macro pair home
    .globl enter_\home
    .type enter_\home, @function
enter_\home:                        /* void enter(const struct state *) */
    addiu $sp, $sp, -64
    .irp number, 16,17,18,19,20,21,22,23,28,30,31
    sw $\number, 4*(\number-16)($sp)
    .endr
    lui $t0, %hi(stack_kept)
    sw $sp, %lo(stack_kept)($t0)
    addiu $t0, $sp, 48              /* an sc with nothing linked, so that no ll of an earlier case is remembered */
    ll $t1, 0($t0)
    sc $t1, 0($t0)
    addu $\home, $a0, $zero
    lw $t0, HI($\home)
    lw $t1, LO($\home)
    mthi $t0
    mtlo $t1
    load_dsp \home
    lw $t0, FCSR($\home)
    each_fpr ldc1, \home
    ctc1 $t0, $31
    each_gpr lw, \home
    lw $\home, 4*\home($\home)
    jr $\home
    nop

    .globl leave_\home
    .type leave_\home, @function
leave_\home:
    lui $\home, %hi(result)
    lw $\home, %lo(result)($\home)
    each_gpr sw, \home
    mfhi $t0
    mflo $t1
    cfc1 $t2, $31
    sw $t0, HI($\home)
    sw $t1, LO($\home)
    sw $t2, FCSR($\home)
    store_dsp \home
    ctc1 $zero, $31
    each_fpr sdc1, \home
    j left
    nop
    .endm

    .text
    .irp home, 1,7,17,26,27,28
    pair \home
    .endr

    .globl trapped
    .type trapped, @function
trapped:                            /* where the signal handler goes on; it has stored all but what stands here */
    lui $k0, %hi(result)
    lw $k0, %lo(result)($k0)
    ctc1 $zero, $31
    each_fpr sdc1, 26
    .globl left
left:
    lui $sp, %hi(stack_kept)
    lw $sp, %lo(stack_kept)($sp)
    .irp number, 16,17,18,19,20,21,22,23,28,30,31
    lw $\number, 4*(\number-16)($sp)
    .endr
    jr $ra
    addiu $sp, $sp, 64

    .globl __start
    .type __start, @function
__start:
    jal start
    addiu $sp, $sp, -32

    .section .window, "aw", @progbits   /* what cases load and store: around a boundary of pages */
    .globl window
    .space 0xf80
window:
    .space 0x1080

    .bss
    .globl result
result:
    .space 4
stack_kept:
    .space 4
