/* Code that other threads, children and handlers of signals change, and recompiled code that changes. */
#include "changed.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/time.h>
#include <ucontext.h>

/* ---- threads ---- */

static unsigned *page;
static volatile int turn, stop; /* turn: what the function is to return, once it is written and flushed */

static void *write_in_turn(void *nothing)
{
    for (int round = 1; round <= 200; round++) {
        while (turn != 2 * round - 1)
            sched_yield();
        change(page, round);
        __sync_synchronize();
        turn = 2 * round;
    }
    return nothing;
}

/* One thread writes while the other waits, and the other way round. */
static void in_turn(void)
{
    pthread_t writer;
    page = pages(1, RWX);
    pthread_create(&writer, NULL, write_in_turn, NULL);
    for (int round = 1; round <= 200; round++) {
        EXPECT(called(page), round - 1);
        turn = 2 * round - 1;
        while (turn != 2 * round)
            sched_yield();
        __asm__ volatile(".set push\n.set noreorder\n.set mips32r2\nla $t0, 1f\njr.hb $t0\nnop\n1:.set pop" : : : "$8");
        EXPECT(called(page), round);
    }
    pthread_join(writer, NULL);
}

static void *execute_all_the_time(void *function)
{
    long wrong = 0;
    while (!stop)
        wrong += call(function) != 7;
    return (void *)wrong;
}

/* Threads execute a function while others in its page change. */
static void others_change(void)
{
    pthread_t threads[3];
    page = pages(1, RWX);
    put(page + 900, 7);
    flush(page, PAGE);
    for (int i = 0; i < 3; i++)
        pthread_create(&threads[i], NULL, execute_all_the_time, page + 900);
    for (int round = 0; round < 2000; round++) {
        unsigned *at = page + 2 * (round % 100);
        put(at, round);
        flush(at, 8);
        EXPECT(call(at), round);
    }
    stop = 1;
    for (int i = 0; i < 3; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        EXPECT(wrong, 0);
    }
}

/* Each thread writes and executes a function of its own; all are in one page. */
static void *own_function(void *at)
{
    long wrong = 0;
    for (int round = 0; round < 1000; round++) {
        change(at, round);
        wrong += call(at) != round;
        wrong += call(at) != round;
    }
    return (void *)wrong;
}

static void all_change(void)
{
    pthread_t threads[4];
    page = pages(1, RWX);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, own_function, page + 100 * i);
    for (int i = 0; i < 4; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        EXPECT(wrong, 0);
    }
}

/* A thread takes away and gives back the right to write, and to execute, where no other one is just then. */
static void *change_rights(void *at)
{
    for (int round = 0; !stop; round++)
        mprotect(at, PAGE, round & 1 ? RX : RWX);
    return NULL;
}

static void rights_change(void)
{
    pthread_t thread;
    page = pages(2, RWX);
    put(page, 7);
    flush(page, 8);
    pthread_create(&thread, NULL, change_rights, page);
    for (int round = 0; round < 500; round++) {
        EXPECT(called(page), 7);
        change(page + WORDS, round); /* in the page behind it */
        EXPECT(call(page + WORDS), round);
    }
    stop = 1;
    pthread_join(thread, NULL);
}

/* ---- a thread runs in a loop without end, until another one changes it ---- */

static const unsigned endless[] = {
    0x24020001u, /* addiu $v0, $zero, 1 */
    0x1000ffffu, /* b . */
    0,
    JR_RA, RETURNS(9),
};

static void *run_loop(void *function)
{
    turn = 1;
    return (void *)(long)call(function);
}

enum rights { WRITABLE, BY_PROTECTION, BY_ANOTHER_MAPPING };

static void end_a_loop(enum rights rights)
{
    void *result;
    pthread_t thread;
    int fd = memfd_create("loop", 0);
    unsigned *written = page = pages(1, RWX);
    if (rights == BY_ANOTHER_MAPPING) {
        EXPECT(ftruncate(fd, PAGE), 0);
        written = mmap(NULL, PAGE, RW, MAP_SHARED, fd, 0);
        page = mmap(NULL, PAGE, RX, MAP_SHARED, fd, 0);
    }
    memcpy(written, endless, sizeof endless);
    flush(page, PAGE);
    if (rights == BY_PROTECTION)
        mprotect(page, PAGE, RX);
    turn = 0;
    pthread_create(&thread, NULL, run_loop, page);
    while (!turn)
        sched_yield();
    usleep(20000); /* it is in the loop by now, or comes to its end at once */
    if (rights == BY_PROTECTION)
        mprotect(page, PAGE, RWX);
    written[1] = 0;
    if (rights == BY_PROTECTION)
        mprotect(page, PAGE, RX);
    flush(page, PAGE);
    pthread_join(thread, &result);
    EXPECT(result, 9);
    close(fd);
}

static void loop_in_writable_page(void) { end_a_loop(WRITABLE); }
static void loop_in_protected_page(void) { end_a_loop(BY_PROTECTION); }
static void loop_in_shared_page(void) { end_a_loop(BY_ANOTHER_MAPPING); }

/* ---- children ---- */

static void children(void)
{
    int status;
    page = pages(1, RWX);
    change(page, 1);
    EXPECT(called(page), 1);
    for (int child = 0; child < 4; child++) {
        if (fork() == 0) {
            EXPECT(called(page), 1 + child);
            for (int round = 0; round < ROUNDS; round++) {
                change(page, 1000 + round);
                EXPECT(called(page), 1000 + round);
            }
            _exit(failures);
        }
        change(page, 2 + child); /* the child has its own copy */
        EXPECT(called(page), 2 + child);
        wait(&status);
        EXPECT(status, 0);
        EXPECT(called(page), 2 + child);
    }
}

/* ---- handlers ---- */

static volatile int changes;

static void change_loop(int number)
{
    (void)number;
    if (++changes < 10)
        return;
    page[2] = 0x24420000u; /* addiu $v0, $v0, 0: the sum stays below the limit, so the branch is changed as well */
    page[4] = 0;           /* the branch back */
    flush(page, 32);
}

/* A loop without end; the handler changes what it interrupts. */
static void interrupted(void)
{
    static const unsigned loop[] = {
        0x24020000u, /* addiu $v0, $zero, 0 */
        0x24030001u, /* addiu $v1, $zero, 1 */
        0x24420000u, /* addiu $v0, $v0, 0 */
        0x24420000u,
        0x1460fffdu, /* bne $v1, $zero, .-8 */
        0,
        JR_RA, 0x24020009u,
    };
    struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    signal(SIGALRM, change_loop);
    page = pages(1, RWX);
    memcpy(page, loop, sizeof loop);
    flush(page, sizeof loop);
    setitimer(ITIMER_REAL, &often, NULL);
    EXPECT(call(page), 9);
    setitimer(ITIMER_REAL, &never, NULL);
    EXPECT(changes >= 10, 1);
}

/* A trap that the handler puts an instruction for, as debuggers do with breakpoints. */
static void put_back(int number, siginfo_t *info, void *context)
{
    (void)number, (void)info, (void)context;
    changes++;
    page[1] = RETURNS(changes);
    flush(page + 1, 4);
}

static void breakpoints(void)
{
    struct sigaction action = {.sa_sigaction = put_back, .sa_flags = SA_SIGINFO};
    sigaction(SIGTRAP, &action, NULL);
    page = pages(1, RWX);
    page[0] = 0;
    page[2] = JR_RA;
    page[3] = 0;
    for (int round = 1; round < 2 * OFTEN; round++) {
        page[1] = 0x0000000du; /* break */
        flush(page, 16);
        EXPECT(call(page), round);
        EXPECT(called(page), round);
    }
}

/* A handler returns by code that it writes into its own frame, as kernels once did. */
void return_by_frame(int number);
__asm__(".text\n.set push\n.set noreorder\n.globl return_by_frame\n.ent return_by_frame\nreturn_by_frame:\n"
        "lui $8, 0x2402\nori $8, $8, 4193\nsw $8, 16($29)\n" /* addiu $v0, $zero, rt_sigreturn */
        "addiu $8, $0, 12\nsw $8, 20($29)\n"                 /* syscall */
        "lui $8, %hi(frames)\nlw $9, %lo(frames)($8)\naddiu $9, $9, 1\nsw $9, %lo(frames)($8)\n"
        "addiu $2, $0, 4147\naddiu $4, $29, 16\naddiu $5, $0, 8\naddiu $6, $0, 3\nsyscall\n"
        "addiu $8, $29, 16\njr $8\nnop\n.end return_by_frame\n.set pop");
volatile int frames;

static void trampolines(void)
{
    struct sigaction action = {.sa_handler = return_by_frame, .sa_flags = SA_SIGINFO};
    unsigned long top = (unsigned long)&action & -PAGE;
    mprotect((void *)(top - 4 * PAGE), 6 * PAGE, RWX);
    sigaction(SIGUSR1, &action, NULL);
    for (int round = 1; round <= 3 * OFTEN; round++) {
        raise(SIGUSR1);
        EXPECT(frames, round);
    }
}

/* ---- code of the program itself ---- */

__attribute__((noipa, aligned(64))) int program_function(void) { return 0x111; }
__attribute__((noipa)) int program_caller(void) { return program_function() + 1; }

static void program_changes(void)
{
    unsigned *from = (unsigned *)program_function, *start = (unsigned *)((unsigned long)from & -PAGE);
    EXPECT(called(program_caller), 0x112);
    mprotect(start, 2 * PAGE, RWX);
    EXPECT(called(program_caller), 0x112);
    for (int round = 0; round < ROUNDS; round++) {
        put(from, 0x200 + round);
        flush(from, 8);
        EXPECT(called(program_function), 0x200 + round);
        EXPECT(called(program_caller), 0x201 + round);
    }
    mprotect(start, 2 * PAGE, RX);
    EXPECT(called(program_caller), 0x200 + ROUNDS);
}

const struct way process_ways[] = {
    {"loop_in_writable_page", loop_in_writable_page}, {"loop_in_protected_page", loop_in_protected_page},
    {"loop_in_shared_page", loop_in_shared_page}, {"in_turn", in_turn}, {"others_change", others_change}, {"all_change", all_change},
    {"rights_change", rights_change}, {"children", children}, {"interrupted", interrupted},
    {"breakpoints", breakpoints}, {"trampolines", trampolines}, {"program_changes", program_changes}, {NULL, NULL},
};
