/* RLIMIT_STACK: how far the stack grows, by which accesses below it, and which programs inherit the limit. */
#include "show.h"

#include <alloca.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define MIB ((size_t)1 << 20)
#define RW (PROT_READ | PROT_WRITE)

static sigjmp_buf back;
static char signal_stack[1 << 16];

static int soft_limit(int which, rlim_t mib)
{
    struct rlimit limit;
    getrlimit(which, &limit);
    limit.rlim_cur = mib == 0 ? limit.rlim_max : mib * MIB;
    return setrlimit(which, &limit);
}

/* Nests until so many bytes of stack are in use. */
static __attribute__((noinline)) int deep(size_t bytes)
{
    volatile char room[2000];
    room[bytes % sizeof room] = 1;
    return bytes <= sizeof room ? 0 : deep(bytes - sizeof room) + room[bytes % sizeof room] - 1;
}

/* What a child ends with that nests so deep under such limits. */
static int end_of(size_t bytes, rlim_t stack_mib, rlim_t all_mib)
{
    int status;
    if (fork() == 0) {
        soft_limit(RLIMIT_STACK, stack_mib);
        soft_limit(RLIMIT_AS, all_mib);
        _exit(deep(bytes));
    }
    wait(&status);
    return WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status);
}

static void on_fault(int number) { siglongjmp(back, number); }

/* The handler's frame goes where sp is, of which nothing has been touched. */
static __attribute__((noinline)) void fault_below(size_t bytes)
{
    char *volatile below = alloca(bytes);
    *(volatile int *)(below == NULL) = 1;
}

static void signals(void)
{
    struct sigaction action = {.sa_handler = on_fault};
    stack_t stack = {.ss_sp = signal_stack, .ss_size = sizeof signal_stack};
    sigaction(SIGSEGV, &action, NULL);
    int number = sigsetjmp(back, 1);
    if (number == 0)
        fault_below(12 * MIB);
    SHOW(number);
    sigaltstack(&stack, NULL);
    action.sa_flags = SA_ONSTACK;
    sigaction(SIGSEGV, &action, NULL);
    if ((number = sigsetjmp(back, 1)) == 0) /* the stack is at its end: the handler has its own */
        deep(60 * MIB);
    SHOW(number);
    signal(SIGSEGV, SIG_DFL);
}

static void calls(void)
{
    char here, *below = (char *)(((uintptr_t)&here - 14 * MIB) & ~(uintptr_t)4095);
    int zero = open("/dev/zero", O_RDONLY), null = open("/dev/null", O_WRONLY), ends[2];
    SHOW(read(zero, below, 8192));
    SHOW(write(null, below - MIB, 100));
    SHOW(pipe(ends));
    SHOW(write(ends[1], below - 2 * MIB, 100));
    SHOW(fcntl(zero, F_GETLK, below - 3 * MIB) == 0);
    SHOW(access(below - 4 * MIB, F_OK)); /* an empty name */
    SHOW(read(zero, below - 60 * MIB, 100));
}

static void mapping(void)
{
    char *area = mmap(NULL, 8 * MIB, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *low = area + 7 * MIB;
    munmap(area, 8 * MIB);
    SHOW(mmap(low, 65536, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_GROWSDOWN, -1, 0) == low);
    low[-3 * (int)MIB] = 5;
    SHOW(low[-3 * (int)MIB] + low[-2 * (int)MIB]);
    munmap(area, 8 * MIB);
}

static int stack_lines(void)
{
    char line[300];
    int count = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(line, sizeof line, maps))
        count += strstr(line, "[stack]") != NULL;
    fclose(maps);
    return count;
}

int main(int count, char **words)
{
    if (count > 1) { /* executed under a larger limit */
        SHOW(deep(50 * MIB));
        SHOW(end_of(100 * MIB, 80, 0));
        return 0;
    }
    soft_limit(RLIMIT_STACK, 8);
    SHOW(deep(7 * MIB));
    SHOW(end_of(9 * MIB, 8, 0));
    SHOW(end_of(20 * MIB, 24, 0));
    SHOW(end_of(20 * MIB, 24, 16));
    SHOW(end_of(6 * MIB, 1, 0)); /* there already */
    SHOW(end_of(9 * MIB, 1, 0));
    soft_limit(RLIMIT_STACK, 24);
    calls(); /* before signals has left anything there: what fcntl reads must be zero */
    signals();
    SHOW(stack_lines());
    mapping();
    soft_limit(RLIMIT_STACK, 0);
    fflush(stdout);
    execl("/proc/self/exe", "deep", "again", NULL);
    return 1;
}
