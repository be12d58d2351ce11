/* A MIPS program that compares the instructions of its machine with SoftFloat, on TestFloat's operands.
 *
 * Enters: [-l LEVEL] [-s STRIDE] [-g] [-q] [WORD...], where a WORD begins the names of the instructions to try, a
 * stride takes one case of so many, -g runs the instructions in generated code, which a recompiler has never seen, and -q
 * expects the NaNs of qemu. Leaves: a line for each instruction and rounding mode. Compared are results and exception flags, and FCSR's causes with them;
 * one that differs in any bit is an error. Without libc, so that there is little to translate.
 */
#include "out.h"

#include "platform.h"
#include "softfloat.h"
#include "specialize.h"
#include "genCases.h"

#define ERRORS_SHOWN 5

/* What an instruction takes and gives. */
enum kind { S_S, S_SS, S_SSS, B_SS, W_S, L_S, D_S, S_W, S_L, D_D, D_DD, D_DDD, B_DD, W_D, L_D, S_D, D_W, D_L };

struct values {
    uint64_t a, b, c;
};

static uint32_t f32_bits(float32_t a)
{
    return a.v;
}

static float32_t f32_of(uint64_t bits)
{
    return (float32_t){(uint32_t)bits};
}

static float64_t f64_of(uint64_t bits)
{
    return (float64_t){bits};
}

/* ---- what SoftFloat says ---- */

#define TRUTH(name, value) \
    static uint64_t true_##name(const struct values *v) { return (value); }
#define A32 f32_of(v->a)
#define B32 f32_of(v->b)
#define C32 f32_of(v->c)
#define A64 f64_of(v->a)
#define B64 f64_of(v->b)
#define C64 f64_of(v->c)
#define ONE32 f32_of(0x3f800000)
#define ONE64 f64_of(UINT64_C(0x3ff) << 52)
#define SIGN32 UINT64_C(0x80000000)
#define SIGN64 (UINT64_C(1) << 63)

/* abs and neg leave a quiet NaN as it is. */
static uint64_t change_sign_s(uint64_t a, uint64_t changed)
{
    return (a & 0x7fffffff) > 0x7f800000 ? softfloat_propagateNaNF32UI((uint32_t)a, (uint32_t)a) : changed;
}

static uint64_t change_sign_d(uint64_t a, uint64_t changed)
{
    return (a & ~SIGN64) > UINT64_C(0x7ff) << 52 ? softfloat_propagateNaNF64UI(a, a) : changed;
}

TRUTH(add_s, f32_add(A32, B32).v)
TRUTH(sub_s, f32_sub(A32, B32).v)
TRUTH(mul_s, f32_mul(A32, B32).v)
TRUTH(div_s, f32_div(A32, B32).v)
TRUTH(sqrt_s, f32_sqrt(A32).v)
TRUTH(recip_s, f32_div(ONE32, A32).v)
TRUTH(rsqrt_s, f32_div(ONE32, f32_sqrt(A32)).v)
TRUTH(abs_s, change_sign_s(v->a, v->a & ~SIGN32))
TRUTH(neg_s, change_sign_s(v->a, v->a ^ SIGN32))
TRUTH(madd_s, f32_add(f32_mul(A32, B32), C32).v)
TRUTH(msub_s, f32_sub(f32_mul(A32, B32), C32).v)
TRUTH(nmadd_s, f32_add(f32_mul(A32, B32), C32).v ^ SIGN32)
TRUTH(nmsub_s, f32_sub(f32_mul(A32, B32), C32).v ^ SIGN32)
TRUTH(add_d, f64_add(A64, B64).v)
TRUTH(sub_d, f64_sub(A64, B64).v)
TRUTH(mul_d, f64_mul(A64, B64).v)
TRUTH(div_d, f64_div(A64, B64).v)
TRUTH(sqrt_d, f64_sqrt(A64).v)
TRUTH(recip_d, f64_div(ONE64, A64).v)
TRUTH(rsqrt_d, f64_div(ONE64, f64_sqrt(A64)).v)
TRUTH(abs_d, change_sign_d(v->a, v->a & ~SIGN64))
TRUTH(neg_d, change_sign_d(v->a, v->a ^ SIGN64))
TRUTH(madd_d, f64_add(f64_mul(A64, B64), C64).v)
TRUTH(msub_d, f64_sub(f64_mul(A64, B64), C64).v)
TRUTH(nmadd_d, f64_add(f64_mul(A64, B64), C64).v ^ SIGN64)
TRUTH(nmsub_d, f64_sub(f64_mul(A64, B64), C64).v ^ SIGN64)

TRUTH(cvt_d_s, f32_to_f64(A32).v)
TRUTH(cvt_s_d, f64_to_f32(A64).v)
TRUTH(cvt_s_w, i32_to_f32((int32_t)v->a).v)
TRUTH(cvt_d_w, i32_to_f64((int32_t)v->a).v)
TRUTH(cvt_s_l, i64_to_f32((int64_t)v->a).v)
TRUTH(cvt_d_l, i64_to_f64((int64_t)v->a).v)

#define TO_INTEGERS(name, mode)                                          \
    TRUTH(name##_w_s, (uint32_t)f32_to_i32(A32, mode, true))             \
    TRUTH(name##_w_d, (uint32_t)f64_to_i32(A64, mode, true))             \
    TRUTH(name##_l_s, (uint64_t)f32_to_i64(A32, mode, true))             \
    TRUTH(name##_l_d, (uint64_t)f64_to_i64(A64, mode, true))
TO_INTEGERS(cvt, softfloat_roundingMode)
TO_INTEGERS(round, softfloat_round_near_even)
TO_INTEGERS(trunc, softfloat_round_minMag)
TO_INTEGERS(ceil, softfloat_round_max)
TO_INTEGERS(floor, softfloat_round_min)

/* Condition 0 to 15: bit 3 makes quiet NaNs invalid, too; bits 2 to 0 are less, equal, unordered. */

static uint64_t condition_s(const struct values *v, unsigned condition)
{
    bool unordered = (v->a & 0x7fffffff) > 0x7f800000 || (v->b & 0x7fffffff) > 0x7f800000;
    bool less = condition & 8 ? f32_lt(A32, B32) : f32_lt_quiet(A32, B32);
    return (condition & 1 && unordered) || (condition & 2 && f32_eq(A32, B32)) || (condition & 4 && less);
}

static uint64_t condition_d(const struct values *v, unsigned condition)
{
    const uint64_t infinity = UINT64_C(0x7ff) << 52;
    bool unordered = (v->a & ~SIGN64) > infinity || (v->b & ~SIGN64) > infinity;
    bool less = condition & 8 ? f64_lt(A64, B64) : f64_lt_quiet(A64, B64);
    return (condition & 1 && unordered) || (condition & 2 && f64_eq(A64, B64)) || (condition & 4 && less);
}

#define CONDITIONS(X) X(f, 0) X(un, 1) X(eq, 2) X(ueq, 3) X(olt, 4) X(ult, 5) X(ole, 6) X(ule, 7) X(sf, 8) X(ngle, 9) \
    X(seq, 10) X(ngl, 11) X(lt, 12) X(nge, 13) X(le, 14) X(ngt, 15)
#define CONDITION(name, number)                    \
    TRUTH(c_##name##_s, condition_s(v, number))    \
    TRUTH(c_##name##_d, condition_d(v, number))
CONDITIONS(CONDITION)

/* ---- what the machine says: one instruction each, operands in f12, f14, f16, result in f0 or v0 ---- */

#define CODE_BYTES 16
#define CODE(name, first, second, third)                                                                            \
    void code_##name(void);                                                                                         \
    __asm__(".text\n.align 4\n.globl code_" #name "\n.type code_" #name ", @function\n.ent code_" #name "\n"        \
            "code_" #name ":\n.set push\n.set noreorder\n" first "\n" second "\n" third "\nnop\n.set pop\n"         \
            ".end code_" #name "\n.size code_" #name ", .-code_" #name "\n");
#define RETURN "jr $31"
#define FLOAT(name, instruction) CODE(name, instruction, RETURN, "nop")
#define INTEGER(name, instruction) CODE(name, instruction, RETURN, "mfc1 $2, $f0")
#define TRUTH_VALUE(name, instruction) CODE(name, "li $2, 1\n" instruction, RETURN, "movf $2, $0, $fcc3")

#define BOTH(X, name, operands) X(name##_s, #name ".s " operands) X(name##_d, #name ".d " operands)
BOTH(FLOAT, add, "$f0, $f12, $f14")
BOTH(FLOAT, sub, "$f0, $f12, $f14")
BOTH(FLOAT, mul, "$f0, $f12, $f14")
BOTH(FLOAT, div, "$f0, $f12, $f14")
BOTH(FLOAT, sqrt, "$f0, $f12")
BOTH(FLOAT, recip, "$f0, $f12")
BOTH(FLOAT, rsqrt, "$f0, $f12")
BOTH(FLOAT, abs, "$f0, $f12")
BOTH(FLOAT, neg, "$f0, $f12")
BOTH(FLOAT, madd, "$f0, $f16, $f12, $f14")
BOTH(FLOAT, msub, "$f0, $f16, $f12, $f14")
BOTH(FLOAT, nmadd, "$f0, $f16, $f12, $f14")
BOTH(FLOAT, nmsub, "$f0, $f16, $f12, $f14")
FLOAT(cvt_d_s, "cvt.d.s $f0, $f12")
FLOAT(cvt_s_d, "cvt.s.d $f0, $f12")
FLOAT(cvt_s_w, "cvt.s.w $f0, $f12")
FLOAT(cvt_d_w, "cvt.d.w $f0, $f12")
FLOAT(cvt_s_l, "cvt.s.l $f0, $f12")
FLOAT(cvt_d_l, "cvt.d.l $f0, $f12")
#define CODE_TO_INTEGERS(name)                            \
    INTEGER(name##_w_s, #name ".w.s $f0, $f12")           \
    INTEGER(name##_w_d, #name ".w.d $f0, $f12")           \
    FLOAT(name##_l_s, #name ".l.s $f0, $f12")             \
    FLOAT(name##_l_d, #name ".l.d $f0, $f12")
CODE_TO_INTEGERS(cvt)
CODE_TO_INTEGERS(round)
CODE_TO_INTEGERS(trunc)
CODE_TO_INTEGERS(ceil)
CODE_TO_INTEGERS(floor)
#define CODE_CONDITION(name, number)                                        \
    TRUTH_VALUE(c_##name##_s, "c." #name ".s $fcc3, $f12, $f14")            \
    TRUTH_VALUE(c_##name##_d, "c." #name ".d $fcc3, $f12, $f14")
CONDITIONS(CODE_CONDITION)

/* ---- the instructions ---- */

struct instruction {
    const char *name;
    enum kind kind;
    uint64_t (*truth)(const struct values *);
    void (*code)(void);
};
#define ROW(name, kind) {#name, kind, true_##name, code_##name},
#define ROWS(name, single, double) ROW(name##_s, single) ROW(name##_d, double)
#define ROWS_TO_INTEGERS(name) \
    ROW(name##_w_s, W_S) ROW(name##_l_s, L_S) ROW(name##_w_d, W_D) ROW(name##_l_d, L_D)
#define ROWS_CONDITION(name, number) ROWS(c_##name, B_SS, B_DD)
static const struct instruction instructions[] = {
    ROWS(add, S_SS, D_DD) ROWS(sub, S_SS, D_DD) ROWS(mul, S_SS, D_DD) ROWS(div, S_SS, D_DD)
    ROWS(sqrt, S_S, D_D) ROWS(recip, S_S, D_D) ROWS(rsqrt, S_S, D_D) ROWS(abs, S_S, D_D) ROWS(neg, S_S, D_D)
    CONDITIONS(ROWS_CONDITION)
    ROWS_TO_INTEGERS(cvt) ROWS_TO_INTEGERS(round) ROWS_TO_INTEGERS(trunc) ROWS_TO_INTEGERS(ceil) ROWS_TO_INTEGERS(floor)
    ROW(cvt_d_s, D_S) ROW(cvt_s_d, S_D) ROW(cvt_s_w, S_W) ROW(cvt_d_w, D_W) ROW(cvt_s_l, S_L) ROW(cvt_d_l, D_L)
    ROWS(madd, S_SSS, D_DDD) ROWS(msub, S_SSS, D_DDD) ROWS(nmadd, S_SSS, D_DDD) ROWS(nmsub, S_SSS, D_DDD)
};

static bool is_single_operand(enum kind kind)
{
    return kind <= D_S || kind == S_W || kind == D_W;
}

static uint64_t machine_result(enum kind kind, void (*code)(void), const struct values *v)
{
    register double f0 __asm__("$f0");
    register uint32_t v0 __asm__("$2");
    union {
        uint64_t bits;
        double value;
        struct { float value; } single;
    } a, b, c, z;
    if (is_single_operand(kind)) {
        uint32_t low[3] = {(uint32_t)v->a, (uint32_t)v->b, (uint32_t)v->c};
        register float f12 __asm__("$f12"), f14 __asm__("$f14"), f16 __asm__("$f16");
        memcpy(&a.single.value, &low[0], 4);
        memcpy(&b.single.value, &low[1], 4);
        memcpy(&c.single.value, &low[2], 4);
        f12 = a.single.value, f14 = b.single.value, f16 = c.single.value;
        __asm__ volatile("move $25, %5\n\tjalr $25" : "=f"(f0), "=r"(v0) : "f"(f12), "f"(f14), "f"(f16), "r"(code)
                         : "$25", "$31", "memory");
    } else {
        register double f12 __asm__("$f12"), f14 __asm__("$f14"), f16 __asm__("$f16");
        a.bits = v->a, b.bits = v->b, c.bits = v->c;
        f12 = a.value, f14 = b.value, f16 = c.value;
        __asm__ volatile("move $25, %5\n\tjalr $25" : "=f"(f0), "=r"(v0) : "f"(f12), "f"(f14), "f"(f16), "r"(code)
                         : "$25", "$31", "memory");
    }
    z.value = f0;
    switch (kind) {
    case B_SS: case B_DD: case W_S: case W_D:
        return v0;
    case S_S: case S_SS: case S_SSS: case S_W: case S_L: case S_D:
        return (uint32_t)z.bits;
    default:
        return z.bits;
    }
}

/* ---- operands ---- */

static void begin_cases(enum kind kind)
{
    switch (kind) {
    case S_S: case W_S: case L_S: case D_S: genCases_f32_a_init(); break;
    case S_SS: case B_SS: genCases_f32_ab_init(); break;
    case S_SSS: genCases_f32_abc_init(); break;
    case D_D: case W_D: case L_D: case S_D: genCases_f64_a_init(); break;
    case D_DD: case B_DD: genCases_f64_ab_init(); break;
    case D_DDD: genCases_f64_abc_init(); break;
    case S_W: case D_W: genCases_i32_a_init(); break;
    case S_L: case D_L: genCases_i64_a_init(); break;
    }
}

static void next_case(enum kind kind, struct values *v)
{
    switch (kind) {
    case S_S: case W_S: case L_S: case D_S: genCases_f32_a_next(); break;
    case S_SS: case B_SS: genCases_f32_ab_next(); break;
    case S_SSS: genCases_f32_abc_next(); break;
    case D_D: case W_D: case L_D: case S_D: genCases_f64_a_next(); break;
    case D_DD: case B_DD: genCases_f64_ab_next(); break;
    case D_DDD: genCases_f64_abc_next(); break;
    case S_W: case D_W: genCases_i32_a_next(); v->a = (uint32_t)genCases_i32_a; return;
    case S_L: case D_L: genCases_i64_a_next(); v->a = (uint64_t)genCases_i64_a; return;
    }
    if (is_single_operand(kind))
        *v = (struct values){f32_bits(genCases_f32_a), f32_bits(genCases_f32_b), f32_bits(genCases_f32_c)};
    else
        *v = (struct values){genCases_f64_a.v, genCases_f64_b.v, genCases_f64_c.v};
}

/* ---- comparing ---- */

static const struct {
    const char *name;
    uint_fast8_t soft;
} roundings[4] = { /* by FCSR.RM */
    {"nearest", softfloat_round_near_even}, {"zero", softfloat_round_minMag},
    {"up", softfloat_round_max}, {"down", softfloat_round_min},
};

static uint32_t read_fcsr(void)
{
    uint32_t value;
    __asm__ volatile("cfc1 %0, $31" : "=r"(value));
    return value;
}

static void write_fcsr(uint32_t value)
{
    __asm__ volatile("ctc1 %0, $31" : : "r"(value));
}

static uint32_t stride = 1;

/* TestFloat's source of randomness. */
int rand(void)
{
    static uint32_t state = 2463534242u;
    return (int)(random32(&state) >> 1);
}

/* TestFloat calls it when it finds a mistake of its own. */
void fail(const char *message, ...)
{
    out_string(message);
    out_flush();
    __builtin_trap();
}

/* Returns the number of errors. */
static unsigned compare(const struct instruction *instruction, void (*code)(void), uint32_t rounding)
{
    unsigned errors = 0;
    uint32_t cases = 0, skipped = 0;
    struct values v = {0, 0, 0};
    softfloat_roundingMode = roundings[rounding].soft;
    begin_cases(instruction->kind);
    do {
        next_case(instruction->kind, &v);
        if (++skipped < stride && !genCases_done)
            continue;
        skipped = 0;
        cases++;
        softfloat_exceptionFlags = 0;
        uint64_t truth = instruction->truth(&v);
        write_fcsr(rounding);
        uint64_t result = machine_result(instruction->kind, code, &v);
        uint32_t fcsr = read_fcsr(), flags = softfloat_exceptionFlags;
        /* The condition code in TRUTH_VALUE is 3, FCSR's bit 27. */
        if (result == truth && (fcsr & ~(UINT32_C(1) << 27)) == (flags << 12 | flags << 2 | rounding))
            continue;
        if (errors++ < ERRORS_SHOWN) {
            out_string("  ");
            out_string(instruction->name);
            out_line64(" of", v.a);
            out_line64("    ", v.b);
            out_line64("    ", v.c);
            out_line64("  is", result);
            out_line64("  should be", truth);
            out_line("  fcsr", fcsr);
            out_line("  flags should be", flags);
        }
    } while (!genCases_done);
    write_fcsr(0);
    out_string(instruction->name);
    out_char(' ');
    out_string(roundings[rounding].name);
    out_string(": ");
    out_unsigned(cases);
    out_string(" cases, ");
    out_unsigned(errors);
    out_string(" errors\n");
    out_flush();
    return errors;
}

/* ---- generated code ---- */

#define PAGE_BYTES 65536 /* the largest there is */
static uint8_t page[2 * PAGE_BYTES];

static void call_system(uint32_t number, uint32_t first, uint32_t second, uint32_t third)
{
    register uint32_t v0 __asm__("$2") = number, a0 __asm__("$4") = first, a1 __asm__("$5") = second;
    register uint32_t a2 __asm__("$6") = third, a3 __asm__("$7");
    __asm__ volatile("syscall" : "+r"(v0), "=r"(a3) : "r"(a0), "r"(a1), "r"(a2)
                     : "$1", "$3", "$8", "$9", "$10", "$11", "$12", "$13", "$14", "$15", "$24", "$25", "hi", "lo", "memory");
}

/* Returns a copy of an instruction's function, made now. */
static void *generated(void (*code)(void))
{
    enum { MPROTECT = 4125, CACHEFLUSH = 4147, READ_WRITE_EXECUTE = 7, BOTH_CACHES = 3 };
    uint32_t to = ((uint32_t)page + PAGE_BYTES - 1) & -(uint32_t)PAGE_BYTES;
    call_system(MPROTECT, to, PAGE_BYTES, READ_WRITE_EXECUTE);
    memcpy((void *)to, (const void *)code, CODE_BYTES);
    call_system(CACHEFLUSH, to, CODE_BYTES, BOTH_CACHES);
    return (void *)to;
}

/* ---- the command line ---- */

static bool begins_with(const char *name, const char *word)
{
    return strlen(word) <= strlen(name) && memcmp(name, word, strlen(word)) == 0;
}

static bool is_wanted(const char *name, char **words)
{
    if (*words == NULL)
        return true;
    for (; *words != NULL; words++)
        if (begins_with(name, *words))
            return true;
    return false;
}

static uint32_t number_of(const char *digits)
{
    uint32_t value = 0;
    for (; *digits != 0; digits++)
        value = 10 * value + (uint32_t)(*digits - '0');
    return value;
}

int main(int count, char **words)
{
    int level = 1;
    bool generates = false;
    unsigned errors = 0;
    (void)count;
    for (words++; *words != NULL && **words == '-'; words++) {
        switch ((*words)[1]) {
        case 'l': level = (int)number_of(*++words); break;
        case 's': stride = number_of(*++words); break;
        case 'g': generates = true; break;
        case 'q': specialize_default_nans = true; break;
        }
    }
    genCases_setLevel(level);
    for (size_t i = 0; i < sizeof instructions / sizeof *instructions; i++) {
        void (*code)(void) = instructions[i].code;
        if (!is_wanted(instructions[i].name, words))
            continue;
        if (generates)
            code = (void (*)(void))generated(code);
        for (uint32_t rounding = 0; rounding < 4; rounding++)
            errors += compare(&instructions[i], code, rounding);
    }
    out_unsigned(errors);
    out_string(" errors\n");
    out_flush();
    return errors != 0;
}
