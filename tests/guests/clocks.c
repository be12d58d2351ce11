/* Clocks, sleeping, select and poll. */
#include "show.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>

static long long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000LL + time.tv_nsec / 1000000;
}

static void clocks(void)
{
    struct timespec one, two, resolution;
    SHOW(clock_gettime(CLOCK_REALTIME, &one));
    SHOW(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &two));
    SHOW(clock_gettime(999, &two));
    SHOW(clock_gettime(CLOCK_REALTIME, &two));
    printf("%d %d\n", two.tv_sec >= one.tv_sec, two.tv_nsec < 1000000000);
    SHOW(clock_getres(CLOCK_MONOTONIC, &resolution));
    printf("%ld %ld\n", (long)resolution.tv_sec, resolution.tv_nsec);
    struct timeval day;
    SHOW(gettimeofday(&day, NULL));
    printf("%d %d\n", labs((long)(day.tv_sec - two.tv_sec)) < 2, day.tv_usec < 1000000);
    printf("%d\n", labs((long)(time(NULL) - day.tv_sec)) < 2);
    struct tms ticks;
    CHECK(times(&ticks));
    printf("%d\n", ticks.tms_cutime == 0);
    struct rusage usage;
    SHOW(getrusage(RUSAGE_SELF, &usage));
    printf("%d %d\n", usage.ru_maxrss > 0, usage.ru_utime.tv_usec < 1000000);
    SHOW(getrusage(77, &usage));
}

static void sleeping(void)
{
    const struct timespec short_time = {0, 20000000}, wrong = {0, 1000000000}, past = {1, 0};
    long long start = now();
    SHOW(nanosleep(&short_time, NULL));
    SHOW(clock_nanosleep(CLOCK_MONOTONIC, 0, &short_time, NULL));
    printf("%d\n", now() - start >= 40 && now() - start < 2000);
    SHOW(nanosleep(&wrong, NULL));
    SHOW(clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &past, NULL));
    struct itimerval timer = {{0, 0}, {100, 500000}}, old;
    SHOW(setitimer(ITIMER_REAL, &timer, NULL));
    SHOW(getitimer(ITIMER_REAL, &old));
    printf("%d\n", old.it_value.tv_sec == 100 && old.it_value.tv_usec <= 500000);
    SHOW(alarm(0) >= 100);
    SHOW(alarm(50));
    SHOW(alarm(0));
    SHOW(setitimer(9, &timer, NULL));
}

static void waiting(void)
{
    int ends[2];
    pipe(ends);
    struct pollfd polled[3] = {{ends[0], POLLIN, 0}, {ends[1], POLLOUT | POLLIN, 0}, {77, POLLIN, 0}};
    SHOW(poll(polled, 3, 0));
    printf("%x %x %x\n", polled[0].revents, polled[1].revents, polled[2].revents);
    polled[1].fd = -1;
    SHOW(poll(polled, 2, 10));
    write(ends[1], "x", 1);
    SHOW(poll(polled, 2, -1));
    printf("%x\n", polled[0].revents);
    const struct timespec short_time = {0, 1000000};
    sigset_t none;
    sigemptyset(&none);
    SHOW(ppoll(polled, 1, &short_time, &none));
    SHOW(poll(BAD, 1, 0));
    fd_set readable, writable;
    FD_ZERO(&readable);
    FD_ZERO(&writable);
    int high = fcntl(ends[1], F_DUPFD, 70);
    FD_SET(ends[0], &readable);
    FD_SET(high, &writable);
    FD_SET(high, &readable);
    struct timeval limit = {5, 0};
    SHOW(select(high + 1, &readable, &writable, NULL, &limit));
    printf("%d %d %d %d\n", FD_ISSET(ends[0], &readable), FD_ISSET(high, &readable), FD_ISSET(high, &writable),
           limit.tv_sec >= 4);
    char byte;
    read(ends[0], &byte, 1);
    FD_ZERO(&readable);
    FD_SET(ends[0], &readable);
    limit = (struct timeval){0, 10000};
    SHOW(select(high + 1, &readable, NULL, NULL, &limit));
    printf("%d %d\n", FD_ISSET(ends[0], &readable), (int)limit.tv_usec);
    SHOW(pselect(high + 1, &readable, NULL, NULL, &short_time, &none));
    FD_SET(99, &readable);
    SHOW(select(100, &readable, NULL, NULL, &limit));
    limit.tv_sec = -1;
    SHOW(select(0, NULL, NULL, NULL, &limit));
    close(ends[1]);
    close(high);
    SHOW(poll(polled, 1, 0));
    printf("%x\n", polled[0].revents);
}

int main(void)
{
    clocks();
    sleeping();
    waiting();
    return 0;
}
