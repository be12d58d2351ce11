/* Code of the program's own file, in pages that it may not write: /proc/self/mem changes them all the same, and they come and
 * go with protections and mappings. */
#include "changed.h"

#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

__attribute__((noipa, aligned(PAGE))) static int from_file(void) { return 77; }
__attribute__((noipa)) static int beside_it(void) { return 78; }
__attribute__((noipa, aligned(PAGE))) static int direct_call(void) { return from_file() + beside_it(); }

/* Flushes of what did not change leave all as it is; then each change counts, and the old words, written again. */
static void text_by_proc_mem(void)
{
    int fd = open("/proc/self/mem", O_RDWR);
    unsigned first[2], words[2];
    memcpy(first, (void *)from_file, sizeof first);
    for (int round = 0; round < ROUNDS; round++) {
        flush((void *)from_file, PAGE);
        EXPECT(called((void *)from_file), 77);
        EXPECT(direct_call(), 77 + 78);
    }
    for (int round = 0; round < ROUNDS; round++) {
        put(words, round);
        EXPECT(pwrite64(fd, round == ROUNDS - 1 ? first : words, 8, (off64_t)(unsigned long)from_file), 8);
        flush((void *)from_file, 8);
        EXPECT(called((void *)from_file), round == ROUNDS - 1 ? 77 : round);
        EXPECT(direct_call(), (round == ROUNDS - 1 ? 77 : round) + 78);
    }
}

/* ---- a page of code that cannot be fetched for a while ---- */

typedef int between(void);
__attribute__((noipa, section(".text_alone"), aligned(PAGE))) static int alone(between *first) { return first ? first() + 55 : 55; }
__attribute__((noipa)) static int beyond(between *first) { return alone(first) + 1; }
#define CODE ((unsigned *)(uintptr_t)alone)
static int (*volatile const callers[2])(between *) = {alone, beyond}; /* by pointer and directly */

static sigjmp_buf before;
static volatile int code;
static char *volatile address;
static volatile unsigned long fault_pc;

static void leave(int number, siginfo_t *info, void *context)
{
    code = number == SIGSEGV ? info->si_code : -1;
    address = info->si_addr;
    fault_pc = (unsigned long)((ucontext_t *)context)->uc_mcontext.pc;
    siglongjmp(before, 1);
}

/* Calls it; it faults where it fetches an instruction. Returns how far into the page. */
static long fetch_faults(int (*caller)(between *), between *first, int expected)
{
    struct sigaction action = {.sa_sigaction = leave, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGSEGV, &action, NULL);
    code = 0;
    if (sigsetjmp(before, 1) == 0)
        caller(first);
    EXPECT(code, expected);
    EXPECT(address, fault_pc);
    return address - (char *)CODE;
}

static void both_are(int value)
{
    for (int i = 0; i < OFTEN; i++) {
        EXPECT(callers[0](NULL), value);
        EXPECT(callers[1](NULL), value + 1);
    }
}

static void both_fault(int expected)
{
    EXPECT(fetch_faults(callers[0], NULL, expected), 0);
    EXPECT(fetch_faults(callers[1], NULL, expected), 0);
}

/* What the function returns is an immediate of addiu. */
static void return_instead(int old, int new)
{
    mprotect(CODE, PAGE, RW);
    for (unsigned *at = CODE; at < CODE + 64; at++)
        if (*at >> 26 == 9 && (*at & 0xffff) == (unsigned)old)
            *at += new - old;
}

static void text_protected(void)
{
    int value = 55;
    for (int round = 0; round < ROUNDS; round++) {
        both_are(value);
        EXPECT(mprotect(CODE, PAGE, PROT_NONE), 0);
        both_fault(SEGV_ACCERR);
        if (round & 1)
            return_instead(value, value + 1), value++;
        EXPECT(mprotect(CODE, PAGE, round & 2 ? PROT_READ : RX), 0); /* without RIXI what may be read is executed */
    }
    both_are(value);
}

static int forbid(void) { return mprotect(CODE, PAGE, PROT_NONE); }

static void text_returned_into(void)
{
    for (int round = 0; round < ROUNDS; round++) {
        both_are(55);
        EXPECT(fetch_faults(callers[round & 1], forbid, SEGV_ACCERR) > 0, 1);
        EXPECT(mprotect(CODE, PAGE, RX), 0);
    }
}

static void text_replaced(void)
{
    static unsigned kept[WORDS];
    char *elsewhere = mmap(NULL, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(kept, CODE, PAGE);
    both_are(55);
    for (int round = 0; round < ROUNDS; round++) {
        EXPECT(mremap(CODE, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, elsewhere), elsewhere);
        both_fault(SEGV_MAPERR);
        EXPECT(((int (*)(between *))elsewhere)(NULL), 55);
        EXPECT(mremap(elsewhere, PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, CODE), CODE);
        both_are(55);
        EXPECT(mmap(CODE, PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), CODE);
        put(CODE, round);
        EXPECT(mprotect(CODE, PAGE, RX), 0);
        both_are(round);
        EXPECT(munmap(CODE, PAGE), 0);
        both_fault(SEGV_MAPERR);
        EXPECT(mmap(CODE, PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), CODE);
        memcpy(CODE, kept, PAGE);
        EXPECT(mprotect(CODE, PAGE, RX), 0);
        both_are(55);
    }
}

/* What was copied for this process is dropped: the file's code again, without a flush. */
static void text_dropped(void)
{
    both_are(55);
    for (int round = 0; round < ROUNDS; round++) {
        return_instead(55, round);
        EXPECT(mprotect(CODE, PAGE, RX), 0);
        both_are(round);
        EXPECT(madvise(CODE, PAGE, MADV_DONTNEED), 0);
        both_are(55);
    }
}

/* Code in the heap, whose end goes below it and comes back. */
static void heap(void)
{
    uintptr_t end = (uintptr_t)sbrk(0);
    unsigned *page = (unsigned *)((end + PAGE - 1) & -PAGE);
    for (int round = 0; round < ROUNDS; round++) {
        EXPECT(brk(page + WORDS), 0);
        EXPECT(*page, 0);
        put(page, round);
        mprotect(page, PAGE, round & 1 ? RWX : RX);
        EXPECT(called(page), round);
        EXPECT(brk(page), 0);
        EXPECT(fetch_faults((int (*)(between *))page, NULL, SEGV_MAPERR), (char *)page - (char *)CODE);
    }
}

const struct way text_ways[] = {
    {"text_by_proc_mem", text_by_proc_mem}, {"text_protected", text_protected},
    {"text_returned_into", text_returned_into}, {"text_replaced", text_replaced}, {"text_dropped", text_dropped},
    {"heap", heap}, {NULL, NULL},
};
