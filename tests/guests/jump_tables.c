// Jumps by a table whose address comes in a register that mostly, but not always, holds what it holds elsewhere in the
// function, and by offsets that are no multiples of four. The exit status is the number of the first wrong result.
int choose(unsigned offset, const char *base);
extern const char table[], other[];

#ifdef WRITABLE
#define SECTION ".data\n"
#else
#define SECTION ".rdata\n"
#endif

__asm__(".set noreorder\n"
        ".text\n"
        ".globl choose\n"
        ".ent choose\n"
        "choose:\n"
        "    bne $a1, $zero, given\n"
        "    nop\n"
        "    lui $t6, %hi(table)\n"
        "    addiu $t6, $t6, %lo(table)\n"
        "use:\n"
        "    addu $v0, $t6, $a0\n"
        "    lw $v0, 0($v0)\n"
        "    jr $v0\n"
        "    nop\n"
        "given:\n"
        "    b use\n"
        "    addu $t6, $a1, $zero\n"
        "ten: jr $ra\n"
        "    li $v0, 10\n"
        "eleven: jr $ra\n"
        "    li $v0, 11\n"
        "twelve: jr $ra\n"
        "    li $v0, 12\n"
        "thirteen: jr $ra\n"
        "    li $v0, 13\n"
        ".end choose\n"
        ".globl choose_once\n"
        ".ent choose_once\n"
        "choose_once:\n"
        "    lui $t6, %hi(table)\n"
        "    addiu $t6, $t6, %lo(table)\n"
        "    addu $t6, $t6, $a0\n"
        "    beq $a1, $zero, out\n"
        "    nop\n"
        "    lw $v0, 0($t6)\n"
        "    addu $v1, $v0, $zero\n"
        "    jr $v0\n"
        "    nop\n"
        "out: jr $ra\n"
        "    nop\n"
        ".end choose_once\n"
        ".globl elsewhere\n"
        ".ent elsewhere\n"
        "elsewhere: jr $ra\n"
        "    li $v0, 77\n"
        ".end elsewhere\n"
        SECTION
        ".globl table\n"
        ".globl other\n"
        "table: .word ten, eleven, twelve, thirteen, elsewhere\n"
        "other: .word thirteen, twelve, eleven, ten\n"
        ".text\n"
        ".set reorder\n");

static const struct {
    unsigned offset;
    const char *base;
    int result;
} calls[] = {
    {0, 0, 10},         {4, 0, 11},         {8, 0, 12},         {12, 0, 13},         {16, 0, 77},
    {20, 0, 13},        {0, other, 13},     {4, other, 12},     {12, other, 10},     {-4u, other, 77},
    {1, table - 1, 10}, {5, table - 1, 11}, {2, table + 2, 11}, {-8u, table + 16, 12}, {0x80000000u, table + 0x80000008u, 12},
};

__attribute__((noreturn)) static void leave(int status)
{
    register int v0 __asm__("$2") = 4001;
    register int a0 __asm__("$4") = status;
    __asm__ volatile("syscall" : : "r"(v0), "r"(a0));
    __builtin_unreachable();
}

void __start(void)
{
    for (unsigned call = 0; call < sizeof calls / sizeof calls[0]; call++)
        if (choose(calls[call].offset, calls[call].base) != calls[call].result)
            leave((int)call + 1);
#ifdef WRITABLE
    ((const char *volatile *)table)[1] = *(const char *volatile *)other;
    if (choose(4, 0) != 13 || choose(8, 0) != 12 || choose(0, other) != 13)
        leave(100);
#endif
#ifdef BETWEEN
    choose(2, 0); // goes where the halves of two entries tell it: nothing is there
#endif
    leave(0);
}
