/* Runs the cases of tests/fuzz/cases.py: reads states, and writes what each leaves behind.
 *
 * Standard input: `struct state`s, `number` saying which case runs on them. Standard output: the same after each case. A
 * signal ends a case, and stands in the state. Cases are linked in as the table `cases`; see fuzz/guest.py.
 */
#include <asm/sigcontext.h>
#include <asm/siginfo.h>
#include <asm/signal.h>
#include <stdint.h>

#define CHUNK 64
#define WINDOW_BYTES 256

struct state {
    uint32_t gpr[32];
    uint32_t hi, lo, fcsr, number;
    uint32_t signal, code, pc, address;
    uint32_t hi1, lo1, hi2, lo2, hi3, lo3, dspctl, unused; /* of the DSP module, where the CPU has it: HAS_DSP */
    uint64_t fpr[32];
    uint32_t window[WINDOW_BYTES / 4];
};

struct frame {
    unsigned long flags;
    void *link;
    stack_t stack;
    struct sigcontext context;
};

struct fuzz_case {
    void (*enter)(const struct state *);
    uint32_t home, start;
};
extern const struct fuzz_case cases[];
extern uint32_t window[WINDOW_BYTES / 4];
extern struct state *result;
extern void trapped(void);

enum { EXIT = 4001, READ = 4003, WRITE = 4004, SIGACTION = 4194, SIGALTSTACK = 4206, SET_THREAD_AREA = 4283 };

static int call(int number, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d)
{
    register uintptr_t v0 __asm__("$2") = (uintptr_t)number;
    register uintptr_t a0 __asm__("$4") = a, a1 __asm__("$5") = b, a2 __asm__("$6") = c, a3 __asm__("$7") = d;
    __asm__ volatile("syscall"
                     : "+r"(v0), "+r"(a3)
                     : "r"(a0), "r"(a1), "r"(a2)
                     : "$1", "$3", "$8", "$9", "$10", "$11", "$12", "$13", "$14", "$15", "$24", "$25", "hi", "lo",
                       "memory");
    return a3 ? -1 : (int)v0;
}

/* Floating-point registers are still those of the case: nothing here uses them. */
static void on_signal(int number, siginfo_t *info, void *frame)
{
    struct sigcontext *context = &((struct frame *)frame)->context;
    struct state *to = result;
    __asm__ volatile("cfc1 %0, $31" : "=r"(to->fcsr));
    for (int i = 1; i < 32; i++)
        to->gpr[i] = (uint32_t)context->sc_regs[i];
    to->hi = (uint32_t)context->sc_mdhi;
    to->lo = (uint32_t)context->sc_mdlo;
#ifdef HAS_DSP
    to->hi1 = (uint32_t)context->sc_hi1;
    to->lo1 = (uint32_t)context->sc_lo1;
    to->hi2 = (uint32_t)context->sc_hi2;
    to->lo2 = (uint32_t)context->sc_lo2;
    to->hi3 = (uint32_t)context->sc_hi3;
    to->lo3 = (uint32_t)context->sc_lo3;
    to->dspctl = (uint32_t)context->sc_dsp;
#endif
    to->signal = (uint32_t)number;
    to->code = (uint32_t)info->si_code;
    to->pc = (uint32_t)context->sc_pc;
    to->address = (uint32_t)(uintptr_t)info->si_addr;
    context->sc_fpc_csr = 0;
    context->sc_pc = (uintptr_t)trapped;
}

static void catch_signals(void)
{
    /* far from the small numbers that cases have in $sp, which would make it the stack in use */
    static char stack[32768] __attribute__((section(".handler,\"aw\",@nobits #")));
    struct {
        uint32_t sp, size_bytes, flags;
    } alternate = {(uintptr_t)stack, sizeof stack, 0};
    struct {
        uint32_t flags, handler, mask[4];
    } action = {SA_SIGINFO | SA_ONSTACK, (uintptr_t)on_signal, {0}};
    static const uint8_t caught[] = {SIGILL, SIGTRAP, SIGFPE, SIGBUS, SIGSEGV};
    call(SIGALTSTACK, (uintptr_t)&alternate, 0, 0, 0);
    for (unsigned i = 0; i < sizeof caught; i++)
        call(SIGACTION, caught[i], (uintptr_t)&action, 0, 16);
}

static void run(const struct state *before, struct state *after)
{
    const struct fuzz_case *chosen = &cases[before->number];
    for (int i = 0; i < WINDOW_BYTES / 4; i++)
        window[i] = before->window[i];
    after->number = before->number;
    result = after;
    chosen->enter(before);
    after->gpr[chosen->home] = 0;
    for (int i = 0; i < WINDOW_BYTES / 4; i++)
        after->window[i] = window[i];
}

/* A pipe gives less at a time than is wanted. */
static int read_all(void *to, int size_bytes)
{
    int done = 0;
    while (done < size_bytes) {
        int count = call(READ, 0, (uintptr_t)to + done, size_bytes - done, 0);
        if (count <= 0)
            break;
        done += count;
    }
    return done;
}

__attribute__((used)) void start(void)
{
    static struct state before[CHUNK], after[CHUNK];
    catch_signals();
    call(SET_THREAD_AREA, 0x12345678, 0, 0, 0);
    for (;;) {
        int size_bytes = read_all(before, sizeof before);
        if (size_bytes == 0)
            call(EXIT, 0, 0, 0, 0);
        int count = size_bytes / (int)sizeof *before;
        for (int i = 0; i < count; i++) {
            for (unsigned word = 0; word < sizeof *after / 4; word++)
                ((uint32_t *)&after[i])[word] = 0;
            run(&before[i], &after[i]);
        }
        for (int done = 0; done < size_bytes;) {
            int written = call(WRITE, 1, (uintptr_t)after + done, size_bytes - done, 0);
            if (written <= 0)
                call(EXIT, 1, 0, 0, 0);
            done += written;
        }
    }
}
