/* A process of several threads changes who it is: the libc tells each of them by a signal of its own. And threads that are
 * cancelled, which the libc does by another one. Both libcs, glibc and musl, have these signals between 32 and 34. */
#define _GNU_SOURCE
#include <errno.h>
#include <grp.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4 };

static volatile int stop;
static int ends[2];
static pthread_barrier_t barrier;
static sem_t ready;
static char told[THREADS][128];

static void tell(char *text, size_t size)
{
    unsigned real, effective, saved, real_group, effective_group, saved_group, groups[8];
    syscall(SYS_getresuid, &real, &effective, &saved);
    syscall(SYS_getresgid, &real_group, &effective_group, &saved_group);
    int count = syscall(SYS_getgroups, 8, groups);
    snprintf(text, size, "%u %u %u, %u %u %u, %d %u", real, effective, saved, real_group, effective_group, saved_group,
             count, count > 0 ? groups[0] : 0);
}

/* One waits in the kernel, one computes, one waits for a word, one has all signals blocked that it can block. */
static void *body(void *argument)
{
    int which = (int)(long)argument;
    char byte;
    sigset_t all;
    sigfillset(&all);
    if (which == 3)
        pthread_sigmask(SIG_BLOCK, &all, NULL);
    sem_post(&ready);
    if (which == 0 && read(ends[0], &byte, 1) < 0)
        perror("read");
    if (which == 1)
        for (unsigned i = 0; !stop; i++)
            ;
    pthread_barrier_wait(&barrier);
    tell(told[which], sizeof told[which]);
    return NULL;
}

static void show(const char *text, int result)
{
    if (result)
        printf("%s: %s\n", text, strerror(errno));
    else
        printf("%s: 0\n", text);
}
#define SHOW(call) show(#call, call)

static void change(int step)
{
    const gid_t groups[] = {7, 8, 9};
    switch (step) {
    case 0: SHOW(setuid(1001)); break;
    case 1: SHOW(setgid(1002)); break;
    case 2: SHOW(seteuid(1003)); break;
    case 3: SHOW(setegid(1004)); break;
    case 4: SHOW(setreuid(1005, 1006)); break;
    case 5: SHOW(setregid(1007, 1008)); break;
    case 6: SHOW(setresuid(1009, 1010, 1011)); break;
    case 7: SHOW(setresgid(1012, 1013, 1014)); break;
    case 8: SHOW(setgroups(3, groups)); break;
    default:
        SHOW(setgroups(2, groups));
        SHOW(setresgid(2000, 2000, 2000));
        SHOW(setresuid(2000, 2000, 2000));
        SHOW(setuid(0));
    }
}

static void run(int step, int early)
{
    pthread_t threads[THREADS];
    char own[128];
    if (pipe(ends))
        return;
    pthread_barrier_init(&barrier, NULL, THREADS + 1);
    sem_init(&ready, 0, 0);
    if (early)
        SHOW(setuid(getuid())); /* before there is a second thread */
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, body, (void *)i);
    for (int i = 0; i < THREADS; i++)
        sem_wait(&ready);
    change(step);
    stop = 1;
    if (write(ends[1], "x", 1) != 1)
        perror("write");
    pthread_barrier_wait(&barrier);
    tell(own, sizeof own);
    printf("%s\n", own);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(threads[i], NULL);
        printf("%s\n", strcmp(own, told[i]) ? told[i] : "same");
    }
}

static void identities(void)
{
    for (int step = 0; step < 10; step++) {
        int status;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            run(step, step % 2);
            fflush(stdout);
            _exit(0);
        }
        waitpid(child, &status, 0);
        printf("status %x\n", status);
    }
}

/* ---- cancelling ---- */

static volatile int cleaned;

static void clean(void *argument)
{
    __sync_fetch_and_add(&cleaned, (int)(long)argument); /* threads are cancelled at once */
}

static void *wait_to_be_cancelled(void *argument)
{
    int which = (int)(long)argument, old;
    char byte;
    pthread_cleanup_push(clean, (void *)1);
    if (which == 1)
        pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
    if (which == 2)
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
    sem_post(&ready);
    if (which == 0)
        byte = read(ends[0], &byte, 1);
    if (which == 1)
        for (;;)
            ;
    if (which == 2) {
        usleep(30000);
        pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old);
        pthread_testcancel();
    }
    sleep(1000);
    pthread_cleanup_pop(0);
    return NULL;
}

static void cancelling(void)
{
    sem_init(&ready, 0, 0);
    if (pipe(ends))
        return;
    for (int round = 0; round < 3; round++) {
        pthread_t threads[THREADS];
        int cancelled = 0;
        cleaned = 0;
        for (long i = 0; i < THREADS; i++)
            pthread_create(&threads[i], NULL, wait_to_be_cancelled, (void *)i);
        for (int i = 0; i < THREADS; i++)
            sem_wait(&ready);
        usleep(10000);
        for (int i = 0; i < THREADS; i++)
            pthread_cancel(threads[i]);
        for (int i = 0; i < THREADS; i++) {
            void *result;
            pthread_join(threads[i], &result);
            cancelled += result == PTHREAD_CANCELED;
        }
        printf("cancelled %d cleaned %d\n", cancelled, cleaned);
        if (round == 1)
            SHOW(setuid(getuid()));
    }
}

/* ---- robust mutexes, which musl has only if it may ask for the list ---- */

static pthread_mutex_t mutex;

static void *die_with_it(void *unused)
{
    pthread_mutex_lock(&mutex);
    return unused;
}

static void owners(void)
{
    pthread_mutexattr_t attributes;
    pthread_t thread;
    for (int inherit = 0; inherit < 2; inherit++) {
        pthread_mutexattr_init(&attributes);
        printf("robust %d\n", pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST));
        if (inherit)
            printf("inherit %d\n", pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT));
        printf("init %d\n", pthread_mutex_init(&mutex, &attributes));
        pthread_create(&thread, NULL, die_with_it, NULL);
        pthread_join(thread, NULL);
        printf("lock %d\n", pthread_mutex_lock(&mutex) == EOWNERDEAD);
        printf("consistent %d\n", pthread_mutex_consistent(&mutex));
        printf("unlock %d\n", pthread_mutex_unlock(&mutex));
        printf("lock %d\n", pthread_mutex_lock(&mutex));
        printf("unlock %d\n", pthread_mutex_unlock(&mutex));
    }
}

static int shared;

static void *contend(void *unused)
{
    for (int i = 0; i < 300; i++) {
        pthread_mutex_lock(&mutex);
        int seen = shared;
        if (i % 16 == 0)
            usleep(10);
        shared = seen + 1;
        pthread_mutex_unlock(&mutex);
    }
    return unused;
}

static void inheritance(void)
{
    pthread_mutexattr_t attributes;
    pthread_t threads[THREADS];
    struct timespec time;
    pthread_mutexattr_init(&attributes);
    printf("%d\n", pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT));
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
    printf("%d\n", pthread_mutex_init(&mutex, &attributes));
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, contend, NULL);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    printf("%d\n", shared);
    pthread_create(&threads[0], NULL, die_with_it, NULL); /* not robust: held for good */
    pthread_join(threads[0], NULL);
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_nsec += 20000000;
    if (time.tv_nsec >= 1000000000)
        time.tv_nsec -= 1000000000, time.tv_sec++;
    printf("%d\n", pthread_mutex_trylock(&mutex) == EBUSY);
    pthread_mutex_init(&mutex, &attributes);
    printf("%d", pthread_mutex_lock(&mutex));
    printf(" %d", pthread_mutex_lock(&mutex) == EDEADLK);
    printf(" %d\n", pthread_mutex_unlock(&mutex));
}

int main(int count, char **words)
{
    const char *way = count > 1 ? words[1] : "";
    if (!strcmp(way, "identities"))
        identities();
    if (!strcmp(way, "cancelling"))
        cancelling();
    if (!strcmp(way, "owners"))
        owners();
    if (!strcmp(way, "inheritance"))
        inheritance();
    return 0;
}
