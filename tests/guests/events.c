/* eventfd, epoll, timerfd, timers that send signals, and what /proc tells of the process. */
#include "show.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>

static void numbers(void)
{
    uint64_t value = 5;
    int fd = eventfd(3, EFD_NONBLOCK | EFD_CLOEXEC);
    SHOW(write(fd, &value, 8));
    SHOW(read(fd, &value, 8));
    printf("%llu\n", (unsigned long long)value);
    SHOW(read(fd, &value, 8));
    SHOW(fcntl(fd, F_GETFD));
    SHOW(eventfd(0, 0x10));
    int semaphore = eventfd(2, EFD_SEMAPHORE);
    SHOW(read(semaphore, &value, 8));
    printf("%llu\n", (unsigned long long)value);
    int timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK);
    const struct itimerspec times = {{0, 0}, {0, 5000000}};
    struct itimerspec old;
    SHOW(timerfd_settime(timer, 0, &times, &old));
    printf("%ld %ld\n", (long)old.it_value.tv_sec, old.it_value.tv_nsec);
    SHOW(timerfd_gettime(timer, &old));
    printf("%d\n", old.it_value.tv_sec == 0 && old.it_value.tv_nsec <= 5000000);
    struct pollfd polled = {timer, POLLIN, 0};
    SHOW(poll(&polled, 1, 5000));
    SHOW(read(timer, &value, 8));
    printf("%llu\n", (unsigned long long)value);
}

static void polling(void)
{
    int ends[2], set = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = EPOLLIN | EPOLLET, .data.u64 = 0x1122334455667788}, got[4];
    pipe(ends);
    SHOW(epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event));
    SHOW(epoll_ctl(set, EPOLL_CTL_ADD, ends[0], &event));
    event = (struct epoll_event){.events = EPOLLOUT, .data.fd = 77};
    SHOW(epoll_ctl(set, EPOLL_CTL_ADD, ends[1], &event));
    write(ends[1], "x", 1);
    SHOW(epoll_wait(set, got, 4, 100));
    for (int i = 0; i < 2; i++)
        if (got[i].events & EPOLLIN)
            printf("%x %llx\n", got[i].events, (unsigned long long)got[i].data.u64);
        else
            printf("%x %d\n", got[i].events, got[i].data.fd);
    SHOW(epoll_ctl(set, EPOLL_CTL_DEL, ends[1], NULL));
    sigset_t none;
    sigemptyset(&none);
    SHOW(epoll_pwait(set, got, 4, 5, &none));
    SHOW(epoll_wait(set, got, 0, 5));
    SHOW(epoll_ctl(set, EPOLL_CTL_MOD, 99, &event));
}

static volatile int value_seen, code_seen;

static void on_timer(int number, siginfo_t *info, void *context)
{
    value_seen = info->si_value.sival_int;
    code_seen = info->si_code;
}

static void timers(void)
{
    struct sigaction action = {.sa_sigaction = on_timer, .sa_flags = SA_SIGINFO};
    sigaction(SIGUSR1, &action, NULL);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1, .sigev_value.sival_int = 4242};
    timer_t timer;
    SHOW(timer_create(CLOCK_MONOTONIC, &event, &timer));
    const struct itimerspec times = {{0, 0}, {0, 5000000}};
    struct itimerspec now;
    SHOW(timer_settime(timer, 0, &times, NULL));
    SHOW(pause());
    printf("%d %d\n", value_seen, code_seen == SI_TIMER);
    SHOW(timer_gettime(timer, &now));
    printf("%ld\n", now.it_value.tv_nsec);
    SHOW(timer_getoverrun(timer));
    SHOW(timer_delete(timer));
}

static void own_files(char **words)
{
    char text[4096] = {0};
    int fd = open("/proc/self/cmdline", O_RDONLY), found = 0;
    ssize_t size = read(fd, text, sizeof text - 1);
    printf("%d %d\n", strcmp(text, words[0]), size == strlen(words[0]) + 1);
    FILE *maps = fopen("/proc/self/maps", "r");
    while (fgets(text, sizeof text, maps)) {
        unsigned long start, end;
        char rights[5];
        sscanf(text, "%lx-%lx %4s", &start, &end, rights);
        if ((unsigned long)&found >= start && (unsigned long)&found < end)
            printf("stack %.2s %d\n", rights, !!strstr(text, "[stack]"));
        if ((unsigned long)own_files >= start && (unsigned long)own_files < end)
            printf("code %s\n", rights);
    }
    unsigned long pair[2];
    fd = open("/proc/self/auxv", O_RDONLY);
    while (read(fd, pair, sizeof pair) == sizeof pair)
        found |= pair[0] == AT_ENTRY && pair[1] == getauxval(AT_ENTRY);
    printf("%d %ld\n", found, getauxval(AT_PAGESZ));
}

int main(int count, char **words)
{
    numbers();
    polling();
    timers();
    own_files(words);
    return 0;
}
