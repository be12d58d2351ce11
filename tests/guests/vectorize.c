/* Loops over arrays of floating-point numbers whose rounds may be performed together, on what makes that hard: few and
 * many rounds, arrays that overlap by every distance, NaNs of all kinds anywhere, pages that end in the middle.
 *
 * After each case it prints a sum over all memory that the loop may have touched, what it returned, and FCSR. */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define LOOP(type) __attribute__((noipa, used)) type
enum { MOST = 32 };

/* Each loop has three arrays and a number of rounds, of one at least. */
typedef double loop(void *to, void *from, void *other, uint32_t count);

#define EACH(type, name, one, two, three, body) \
    LOOP(double) loop_##name(type *a, one *b, two *c, uint32_t count) \
    { \
        three k = 0.3; \
        uint32_t i = 0; \
        do { body; } while (++i != count); \
        return k; \
    }

/* What one instruction makes of a number. */
#define OF(name, number) \
    ({ __typeof__(number) of_it; \
       __asm__(".set push\n.set mips32r2\n" #name " %0,%1\n.set pop" : "=f"(of_it) : "f"(number)); of_it; })

EACH(double, axpy, double, double, double, a[i] -= k * b[i])
EACH(float, axpy_single, float, float, float, a[i] -= k * b[i])
EACH(double, sum, double, double, double, a[i] = b[i] + c[i])
EACH(float, product, float, float, float, a[i] = b[i] * c[i])
EACH(double, quotient, double, double, double, a[i] = b[i] / c[i])
EACH(double, chain, double, double, double, a[i] = OF(sqrt.d, OF(abs.d, b[i]) + k) * (c[i] - OF(neg.d, b[i])))
EACH(double, inverse, double, double, double, a[i] = OF(recip.d, b[i]); c[i] = OF(rsqrt.d, b[i]))
EACH(float, inverse_single, float, float, float, a[i] = OF(recip.s, b[i]); c[i] = OF(rsqrt.s, b[i]))
EACH(float, root, float, float, float, a[i] = OF(sqrt.s, b[i]))
EACH(double, widened, float, float, double, a[i] = b[i] * k)
EACH(float, narrowed, double, double, double, a[i] = (float)(b[i] * k))
EACH(double, counted, double, double, double, a[i] = (int32_t)i * k)
EACH(double, from_words, int32_t, double, double, a[i] = b[i] * k)
EACH(float, single_from_words, int32_t, double, float, a[i] = b[i] * k)
EACH(int32_t, to_words, double, double, double, a[i] = (int32_t)(b[i] * k))
EACH(int32_t, single_to_words, float, double, float, a[i] = (int32_t)(b[i] * k))
EACH(float, truncated, float, float, float, a[i] = (float)(int32_t)b[i])
EACH(float, truncated_quotient, float, float, float, a[i] = k / ((float)(int32_t)b[i] + 0x1p31f))
EACH(float, bits_quotient, float, float, float, a[i] = k / (OF(cvt.s.w, b[i] - b[i]) + 0x1p22f))
EACH(double, two, double, double, double, a[i] = b[i] + k; c[i] = b[i] * k)
EACH(double, late_load, double, double, double, a[i] = b[i] + k; c[i] = c[i] * k)
EACH(float, late_load_single, float, float, float, a[i] = b[i] + k; c[i] = c[i] * k)
EACH(double, same, double, double, double, a[i] = b[i] * *c)
EACH(float, same_single, float, float, float, a[i] = b[i] * *c)
EACH(double, carried, double, double, double, k += b[i]; a[i] = k)
EACH(double, dot, double, double, double, k += a[i] * b[i])
EACH(float, dot_single, float, float, float, k -= a[i] * b[i])
EACH(double, dots, double, double, double, double square = a[i] * b[i]; k += square; k += square * c[i])
EACH(double, roots, double, double, double, k = OF(sqrt.d, OF(neg.d, k)) / (a[i] * b[i] * c[i]))
EACH(float, narrow_dot, float, double, double, k = (float)(k + a[i] * (double)a[i] * c[i]))
EACH(double, differences, double, double, double, double now = a[i] * b[i] + c[i] * b[i]; a[i] = now - k; k = now)
EACH(double, running, double, double, double, k = k + a[i] * b[i] * b[i] * c[i] * b[i]; a[i] = k)
EACH(double, in_memory, double, double, double, k = a[i] * b[i]; *(volatile double *)c += k)
EACH(float, in_memory_single, float, float, float, k = a[i] * b[i]; *(volatile float *)c = k - *(volatile float *)c)
EACH(double, strided_dot, double, double, double, k += a[i] * b[2 * i])
EACH(float, strided_dot_single, float, float, float, k += a[i] * b[2 * i])
EACH(double, dead, double, double, double, (void)*(volatile double *)&c[i]; a[i] = b[i] * k)
EACH(double, strided, double, double, double, a[i] = b[2 * i] * k)

/* The same in assembly, for the ways that loops end: v0 counts or walks; f0 is a number of the last round. */
#define ASSEMBLY(name, before, test) \
    loop loop_##name; \
    __asm__(".text\n.align 2\n.globl loop_" #name "\n.ent loop_" #name "\n.type loop_" #name ",@function\nloop_" #name \
            ":\n.set push\n.set noreorder\n.set nomacro\n.set mips2\nlwc1 $f8,0($a2)\n" before "\n" \
            "1: lwc1 $f2,0($a1)\n lwc1 $f4,0($a0)\n mul.s $f2,$f2,$f8\n addiu $a0,$a0,4\n add.s $f6,$f4,$f2\n" \
            " addiu $a1,$a1,4\n" test "\n swc1 $f6,-4($a0)\n" \
            "2: sw $v0,12($a2)\n sw $a0,4($a2)\n swc1 $f2,8($a2)\n jr $ra\n cvt.d.s $f0,$f6\n" \
            ".set pop\n.end loop_" #name "\n.size loop_" #name ",.-loop_" #name "\n")
ASSEMBLY(less, "li $v0,-7\n addiu $a3,$a3,-7", "addiu $v0,$v0,1\n slt $t0,$v0,$a3\n bne $t0,$zero,1b");
ASSEMBLY(less_unsigned, "move $v0,$zero", "addiu $v0,$v0,1\n sltu $t0,$v0,$a3\n bnel $t0,$zero,1b");
ASSEMBLY(before, "move $v0,$zero", "sltu $t0,$v0,$a3\n addiu $v0,$v0,1\n bne $t0,$zero,1b");
ASSEMBLY(not_more, "li $v0,1", "addiu $v0,$v0,1\n slt $t0,$a3,$v0\n beq $t0,$zero,1b");
ASSEMBLY(positive, "move $v0,$a3", "addiu $v0,$v0,-1\n bgtz $v0,1b");
ASSEMBLY(not_negative, "move $v0,$a3", "addiu $v0,$v0,-1\n bgez $v0,1b");
ASSEMBLY(negative, "subu $v0,$zero,$a3", "addiu $v0,$v0,1\n bltz $v0,1b");
ASSEMBLY(by_three, "sll $v0,$a3,1\n addu $v0,$v0,$a3", "addiu $v0,$v0,-3\n bne $v0,$zero,1b");
ASSEMBLY(by_bytes, "sll $v0,$a3,2\n addu $v0,$v0,$a0", "bne $v0,$a0,1b");
ASSEMBLY(indexed, "move $v0,$a0\n sll $a3,$a3,2\n addu $t1,$a0,$a3",
         "addiu $t2,$a0,4\n subu $t2,$t2,$v0\n subu $t3,$t1,$v0\n addiu $t3,$t3,4\n bne $t2,$t3,1b");
ASSEMBLY(never_meets, "li $v0,1\n sll $a3,$a3,1", "addiu $v0,$v0,2\n beq $v0,$a3,2f\n sltu $t0,$v0,$a3\n bne $t0,$zero,1b");

/* A delay slot that the last round leaves out: what only it writes is of the round before. */
#define ANNULLED(name, slot, end) \
    loop loop_##name; \
    __asm__(".text\n.align 2\n.globl loop_" #name "\n.ent loop_" #name "\n.type loop_" #name ",@function\nloop_" #name \
            ":\n.set push\n.set noreorder\n.set nomacro\n.set mips2\nlwc1 $f8,0($a2)\n move $v0,$zero\n mtc1 $zero,$f6\n" \
            "move $t0,$zero\n1: lwc1 $f2,0($a1)\n addiu $a1,$a1,4\n mul.s $f4,$f2,$f8\n addiu $v0,$v0,1\n" \
            " swc1 $f4,0($a0)\n addiu $a0,$a0,4\n bnel $v0,$a3,1b\n " slot "\n" end \
            " jr $ra\n cvt.d.s $f0,$f6\n.set pop\n.end loop_" #name "\n.size loop_" #name ",.-loop_" #name "\n")
/* Not run: a load that nobody needs faults before its steps, smaller than what it loads, lead it to the next page. */
__asm__(".text\n.align 2\n.globl loop_narrow_steps\n.ent loop_narrow_steps\n.type loop_narrow_steps,@function\n"
        "loop_narrow_steps:\n.set push\n.set noreorder\n.set mips2\n1: ldc1 $f10,0($a2)\n lwc1 $f2,0($a1)\n addiu $a1,$a1,4\n"
        " add.s $f4,$f2,$f2\n addiu $a2,$a2,4\n swc1 $f4,0($a0)\n addiu $a3,$a3,-1\n bne $a3,$zero,1b\n addiu $a0,$a0,4\n"
        " jr $ra\n nop\n.set pop\n.end loop_narrow_steps\n.size loop_narrow_steps,.-loop_narrow_steps\n");
ANNULLED(annulled_sum, "add.s $f6,$f4,$f8", "");
ANNULLED(annulled_quotient, "div.s $f6,$f4,$f8", "");
ANNULLED(annulled_load, "lwc1 $f6,-4($a1)", "");
ANNULLED(annulled_shift, "sll $t0,$v0,3", " mtc1 $t0,$f6\n");

#if __mips == 1
/* Doubles in halves, and other accesses between these. */
#ifdef __MIPSEB__
#define WORDS(name, low, high, at) #name " $f" #low ",4(" at ")\n" #name " $f" #high ",0(" at ")\n"
#define LOW "4"
#define HIGH "0"
#else
#define WORDS(name, low, high, at) #name " $f" #low ",0(" at ")\n" #name " $f" #high ",4(" at ")\n"
#define LOW "0"
#define HIGH "4"
#endif
#define HALVES(name, middle) \
    loop loop_##name; \
    __asm__(".text\n.align 2\n.globl loop_" #name "\n.ent loop_" #name "\n.type loop_" #name ",@function\nloop_" #name \
            ":\n.set noreorder\n1: " WORDS(lwc1, 2, 3, "$a1") " add.d $f4,$f2,$f2\n add.d $f8,$f4,$f2\n" \
            middle WORDS(swc1, 8, 9, "$a1") \
            " addiu $a1,$a1,8\n addiu $a0,$a0,8\n addiu $a3,$a3,-1\n bne $a3,$zero,1b\n addiu $a2,$a2,8\n jr $ra\n mov.d $f0,$f8\n" \
            ".set reorder\n.end loop_" #name "\n.size loop_" #name ",.-loop_" #name "\n")
#define BETWEEN_STORES(middle) " swc1 $f4," LOW "($a0)\n" middle " swc1 $f5," HIGH "($a0)\n"
HALVES(halves_loaded, BETWEEN_STORES(WORDS(lwc1, 6, 7, "$a2") " add.d $f8,$f6,$f4\n"));
HALVES(halves_stored, BETWEEN_STORES(WORDS(swc1, 8, 9, "$a2")));
HALVES(halves_around, " lwc1 $f6," LOW "($a2)\n" BETWEEN_STORES("") " lwc1 $f7," HIGH "($a2)\n add.d $f8,$f6,$f4\n");
#endif

#define C(name, to, from, other) {#name, (loop *)loop_##name, to, from, other}
static const struct { const char *name; loop *run; uint8_t to, from, other; } loops[] = {
    C(axpy, 8, 8, 0), C(axpy_single, 4, 4, 0), C(sum, 8, 8, 8), C(product, 4, 4, 4), C(quotient, 8, 8, 8), C(chain, 8, 8, 8), C(inverse, 8, 8, 8), C(inverse_single, 4, 4, 4),
   
    C(root, 4, 4, 0), C(widened, 8, 4, 0), C(narrowed, 4, 8, 0), C(counted, 8, 0, 0), C(from_words, 8, 4, 0),
    C(single_from_words, 4, 4, 0), C(to_words, 4, 8, 0), C(single_to_words, 4, 4, 0), C(truncated, 4, 4, 0), C(truncated_quotient, 4, 4, 0), C(bits_quotient, 4, 4, 0), C(two, 8, 8, 8), C(late_load, 8, 8, 8),
    C(late_load_single, 4, 4, 4), C(same, 8, 8, 8), C(same_single, 4, 4, 4), C(carried, 8, 8, 0), C(dead, 8, 8, 8),
    C(dot, 8, 8, 0), C(dot_single, 4, 4, 0), C(dots, 8, 8, 8), C(roots, 8, 8, 8), C(narrow_dot, 4, 0, 8),
    C(differences, 8, 8, 8), C(running, 8, 8, 8), C(in_memory, 8, 8, 8), C(in_memory_single, 4, 4, 4),
    C(strided_dot, 8, 8, 0), C(strided_dot_single, 4, 4, 0),
    C(strided, 8, 8, 0), C(less, 4, 4, 4), C(less_unsigned, 4, 4, 4), C(before, 4, 4, 4), C(not_more, 4, 4, 4),
    C(positive, 4, 4, 4), C(not_negative, 4, 4, 4), C(negative, 4, 4, 4), C(by_three, 4, 4, 4), C(by_bytes, 4, 4, 4),
    C(indexed, 4, 4, 4), C(never_meets, 4, 4, 4), C(annulled_sum, 4, 4, 4), C(annulled_quotient, 4, 4, 4),
    C(annulled_load, 4, 4, 4), C(annulled_shift, 4, 4, 4),
#if __mips == 1
    C(halves_loaded, 8, 8, 8), C(halves_stored, 8, 8, 8), C(halves_around, 8, 8, 8),
#endif
};

static const uint64_t special[] = {
    0x7ff7ffffffffffff, 0x7ff0000000000001, 0xfff4000000000123, 0x7ff8000000000000, 0xfff8000000000001,
    0x7ff0000000000000, 0xfff0000000000000, 0x8000000000000000, 0x0000000000000001, 0x7fefffffffffffff,
};
static const uint32_t special_single[] = {
    0x7fbfffff, 0x7f800001, 0xffa00123, 0x7fc00000, 0xffc00001, 0x7f800000, 0xff800000, 0x80000000, 0x00000001, 0x7f7fffff,
};
enum { SPECIAL = 10 };

static uint8_t memory[3 * 8 * 88] __attribute__((aligned(8)));
static uint32_t seed = 1;

static uint32_t random_number(void)
{
    seed = seed * 1664525 + 1013904223;
    return seed >> 8;
}

/* Fills memory with numbers of a size; what lies on the borders between arrays of another kind is as it comes. */
static void fill(uint8_t *at, uint32_t bytes, uint32_t size)
{
    for (; bytes >= 8; bytes -= 8, at += 8) {
        double value = (double)((int32_t)random_number() - (1 << 23)) / 4096;
        float halves[2] = {(float)value * 0.3f, (float)value * 7};
        memcpy(at, size == 8 ? (void *)&value : (void *)halves, 8);
    }
}

static void put(uint8_t *at, uint32_t size, uint32_t which)
{
    memcpy(at, size == 8 ? (const void *)&special[which] : (const void *)&special_single[which], size);
}

static uint32_t hash_of(const uint8_t *at, uint32_t bytes)
{
    uint32_t hash = 1;
    for (; bytes; bytes -= 4, at += 4)
        hash = hash * 31 + *(const uint32_t *)at;
    return hash;
}

static uint32_t control(void)
{
    uint32_t word;
    __asm__ volatile("cfc1 %0,$31" : "=r"(word));
    return word;
}

static void set_control(uint32_t word)
{
    __asm__ volatile("ctc1 %0,$31" : : "r"(word));
}

static void report(const char *what, uint32_t number, uint8_t *at, uint32_t bytes, double returned)
{
    uint32_t word = control();
    union { double value; uint64_t bits; } bits = {returned};
    printf("%s %u: %08x %016llx %08x\n", what, number, hash_of(at, bytes), (unsigned long long)bits.bits, word);
}

/* One call, with arrays at distances of bytes from the first. */
static double run(uint32_t number, int32_t from, int32_t other, uint32_t count, uint32_t mode)
{
    uint8_t *to = memory + sizeof memory / 3;
    set_control(mode);
    return loops[number].run(to, to + from, to + other, count);
}

static void numbers_of_rounds(uint32_t number)
{
    double returned = 0;
    uint32_t words = 0;
    fill(memory, sizeof memory, loops[number].from);
    for (uint32_t count = 1; count <= MOST; count++) {
        returned = run(number, 304, -304, count, count & 3);
        words = words * 3 + control();
        words = words * 31 + hash_of((const uint8_t *)&returned, sizeof returned);
    }
    report(loops[number].name, words, memory, sizeof memory, returned);
}

/* All distances at which rounds could get in each other's way. */
static void overlaps(uint32_t number, int32_t step)
{
    for (int32_t other = -400; other <= 400; other += 200) {
        uint32_t hash = 0, words = 0;
        for (int32_t from = -72; from <= 72; from += step) {
            fill(memory, sizeof memory, loops[number].to);
            run(number, from, other == 0 ? from + 8 : other == 200 ? -from : other == 400 ? 8 : other == -400 ? 0 : other, 23, 0);
            hash = hash * 31 + hash_of(memory, sizeof memory);
            words = words * 3 + control();
        }
        printf("%s %d: %08x %08x\n", loops[number].name, other, hash, words);
    }
}

static void specials(uint32_t number)
{
    static uint8_t filled[sizeof memory];
    const uint32_t size = loops[number].from ? loops[number].from : 8;
    fill(filled, sizeof filled, size);
    for (uint32_t which = 0; which < SPECIAL; which++) {
        uint32_t hash = 0, words = 0;
        for (uint32_t place = 0; place < 25; place += 1 + place / 8) {
            for (uint32_t side = 0; side < 3; side++) {
                memcpy(memory, filled, sizeof memory);
                uint8_t *to = memory + sizeof memory / 3;
                put(to + (side == 0 ? 0 : side == 1 ? 304 : -304) + size * place, size, which);
                if (place % 3 == 0)
                    put(to + 304 + size * (place / 2), size, (which + 5) % SPECIAL);
                run(number, 304, -304, 25, place % 5 == 0 ? 1 << 24 : place & 3);
                hash = hash * 31 + hash_of(memory, sizeof memory);
                words = words * 3 + control();
            }
        }
        printf("%s special %u: %08x %08x\n", loops[number].name, which, hash, words);
    }
}

static sigjmp_buf before;
static uint8_t *pages;
static uintptr_t fault_pc, fault_address;

static void leave(int number, siginfo_t *info, void *context)
{
    fault_pc = (uintptr_t)((ucontext_t *)context)->uc_mcontext.pc;
    fault_address = (uintptr_t)info->si_addr;
    siglongjmp(before, number);
}

/* One of the arrays ends at a page that is not there, or that must not be written. No loop comes farther than FILLED. */
static void faults(uint32_t number)
{
    enum { PAGE = 4096, ROOM = 2 * PAGE, FILLED = 2560, AROUND = FILLED + 512 };
    static uint8_t filled[3 * AROUND];
    fill(filled, sizeof filled, loops[number].from);
    uint8_t *arrays[3] = {pages, pages + ROOM, pages + 2 * ROOM};
    for (uint32_t side = 0; side < 3; side++) {
        for (uint32_t place = 0; place <= 22; place += 1 + (place >= 10)) {
            for (uint32_t i = 0; i < 3; i++) {
                mprotect(arrays[i], ROOM, PROT_READ | PROT_WRITE);
                memcpy(arrays[i] + PAGE - FILLED, filled + i * AROUND, AROUND);
            }
            uint8_t *at[3];
            for (uint32_t i = 0; i < 3; i++)
                at[i] = arrays[i] + PAGE - (i == side ? 8 * place : i == (side + 1) % 3 ? 64 : 2048);
            mprotect(arrays[side] + PAGE, PAGE, place & 1 ? PROT_NONE : PROT_READ);
            volatile int signal = 0;
            set_control(0);
            if (!(signal = sigsetjmp(before, 1)))
                loops[number].run(at[0], at[1], at[2], 24);
            mprotect(arrays[side], ROOM, PROT_READ | PROT_WRITE);
            printf("%s fault %u %u: signal %d", loops[number].name, side, place, signal);
            if (signal)
                printf(" pc %d address %x", (int)(fault_pc - (uintptr_t)loops[number].run), (uint32_t)fault_address & 0xffff);
            printf(" %08x\n", hash_of(pages, 3 * ROOM));
        }
    }
}

/* With an argument, doubles are not at addresses that only the kernel can load them from. */
int main(int count, char **words)
{
    (void)words;
    struct sigaction action = {.sa_sigaction = leave, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
    pages = mmap((void *)0x30000000, 6 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    for (uint32_t number = 0; number < sizeof loops / sizeof *loops; number++) {
        numbers_of_rounds(number);
        if (loops[number].from) {
            overlaps(number, count > 1 && (loops[number].to | loops[number].from | loops[number].other) > 4 ? 8 : 4);
            specials(number);
            faults(number);
        }
    }
    return 0;
}
