/* System calls of guests without a libc. */
#ifndef CALLS_H
#define CALLS_H

#include <stdint.h>

/* Returns what the call with up to five arguments does, or -1 where it fails. */
static int call(int number, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uintptr_t e)
{
    register uintptr_t v0 __asm__("$2") = (uintptr_t)number;
    register uintptr_t a0 __asm__("$4") = a, a1 __asm__("$5") = b, a2 __asm__("$6") = c, a3 __asm__("$7") = d;
    __asm__ volatile("addiu $29, $29, -32\n\tsw %[e], 16($29)\n\tsw $0, 20($29)\n\tsyscall\n\taddiu $29, $29, 32"
                     : "+r"(v0), "+r"(a3)
                     : "r"(a0), "r"(a1), "r"(a2), [e] "r"(e)
                     : "$1", "$3", "$8", "$9", "$10", "$11", "$12", "$13", "$14", "$15", "$24", "$25", "hi", "lo",
                       "memory");
    return a3 ? -1 : (int)v0;
}

#endif
