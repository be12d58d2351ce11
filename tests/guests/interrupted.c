/* interrupted HOW ROUNDS: a call that works for long before it waits is ended by SIGALRM alone, and always by it.
 *
 * How "masked": ppoll, whose own mask lets the signal in. It must not end before the handler has run.
 * How "plain": a lock of a file. Once it sleeps, a handler without SA_RESTART must end it; it must not sleep again.
 * How "ended": a child in pause, sigsuspend or ppoll is sent a handled signal many times, then one that ends it.
 * How "sent": SIGEMT, whose number the host's samples have, must end a read that sleeps. Not where Linux has no SIGEMT.
 * The handler counts how often the thread has slept, so that a slow machine changes nothing. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { POLLED = 1000, LOCKS = 6000, SLEPT = 8, STORM = 20 };

static volatile int ticks;
static volatile long slept[SLEPT]; /* at each tick */
static volatile int *handled;      /* by the child that is to be ended */

static long times_slept(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_nvcsw;
}

static void tick(int number)
{
    (void)number;
    if (ticks < SLEPT)
        slept[ticks] = times_slept();
    ticks++;
}

static void alarm_in(long microseconds, long again)
{
    const struct itimerval timer = {{0, again}, {0, microseconds}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

static int masked(int rounds)
{
    static struct pollfd polled[POLLED];
    int ends[2], early = 0;
    sigset_t alarms, before;
    if (pipe(ends) != 0)
        return -1;
    for (int i = 0; i < POLLED; i++)
        polled[i] = (struct pollfd){.fd = ends[0], .events = POLLIN};
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    sigprocmask(SIG_BLOCK, &alarms, &before);
    for (int i = 0; i < rounds; i++) {
        ticks = 0;
        alarm_in(300, 0);
        if (ppoll(polled, POLLED, NULL, &before) != -1 || errno != EINTR)
            return -1;
        early += ticks == 0;
        alarm_in(0, 0);
    }
    return early;
}

static int lock(int file, int at, int command)
{
    struct flock range = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = 1};
    return fcntl(file, command, &range);
}

static int plain(int rounds)
{
    char name[] = "/tmp/lockedXXXXXX", byte;
    int file = mkstemp(name), ends[2], again = 0;
    if (file < 0 || unlink(name) != 0 || pipe(ends) != 0)
        return -1;
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        for (int i = 0; i < LOCKS; i++)
            if (lock(file, 2 * i, F_SETLK) != 0)
                _exit(1);
        if (write(ends[1], "x", 1) == 1)
            for (;;)
                pause();
    }
    close(ends[1]);
    if (read(ends[0], &byte, 1) != 1)
        return -1;
    for (int i = 0; i < rounds; i++) {
        ticks = 0;
        long before = times_slept();
        alarm_in(500, 20000);
        if (lock(file, 2 * (LOCKS - 1), F_SETLKW) != -1 || errno != EINTR)
            return -1;
        alarm_in(0, 0);
        again += ticks >= 2 && slept[0] > before && slept[1] > slept[0];
    }
    return again;
}

static int sent(int rounds)
{
#ifdef SIGEMT
    volatile int *taken = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int ends[2], wrong = 0, judged = 0;
    char byte;
    const struct sigaction action = {.sa_handler = tick};
    if (taken == MAP_FAILED || pipe(ends) != 0 || sigaction(SIGEMT, &action, NULL) != 0)
        return -1;
    for (int i = 0; i < rounds; i++) {
        ticks = *taken = 0;
        long before = times_slept();
        pid_t child = fork();
        if (child == 0) {
            usleep(2000);
            kill(getppid(), SIGEMT);
            for (int n = 0; n < 100 && !*taken; n++)
                usleep(2000);
            _exit(write(ends[1], "x", 1) != 1);
        }
        ssize_t got = read(ends[0], &byte, 1);
        bool ended = got == -1 && errno == EINTR;
        *taken = 1;
        judged += ticks != 0 && slept[0] > before;
        wrong += !ended && ticks != 0 && slept[0] > before;
        if (ended && read(ends[0], &byte, 1) != 1)
            return -1;
        while (waitpid(child, NULL, 0) < 0)
            ;
    }
    return judged == 0 ? -1 : wrong;
#else
    return 0 * rounds;
#endif
}

/* Uses processor time, so that samples fall due, and waits, for good in any of three ways. */
static void wait_for_ever(int round)
{
    static struct pollfd polled[POLLED];
    sigset_t ends, before;
    sigemptyset(&ends);
    sigaddset(&ends, SIGTERM);
    sigprocmask(SIG_BLOCK, round % 3 ? &ends : NULL, &before);
    for (int i = 0; i < POLLED; i++)
        polled[i].fd = -1;
    for (;;) {
        for (volatile int spent = 0; spent < 3000 * (round % 7); spent++)
            ;
        if (round % 3 == 0)
            pause();
        else if (round % 3 == 1)
            sigsuspend(&before);
        else
            ppoll(polled, POLLED, NULL, &before);
    }
}

static void handle(int number)
{
    (void)number;
    ++*handled;
}

static int ended(int rounds)
{
    int wrong = 0, status = 0;
    const struct sigaction action = {.sa_handler = handle};
    handled = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (handled == MAP_FAILED || sigaction(SIGUSR1, &action, NULL) != 0)
        return -1;
    signal(SIGALRM, SIG_DFL); /* ends what hangs */
    alarm(600);
    for (int i = 0; i < rounds; i++) {
        *handled = 0;
        pid_t child = fork();
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            wait_for_ever(i);
        }
        for (int n = 0; n < STORM; n++) {
            while (*handled < n) /* all but the last, which comes together with the end */
                sched_yield();
            kill(child, SIGUSR1);
        }
        kill(child, SIGTERM);
        wrong += waitpid(child, &status, 0) != child || !WIFSIGNALED(status) || WTERMSIG(status) != SIGTERM;
    }
    return wrong;
}

int main(int argc, char **argv)
{
    const struct sigaction action = {.sa_handler = tick};
    sigaction(SIGALRM, &action, NULL);
    if (argc != 3)
        return 2;
    int rounds = atoi(argv[2]);
    int wrong = argv[1][0] == 'm'   ? masked(rounds)
                : argv[1][0] == 'p' ? plain(rounds)
                : argv[1][0] == 'e' ? ended(rounds)
                                    : sent(rounds);
    printf("wrong: %d\n", wrong);
    return 0;
}
