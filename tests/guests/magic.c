/* Reads standard input, and faults where it begins with two letters: the second is looked at behind the first one alone.
 * With WORD it faults where it begins with a word that no chance would find; SHORT_CODE compares that in MIPS16e code, and SUM by
 * an addition, as compilers do. */
#ifdef SHORT_CODE
#define KIND __attribute__((noinline, mips16))
#else
#define KIND __attribute__((noinline))
#endif

#ifdef WORD
static KIND void look_at_word(const unsigned *input)
{
#ifdef SUM
    unsigned is_it;
    __asm__(".set push\n\t.set noreorder\n\taddu %0, %1, %2\n\tsltiu %0, %0, 1\n\t.set pop"
            : "=&r"(is_it) : "r"(*input), "r"(0u - 0x8badf00du));
#else
    unsigned is_it = *input == 0x8badf00du;
#endif
    if (is_it)
        *(volatile int *)4 = 1;
}
#endif

static long read_input(char *to, long size)
{
    register long number __asm__("$2") = 4003, fd __asm__("$4") = 0, error __asm__("$7");
    register char *address __asm__("$5") = to;
    register long bytes __asm__("$6") = size;
    __asm__ volatile("syscall" : "+r"(number), "=r"(error) : "r"(fd), "r"(address), "r"(bytes)
                     : "$1", "$3", "$8", "$9", "$10", "$11", "$12", "$13", "$14", "$15", "$24", "$25", "memory");
    return error ? 0 : number;
}

int main(void)
{
    char input[64] __attribute__((aligned(4)));
    volatile int steps = 0;
    if (read_input(input, sizeof input) < 4)
        return 1;
#ifdef WORD
    look_at_word((const unsigned *)(const void *)input);
#else
    if (input[0] == 'M') {
        steps++;
        if (input[1] == 'R')
            *(volatile int *)4 = steps;
    }
#endif
    return 0;
}
