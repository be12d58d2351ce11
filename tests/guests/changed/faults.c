/* Stores into pages with code: those that may be written never fault, the others do, as on a real machine. */
#include "changed.h"

#include <setjmp.h>
#include <signal.h>
#include <ucontext.h>

static sigjmp_buf before;
static volatile int faults, code;
static void *volatile address;
static volatile unsigned long fault_pc;
static unsigned *page;

static void leave(int number, siginfo_t *info, void *context)
{
    faults++;
    code = number == SIGSEGV ? info->si_code : -1;
    address = info->si_addr;
    fault_pc = (unsigned long)((ucontext_t *)context)->uc_mcontext.pc;
    siglongjmp(before, 1);
}

static void watch(void)
{
    struct sigaction action = {.sa_sigaction = leave, .sa_flags = SA_SIGINFO | SA_NODEFER};
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
}

/* Stores of all kinds to a0, a word of 1, each with a label. */
#define STORES(X) X(sb, "sb $8, 0($4)") X(sh, "sh $8, 0($4)") X(sw, "sw $8, 0($4)") X(swl, "swl $8, " SWL_AT "($4)") \
    X(swr, "swr $8, " SWR_AT "($4)") X(swc1, "swc1 $f0, 0($4)") X(sdc1, "sdc1 $f0, 0($4)") \
    X(slot, "b 1f\nstore_slot_at: sw $8, 0($4)\n1:nop")
#define X(name, text)                                                                                                 \
    void store_##name(void *to);                                                                                       \
    extern char store_##name##_at[];                                                                                   \
    __asm__(".text\n.set push\n.set noreorder\n.globl store_" #name "\nstore_" #name ":\naddiu $8, $0, 1\n.ifnc " #name \
            ",slot\nstore_" #name "_at:\n.endif\n" text "\njr $31\nnop\n.set pop");
STORES(X)
#undef X

static const struct {
    void (*store)(void *);
    char *at;
} stores[] = {
#define X(name, text) {store_##name, store_##name##_at},
    STORES(X)
#undef X
};
enum { STORE_COUNT = sizeof stores / sizeof *stores, SLOT = STORE_COUNT - 1 };

/* Really read-only: each store faults, with the pc of the store, or of the branch whose slot it is in. */
static void read_only(void)
{
    watch();
    page = pages(1, RX);
    for (volatile int round = 0; round < OFTEN; round++)
        for (volatile int i = 0; i < STORE_COUNT; i++) {
            EXPECT(call(page), 0);
            faults = 0;
            if (sigsetjmp(before, 1) == 0)
                stores[i].store(page + 64);
            EXPECT(faults, 1);
            EXPECT(code, SEGV_ACCERR);
            EXPECT((char *)address - (char *)(page + 64) <= 3, 1);
            EXPECT(fault_pc, stores[i].at - (i == SLOT ? 4 : 0));
            EXPECT(page[64], JR_RA);
        }
}

/* The same where it was writable and executed before. */
static void made_read_only(void)
{
    watch();
    page = pages(1, RWX);
    for (volatile int round = 0; round < OFTEN; round++) {
        mprotect(page, PAGE, RWX);
        change(page, round);
        EXPECT(called(page), round);
        page[64] = (unsigned)round;
        mprotect(page, PAGE, RX);
        for (volatile int i = 0; i < STORE_COUNT; i++) {
            faults = 0;
            if (sigsetjmp(before, 1) == 0)
                stores[i].store(page + 64);
            EXPECT(faults, 1);
            EXPECT(code, SEGV_ACCERR);
        }
        EXPECT(page[64], round);
        EXPECT(called(page), round);
    }
}

/* Writable: no store faults, nor is one lost. */
static void writable(void)
{
    watch();
    page = pages(1, RWX);
    for (volatile int round = 0; round < 4 * OFTEN; round++)
        for (volatile int i = 0; i < STORE_COUNT; i++) {
            EXPECT(round & 1 ? call(page) : called(page), 0);
            page[64] = 0;
            page[65] = 0;
            if (round & 2)
                EXPECT(called(page), 0);
            if (sigsetjmp(before, 1) == 0)
                stores[i].store(page + 64);
            EXPECT(i == 5 || i == 6 || page[64] != 0, 1); /* f0 may be 0 */
        }
    EXPECT(faults, 0);
}

/* With SIGSEGV blocked, and then ignored, a signal would end the process. */
static void no_signal_to_spare(void)
{
    sigset_t all;
    page = pages(1, RWX);
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, NULL);
    for (volatile int round = 0; round < OFTEN; round++) {
        change(page, round);
        EXPECT(called(page), round);
    }
    signal(SIGSEGV, SIG_IGN);
    for (volatile int round = 0; round < OFTEN; round++) {
        change(page, round);
        EXPECT(called(page), round);
    }
}

/* Pages that were writable, and are gone: fetching there faults, at the pc itself. */
static void gone(void)
{
    watch();
    for (volatile int round = 0; round < OFTEN; round++) {
        page = pages(1, round & 1 ? RWX : RX);
        EXPECT(called(page), 0);
        if (round & 2)
            munmap(page, PAGE);
        else
            mprotect(page, PAGE, PROT_NONE);
        faults = 0;
        if (sigsetjmp(before, 1) == 0)
            call(page);
        EXPECT(faults, 1);
        EXPECT(code, round & 2 ? SEGV_MAPERR : SEGV_ACCERR);
        EXPECT(address, page);
        EXPECT(fault_pc, page);
    }
}

/* The file of a mapping becomes shorter, and what was executed is beyond its end. */
static void truncated(void)
{
    int fd = memfd_create("code", 0);
    unsigned words[2];
    watch();
    put(words, 5);
    page = mmap(NULL, PAGE, RX, MAP_SHARED, fd, 0);
    for (volatile int round = 0; round < 4; round++) {
        EXPECT(pwrite(fd, words, 8, 0), 8);
        EXPECT(called(page), 5);
        EXPECT(ftruncate(fd, 0), 0);
        faults = 0;
        if (sigsetjmp(before, 1) == 0)
            call(page);
        EXPECT(faults, 1);
        EXPECT(code, -1); /* SIGBUS */
        EXPECT(address, page);
        EXPECT(fault_pc, page);
    }
}

/* A handler makes the page writable, and the store happens after all; the changed code is executed. */
static void allow(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info, (void)context;
    faults++;
    mprotect(page, PAGE, RWX);
}

static void write_on_demand(void)
{
    struct sigaction action = {.sa_sigaction = allow, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
    page = pages(1, RX);
    for (volatile int round = 0; round < 2 * OFTEN; round++) {
        mprotect(page, PAGE, RX);
        EXPECT(called(page), round == 0 ? 0 : round - 1);
        change(page, round);
        EXPECT(called(page), round);
        EXPECT(faults, round + 1);
    }
}

/* The frame of a handler, and its stack, may lie beside code. */
static volatile int on_stack;

static void count(int number)
{
    (void)number;
    on_stack += (char *)&number > (char *)page && (char *)&number < (char *)page + 8 * PAGE;
}

static void stack_beside_code(void)
{
    struct sigaction action = {.sa_handler = count, .sa_flags = SA_ONSTACK};
    page = pages(8, RWX);
    stack_t stack = {.ss_sp = page + 16, .ss_size = 8 * PAGE - 64};
    EXPECT(sigaltstack(&stack, NULL), 0);
    sigaction(SIGUSR1, &action, NULL);
    unsigned *last = page + 8 * WORDS - 64; /* in the page that the frame is in */
    stack.ss_size = (char *)last - (char *)stack.ss_sp;
    EXPECT(sigaltstack(&stack, NULL), 0);
    for (volatile int round = 0; round < 2 * OFTEN; round++) {
        EXPECT(called(page), 0);
        change(last, round);
        EXPECT(called(last), round);
        raise(SIGUSR1);
        EXPECT(on_stack, round + 1);
        EXPECT(called(last), round);
    }
}

const struct way fault_ways[] = {
    {"read_only", read_only}, {"made_read_only", made_read_only}, {"writable", writable},
    {"no_signal_to_spare", no_signal_to_spare}, {"gone", gone}, {"truncated", truncated}, {"write_on_demand", write_on_demand},
    {"stack_beside_code", stack_beside_code}, {NULL, NULL},
};
