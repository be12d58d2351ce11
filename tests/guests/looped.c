/* parse() looks at bytes in memory, and faults where they begin with "BUG", or are "?" and it was called before. It ends the
 * process at "X", and maps memory at "M" and at "U", where it unmaps it. At "D" it makes descriptors, and ends with status 9
 * where it gets other ones. At "P" its input becomes read-only. main() has it parse what standard input has. */
#include "out.h"

static volatile int calls;
static volatile unsigned char scratch[3 * 65536]; /* of which pages are touched that were not there before */

static long call(long number, long a, long b, long c, long d)
{
    register long v0 __asm__("$2") = number, a0 __asm__("$4") = a, a1 __asm__("$5") = b, a2 __asm__("$6") = c;
    register long a3 __asm__("$7") = d;
    __asm__ volatile("addiu $29, $29, -32\n\tsw %2, 16($29)\n\tsw $0, 20($29)\n\tsyscall\n\taddiu $29, $29, 32"
                     : "+r"(v0), "+r"(a3) : "r"(-1L), "r"(a0), "r"(a1), "r"(a2)
                     : "$1", "$3", "$8", "$9", "$10", "$11", "$12", "$13", "$14", "$15", "$24", "$25", "memory");
    return a3 == 0 ? v0 : -1;
}

__attribute__((noinline)) int parse(const unsigned char *text, unsigned size_bytes)
{
    unsigned sum = 0;
    for (unsigned i = 0; i < size_bytes; i++)
        sum += text[i];
    if (size_bytes >= 3 && text[0] == 'B' && text[1] == 'U' && text[2] == 'G')
        *(volatile int *)4 = 1;
    if (size_bytes > 0 && text[0] == '?' && (calls != 0 || scratch[2 * 65536] != 0))
        *(volatile int *)4 = 2;
    if (size_bytes > 0 && text[0] == 'X')
        call(4001, 7, 0, 0, 0);
    if (size_bytes > 0 && text[0] == 'M')
        call(4090, 0, 65536, 3, 0x802);
    if (size_bytes > 0 && text[0] == 'U')
        call(4091, call(4090, 0, 65536, 3, 0x802), 65536, 0, 0);
    if (size_bytes > 0 && text[0] == 'D')
        for (long fd = 200; fd < 210; fd++)
            if (call(4063, 2, fd, 0, 0) != fd)
                call(4001, 9, 0, 0, 0);
    if (size_bytes > 0 && text[0] == 'P')
        call(4125, (long)text, 65536, 1, 0);
    calls++;
    scratch[2 * 65536] = 1;
    return (int)sum;
}

int main(void)
{
    static unsigned char text[4096];
    long size_bytes = call(4003, 0, (long)text, sizeof text, 0);
    return parse(text, size_bytes > 0 ? (unsigned)size_bytes : 0) & 1;
}
