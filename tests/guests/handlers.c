/* What handlers of faults, traps and signals see and change where recompiled code least expects them. Prints lines. */
#include "registers.h"

#define PAGE 4096
#define NOINLINE __attribute__((noinline))

enum { EXIT = 4001, SETITIMER = 4104, MPROTECT = 4125, GETPID = 4020, SIGACTION = 4194 };
enum { TRAP = 5, SEGV = 11, ALRM = 14, SIGINFO = 8 };

struct action { unsigned flags; void (*handler)(int, void *, unsigned *); unsigned mask[4]; };

static void handle(int number, void (*handler)(int, void *, unsigned *))
{
    struct action action = {SIGINFO, handler, {0}};
    call(SIGACTION, number, (long)&action, 0);
}

/* A leaf whose frame the handler's must not lie on. */
static char pages[3 * PAGE] __attribute__((aligned(PAGE)));

static volatile unsigned faults;

static void opens_page(int number, void *information, unsigned *context)
{
    (void)number, (void)information, (void)context;
    faults++;
    call(MPROTECT, (long)(pages + PAGE), PAGE, 7);
}

static void close_page(void)
{
    call(MPROTECT, (long)(pages + PAGE), PAGE, 0);
}

NOINLINE static unsigned leaf(unsigned *at, unsigned factor)
{
    volatile unsigned words[300];
    for (unsigned i = 0; i < 300; i++)
        words[i] = i * factor;
    unsigned sum = *at;
    for (unsigned i = 0; i < 300; i++)
        sum += words[i];
    return sum;
}

/* sp is loaded in two halves, and a fault follows in the same block. */
static unsigned stack[PAGE / 4];
unsigned *stack_pointer;
FUNCTION(moves_sp,
         "move $t0,$sp\n lui $a2,%hi(stack_pointer)\n addiu $a2,$a2,%lo(stack_pointer)\n"
         ".ifdef LITTLE\n lwr $sp,0($a2)\n lwl $sp,3($a2)\n .else\n lwl $sp,0($a2)\n lwr $sp,3($a2)\n .endif\n"
         "li $v0,7\n sw $v0,0($sp)\n sw $v0,400($sp)\n sw $v0,800($sp)\n lw $v1,0($a1)\n"
         "lw $v0,0($sp)\n lw $v1,400($sp)\n addu $v0,$v0,$v1\n lw $v1,800($sp)\n addu $v0,$v0,$v1\n"
         "move $sp,$t0\n jr $ra\n nop\n");

/* Loads that are there for their faults only. */
NOINLINE static void probe(volatile char *at) { (void)*at; }
NOINLINE static int probe_first(volatile char *at, int value) { (void)*at; return value; }
FUNCTION(probe_slot, "jr $ra\n lw $v0,0($a1)\n");
NOINLINE static unsigned ignores(unsigned value) { (void)value; return faults; }
NOINLINE static unsigned probe_argument(volatile unsigned *at) { return ignores(*at); }

/* A handler changes a register at the head of a loop, and the next instruction traps. */
static void stops_loop(int number, void *information, unsigned *context)
{
    (void)number, (void)information;
    *saved_register(context, 11) = 1;
}

extern char spins_end[];

static void shows_trap(int number, void *information, unsigned *context)
{
    (void)number, (void)information;
    show("t0", *saved_register(context, 8));
    show("t3", *saved_register(context, 11));
    *saved_register(context, -1) = (unsigned)spins_end; /* the pc stands before the registers */
}

FUNCTION(spins,
         "li $t3,0\n li $t0,0x77\n 1: tne $t3,$0\n li $t0,0\n lw $t1,0($a1)\n bnez $t1,2f\n addu $t0,$t0,$t1\n"
         "lw $t2,0($a1)\n b 1b\n li $t0,0x55\n 2: spins_end: jr $ra\n nop\n");

void __start(void)
{
    long every[4] = {0, 0, 0, 50000};
    static uint32_t word;
    handle(ALRM, stops_loop);
    handle(TRAP, shows_trap);
    call(SETITIMER, 0, (long)every, 0);
    spins(0, &word);

    char *volatile closed = pages + PAGE; /* volatile: gcc makes no copies for constants */
    handle(SEGV, opens_page);
    close_page();
    show("leaf", leaf((unsigned *)closed, 7));
    close_page();
    stack_pointer = stack + PAGE / 8;
    show("moves_sp", moves_sp(0, (uint32_t *)closed));

    probe(pages);
    show("open", faults);
    close_page();
    probe(closed);
    probe(pages);
    show("probe", faults);
    close_page();
    show("value", probe_first(closed, 3));
    show("probe_first", faults);
    close_page();
    probe_slot(0, (uint32_t *)closed);
    show("probe_slot", faults);
    close_page();
    show("probe_argument", probe_argument((unsigned *)closed));
    call(EXIT, 0, 0, 0);
}
