/* Threads: the signals they get, how they and their processes end. */
#include "threads.h"

#include <fcntl.h>
#include <semaphore.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- signals ---- */

static atomic_int came;
static pthread_t receiver;
static sem_t ready;
static volatile sig_atomic_t went_on;
static void *volatile nowhere = (void *)16;

static void on_signal(int number)
{
    came += number == SIGUSR1 && pthread_equal(pthread_self(), receiver) ? 1 : 100;
}

static void *receive(void *unused)
{
    receiver = pthread_self();
    sem_post(&ready);
    while (came < 3)
        ;
    return unused;
}

static void *wait_for_signal(void *unused)
{
    sigset_t set;
    int number = 0;
    (void)unused;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sem_post(&ready);
    sigwait(&set, &number);
    return (void *)(uintptr_t)(number == SIGUSR2);
}

static void *never_end(void *flag)
{
    pthread_cleanup_push(destroy, (void *)1000);
    sem_post(&ready);
    while (flag)
        pthread_testcancel();
    pause();
    pthread_cleanup_pop(0);
    return NULL;
}

static void on_fault(int number)
{
    (void)number;
    went_on++;
    pthread_exit((void *)5);
}

static void *fault(void *unused)
{
    *(volatile int *)nowhere = 1;
    return unused;
}

void signals(void)
{
    sigset_t set;
    sem_init(&ready, 0, 0);
    signal(SIGUSR1, on_signal);
    void *thread = start(receive, 0);
    sem_wait(&ready);
    for (int sent = 0; sent < 3; sent++) {
        pthread_kill((pthread_t)thread, SIGUSR1);
        while (came == sent)
            sched_yield();
    }
    join(thread);
    printf("%d\n", came);

    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
    thread = start(wait_for_signal, 0);
    sem_wait(&ready);
    kill(getpid(), SIGUSR2); /* not for this thread, which blocks it */
    printf("%d\n", (int)join(thread));

    kill(getpid(), SIGUSR2); /* waits for a thread that takes it */
    thread = start(wait_for_signal, 0);
    printf("%d\n", (int)join(thread));
    sem_wait(&ready);

    thread = start(never_end, 1);
    sem_wait(&ready);
    printf("%d", pthread_cancel((pthread_t)thread));
    printf(" %d", (void *)join(thread) == PTHREAD_CANCELED);
    printf(" %d\n", destroyed);

    signal(SIGSEGV, on_fault);
    printf("%d", (int)join(start(fault, 0)));
    printf(" %d\n", went_on);
}

/* The signal comes while the thread begins to wait, at each instant of that. */
static volatile int begun;

static const char *fifo, *locked;
static int waiting_for_lock;

static void *wait_at_once(void *way)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    begun = 1;
    for (;;)
        switch ((intptr_t)way % 3) {
        case 0: pause(); break;
        case 1: open(fifo, O_RDONLY); break;
        default: fcntl(waiting_for_lock, F_OFD_SETLKW, &lock);
        }
    return way;
}

void cancels(void)
{
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char folder[] = "/tmp/cancels.XXXXXX", fifo_path[64], locked_path[64];
    int cancelled = 0;
    if (!mkdtemp(folder))
        return;
    sprintf(fifo_path, "%s/fifo", folder);
    sprintf(locked_path, "%s/locked", folder);
    mkfifo(fifo = fifo_path, 0600);
    int holder = open(locked = locked_path, O_RDWR | O_CREAT, 0600);
    waiting_for_lock = open(locked, O_RDWR);
    fcntl(holder, F_OFD_SETLK, &lock);
    for (int round = 0; round < 450; round++) {
        begun = 0;
        void *thread = start(wait_at_once, (uintptr_t)round);
        while (!begun)
            ;
        for (volatile int instants = round % 50; instants > 0; instants--)
            ;
        pthread_cancel((pthread_t)thread);
        cancelled += (void *)join(thread) == PTHREAD_CANCELED;
    }
    unlink(fifo);
    unlink(locked);
    rmdir(folder);
    printf("%d\n", cancelled);
}

/* ---- robust mutexes ---- */

static pthread_mutex_t robust;

static void *leave_locked(void *unused)
{
    pthread_mutex_lock(&robust);
    return unused;
}

static void *lock_after(void *unused)
{
    (void)unused;
    int first = pthread_mutex_lock(&robust) == EOWNERDEAD;
    pthread_mutex_consistent(&robust);
    pthread_mutex_unlock(&robust);
    return (void *)(uintptr_t)first;
}

static void end(int way)
{
    if (way == 1)
        syscall(SYS_exit, 0);
    if (way == 2)
        raise(SIGTERM);
    if (way == 3)
        *(volatile int *)nowhere = 1;
    if (way == 4)
        execlp("true", "true", (char *)NULL);
    _exit(0);
}

static void *lock_and_wait(void *mutex)
{
    pthread_mutex_lock(mutex);
    sem_post(&ready);
    pause();
    return NULL;
}

/* They end while they, or other threads of them, have the mutex. */
static void owners_that_are_processes(pthread_mutexattr_t *attributes)
{
    pthread_mutex_t *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pthread_mutexattr_setpshared(attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutex_init(shared, attributes);
    for (int way = 0; way < 6; way++) {
        pid_t child = fork();
        if (child == 0) {
            if (way < 5)
                pthread_mutex_lock(shared);
            else
                start(lock_and_wait, (uintptr_t)shared);
            if (way == 5)
                sem_wait(&ready);
            end(way % 5);
        }
        waitpid(child, NULL, 0);
        struct timespec limit;
        clock_gettime(CLOCK_REALTIME, &limit);
        limit.tv_sec += 2;
        printf("%d", pthread_mutex_timedlock(shared, &limit) == EOWNERDEAD);
        pthread_mutex_consistent(shared);
        pthread_mutex_unlock(shared);
    }
    printf("\n");
}

void owners(void)
{
    pthread_mutexattr_t attributes;
    sem_init(&ready, 0, 0);
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&robust, &attributes);
    join(start(leave_locked, 0));
    printf("%d", (int)join(start(lock_after, 0)));
    printf(" %d\n", (int)join(start(lock_after, 0)));
    owners_that_are_processes(&attributes);
}

/* ---- processes ---- */

static void *make_process(void *program)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        if (getpid() != (pid_t)syscall(SYS_gettid))
            _exit(1);
        if (program)
            execl(program, program, "values", (char *)NULL);
        _exit((int)join(start(square, 5)));
    }
    waitpid(child, &status, 0);
    return (void *)(uintptr_t)(WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status));
}

static void *idle(void *unused)
{
    for (;;)
        pause();
    return unused;
}

void processes(const char *program)
{
    start(idle, 0);
    printf("%d\n", (int)join(start(make_process, 0)));
    fflush(stdout);
    printf("%d\n", (int)join(start(make_process, (uintptr_t)program)));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        start(idle, 0);
        kill(getpid(), SIGTERM);
        pause();
    }
    int status;
    waitpid(child, &status, 0);
    printf("%d\n", WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
}

/* While one thread makes processes that share memory with their parent, what another writes stays. */
#define PAGES 64
#define PAGE_WORDS 1024

static volatile unsigned own_variable;
static atomic_int enough;

static void *write_pages(void *pages)
{
    volatile unsigned *words = pages;
    uintptr_t lost = 0;
    for (unsigned value = 1; !enough; value++)
        for (int i = 0; i < PAGES; i++) {
            lost += words[i * PAGE_WORDS] != value - 1;
            words[i * PAGE_WORDS] = value;
        }
    return (void *)lost;
}

void spawns(void)
{
    char *arguments[] = {"none", NULL};
    volatile int failed = 0, seen = 0, local = 0;
    void *thread = start(write_pages, (uintptr_t)calloc(PAGES * PAGE_WORDS, sizeof(unsigned)));
    for (int round = 0; round < 20; round++) {
        pid_t child;
        failed += posix_spawn(&child, "/none/such", NULL, NULL, arguments, environ) == ENOENT;
        child = vfork();
        if (child == 0) {
            own_variable++;
            local++;
            usleep(1000);
            _exit(0);
        }
        waitpid(child, NULL, 0);
        seen += own_variable == (unsigned)round + 1 && local == round + 1;
    }
    enough = 1;
    printf("%d %d", failed, seen);
    printf(" %d\n", (int)join(thread));
}

/* ---- ends ---- */

static void *outlive(void *unused)
{
    struct timespec moment = {0, 50000000};
    nanosleep(&moment, NULL);
    puts("main is gone");
    return unused;
}

static void *exit_process(void *unused)
{
    puts("a thread ends the process");
    exit(9);
    return unused;
}

static void *outlive_and_fail(void *unused)
{
    outlive(unused);
    fflush(stdout);
    syscall(SYS_exit, 4);
    return unused;
}

static void detached(void)
{
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_create(&thread, &attributes, outlive, NULL);
    pthread_exit(NULL);
}

void ends(const char *which)
{
    if (strcmp(which, "detached") == 0)
        detached();
    if (strcmp(which, "exit") == 0)
        join(start(exit_process, 0));
    if (strcmp(which, "first") == 0) {
        start(outlive_and_fail, 0);
        syscall(SYS_exit, 3);
    }
}
