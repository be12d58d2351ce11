/* Timers that send signals, or nothing, and sleeping. */
#include "show.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static volatile int count, thread, value, code, overrun, most_overrun, number_seen;

static void on_timer(int number, siginfo_t *info, void *context)
{
    (void)context;
    count++;
    number_seen = number;
    thread = syscall(SYS_gettid);
    value = info->si_value.sival_int;
    code = info->si_code == SI_TIMER;
    overrun = info->si_overrun;
    if (overrun > most_overrun) /* the next signal may come before anyone looks */
        most_overrun = overrun;
}

static void install(int number)
{
    struct sigaction action = {.sa_sigaction = on_timer, .sa_flags = SA_SIGINFO | SA_RESTART};
    sigaction(number, &action, NULL);
}

static void wait_for(int wanted)
{
    for (int i = 0; i < 2000 && count < wanted; i++)
        usleep(1000);
}

static const struct itimerspec once = {{0, 0}, {0, 5000000}}, often = {{0, 2000000}, {0, 1000000}}, never = {{0, 0}, {0, 0}};

static void by_signal(int number)
{
    timer_t timer;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = number};
    struct itimerspec now, old;
    event.sigev_value.sival_int = 12345678;
    install(number);
    count = 0;
    SHOW(timer_create(CLOCK_MONOTONIC, &event, &timer));
    SHOW(timer_gettime(timer, &now));
    printf("%ld %ld\n", (long)now.it_value.tv_sec, (long)now.it_value.tv_nsec);
    SHOW(timer_settime(timer, 0, &once, &old));
    wait_for(1);
    printf("%d signal %d value %d code %d overrun %d\n", count, number_seen == number, value, code, overrun);
    SHOW(timer_settime(timer, 0, &often, NULL));
    wait_for(4);
    SHOW(timer_gettime(timer, &now));
    printf("%d %ld %ld\n", count >= 4, (long)now.it_interval.tv_sec, (long)now.it_interval.tv_nsec);
    sigset_t set, before;
    sigfillset(&set);
    sigprocmask(SIG_SETMASK, &set, &before);
    most_overrun = 0;
    usleep(30000);
    sigprocmask(SIG_SETMASK, &before, NULL);
    printf("%d %d\n", most_overrun > 3, timer_getoverrun(timer) >= 0);
    SHOW(timer_settime(timer, 0, &never, &old));
    printf("%ld\n", (long)old.it_interval.tv_nsec);
    count = 0;
    usleep(10000);
    printf("%d\n", count);
    SHOW(timer_delete(timer));
    SHOW(syscall(SYS_timer_delete, timer) == 0); /* the libc would look at it */
}

static void others(void)
{
    timer_t timer;
    struct itimerspec now, absolute = {{0, 0}, {0, 0}};
    struct sigevent event = {.sigev_notify = SIGEV_NONE};
    SHOW(timer_create(CLOCK_REALTIME, &event, &timer));
    const struct itimerspec far = {{3, 4}, {1000, 0}};
    SHOW(timer_settime(timer, 0, &far, NULL));
    SHOW(timer_gettime(timer, &now));
    printf("%d %ld %ld\n", now.it_value.tv_sec >= 990, (long)now.it_interval.tv_sec, (long)now.it_interval.tv_nsec);
    SHOW(timer_delete(timer));
    count = 0;
    install(SIGALRM);
    SHOW(timer_create(CLOCK_MONOTONIC, NULL, &timer));
    clock_gettime(CLOCK_MONOTONIC, &absolute.it_value);
    SHOW(timer_settime(timer, TIMER_ABSTIME, &absolute, NULL));
    wait_for(1);
    printf("%d %d\n", count, number_seen == SIGALRM);
    absolute.it_value.tv_nsec = 1000000000;
    SHOW(timer_settime(timer, 0, &absolute, NULL));
    SHOW(timer_delete(timer));
    event = (struct sigevent){.sigev_notify = SIGEV_SIGNAL, .sigev_signo = 0};
    SHOW(timer_create(CLOCK_MONOTONIC, &event, &timer));
    event.sigev_signo = 999;
    SHOW(timer_create(CLOCK_MONOTONIC, &event, &timer));
    event = (struct sigevent){.sigev_notify = 77, .sigev_signo = SIGUSR1};
    SHOW(timer_create(CLOCK_MONOTONIC, &event, &timer));
    event = (struct sigevent){.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
    event.sigev_notify_thread_id = 1;
    SHOW(timer_create(CLOCK_MONOTONIC, &event, &timer));
    SHOW(timer_create(77, NULL, &timer));
    SHOW(timer_create(CLOCK_PROCESS_CPUTIME_ID, NULL, &timer));
    SHOW(timer_delete(timer));
}

static volatile int other_thread;

static void *idle(void *unused)
{
    other_thread = syscall(SYS_gettid);
    for (int i = 0; i < 2000 && count < 3; i++)
        usleep(1000);
    return unused;
}

static timer_t fast;

static void stop_in_time(int number)
{
    (void)number;
    if (++count == 300)
        timer_settime(fast, 0, &never, NULL);
}

/* The timer is always faster than the handler: the program goes on when that stops it. */
static void storm(int number)
{
    const struct itimerspec at_once = {{0, 1000}, {0, 1000}};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = number};
    signal(number, stop_in_time);
    count = 0;
    SHOW(timer_create(CLOCK_MONOTONIC, &event, &fast));
    SHOW(timer_settime(fast, 0, &at_once, NULL));
    while (count < 300)
        usleep(1000);
    SHOW(timer_delete(fast));
    sigset_t set;
    sigprocmask(SIG_BLOCK, NULL, &set);
    printf("%d %d\n", count < 310, sigismember(&set, number));
}

static sem_t done;

static void in_thread(union sigval given)
{
    printf("thread %d\n", given.sival_int);
    sem_post(&done);
}

static void threads(void)
{
    timer_t timer;
    pthread_t other;
    sem_init(&done, 0, 0);
    count = 0;
    install(SIGRTMIN + 3);
    pthread_create(&other, NULL, idle, NULL);
    while (!other_thread)
        usleep(1000);
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN + 3};
    event.sigev_notify_thread_id = other_thread;
    SHOW(timer_create(CLOCK_MONOTONIC, &event, &timer));
    SHOW(timer_settime(timer, 0, &often, NULL));
    pthread_join(other, NULL);
    printf("%d %d\n", count >= 3, thread == other_thread);
    SHOW(timer_delete(timer));
    event = (struct sigevent){.sigev_notify = SIGEV_THREAD, .sigev_notify_function = in_thread};
    event.sigev_value.sival_int = 99;
    SHOW(timer_create(CLOCK_REALTIME, &event, &timer));
    SHOW(timer_settime(timer, 0, &once, NULL));
    sem_wait(&done);
    SHOW(timer_delete(timer));
}

static void intervals(void)
{
    const int kinds[] = {ITIMER_REAL, ITIMER_VIRTUAL, ITIMER_PROF}, signals[] = {SIGALRM, SIGVTALRM, SIGPROF};
    for (int i = 0; i < 3; i++) {
        struct itimerval timer = {{0, 3000}, {0, 2000}}, old;
        install(signals[i]);
        count = 0;
        SHOW(setitimer(kinds[i], &timer, &old));
        for (volatile unsigned long spin = 0; count < 2; spin++)
            ;
        SHOW(getitimer(kinds[i], &old));
        printf("%d %d\n", number_seen == signals[i], (int)old.it_interval.tv_usec >= 3000 && old.it_interval.tv_usec < 8001);
        SHOW(setitimer(kinds[i], &(struct itimerval){{0, 0}, {0, 0}}, NULL));
    }
    SHOW(setitimer(9, &(struct itimerval){{0, 0}, {0, 0}}, NULL));
    SHOW(setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 1000000}}, NULL));
    SHOW(syscall(SYS_getitimer, ITIMER_REAL, BAD)); /* the libc of MIPS would look at it */
    count = 0;
    SHOW(alarm(100));
    SHOW(alarm(0));
    fflush(stdout);
    alarm(50);
    if (fork() == 0) {
        printf("child %u\n", alarm(0)); /* not inherited */
        fflush(stdout);
        _exit(0);
    }
    wait(NULL);
    SHOW(alarm(0) > 40);
}

static void sleeping(void)
{
    const struct timespec far = {5, 0}, broken = {0, 1000000000}, past = {-1, 0};
    struct timespec left, now;
    struct itimerval timer = {{0, 0}, {0, 20000}};
    install(SIGALRM);
    setitimer(ITIMER_REAL, &timer, NULL);
    SHOW(nanosleep(&far, &left));
    printf("%ld %d\n", (long)left.tv_sec, left.tv_nsec > 0);
    setitimer(ITIMER_REAL, &timer, NULL);
    SHOW(clock_nanosleep(CLOCK_REALTIME, 0, &far, &left));
    printf("%ld %d\n", (long)left.tv_sec, left.tv_nsec > 0);
    clock_gettime(CLOCK_MONOTONIC, &now);
    now.tv_sec += 5;
    left = (struct timespec){7, 7};
    setitimer(ITIMER_REAL, &timer, NULL);
    SHOW(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &now, &left));
    printf("%ld %ld\n", (long)left.tv_sec, (long)left.tv_nsec);
    SHOW(nanosleep(&broken, NULL));
    SHOW(nanosleep(&past, NULL));
    SHOW(clock_nanosleep(77, 0, &far, NULL));
    SHOW(clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &far, NULL));
    SHOW(clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &(struct timespec){1, 0}, NULL));
    pid_t child;
    fflush(stdout);
    if ((child = fork()) == 0) { /* stopped and continued, it sleeps on */
        struct timespec before, after;
        clock_gettime(CLOCK_MONOTONIC, &before);
        int result = nanosleep(&(struct timespec){0, 150000000}, NULL);
        clock_gettime(CLOCK_MONOTONIC, &after);
        _exit(result == 0 && (after.tv_sec - before.tv_sec) * 1000000000LL + after.tv_nsec - before.tv_nsec >= 150000000);
    }
    int status;
    usleep(30000);
    kill(child, SIGSTOP);
    waitpid(child, &status, WUNTRACED);
    kill(child, SIGCONT);
    waitpid(child, &status, 0);
    printf("%x\n", status);
}

int main(int argument_count, char **words)
{
    const char *way = argument_count > 1 ? words[1] : "";
    if (!strcmp(way, "signals")) {
        by_signal(SIGUSR1);
        by_signal(SIGRTMIN + 4);
        by_signal(SIGRTMAX - 1); /* on MIPS 126 */
        by_signal(SIGSEGV);
    }
    if (!strcmp(way, "storms")) {
        storm(SIGRTMIN + 1);
        storm(SIGALRM);
    }
    if (!strcmp(way, "others"))
        others();
    if (!strcmp(way, "threads"))
        threads();
    if (!strcmp(way, "intervals"))
        intervals();
    if (!strcmp(way, "sleeping"))
        sleeping();
    return 0;
}
