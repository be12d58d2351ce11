/* Faults at every access of some functions: their handler notes all registers and lets the access go on. Writes its notes.
 *
 * What the functions access, and their stack, lies in pages of which one is open at a time, so an access of another page than
 * the last one's faults. Handlers run on a stack of their own.
 */
#include "registers.h"

#define PAGE 4096
#define PAGES 8
#define STACK_PAGE 7 /* frames lie in it and in the one below */
#define OUTSIDE __attribute__((noinline, noclone))

typedef uint32_t word;

enum { EXIT = 4001, MPROTECT = 4125, SIGACTION = 4194, SIGALTSTACK = 4206 };
enum { SEGV = 11, SIGINFO = 8, ONSTACK = 0x08000000 };

struct note { word pc, address, registers[32]; };
static struct note notes[3000];
static word note_count;
static char handler_stack[8 * PAGE] __attribute__((aligned(16)));
static word pages[PAGES][PAGE / 4] __attribute__((aligned(PAGE)));

static void notes_fault(int number, word *information, word *context)
{
    struct note *note = &notes[note_count];
    (void)number;
    note_count += note_count < sizeof notes / sizeof *notes - 1;
    note->pc = *saved_register(context, -1);
    note->address = information[3];
    for (int i = 0; i < 32; i++)
        note->registers[i] = *saved_register(context, i);
    call(MPROTECT, (long)pages, sizeof pages, 0);
    call(MPROTECT, (long)(note->address & ~(PAGE - 1)), PAGE, 3);
}

/* Calls a function on a stack in the pages. */
FUNCTION(on_stack,
         "addiu $sp,$sp,-32\n sw $ra,28($sp)\n sw $s0,24($sp)\n move $s0,$sp\n move $t9,$a0\n move $sp,$a1\n"
         "li $a0,3\n li $a1,5\n li $a2,7\n li $a3,11\n jalr $t9\n addiu $sp,$sp,-16\n"
         "move $sp,$s0\n lw $ra,28($sp)\n lw $s0,24($sp)\n jr $ra\n addiu $sp,$sp,32\n");

/* ---- leaves ---- */

OUTSIDE static word leaf(word *a, word *b, word *c, word x)
{
    word sum = *a + x;
    *b = sum;
    sum ^= *c << 3;
    *a = sum + x;
    return sum + *b;
}

static inline word stepped(word *a, word *b, word n)
{
    word sum = n;
    *a++ += sum;
    *b++ ^= sum;
    sum += *a++;
    *b++ = sum;
    sum -= *a--;
    return sum + *b + *a;
}

OUTSIDE static word steps(word *a, word *b, word n)
{
    return stepped(a, b, n) + stepped(b, a, n + 1);
}

/* Registers are written between the accesses of one block. */
FUNCTION(writes,
         "addiu $sp,$sp,-48\n sw $s0,40($sp)\n sw $s1,36($sp)\n sw $s7,32($sp)\n sw $fp,28($sp)\n sw $ra,24($sp)\n"
         "addiu $s0,$a3,100\n lw $t0,0($a1)\n addiu $s1,$s0,1\n sw $s1,0($a2)\n addu $s7,$s1,$t0\n xori $a0,$s7,9\n"
         "lw $t1,4($a1)\n addiu $a1,$a1,8\n sw $t1,8($a2)\n move $fp,$a0\n lw $a3,0($a1)\n li $ra,77\n sw $a3,12($a2)\n"
         "addiu $sp,$sp,-8\n lw $s0,4($a1)\n sw $s0,16($sp)\n addu $v0,$s0,$s1\n addu $v0,$v0,$s7\n addu $v0,$v0,$fp\n"
         "addu $v0,$v0,$ra\n sw $v0,16($a2)\n addiu $sp,$sp,8\n lw $s0,40($sp)\n lw $s1,36($sp)\n lw $s7,32($sp)\n"
         "lw $fp,28($sp)\n lw $ra,24($sp)\n jr $ra\n addiu $sp,$sp,48\n");

/* An access in the slots of a branch, a call and a return. */
FUNCTION(slots,
         "addiu $sp,$sp,-32\n sw $ra,28($sp)\n sw $s0,24($sp)\n li $s0,1\n 1: addu $s0,$s0,$s0\n slti $t0,$s0,100\n"
         "bnez $t0,1b\n sw $s0,0($a1)\n addiu $a1,$a1,64\n bal 2f\n lw $s0,0($a2)\n"
         "addu $v0,$v0,$s0\n lw $ra,28($sp)\n lw $s0,24($sp)\n addiu $sp,$sp,32\n jr $ra\n sw $v0,0($a0)\n"
         "2: sw $s0,0($a1)\n jr $ra\n lw $v0,4($a2)\n");

/* ---- calls ---- */

/* All saved registers have values over the calls, and the callee saves them all. */
OUTSIDE static word deep(word n, word *a, word *b, word x)
{
    word p = x * 3 + 1, q = x ^ n, r = *a + p, s = *b - q, t = r ^ s, u = t + n;
    if (n == 0)
        return p + q + r + s + t + u;
    *b = u;
    word v = deep(n - 1, b, a, p ^ t);
    *a += v;
    word w = deep(n - 1 - (n > 2), a, b, q + u);
    return p + q + r + s + t + u + v + w + *b + x;
}

static word small(word *a, word x)
{
    *a = *a * 5 + x;
    return *a ^ x;
}

static word (*volatile pointer)(word *, word) = small;

OUTSIDE static word tiny(word *a, word x)
{
    return *a += x;
}

OUTSIDE static word calls(word *a, word *b, word n)
{
    word sum = 0;
    for (word i = 0; i < n; i++) {
        sum += tiny(a + i, sum) ^ tiny(b + i, i);
        sum -= pointer(a, sum) + *b;
    }
    return sum;
}

/* ---- loops ---- */

OUTSIDE static void copies(word *to, const word *from, word n)
{
    for (word i = 0; i < n; i++)
        to[i] = from[i] + i;
}

OUTSIDE static word sums(const word *a, const word *b, word n)
{
    word sum = 0;
    for (word i = 0; i < n; i++)
        sum += a[i] * b[n - i];
    return sum;
}

OUTSIDE static word searches(word *a, word *b, word *c, word n)
{
    word *start = a;
    while (*a + *b != n && a < start + 20) {
        if (*a++ & 1)
            n ^= *c++;
        b += *c & 1;
    }
    return (word)(a - start) + n;
}

#define CASE(n) case (n): a[(n) & 31] += x ^ (n); x += b[(n) & 7]; y ^= x << ((n) & 7); i += c[(n) & 3] & 1; break;
#define CASES(n) CASE(n) CASE(n + 1) CASE(n + 2) CASE(n + 3) CASE(n + 4) CASE(n + 5) CASE(n + 6) CASE(n + 7)

/* Large: recompiled code has its registers in the state. */
OUTSIDE static word interprets(word *a, word *b, word *c, word n)
{
    word x = n, y = 1;
    for (word i = 0; i < 40; i++)
        switch ((x + c[i & 15]) * 0x9e3779b9 >> 25) { /* all bits of the word count */
            CASES(0) CASES(8) CASES(16) CASES(24) CASES(32) CASES(40) CASES(48) CASES(56)
            CASES(64) CASES(72) CASES(80) CASES(88) CASES(96) CASES(104) CASES(112) CASES(120)
        }
    return x + y;
}

OUTSIDE static word run_leaf(word *a, word *b, word *c, word n) { return leaf(a, b, c, n); }
OUTSIDE static word run_steps(word *a, word *b, word *c, word n) { return steps(a + n, b + *c % 4, 7 * n); }
OUTSIDE static word run_deep(word *a, word *b, word *c, word n) { return deep(n + 2, a, b, *c); }
OUTSIDE static word run_calls(word *a, word *b, word *c, word n) { return calls(a, b, n + 3) + *c; }
OUTSIDE static word run_copies(word *a, word *b, word *c, word n)
{
    copies(a, b, n + 15);
    copies(c, b + 1, n + 7);
    return *a;
}
OUTSIDE static word run_sums(word *a, word *b, word *c, word n) { return sums(a, b, 20 + n) + *c; }

typedef word function(word *, word *, word *, word);
/* By pointers: nothing is inlined, and all registers of the caller's are in use. */
static function *volatile const functions[] = {
    run_leaf, run_steps, (function *)writes, (function *)slots, run_deep, run_calls, run_copies, run_sums, searches, interprets,
};

OUTSIDE static word all(void)
{
    word *a = pages[0], *b = pages[1], *c = pages[2], sum = 0;
    for (word i = 0; i < 64; i++) {
        a[i] = 0x10001 * i;
        b[i] = i ^ 0x5a5a;
        c[i] = i * i;
    }
    for (word i = 0; i < 3; i++)
        for (word n = 0; n < sizeof functions / sizeof *functions; n++)
            sum += functions[n](a, b, c, i);
    return sum;
}

void __start(void)
{
    struct { unsigned flags; void (*handler)(int, word *, word *); word mask[4]; } action = {SIGINFO | ONSTACK, notes_fault, {0}};
    struct { void *low; word size; int flags; } stack = {handler_stack, sizeof handler_stack, 0};
    call(SIGALTSTACK, (long)&stack, 0, 0);
    call(SIGACTION, SEGV, (long)&action, 0);
    call(MPROTECT, (long)pages, sizeof pages, 0);
    note_count = 0;
    word sum = on_stack((word)all, (word *)((char *)pages[STACK_PAGE] + PAGE - 256));
    put((const char *)&sum, sizeof sum);
    put((const char *)notes, note_count * sizeof *notes);
    call(EXIT, note_count == sizeof notes / sizeof *notes - 1, 0, 0);
}
