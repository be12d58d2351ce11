/* Uses the DSP module as libraries of firmware do, by gcc's intrinsics: filters of fractions, pixels, bit streams. Then
 * handlers of signals see accumulators and DSPControl in their frames, and change them. */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <ucontext.h>
#include <unistd.h>

typedef short halves __attribute__((vector_size(4)));
typedef signed char bytes __attribute__((vector_size(4)));
union word {
    uint32_t value;
    halves as_halves;
    bytes as_bytes;
};

static uint32_t random_state = 1;

static uint32_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 17;
    return random_state ^= random_state << 5;
}

enum { SAMPLES = 256, TAPS = 16 };
static union word input[SAMPLES + TAPS], taps[TAPS], output[SAMPLES];

/* A filter of Q15 samples, two at a time, in two accumulators. */
__attribute__((noinline)) static void filter(void)
{
    for (int at = 0; at < SAMPLES; at++) {
        long long even = 0, odd = 0;
        for (int tap = 0; tap < TAPS; tap++) {
            even = __builtin_mips_dpaq_s_w_ph(even, input[at + tap].as_halves, taps[tap].as_halves);
            odd = __builtin_mips_dpaqx_s_w_ph(odd, input[at + tap].as_halves, taps[tap].as_halves);
        }
        uint32_t high = (uint32_t)__builtin_mips_extr_rs_w(even, 4), low = (uint32_t)__builtin_mips_extr_s_h(odd, 12);
        output[at].value = (high & 0xffff0000u) | (low & 0xffff);
    }
}

/* One picture over another: (a * alpha + b * (255 - alpha)) / 256 of four bytes, and their sum saturated. */
__attribute__((noinline)) static uint32_t blend(union word a, union word b, uint32_t alpha)
{
    union word factor = {.value = alpha << 16 | alpha}, other = {.value = (255 - alpha) << 16 | (255 - alpha)};
    halves left = __builtin_mips_muleu_s_ph_qbl(a.as_bytes, factor.as_halves);
    halves right = __builtin_mips_muleu_s_ph_qbr(a.as_bytes, factor.as_halves);
    left = __builtin_mips_addq_s_ph(left, __builtin_mips_muleu_s_ph_qbl(b.as_bytes, other.as_halves));
    right = __builtin_mips_addq_s_ph(right, __builtin_mips_muleu_s_ph_qbr(b.as_bytes, other.as_halves));
    union word sum = {.as_bytes = __builtin_mips_addu_s_qb(a.as_bytes, b.as_bytes)};
    union word mixed = {.as_bytes = __builtin_mips_precrq_qb_ph(left, right)};
    union word near = {.as_bytes = __builtin_mips_precrqu_s_qb_ph(left, right)};
    __builtin_mips_cmpu_lt_qb(mixed.as_bytes, near.as_bytes);
    union word chosen = {.as_bytes = __builtin_mips_pick_qb(mixed.as_bytes, sum.as_bytes)};
    return chosen.value;
}

/* Fields of 3 to 18 bits of a stream. */
__attribute__((noinline)) static uint32_t read_bits(void)
{
    uint32_t hash = 0, words = 0;
    __builtin_mips_wrdsp(31, 1);
    long long bits = next_random();
    while (words < 200) {
        uint32_t size = next_random() % 16 + 2;
        hash = hash * 31 + (uint32_t)__builtin_mips_extpdp(bits, (int)size);
        if (__builtin_mips_rddsp(32)) { /* too few */
            __builtin_mips_wrdsp(31, 1);
            bits = __builtin_mips_mthlip(bits, (int)next_random());
            words++;
        }
        if (__builtin_mips_bposge32())
            hash++;
    }
    return hash;
}

static volatile uint32_t seen[7], handled;

static void look(int number, siginfo_t *info, void *context)
{
    mcontext_t *frame = &((ucontext_t *)context)->uc_mcontext;
    const uint32_t now[] = {frame->hi1, frame->lo1, frame->hi2, frame->lo2, frame->hi3, frame->lo3, frame->dsp};
    (void)info;
    for (int i = 0; i < 7; i++)
        seen[i] = now[i];
    frame->hi1 ^= 1, frame->lo2 += 2, frame->lo3 -= 3, frame->dsp ^= 1u << 20 | 5;
    handled = (uint32_t)number;
    if (number == SIGSEGV)
        frame->pc += 4;
    __asm__ volatile("mtlo $0, $ac1\n mthi $0, $ac2\n mult $ac3, $29, $29\n wrdsp $29, 63");
}

/* All that DSP has is set, then an instruction runs, then all is read. A system call is kill(getpid(), SIGUSR1). */
#define AROUND(name, instruction)                                                                                 \
    __attribute__((noinline)) static uint32_t name(uint32_t a, uint32_t b, uint32_t control)                      \
    {                                                                                                             \
        uint32_t found[7], hash = 0, process = (uint32_t)getpid();                                                \
        register uint32_t v0 __asm__("$2") = 4037, a1 __asm__("$5") = SIGUSR1, a0 __asm__("$4") = process;        \
        __asm__ volatile("mthi %9, $ac1\n mtlo %10, $ac1\n mthi %10, $ac2\n mtlo %9, $ac2\n mthi %11, $ac3\n"      \
                         "mtlo %9, $ac3\n wrdsp %11, 63\n addu $24, %9, $0\n" instruction "\n"                      \
                         "mfhi %0, $ac1\n mflo %1, $ac1\n mfhi %2, $ac2\n mflo %3, $ac2\n mfhi %4, $ac3\n"          \
                         "mflo %5, $ac3\n rddsp %6, 63"                                                             \
                         : "=&r"(found[0]), "=&r"(found[1]), "=&r"(found[2]), "=&r"(found[3]), "=&r"(found[4]),     \
                           "=&r"(found[5]), "=&r"(found[6]), "+r"(v0), "+r"(a1)                                     \
                         : "r"(a), "r"(b), "r"(control), "r"(a0)                                                    \
                         : "$1", "$3", "$7", "$24", "$25", "memory", "hi", "lo", "$ac1hi", "$ac1lo", "$ac2hi",      \
                           "$ac2lo", "$ac3hi", "$ac3lo");                                                           \
        for (int i = 0; i < 7; i++)                                                                               \
            hash = hash * 31 + found[i];                                                                          \
        return hash;                                                                                              \
    }
AROUND(around_nothing, "nop")
AROUND(around_fault, "sw $24, 0($0)")
AROUND(around_signal, "syscall")

static uint32_t seen_hash(void)
{
    uint32_t hash = handled;
    for (int i = 0; i < 7; i++)
        hash = hash * 31 + seen[i];
    return hash;
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = look, .sa_flags = SA_SIGINFO};
    uint32_t hash = 0;
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
    for (int round = 0; round < 20; round++) {
        for (int i = 0; i < SAMPLES + TAPS; i++)
            input[i].value = i % 16 == round ? 0x80008000u : next_random();
        for (int i = 0; i < TAPS; i++)
            taps[i].value = i % 8 == round ? 0x80008000u : next_random();
        filter();
        for (int i = 0; i < SAMPLES; i++)
            hash = hash * 31 + output[i].value;
        for (int i = 0; i < SAMPLES; i++)
            hash = hash * 31 + blend(input[i], input[i + 1], next_random() & 255);
        hash = hash * 31 + read_bits();
        printf("round %d: %08x, DSPControl %08x\n", round, (unsigned)hash, (unsigned)__builtin_mips_rddsp(63));
    }
    for (int round = 0; round < 30; round++) {
        uint32_t a = next_random(), b = next_random(), control = next_random();
        unsigned nothing = around_nothing(a, b, control), fault = around_fault(a, b, control), in_fault = seen_hash();
        unsigned sent = around_signal(a, b, control);
        printf("%08x %08x %08x %08x %08x\n", nothing, fault, in_fault, sent, (unsigned)seen_hash());
    }
    return 0;
}
