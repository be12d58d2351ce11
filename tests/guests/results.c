/* Functions that give v0, v1 and a0 back in odd ways: to the code that comes next, elsewhere, later, with sp moved. */
__asm__(".set noreorder\n"
        ".macro function name\n .globl \\name\n .type \\name, @function\n \\name:\n .endm\n"
        ".macro enter\n addiu $29, $29, -8\n sw $31, 4($29)\n .endm\n"
        ".macro leave to\n lw $31, 4($29)\n jr \\to\n addiu $29, $29, 8\n .endm\n"
        "function pair\n li $2, 7\n jr $31\n li $3, 9\n"
        "function wraps\n enter\n jal pair\n nop\n leave $31\n" /* does not touch v0 and v1 */
        "function sums\n enter\n jal wraps\n nop\n sll $3, $3, 4\n addu $2, $2, $3\n leave $31\n"
        "function perhaps\n enter\n li $2, 1\n li $3, 2\n bltzal $4, pair\n nop\n"
        " sll $3, $3, 4\n addu $2, $2, $3\n leave $31\n" /* calls on condition */
        "function strays\n la $31, odd\n li $2, 5\n jr $31\n li $3, 6\n" /* returns elsewhere */
        "function detour\n enter\n jal strays\n nop\n break\n"
        "function odd\n sll $3, $3, 4\n addu $2, $2, $3\n leave $31\n"
        "function hands_on\n enter\n jal wraps\n nop\n la $25, takes\n leave $25\n"
        "function takes\n jr $31\n addu $2, $2, $3\n" /* v0 and v1 are its arguments */
        "function moves\n la $31, lower\n addiu $29, $29, -16\n li $2, 5\n jr $31\n li $4, 8\n"
        "function nested\n enter\n jal moves\n nop\n break\n" /* which returns with sp below */
        "function lower\n addiu $29, $29, 16\n addu $2, $2, $4\n leave $31\n" /* reads v0 and a0 */
        "function returns_late\n la $31, late\n li $4, 7\n li $2, 5\n jr $31\n li $3, 6\n"
        "function saves\n .irp n, 16, 17, 18, 19, 20, 21, 22, 23\n sw $\\n, 4 * (\\n - 16)($4)\n .endr\n"
        " jr $31\n li $2, 0\n" /* as setjmp does, it may return twice */
        "function resumes\n enter\n jal saves\n addiu $4, $29, -64\n late: bnez $2, 1f\n nop\n"
        " jal returns_late\n nop\n break\n" /* returns where the first call did */
        "1: sll $3, $3, 4\n addu $2, $2, $3\n addu $2, $2, $4\n leave $31\n"
        "function unwinds\n lw $29, 0($25)\n lw $31, 4($25)\n li $4, 3\n move $24, $31\n jr $24\n li $2, 4\n"
        "function left\n enter\n addiu $29, $29, -8\n la $8, back\n sw $8, 4($29)\n addiu $8, $29, 8\n"
        " sw $8, 0($29)\n move $25, $29\n jal between\n nop\n break\n"
        "function between\n enter\n jal unwinds\n nop\n break\n" /* its frame goes */
        "function back\n addu $2, $2, $4\n leave $31\n"
        "function traps\n enter\n jal pair\n nop\n rdhwr $9, $29\n leave $31\n"
        ".set reorder");

extern int sums(void), perhaps(int), detour(void), hands_on(void), traps(void), nested(void),
    resumes(void), left(void);

void __start(void)
{
    int wrong = (sums() != 151) | (perhaps(-1) != 151) << 1 | (perhaps(1) != 33) << 2 | (detour() != 101) << 3 |
                (hands_on() != 16) << 4 | (traps() != 7) << 5 | (nested() != 13) << 6 | (resumes() != 108) << 7 |
                (left() != 7) << 8;
    register int v0 __asm__("$2") = 4001;
    register int status __asm__("$4") = wrong | wrong >> 8;
    __asm__ volatile("syscall" : : "r"(v0), "r"(status));
}
