/* Spends processor time in known places, and looks whether being sampled can be noticed. The first argument says in
 * which way; a second one divides the work, for slow hosts. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t came;
static unsigned divisor = 1;

static void on_signal(int number)
{
    (void)number;
    came++;
}

static void take(int number)
{
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_signal;
    sigaction(number, &action, NULL);
}

/* About a nanosecond a round; the loop loads and stores. */
__attribute__((noipa)) unsigned spend(unsigned rounds)
{
    static unsigned words[256];
    unsigned sum = 1;
    rounds /= divisor;
    for (unsigned i = 0; i < rounds; i++) {
        words[i & 255] ^= sum;
        sum = sum * 1664525 + words[(i * 7) & 255] + 1013904223;
    }
    return sum;
}

/* Without access to memory, so that nothing in the loop can fault. */
__attribute__((noipa)) unsigned compute(unsigned rounds)
{
    unsigned sum = 1;
    rounds /= divisor;
    for (unsigned i = 0; i < rounds; i++)
        if ((sum = sum * 1664525 + 1013904223) % 3 == 0)
            sum = (sum ^ i) / 5;
    return sum;
}

/* The same, for code that is not recompiled. */
__attribute__((noipa)) unsigned spend_slowly(unsigned rounds)
{
    unsigned sum = 1;
    rounds /= divisor;
    for (unsigned i = 0; i < rounds; i++)
        sum = sum * 1664525 + 1013904223;
    return sum;
}

__attribute__((noipa)) static void call_kernel(unsigned rounds)
{
    static char bytes[65536];
    FILE *zero = fopen("/dev/zero", "r");
    for (unsigned i = 0; i < rounds; i++)
        read(fileno(zero), bytes, sizeof bytes);
    fclose(zero);
}

/* Its own profiling timer goes on. */
static void own_timer(void)
{
    struct itimerval interval = {{0, 8000}, {0, 8000}};
    take(SIGPROF);
    setitimer(ITIMER_PROF, &interval, NULL);
    for (unsigned round = 0; came < 10 && round < 20000; round++)
        spend(100000);
    printf("%s\n", came >= 10 ? "ten signals" : "too few signals");
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

#define MANY 1000

/* Calls that wait are not interrupted, and time out when they should. */
static void waits(void)
{
    static struct pollfd many[MANY];
    unsigned interrupted = 0, early = 0;
    int ends[2];
    pipe(ends);
    for (int i = 0; i < MANY; i++)
        many[i] = (struct pollfd){ends[0], POLLIN, 0};
    for (int i = 0; i < 30; i++) {
        struct timespec time = {0, 2000000};
        struct timeval timeout = {0, 2000};
        sigset_t none, some;
        sigemptyset(&none);
        sigemptyset(&some);
        sigaddset(&some, SIGUSR1);
        double begin = seconds();
        spend(3000000);
        interrupted += poll(NULL, 0, 2) != 0;
        spend(1000000);
        interrupted += nanosleep(&time, NULL) != 0;
        spend(1000000);
        interrupted += select(0, NULL, NULL, NULL, &timeout) != 0;
        interrupted += ppoll(NULL, 0, &time, &none) != 0;
        sigprocmask(SIG_BLOCK, &some, NULL);
        interrupted += sigtimedwait(&some, NULL, &time) != -1 || errno != EAGAIN;
        early += seconds() - begin < 0.01;
    }
    for (int i = 0; i < 200; i++) /* the kernel is busy with these before it waits, so a sample is likely due meanwhile */
        interrupted += poll(many, MANY, 1) != 0;
    printf("%u interrupted, %u early\n", interrupted, early);
}

/* What is written to a full pipe is written as a whole. Kernels look at timers of processor time at their own ticks,
 * which may all fall on others while writer and reader take turns: the writer computes afterwards. */
static void writes(void)
{
    static char bytes[1 << 20];
    int ends[2];
    pipe(ends);
    pid_t reader = fork();
    if (reader == 0) {
        close(ends[1]);
        for (unsigned i = 0; read(ends[0], bytes, 40000) > 0; i++)
            spend(i % 8 ? 10 : 10000);
        _exit(0);
    }
    close(ends[0]);
    unsigned cut = 0;
    for (int i = 0; i < 300; i++)
        cut += write(ends[1], bytes, sizeof bytes) != (ssize_t)sizeof bytes;
    close(ends[1]);
    waitpid(reader, NULL, 0);
    spend(100000000);
    printf("%u cut short\n", cut);
}

/* The signal of samples is the guest's SIGEMT: caught, sent by others, blocked, ignored. */
static void same_signal(void)
{
    sigset_t set;
    take(SIGEMT);
    raise(SIGEMT);
    pid_t child = fork();
    if (child == 0) {
        kill(getppid(), SIGEMT);
        _exit(0);
    }
    while (came < 2)
        spend(100000);
    while (waitpid(child, NULL, 0) < 0)
        ;
    sigemptyset(&set);
    sigaddset(&set, SIGEMT);
    sigprocmask(SIG_BLOCK, &set, NULL);
    raise(SIGEMT);
    spend(30000000);
    sigset_t pending;
    sigpending(&pending);
    printf("%d came, %s", (int)came, sigismember(&pending, SIGEMT) ? "one waits" : "none waits");
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    signal(SIGEMT, SIG_IGN);
    raise(SIGEMT);
    spend(30000000);
    printf(", %d at last\n", (int)came);
}

static void forks(void)
{
    for (int i = 0; i < 2; i++) {
        pid_t child = fork();
        if (child == 0) {
            spend(150000000);
            exit(0);
        }
        waitpid(child, NULL, 0);
    }
    puts("done");
}

static void outlives(void)
{
    fflush(stdout);
    if (fork() != 0)
        exit(0);
    usleep(300000);
    spend(150000000);
    puts("done");
}

static void *thread_body(void *rounds)
{
    return (void *)(uintptr_t)spend((unsigned)(uintptr_t)rounds);
}

static void threads(void)
{
    pthread_t all[3];
    for (int i = 0; i < 3; i++)
        pthread_create(&all[i], NULL, thread_body, (void *)100000000);
    for (int i = 0; i < 3; i++)
        pthread_join(all[i], NULL);
    puts("done");
}

int main(int count, char **words)
{
    const char *way = count > 1 ? words[1] : "";
    sigset_t none;
    sigemptyset(&none);
    divisor = count > 2 ? (unsigned)atoi(words[2]) : 1;
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (strcmp(way, "lifted") == 0)
        printf("%x\n", spend(200000000));
    else if (strcmp(way, "interpreted") == 0)
        printf("%x\n", spend_slowly(100000000));
    else if (strcmp(way, "computed") == 0)
        printf("%x\n", compute(60000000));
    else if (strcmp(way, "kernel") == 0)
        call_kernel(200000 / divisor);
    else if (strcmp(way, "timer") == 0)
        own_timer();
    else if (strcmp(way, "waits") == 0)
        waits();
    else if (strcmp(way, "writes") == 0)
        writes();
    else if (strcmp(way, "signal") == 0)
        same_signal();
    else if (strcmp(way, "forks") == 0)
        forks();
    else if (strcmp(way, "outlives") == 0)
        outlives();
    else if (strcmp(way, "threads") == 0)
        threads();
    else if (strcmp(way, "dies") == 0)
        spend(150000000), raise(SIGFPE);
    else if (strcmp(way, "traps") == 0)
        spend(150000000), __builtin_trap();
    else if (strcmp(way, "executes") == 0)
        spend(150000000), execl("/nowhere", "nowhere", (char *)NULL), execl("/bin/echo", "echo", "done", (char *)NULL);
    else if (strcmp(way, "pauses") == 0)
        puts("begun"), pause();
    else if (strcmp(way, "suspends") == 0)
        puts("begun"), sigsuspend(&none);
    else if (strcmp(way, "endless") == 0)
        for (puts("begun");;)
            spend(1000);
    return 0;
}
