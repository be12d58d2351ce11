/* Signals: handlers, masks, queues, alternate stacks, interruption and restart, contexts of handlers. */
#include "show.h"

#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>

static volatile int count, last;

static const char *name_of(int number)
{
    return number >= SIGRTMIN ? "RT" : sigabbrev_np(number);
}

static void simple(int number)
{
    count++;
    last = number;
    printf("handler %s\n", name_of(number));
}

static void with_info(int number, siginfo_t *info, void *context)
{
    ucontext_t *user = context;
    printf("info %s code %d errno %d mine %d value %d blocked %d\n", name_of(info->si_signo), info->si_code,
           info->si_errno, info->si_pid == getpid() && info->si_uid == getuid(), info->si_value.sival_int,
           sigismember(&user->uc_sigmask, SIGUSR2));
    count++;
}

static void print_set(const char *what, const sigset_t *set)
{
    printf("%s:", what);
    for (int number = 1; number < 65; number++)
        if (number != 32 && number != 33 && sigismember(set, number) == 1 && number < SIGRTMIN)
            printf(" %s", name_of(number));
        else if (number >= SIGRTMIN && sigismember(set, number) == 1)
            printf(" RT%d", number - SIGRTMIN);
    printf("\n");
}

static void install(int number, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
    sigaction(number, &action, NULL);
}

static void actions(void)
{
    struct sigaction action = {.sa_handler = simple, .sa_flags = SA_RESTART}, old;
    sigaddset(&action.sa_mask, SIGTERM);
    sigaddset(&action.sa_mask, SIGRTMIN + 5);
    SHOW(sigaction(SIGUSR1, &action, NULL));
    SHOW(sigaction(SIGUSR1, NULL, &old));
    printf("%d %d\n", old.sa_handler == simple, !!(old.sa_flags & SA_RESTART));
    print_set("mask", &old.sa_mask);
    SHOW(sigaction(SIGKILL, &action, NULL));
    SHOW(sigaction(500, &action, NULL));
    SHOW(raise(SIGUSR1));
    SHOW(kill(getpid(), SIGUSR1));
    SHOW(signal(SIGUSR1, SIG_IGN) == simple);
    SHOW(raise(SIGUSR1));
    SHOW(raise(SIGCHLD));
    struct sigaction info = {.sa_sigaction = with_info, .sa_flags = SA_SIGINFO};
    SHOW(sigaction(SIGUSR1, &info, NULL));
    SHOW(raise(SIGUSR1));
    SHOW(kill(getpid(), SIGUSR1));
    SHOW(sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 4711}));
    install(SIGUSR1, simple, SA_RESETHAND);
    SHOW(raise(SIGUSR1));
    sigaction(SIGUSR1, NULL, &old);
    SHOW(old.sa_handler == SIG_DFL);
}

static void masks(void)
{
    sigset_t set, old, pending;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    sigaddset(&set, SIGRTMIN + 1);
    sigaddset(&set, SIGKILL);
    install(SIGUSR1, simple, 0);
    install(SIGUSR2, simple, 0);
    struct sigaction info = {.sa_sigaction = with_info, .sa_flags = SA_SIGINFO};
    sigaction(SIGRTMIN + 1, &info, NULL);
    SHOW(sigprocmask(SIG_BLOCK, &set, &old));
    print_set("old", &old);
    SHOW(raise(SIGUSR2));
    SHOW(raise(SIGUSR1));
    SHOW(raise(SIGUSR1));
    for (int i = 1; i < 4; i++)
        sigqueue(getpid(), SIGRTMIN + 1, (union sigval){.sival_int = i});
    SHOW(sigpending(&pending));
    print_set("pending", &pending);
    sigprocmask(SIG_BLOCK, NULL, &old);
    print_set("now", &old);
    SHOW(sigprocmask(SIG_UNBLOCK, &set, NULL));
    SHOW(sigpending(&pending));
    print_set("pending", &pending);
    SHOW(sigprocmask(99, &set, NULL));
    sigprocmask(SIG_BLOCK, &set, NULL);
    raise(SIGUSR1);
    siginfo_t got;
    const struct timespec none = {0, 1000000};
    SHOW(sigtimedwait(&set, &got, &none) == SIGUSR1);
    SHOW(sigtimedwait(&set, &got, &none));
    sigqueue(getpid(), SIGRTMIN + 1, (union sigval){.sival_int = 77});
    SHOW(sigwaitinfo(&set, &got) == SIGRTMIN + 1);
    printf("%d %d\n", got.si_code, got.si_value.sival_int);
    raise(SIGUSR2);
    sigset_t empty;
    sigemptyset(&empty);
    SHOW(sigsuspend(&empty));
    sigprocmask(SIG_BLOCK, NULL, &old);
    print_set("after", &old);
    sigprocmask(SIG_SETMASK, &empty, NULL);
}

static void count_one(int number)
{
    count += number == SIGRTMIN;
}

/* More than one at once: all are kept. */
static void many(void)
{
    sigset_t set;
    int sent = 0;
    sigemptyset(&set);
    sigaddset(&set, SIGRTMIN);
    install(SIGRTMIN, count_one, 0);
    sigprocmask(SIG_BLOCK, &set, NULL);
    count = 0;
    for (int i = 0; i < 300; i++)
        sent += sigqueue(getpid(), SIGRTMIN, (union sigval){i}) == 0;
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    printf("%d %d\n", sent, count);
}

static void on_alternate(int number)
{
    stack_t now;
    char here;
    sigaltstack(NULL, &now);
    printf("on it %d flags %d\n", &here >= (char *)now.ss_sp && &here < (char *)now.ss_sp + now.ss_size, now.ss_flags);
    SHOW(sigaltstack(&now, NULL));
}

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (1u << 31)
#endif

/* The stack is none while a handler runs on it; a frame without siginfo does not bring it back. */
static void disarming(stack_t stack)
{
    struct sigaction action = {.sa_handler = on_alternate, .sa_flags = SA_ONSTACK | SA_SIGINFO};
    stack_t now;
    stack.ss_flags = SS_AUTODISARM;
    sigaction(SIGUSR1, &action, NULL);
    SHOW(sigaltstack(&stack, NULL));
    raise(SIGUSR1);
    SHOW(sigaltstack(NULL, &now));
    printf("%x %d\n", now.ss_flags, now.ss_size == stack.ss_size);
}

static void alternate_stack(void)
{
    stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536}, old;
    SHOW(sigaltstack(NULL, &old));
    printf("%d\n", old.ss_flags == SS_DISABLE);
    SHOW(sigaltstack(&stack, NULL));
    install(SIGUSR1, on_alternate, SA_ONSTACK);
    raise(SIGUSR1);
    disarming(stack);
    stack.ss_size = 10;
    SHOW(sigaltstack(&stack, NULL));
    stack.ss_flags = SS_DISABLE;
    SHOW(sigaltstack(&stack, NULL));
    stack.ss_flags = 1234;
    SHOW(sigaltstack(&stack, NULL));
}

static void arm(int milliseconds)
{
    struct itimerval timer = {{0, 0}, {0, milliseconds * 1000}};
    setitimer(ITIMER_REAL, &timer, NULL);
}

static void interruption(void)
{
    int ends[2];
    char byte;
    pipe(ends);
    install(SIGALRM, simple, 0);
    arm(100);
    SHOW(read(ends[0], &byte, 1));
    struct timespec long_time = {5, 0}, left = {0, 0};
    arm(100);
    SHOW(nanosleep(&long_time, &left));
    printf("%d\n", left.tv_sec == 4);
    arm(100);
    SHOW(pause());
    install(SIGALRM, simple, SA_RESTART);
    arm(100);
    SHOW(poll(NULL, 0, 2000));
    sem_t semaphore;
    struct timespec soon;
    sem_init(&semaphore, 0, 0);
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_sec += 2;
    arm(100);
    SHOW(sem_timedwait(&semaphore, &soon)); /* a futex with a timeout: not restarted */
    fflush(stdout);
    if (fork() == 0) {
        usleep(400000);
        write(ends[1], "x", 1);
        _exit(0);
    }
    arm(100);
    SHOW(read(ends[0], &byte, 1));
    wait(NULL);
    signal(SIGALRM, SIG_DFL);
    install(SIGCHLD, simple, SA_RESTART);
    int status;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0)
        _exit(5);
    SHOW(waitpid(child, &status, 0) == child);
    signal(SIGCHLD, SIG_IGN);
    if ((child = fork()) == 0)
        _exit(5);
    usleep(20000);
    SHOW(waitpid(child, &status, 0));
    signal(SIGCHLD, SIG_DFL);
    install(SIGPIPE, simple, 0);
    close(ends[0]);
    SHOW(write(ends[1], "x", 1));
    signal(SIGPIPE, SIG_IGN);
    SHOW(write(ends[1], "x", 1));
}

static void on_ready(int number, siginfo_t *info, void *context)
{
    (void)context;
    printf("%s code %d descriptor %d events %lx\n", name_of(number), info->si_code, info->si_fd, (long)info->si_band);
}

static void descriptors(void)
{
    const int numbers[] = {SIGUSR1, SIGIO, SIGRTMIN + 2};
    int ends[2];
    char byte;
    pipe(ends);
    dup2(ends[0], 17);
    fcntl(17, F_SETOWN, getpid());
    fcntl(17, F_SETFL, O_ASYNC | O_NONBLOCK);
    for (int i = 0; i < 3; i++) {
        struct sigaction action = {.sa_sigaction = on_ready, .sa_flags = SA_SIGINFO};
        sigaction(numbers[i], &action, NULL);
        fcntl(17, F_SETSIG, numbers[i]);
        write(ends[1], "x", 1);
        usleep(10000);
        read(17, &byte, 1);
    }
}

static sigjmp_buf back;

static void jump(int number)
{
    siglongjmp(back, number);
}

static void on_fault(int number, siginfo_t *info, void *context)
{
    printf("fault %s code %d address %lx\n", name_of(number), info->si_code, info->si_addr == (void *)0x1234 ? 0x1234L : 0L);
    siglongjmp(back, 1);
}

static void faults(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
    if (sigsetjmp(back, 1) == 0)
        *(volatile int *)0x1234 = 5;
    if (sigsetjmp(back, 1) == 0)
        *(volatile char *)faults = 5;
    sigset_t set;
    sigprocmask(SIG_BLOCK, NULL, &set);
    print_set("mask", &set);
    install(SIGUSR1, jump, 0);
    SHOW(sigsetjmp(back, 1) == 0 ? raise(SIGUSR1) : 123);
    SHOW(sigsetjmp(back, 1) == 0 ? raise(SIGUSR1) : 124);
    fflush(stdout);
    if (fork() == 0) {
        sigemptyset(&set);
        sigaddset(&set, SIGSEGV);
        sigprocmask(SIG_BLOCK, &set, NULL);
        *(volatile int *)0x1234 = 5; /* blocked: the kernel kills */
        _exit(0);
    }
    int status;
    wait(&status);
    printf("%d\n", WTERMSIG(status) == SIGSEGV);
    if (fork() == 0) {
        install(SIGABRT, simple, 0);
        abort();
    }
    wait(&status);
    printf("%d\n", WTERMSIG(status) == SIGABRT);
}

/* Waits a while, and then until a process sleeps: a busy machine may let it come late to the call that it waits in. */
static void await_sleep(pid_t process)
{
    char path[32], state = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", (int)process);
    while (state != 'S') {
        usleep(30000);
        FILE *file = fopen(path, "r");
        fscanf(file, "%*d (%*[^)]) %c", &state);
        fclose(file);
    }
}

/* Makes a process that sends this one a signal once it sleeps, and a byte once it sleeps again. */
static void send_later(int number, int to)
{
    pid_t here = getpid();
    fflush(stdout);
    if (fork() == 0) {
        await_sleep(here);
        kill(here, number);
        await_sleep(here);
        write(to, "x", 1);
        _exit(0);
    }
}

/* Those that a fault raises, too, when they are sent while they are ignored or blocked: no call is interrupted. */
static void sent(int number)
{
    int ends[2];
    char byte;
    sigset_t set;
    pipe(ends);
    sigemptyset(&set);
    sigaddset(&set, number);
    printf("sent %s\n", name_of(number));
    signal(number, SIG_IGN);
    send_later(number, ends[1]);
    SHOW(read(ends[0], &byte, 1));
    wait(NULL);
    send_later(number, ends[1]);
    SHOW(nanosleep(&(struct timespec){0, 50000000}, NULL));
    read(ends[0], &byte, 1);
    wait(NULL);
    sigprocmask(SIG_BLOCK, &set, NULL);
    struct pollfd polled = {ends[0], POLLIN, 0};
    send_later(number, ends[1]);
    SHOW(poll(&polled, 1, 2000));
    wait(NULL);
    const struct timespec while_ = {2, 0};
    SHOW(sigtimedwait(&set, NULL, &while_) == number); /* blocked, it waits although it is ignored */
    send_later(number, ends[1]);
    SHOW(sigtimedwait(&set, NULL, &while_) == number);
    wait(NULL);
    sigset_t pending;
    sigpending(&pending);
    print_set("pending", &pending);
    install(number, simple, 0);
    sigprocmask(SIG_UNBLOCK, &set, NULL);
    send_later(number, ends[1]);
    read(ends[0], &byte, 1); /* what poll has seen */
    read(ends[0], &byte, 1);
    SHOW(read(ends[0], &byte, 1));
    wait(NULL);
    signal(number, SIG_DFL);
}

/* What the next program finds. */
static void inherited(void)
{
    sigset_t set;
    struct sigaction action;
    sigprocmask(SIG_BLOCK, NULL, &set);
    print_set("inherited", &set);
    for (int number = SIGHUP; number < SIGRTMIN; number++)
        if (sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
            printf("ignored %s\n", name_of(number));
    sigpending(&set);
    print_set("pending", &set);
    raise(SIGFPE);
}

static void next_program(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGTRAP);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_SETMASK, &set, NULL);
    signal(SIGFPE, SIG_IGN);
    kill(getpid(), SIGUSR1);
    raise(SIGUSR2);
    SHOW(execl("/none/such", "none", NULL));
    fflush(stdout);
    execl("/proc/self/exe", "signals", "inherited", NULL);
}

static volatile double kept = 1.5;

static void busy(int number)
{
    volatile double value = kept;
    for (int i = 0; i < 100; i++)
        value = value * 1.01 + i;
    count += value > 0;
}

static void registers(void)
{
    double sum = 0;
    unsigned long long product = 1;
    install(SIGUSR2, busy, SA_NODEFER);
    count = 0;
    for (int i = 1; i < 50; i++) {
        sum += i * kept;
        product = product * 6364136223846793005ULL + i;
        raise(SIGUSR2);
    }
    printf("%d %g %llx\n", count, sum, product);
}

int main(int argument_count, char **arguments)
{
    (void)arguments;
    if (argument_count > 1) {
        inherited();
        return 0;
    }
    setvbuf(stdout, NULL, _IOFBF, 65536);
    actions();
    masks();
    many();
    alternate_stack();
    interruption();
    descriptors();
    faults();
    registers();
    sent(SIGSEGV);
    sent(SIGTRAP);
    sent(SIGFPE);
    next_program();
    return 1;
}
