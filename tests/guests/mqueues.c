/* POSIX message queues. */
#include "show.h"

#include <fcntl.h>
#include <mqueue.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

static char name[40];

static void on_arrival(int number, siginfo_t *info, void *context)
{
    (void)context;
    printf("told %d code %d value %d mine %d\n", number == SIGRTMIN + 1 || number == SIGUSR1, info->si_code == SI_MESGQ,
           info->si_value.sival_int, info->si_pid == getpid());
}

static sem_t done;

static void in_thread(union sigval value)
{
    printf("thread %d\n", value.sival_int);
    sem_post(&done);
}

static void on_alarm(int number)
{
    printf("alarm %d\n", number == SIGALRM);
}

static void show_attributes(mqd_t queue)
{
    struct mq_attr now;
    SHOW(mq_getattr(queue, &now));
    printf("%d %ld %ld %ld\n", now.mq_flags == O_NONBLOCK ? 1 : now.mq_flags == 0 ? 0 : -1, now.mq_maxmsg, now.mq_msgsize,
           now.mq_curmsgs);
}

static void notices(mqd_t queue)
{
    char text[64];
    unsigned priority;
    struct sigaction action = {.sa_sigaction = on_arrival, .sa_flags = SA_SIGINFO};
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 1};
    event.sigev_value.sival_int = 4711;
    sigaction(SIGRTMIN + 1, &action, NULL);
    sigaction(SIGUSR1, &action, NULL);
#ifdef __mips__
    for (int number = 64; number < 128; number++)
        sigaction(number, &action, NULL);
#endif
    SHOW(mq_notify(queue, &event));
    SHOW(mq_notify(queue, &event));
    mq_send(queue, "x", 1, 0);
    mq_receive(queue, text, sizeof text, &priority);
    event.sigev_signo = SIGUSR1;
    SHOW(mq_notify(queue, &event));
    mq_send(queue, "x", 1, 0);
    mq_receive(queue, text, sizeof text, &priority);
    event.sigev_notify = SIGEV_NONE;
    SHOW(mq_notify(queue, &event));
    SHOW(mq_notify(queue, NULL));
    event.sigev_notify = 99;
    SHOW(mq_notify(queue, &event));
}

static void told_by_thread(mqd_t queue)
{
    char text[64];
    unsigned priority;
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_notify_function = in_thread};
    event.sigev_value.sival_int = 815;
    sem_init(&done, 0, 0);
    SHOW(mq_notify(queue, &event));
    mq_send(queue, "x", 1, 0);
    sem_wait(&done);
    mq_receive(queue, text, sizeof text, &priority);
}

int main(int count, char **words)
{
    struct mq_attr wanted = {.mq_maxmsg = 3, .mq_msgsize = 64}, broken = {.mq_maxmsg = -1, .mq_msgsize = 64};
    char text[64] = {0};
    unsigned priority = 0;
    snprintf(name, sizeof name, "/mipsrec-%d", (int)getpid());
    SHOW(mq_open(name, O_RDWR));
    SHOW(mq_open(name, O_RDWR | O_CREAT, 0600, &broken));
    SHOW(mq_open("no slash", O_RDWR | O_CREAT, 0600, &wanted));
    mqd_t queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL | O_NONBLOCK, 0600, &wanted);
    printf("%d\n", queue >= 0);
    SHOW(fcntl(queue, F_GETFD));
    SHOW(mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &wanted));
    show_attributes(queue);
    SHOW(mq_receive(queue, text, sizeof text, &priority));
    SHOW(mq_receive(queue, text, 3, &priority));
    SHOW(mq_send(queue, "low", 3, 1));
    SHOW(mq_send(queue, "high", 4, 31000));
    SHOW(mq_send(queue, "high", 4, 32768));
    SHOW(mq_send(queue, text, 65, 1));
    SHOW(mq_send(queue, BAD, 4, 1));
    SHOW(mq_send(queue, "third", 5, 1));
    SHOW(mq_send(queue, "fourth", 6, 1));
    show_attributes(queue);
    SHOW(mq_receive(queue, BAD, sizeof text, &priority));
    for (int i = 0; i < 2; i++) {
        memset(text, 0, sizeof text);
        SHOW(mq_receive(queue, text, sizeof text, &priority));
        printf("%s %u\n", text, priority);
    }
    struct mq_attr change = {.mq_flags = 0}, before;
    SHOW(mq_setattr(queue, &change, &before));
    printf("%d\n", before.mq_flags == O_NONBLOCK);
    show_attributes(queue);
    change.mq_flags = O_APPEND;
    SHOW(mq_setattr(queue, &change, NULL));
    struct timespec soon;
    clock_gettime(CLOCK_REALTIME, &soon);
    soon.tv_nsec += 20000000;
    if (soon.tv_nsec >= 1000000000)
        soon.tv_sec++, soon.tv_nsec -= 1000000000;
    while (mq_timedreceive(queue, text, sizeof text, NULL, &soon) > 0)
        ;
    SHOW(mq_timedreceive(queue, text, sizeof text, &priority, &soon));
    soon.tv_nsec = -1;
    SHOW(mq_timedreceive(queue, text, sizeof text, &priority, &soon));
    struct sigaction action = {.sa_handler = on_alarm};
    struct itimerval timer = {{0, 0}, {0, 30000}};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    SHOW(mq_receive(queue, text, sizeof text, &priority));
    action.sa_flags = SA_RESTART;
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &timer, NULL);
    fflush(stdout);
    if (fork() == 0) {
        usleep(80000);
        mq_send(queue, "from the child", 15, 9);
        _exit(0);
    }
    SHOW(mq_receive(queue, text, sizeof text, &priority));
    printf("%s %u\n", text, priority);
    wait(NULL);
    notices(queue);
    if (count > 1)
        told_by_thread(queue);
    SHOW(mq_unlink(name));
    SHOW(mq_unlink(name));
    SHOW(mq_close(queue));
    SHOW(mq_close(queue));
    return 0;
}
