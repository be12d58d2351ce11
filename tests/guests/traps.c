/* Every way an instruction can raise a signal, with what a Linux kernel on MIPS tells about it.
 *
 * The expectations are read from arch/mips/kernel (traps.c: do_ov, do_tr, do_bp, do_ri, do_cpu, do_trap_or_bp,
 * process_fpemu_return; unaligned.c: do_ade) and arch/mips/mm/fault.c. Freestanding, to be translated quickly.
 * A row that differs is a line; the last line counts the rows. With the argument "die", a child for each row is killed.
 */
#include "out.h"

#include <asm/unistd.h>
#include <signal.h>
#include <ucontext.h>

#define PAGE 4096u
enum { KERNEL = 0x80, MAPERR = 1, ACCERR = 2, ADRERR = 2, INTDIV = 1, INTOVF = 2, BRKPT = 1 };
enum where { NOWHERE, GOOD, READONLY, FORBIDDEN, HOLE, BEYOND_FILE, LOW, HIGH, VERY_HIGH };
enum told { NOTHING, THE_PC, THE_ADDRESS };

/* ---- system calls ---- */

static long call(long number, long a, long b, long c, long d, long e, long f)
{
    register long v0 __asm__("$2") = number;
    register long r4 __asm__("$4") = a;
    register long r5 __asm__("$5") = b;
    register long r6 __asm__("$6") = c;
    register long r7 __asm__("$7") = d;
    __asm__ volatile("addiu $sp, $sp, -32\n\tsw %[e], 16($sp)\n\tsw %[f], 20($sp)\n\tsyscall\n\taddiu $sp, $sp, 32"
                     : "+r"(v0), "+r"(r7)
                     : "r"(r4), "r"(r5), "r"(r6), [e] "r"(e), [f] "r"(f)
                     : "$1", "$3", "$8", "$9", "$10", "$11", "$12", "$13", "$14", "$15", "$24", "$25", "memory");
    return r7 ? -v0 : v0;
}

static uint32_t map(uint32_t at, uint32_t size_bytes, int protection, int flags, long fd, uint32_t page)
{
    return (uint32_t)call(__NR_mmap2, (long)at, (long)size_bytes, protection, flags, fd, (long)page);
}

struct kernel_action {
    unsigned flags;
    void *handler;
    unsigned mask[4];
};

/* ---- places ---- */

static uint32_t places[9];

static void make_places(const char *program)
{
    enum { PRIVATE = 2, ANONYMOUS = 0x800 };
    places[BEYOND_FILE] = map(0, PAGE, 3, PRIVATE, call(__NR_open, (long)program, 0, 0, 0, 0, 0), 0x10000);
    uint32_t base = map(0, 4 * PAGE, 3, PRIVATE | ANONYMOUS, -1, 0);
    places[GOOD] = base;
    call(__NR_mprotect, (long)(base + PAGE), PAGE, 1, 0, 0, 0);
    places[READONLY] = base + PAGE;
    call(__NR_mprotect, (long)(base + 2 * PAGE), PAGE, 0, 0, 0, 0);
    places[FORBIDDEN] = base + 2 * PAGE;
    call(__NR_munmap, (long)(base + 3 * PAGE), PAGE, 0, 0, 0, 0);
    places[HOLE] = base + 3 * PAGE;
    places[LOW] = 0x120;
    places[HIGH] = 0x80000000u;
    places[VERY_HIGH] = 0xfffff000u;
}

/* ---- probes: functions of an address, with a label pc_NAME at what EPC holds when they fault ---- */

#define PROBE(name, ...)                                                                                     \
    __asm__(".text\n.set push\n.set noreorder\n.set noat\n.set nomacro\n.set mips32r2\n.set nomips16\n"       \
            ".globl run_" #name "\n.type run_" #name ", @function\n.ent run_" #name "\nrun_" #name ":\n"       \
            __VA_ARGS__                                                                                      \
            "\njr $ra\nnop\n.end run_" #name "\n.size run_" #name ", .-run_" #name "\n.set pop");             \
    uint32_t run_##name(uint32_t address);                                                                   \
    extern const char pc_##name[];

#define AT(name) "pc_" #name ": "
#define PLAIN(name, instruction) PROBE(name, "li $2, 77\nlui $8, 0x7fff\nlui $9, 0x8000\n" AT(name) instruction)
#define SLOT(name, instruction)                                                                              \
    PROBE(name, "li $2, 77\nlui $8, 0x7fff\nlui $9, 0x8000\n" AT(name) "beq $0, $0, 1f\n" instruction "\nli $2, 78\n1:")

PLAIN(add, "add $3, $8, $8")
PLAIN(addi, "addi $3, $9, -1")
PLAIN(sub, "sub $3, $9, $8")
SLOT(add_slot, "add $3, $8, $8")
PLAIN(teq, "teq $0, $0")
PLAIN(teq_6, "teq $0, $0, 6")
PLAIN(teq_7, "teq $0, $0, 7")
PLAIN(teq_12, "teq $0, $0, 12")
PLAIN(teq_514, "teq $0, $0, 514")
PLAIN(teq_1023, "teq $0, $0, 1023")
PLAIN(tne_7, "tne $0, $8, 7")
PLAIN(tge_7, "tge $8, $9, 7")
PLAIN(tgeu_7, "tgeu $9, $8, 7")
PLAIN(tlt_7, "tlt $9, $8, 7")
PLAIN(tltu_7, "tltu $8, $9, 7")
PLAIN(tgei, "tgei $8, 448") /* looks like code 7 */
PLAIN(tgeiu, "tgeiu $8, 448")
PLAIN(tlti, "tlti $9, 448")
PLAIN(tltiu, "tltiu $0, 448")
PLAIN(teqi, "teqi $0, 0")
PLAIN(tnei, "tnei $0, 448")
SLOT(teq_slot, "teq $0, $0, 7")
PLAIN(break_0, "break")
PLAIN(break_5, "break 5")
PLAIN(break_6, "break 6")
PLAIN(break_7, "break 7")
PLAIN(break_low_6, "break 0, 6")
PLAIN(break_low_7, "break 0, 7")
PLAIN(break_12, "break 12")
PLAIN(break_514, "break 514")
PLAIN(break_1023, "break 1023")
PLAIN(break_both, "break 7, 7")
SLOT(break_slot, "break 7")
PLAIN(reserved, ".word 0xfc000000")
SLOT(reserved_slot, ".word 0xfc000000")
PLAIN(daddu, ".word 0x0109182d")
PLAIN(coprocessor_0, "mfc0 $3, $12")
PLAIN(coprocessor_2, ".word 0x48030000")
PLAIN(hardware, ".word 0x7c03f83b") /* rdhwr $3, $31 */
PLAIN(cache, ".word 0xbc800000")
PLAIN(eret, "eret")
PLAIN(odd_double, ".word 0xd4810000") /* ldc1 $f1, 0($4) with FR=0 */

#define ACCESS(instruction) PROBE(instruction, AT(instruction) #instruction " $6, 0($4)")
#define FLOAT_ACCESS(instruction) PROBE(instruction, AT(instruction) #instruction " $f2, 0($4)")
ACCESS(lb) ACCESS(lbu) ACCESS(lh) ACCESS(lhu) ACCESS(lw) ACCESS(lwl) ACCESS(lwr) ACCESS(ll)
ACCESS(sb) ACCESS(sh) ACCESS(sw) ACCESS(swl) ACCESS(swr) ACCESS(sc)
FLOAT_ACCESS(lwc1) FLOAT_ACCESS(ldc1) FLOAT_ACCESS(swc1) FLOAT_ACCESS(sdc1)
PROBE(lwxc1, AT(lwxc1) ".word 0x4c800080") /* lwxc1 $f2, $0($4) */
PROBE(lwx, AT(lwx) ".word 0x7c80300a")   /* lwx $6, $0($4): these three are of the DSP module */
PROBE(lhx, AT(lhx) ".word 0x7c80310a")   /* lhx $6, $0($4) */
PROBE(lbux, AT(lbux) ".word 0x7c80318a") /* lbux $6, $0($4) */
SLOT(lw_slot, "lw $6, 0($4)")
SLOT(sw_slot, "sw $6, 0($4)")
PROBE(likely_slot, AT(likely_slot) "beql $0, $0, 1f\nlw $6, 0($4)\nnop\n1:")
PROBE(return_slot, AT(return_slot) "jr $31\nlw $6, 0($4)\njr $31\nnop")
PROBE(dead, AT(dead) "lw $6, 0($4)\nli $6, 1\nmove $2, $6")
PROBE(dead_to_zero, AT(dead_to_zero) "lw $0, 0($4)\nli $2, 1")
PROBE(dead_byte, AT(dead_byte) "lb $6, 0($4)\nli $6, 1\nmove $2, $6")
PROBE(dead_float, AT(dead_float) "lwc1 $f2, 0($4)\nmtc1 $0, $f2")
PROBE(dead_double, AT(dead_double) "ldc1 $f2, 0($4)\nmtc1 $0, $f2\nmtc1 $0, $f3")
PROBE(dead_left, AT(dead_left) "lwl $6, 0($4)\nli $6, 1")
PROBE(dead_one_way, AT(dead_one_way) "lw $6, 0($4)\nbeq $0, $5, 1f\nnop\nmove $2, $6\njr $31\nnop\n1: li $6, 1")
PROBE(dead_in_slot, AT(dead_in_slot) "beq $0, $5, 1f\nlw $6, 0($4)\nmove $2, $6\njr $31\nnop\n1: li $6, 1")
PROBE(increment, AT(increment) "lw $6, 0($4)\naddiu $6, $6, 1\nsw $6, 0($4)\nli $6, 1\nnop")
PROBE(increment_byte, AT(increment_byte) "lbu $6, 0($4)\naddiu $6, $6, 1\nb 1f\nsb $6, 0($4)\nnop\n1: li $6, 1")
PROBE(increment_written, "lw $6, 0($4)\naddiu $6, $6, 1\n" AT(increment_written) "sw $6, 0($4)\nli $6, 1")
PROBE(sc_after_ll, "ll $6, 0($4)\n" AT(sc_after_ll) "sc $6, 0($4)")

/* ---- rows ---- */

static const struct row {
    const char *name;
    uint32_t (*run)(uint32_t);
    const char *pc;
    enum where where;
    int offset;
    int signal, code;
    enum told told;
    int slot; /* 1: the fault is in a delay slot; 2: all of the probe is to be skipped */
} rows[] = {
#define ROW(name, ...) {#name, run_##name, pc_##name, __VA_ARGS__}
#define TRAPPED(name, signal, code, told) ROW(name, NOWHERE, 0, signal, code, told, 0)
    TRAPPED(add, SIGFPE, INTOVF, THE_PC), TRAPPED(addi, SIGFPE, INTOVF, THE_PC), TRAPPED(sub, SIGFPE, INTOVF, THE_PC),
    ROW(add_slot, NOWHERE, 0, SIGFPE, INTOVF, THE_PC, 1),
    TRAPPED(teq, SIGTRAP, KERNEL, NOTHING), TRAPPED(teq_6, SIGFPE, INTOVF, THE_PC),
    TRAPPED(teq_7, SIGFPE, INTDIV, THE_PC), TRAPPED(teq_12, SIGTRAP, KERNEL, NOTHING),
    TRAPPED(teq_514, SIGTRAP, KERNEL, NOTHING), TRAPPED(teq_1023, SIGTRAP, KERNEL, NOTHING),
    TRAPPED(tne_7, SIGFPE, INTDIV, THE_PC), TRAPPED(tge_7, SIGFPE, INTDIV, THE_PC),
    TRAPPED(tgeu_7, SIGFPE, INTDIV, THE_PC), TRAPPED(tlt_7, SIGFPE, INTDIV, THE_PC),
    TRAPPED(tltu_7, SIGFPE, INTDIV, THE_PC), TRAPPED(tgei, SIGTRAP, KERNEL, NOTHING),
    TRAPPED(tgeiu, SIGTRAP, KERNEL, NOTHING), TRAPPED(tlti, SIGTRAP, KERNEL, NOTHING),
    TRAPPED(tltiu, SIGTRAP, KERNEL, NOTHING), TRAPPED(teqi, SIGTRAP, KERNEL, NOTHING),
    TRAPPED(tnei, SIGTRAP, KERNEL, NOTHING), ROW(teq_slot, NOWHERE, 0, SIGFPE, INTDIV, THE_PC, 1),
    TRAPPED(break_0, SIGTRAP, BRKPT, NOTHING), TRAPPED(break_5, SIGTRAP, BRKPT, NOTHING),
    TRAPPED(break_6, SIGFPE, INTOVF, THE_PC), TRAPPED(break_7, SIGFPE, INTDIV, THE_PC),
    TRAPPED(break_low_6, SIGFPE, INTOVF, THE_PC), TRAPPED(break_low_7, SIGFPE, INTDIV, THE_PC),
    TRAPPED(break_12, SIGTRAP, KERNEL, NOTHING), TRAPPED(break_514, SIGTRAP, KERNEL, NOTHING),
    TRAPPED(break_1023, SIGTRAP, BRKPT, NOTHING), TRAPPED(break_both, SIGTRAP, BRKPT, NOTHING),
    ROW(break_slot, NOWHERE, 0, SIGFPE, INTDIV, THE_PC, 1),
    TRAPPED(reserved, SIGILL, KERNEL, NOTHING), ROW(reserved_slot, NOWHERE, 0, SIGILL, KERNEL, NOTHING, 1),
    TRAPPED(daddu, SIGILL, KERNEL, NOTHING), TRAPPED(coprocessor_0, SIGILL, KERNEL, NOTHING),
    TRAPPED(coprocessor_2, SIGILL, KERNEL, NOTHING), TRAPPED(hardware, SIGILL, KERNEL, NOTHING),
    TRAPPED(cache, SIGILL, KERNEL, NOTHING), TRAPPED(eret, SIGILL, KERNEL, NOTHING),
    ROW(odd_double, GOOD, 0, SIGILL, KERNEL, NOTHING, 0),

#define PAGE_FAULTS(name)                                                                                    \
    ROW(name, LOW, 0, SIGSEGV, MAPERR, THE_ADDRESS, 0), ROW(name, HOLE, 8, SIGSEGV, MAPERR, THE_ADDRESS, 0),  \
    ROW(name, FORBIDDEN, 8, SIGSEGV, ACCERR, THE_ADDRESS, 0),                                                \
    ROW(name, BEYOND_FILE, 8, SIGBUS, ADRERR, THE_ADDRESS, 0)
#define IN_KERNEL(name, code, told)                                                                          \
    ROW(name, HIGH, 0, SIGBUS, code, told, 0), ROW(name, VERY_HIGH, 0, SIGBUS, code, told, 0)
#define MISALIGNED(name, offset)                                                                             \
    ROW(name, LOW, offset, SIGSEGV, KERNEL, NOTHING, 0), ROW(name, FORBIDDEN, offset, SIGSEGV, KERNEL, NOTHING, 0), \
    ROW(name, BEYOND_FILE, offset, SIGSEGV, KERNEL, NOTHING, 0), ROW(name, HIGH, offset, SIGBUS, KERNEL, NOTHING, 0), \
    ROW(name, GOOD, offset, 0, 0, NOTHING, 0)
#define FLOAT_MISALIGNED(name, offset)                                                                       \
    ROW(name, LOW, offset, SIGSEGV, MAPERR, THE_ADDRESS, 0),                                                 \
    ROW(name, FORBIDDEN, offset, SIGSEGV, ACCERR, THE_ADDRESS, 0),                                           \
    ROW(name, HIGH, offset, SIGBUS, ADRERR, THE_ADDRESS, 0), ROW(name, GOOD, offset, 0, 0, NOTHING, 0)
#define WRITTEN(name) ROW(name, READONLY, 16, SIGSEGV, ACCERR, THE_ADDRESS, 0)
#define WHOLE(name) PAGE_FAULTS(name), IN_KERNEL(name, KERNEL, NOTHING)
#define FLOAT(name) PAGE_FAULTS(name), IN_KERNEL(name, ADRERR, THE_ADDRESS)
    WHOLE(lb), WHOLE(lbu), WHOLE(lh), WHOLE(lhu), WHOLE(lw), WHOLE(lwl), WHOLE(lwr), WHOLE(ll), WHOLE(sb), WHOLE(sh),
    WHOLE(sw), WHOLE(swl), WHOLE(swr), FLOAT(lwc1), FLOAT(ldc1), FLOAT(swc1), FLOAT(sdc1), FLOAT(lwxc1),
    WHOLE(lwx), WHOLE(lhx), PAGE_FAULTS(lbux), ROW(lbux, HIGH, 0, SIGILL, KERNEL, NOTHING, 0),
    MISALIGNED(lwx, 2), MISALIGNED(lhx, 1),
    MISALIGNED(lh, 1), MISALIGNED(lhu, 1), MISALIGNED(lw, 1), MISALIGNED(lw, 2), MISALIGNED(sh, 1), MISALIGNED(sw, 3),
    FLOAT_MISALIGNED(lwc1, 2), FLOAT_MISALIGNED(ldc1, 4), FLOAT_MISALIGNED(ldc1, 1), FLOAT_MISALIGNED(swc1, 3),
    FLOAT_MISALIGNED(sdc1, 4), FLOAT_MISALIGNED(sdc1, 7), FLOAT_MISALIGNED(lwxc1, 1),
    WRITTEN(sb), WRITTEN(sh), WRITTEN(sw), WRITTEN(swl), WRITTEN(swr), WRITTEN(swc1), WRITTEN(sdc1),
    WRITTEN(sc_after_ll), ROW(sc_after_ll, GOOD, 0, 0, 0, NOTHING, 0),
    ROW(ll, GOOD, 1, SIGBUS, KERNEL, NOTHING, 0), ROW(sc, GOOD, 2, SIGBUS, KERNEL, NOTHING, 0),
    ROW(lw_slot, HOLE, 12, SIGSEGV, MAPERR, THE_ADDRESS, 1), ROW(sw_slot, READONLY, 12, SIGSEGV, ACCERR, THE_ADDRESS, 1),
    ROW(lw_slot, HOLE, 13, SIGSEGV, KERNEL, NOTHING, 1), ROW(lw_slot, GOOD, 13, 0, 0, NOTHING, 1),
    ROW(likely_slot, HOLE, 16, SIGSEGV, MAPERR, THE_ADDRESS, 1),
    ROW(return_slot, HOLE, 16, SIGSEGV, MAPERR, THE_ADDRESS, 1),
    ROW(increment, HOLE, 0, SIGSEGV, MAPERR, THE_ADDRESS, 2), ROW(increment, FORBIDDEN, 0, SIGSEGV, ACCERR, THE_ADDRESS, 2),
    ROW(increment_byte, HOLE, 1, SIGSEGV, MAPERR, THE_ADDRESS, 2), WRITTEN(increment_written),
#define DEAD(name) ROW(name, HOLE, 0, SIGSEGV, MAPERR, THE_ADDRESS, 0), ROW(name, GOOD, 0, 0, 0, NOTHING, 0)
    DEAD(dead), DEAD(dead_to_zero), DEAD(dead_byte), DEAD(dead_float), DEAD(dead_double), DEAD(dead_left),
    DEAD(dead_one_way), ROW(dead_in_slot, HOLE, 0, SIGSEGV, MAPERR, THE_ADDRESS, 1),
};

/* ---- the handler ---- */

static volatile struct {
    int count, number, code;
    uint32_t address, pc;
} told;
static volatile int skipped_bytes; /* 0: leave by a jump */
static void *before[5];

static void on_signal(int number, siginfo_t *info, void *context)
{
    ucontext_t *user = context;
    told.count++;
    told.number = number == info->si_signo ? number : -1;
    told.code = info->si_code;
    told.address = (uint32_t)info->si_addr;
    told.pc = (uint32_t)user->uc_mcontext.pc;
    if (skipped_bytes == 0)
        __builtin_longjmp(before, 1);
    user->uc_mcontext.pc += (uint32_t)skipped_bytes;
}

static void act(int number, void *handler)
{
    struct kernel_action action = {SA_SIGINFO | SA_NODEFER, handler, {0, 0, 0, 0}};
    call(__NR_rt_sigaction, number, (long)&action, 0, 16, 0, 0);
}

static void act_on_all(void *handler)
{
    static const int numbers[] = {SIGILL, SIGTRAP, SIGFPE, SIGBUS, SIGSEGV};
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
        act(numbers[i], handler);
}

/* ---- the trial ---- */

static uint32_t place_of(const struct row *row)
{
    return places[row->where] + (uint32_t)row->offset;
}

static void show(const struct row *row, const char *what, uint32_t got, uint32_t expected)
{
    out_string(row->name);
    out_string(" at ");
    out_hex(place_of(row));
    out_string(what);
    out_hex(got);
    out_string(", not ");
    out_hex(expected);
    out_char('\n');
}

static void compare(const struct row *row, const char *what, uint32_t got, uint32_t expected)
{
    if (got != expected)
        show(row, what, got, expected);
}

__attribute__((noipa)) static int leave_by_jump(const struct row *row)
{
    if (__builtin_setjmp(before) == 0) {
        row->run(place_of(row));
        return 1;
    }
    return 0;
}

static void judge(const struct row *row)
{
    uint32_t address = row->told == THE_PC ? (uint32_t)row->pc : row->told == THE_ADDRESS ? place_of(row) : 0;
    compare(row, ": handlers ", (uint32_t)told.count, row->signal != 0);
    if (row->signal == 0 || told.count != 1)
        return;
    compare(row, ": signal ", (uint32_t)told.number, (uint32_t)row->signal);
    compare(row, ": code ", (uint32_t)told.code, (uint32_t)row->code);
    compare(row, ": address ", told.address, address);
    compare(row, ": pc ", told.pc, (uint32_t)row->pc);
}

static void fetches(void)
{
    static const struct {
        enum where where;
        int offset, signal, code;
        enum told told;
    } jumps[] = {
        {LOW, 0, SIGSEGV, MAPERR, THE_ADDRESS}, {HOLE, 4, SIGSEGV, MAPERR, THE_ADDRESS},
        {FORBIDDEN, 4, SIGSEGV, ACCERR, THE_ADDRESS}, {BEYOND_FILE, 4, SIGBUS, ADRERR, THE_ADDRESS},
        {LOW, 2, SIGBUS, KERNEL, NOTHING}, {GOOD, 2, SIGBUS, KERNEL, NOTHING}, {HIGH, 0, SIGBUS, KERNEL, NOTHING},
        {VERY_HIGH, 3, SIGBUS, KERNEL, NOTHING},
    };
    for (unsigned i = 0; i < sizeof jumps / sizeof *jumps; i++) {
        struct row row = {"fetch", 0, 0, jumps[i].where, jumps[i].offset, jumps[i].signal, jumps[i].code, jumps[i].told, 0};
        row.pc = (const char *)place_of(&row);
        row.run = (uint32_t (*)(uint32_t))place_of(&row);
        told.count = 0;
        leave_by_jump(&row);
        judge(&row);
    }
}

static void die(const struct row *row)
{
    int status = 0;
    long child = call(__NR_fork, 0, 0, 0, 0, 0, 0);
    if (child == 0) {
        row->run(place_of(row));
        call(__NR_exit, 0, 0, 0, 0, 0, 0);
    }
    call(__NR_waitpid, child, (long)&status, 0, 0, 0, 0);
    compare(row, ": status ", (uint32_t)status & 0x7f, (uint32_t)row->signal);
}

int main(int argc, char **argv)
{
    unsigned count = sizeof rows / sizeof *rows;
    act_on_all(on_signal);
    leave_by_jump(&rows[0]); /* whatever the first signal maps must not be mapped into the hole */
    make_places(argv[0]);
    if (argc > 1) {
        act_on_all(SIG_DFL);
        for (unsigned i = 0; i < count; i += i > 60 ? 7 : 1)
            die(&rows[i]);
        out_string("dead\n");
        return 0;
    }
    for (unsigned i = 0; i < count; i++) {
        told.count = 0;
        skipped_bytes = 0;
        compare(&rows[i], ": returned ", (uint32_t)leave_by_jump(&rows[i]), rows[i].signal == 0);
        judge(&rows[i]);
        told.count = 0;
        skipped_bytes = rows[i].slot == 2 ? 20 : rows[i].slot ? 8 : 4;
        uint32_t result = rows[i].run(place_of(&rows[i]));
        judge(&rows[i]);
        if (rows[i].where == NOWHERE) /* what the state has of recompiled code is complete at traps only */
            compare(&rows[i], ": result ", result, rows[i].slot ? 78 : 77);
    }
    skipped_bytes = 0;
    fetches();
    out_string("probes ");
    out_decimal((int32_t)count);
    out_char('\n');
    return 0;
}
