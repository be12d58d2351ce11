/* Signals from 32 on: those that libcs keep for themselves, and on MIPS those that other machines do not have (65 to 127).
 * Each way prints how many signals went wrong; the highest one differs between machines and is not printed. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifdef __mips__
#define LAST 127
#define FIRST 32
#define SET_WORDS 4
#else
#define LAST 64
#define FIRST 34 /* the native libc is not to be disturbed */
#define SET_WORDS 2
#endif

/* The kernel's structures and calls: the libc hides the first signals. */
typedef struct {
    unsigned words[SET_WORDS];
} set_type;

static void add(set_type *set, int number)
{
    set->words[(number - 1) / 32] |= 1u << ((number - 1) % 32);
}

static int in(const set_type *set, int number)
{
    return set->words[(number - 1) / 32] >> ((number - 1) % 32) & 1;
}

static set_type all_realtime(void)
{
    set_type set = {{0}};
    for (int number = FIRST; number <= LAST; number++)
        add(&set, number);
    return set;
}

static int change_mask(int how, const set_type *set, set_type *old)
{
    return syscall(SYS_rt_sigprocmask, how, set, old, sizeof *set);
}

static void install(int number, void (*handler)(int, siginfo_t *, void *), int flags)
{
#ifdef __mips__
    struct {
        unsigned flags;
        uintptr_t handler;
        set_type mask;
    } action = {SA_SIGINFO | flags, (uintptr_t)handler, {{0}}};
    if ((uintptr_t)handler <= 1)
        action.flags = 0;
    if (syscall(SYS_rt_sigaction, number, &action, NULL, sizeof action.mask))
        perror("rt_sigaction");
#else
    struct sigaction action = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | flags};
    if (sigaction(number, &action, NULL))
        perror("sigaction");
#endif
}

static void install_all(void (*handler)(int, siginfo_t *, void *), int flags)
{
    for (int number = FIRST; number <= LAST; number++)
        install(number, handler, flags);
}

static int send_value(pid_t process, pid_t thread, int number, int value)
{
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_signo = number;
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_int = value;
    return thread ? syscall(SYS_rt_tgsigqueueinfo, process, thread, number, &info)
                  : syscall(SYS_rt_sigqueueinfo, process, number, &info);
}

static volatile struct {
    int number, code, value, pid, thread, count;
} got;

static void note(int number, siginfo_t *info, void *context)
{
    (void)context;
    got.number = number == info->si_signo ? number : -1;
    got.code = info->si_code;
    got.value = info->si_value.sival_int;
    got.pid = info->si_pid;
    got.thread = syscall(SYS_gettid);
    got.count++;
}

static int wrong(int number, int code, int thread)
{
    int bad = got.number != number || got.code != code || got.pid != getpid() || got.thread != thread || got.count != 1;
    if (bad)
        fprintf(stderr, "signal %d: got %d code %d pid %d thread %d count %d\n", number, got.number, got.code, got.pid,
                got.thread == thread, got.count);
    got.number = got.count = got.code = got.thread = 0;
    return bad;
}

static void to_itself(void)
{
    int failed[4] = {0}, here = getpid();
    install_all(note, 0);
    for (int number = FIRST; number <= LAST; number++) {
        syscall(SYS_tgkill, here, here, number);
        failed[0] += wrong(number, SI_TKILL, here);
        kill(here, number);
        failed[1] += wrong(number, SI_USER, here);
        send_value(here, 0, number, number * 1000);
        failed[2] += got.value != number * 1000;
        failed[2] += wrong(number, SI_QUEUE, here);
        send_value(here, here, number, -number);
        failed[3] += got.value != -number;
        failed[3] += wrong(number, SI_QUEUE, here);
    }
    printf("itself: %d %d %d %d\n", failed[0], failed[1], failed[2], failed[3]);
}

static void blocked(void)
{
    set_type set = all_realtime(), old, pending;
    int here = getpid(), failed = 0, order = 0, last = 0, total = 0;
    siginfo_t info;
    const struct timespec at_once = {0, 0};
    install_all(note, 0);
    printf("%d", change_mask(SIG_BLOCK, &set, &old));
    for (int i = 0; i < 3; i++)
        for (int number = LAST; number >= FIRST; number--)
            send_value(here, 0, number, i);
    printf(" %d", got.count);
    printf(" %ld", syscall(SYS_rt_sigpending, &pending, sizeof pending));
    for (int number = FIRST; number <= LAST; number++)
        failed += !in(&pending, number);
    for (;;) {
        int number = syscall(SYS_rt_sigtimedwait, &set, &info, &at_once, sizeof set);
        if (number < 0)
            break;
        order += number < last;
        failed += info.si_signo != number || info.si_code != SI_QUEUE || info.si_value.sival_int != total % 3;
        last = number;
        total++;
    }
    printf(" failed %d order %d missing %d\n", failed, order, 3 * (LAST - FIRST + 1) - total);
    for (int number = FIRST; number <= LAST; number++)
        kill(here, number);
    change_mask(SIG_SETMASK, &old, NULL);
    printf("%d\n", (LAST - FIRST + 1) - got.count);
    got.count = 0;
}

/* ---- threads ---- */

static volatile int other_thread, stop;
static volatile int waiter_number;
static set_type everything;

static void *idle(void *unused)
{
    change_mask(SIG_UNBLOCK, &everything, NULL);
    other_thread = syscall(SYS_gettid);
    while (!stop)
        poll(NULL, 0, 1000);
    return unused;
}

static void *spin(void *unused)
{
    change_mask(SIG_UNBLOCK, &everything, NULL);
    other_thread = syscall(SYS_gettid);
    for (unsigned i = 0; !stop; i++)
        ;
    return unused;
}

static void *await(void *unused)
{
    const struct timespec time = {10, 0};
    other_thread = syscall(SYS_gettid);
    while (!stop) {
        siginfo_t info;
        int number = syscall(SYS_rt_sigtimedwait, &everything, &info, &time, sizeof everything);
        if (number > 0)
            waiter_number = number;
    }
    return unused;
}

static void wait_until(volatile int *word)
{
    for (int i = 0; i < 2000 && !*word; i++)
        usleep(1000);
}

static pthread_t begin(void *(*body)(void *))
{
    pthread_t thread;
    stop = other_thread = 0;
    pthread_create(&thread, NULL, body, NULL);
    wait_until(&other_thread);
    return thread;
}

static void end(pthread_t thread)
{
    stop = 1;
    pthread_kill(thread, SIGUSR1);
    pthread_join(thread, NULL);
}

static void nothing(int number)
{
    (void)number;
}

/* The main thread blocks all, so whatever is for the process goes to the other one. */
static void to_another_thread(const char *name, void *(*body)(void *))
{
    int failed[3] = {0}, here = getpid();
    pthread_t thread = begin(body);
    install_all(note, 0); /* after the libc has made a thread, and let the first two in */
    change_mask(SIG_BLOCK, &everything, NULL);
    for (int number = FIRST; number <= LAST; number++) {
        syscall(SYS_tgkill, here, other_thread, number);
        wait_until(&got.count);
        failed[0] += wrong(number, SI_TKILL, other_thread);
        kill(here, number);
        wait_until(&got.count);
        failed[1] += wrong(number, SI_USER, other_thread);
        send_value(here, other_thread, number, number);
        wait_until(&got.count);
        failed[2] += got.value != number;
        failed[2] += wrong(number, SI_QUEUE, other_thread);
    }
    end(thread);
    printf("%s: %d %d %d\n", name, failed[0], failed[1], failed[2]);
}

static void to_a_waiter(void)
{
    int failed = 0;
    pthread_t thread = begin(await);
    usleep(20000);
    for (int number = FIRST; number <= LAST; number++) {
        waiter_number = 0;
        kill(getpid(), number);
        wait_until(&waiter_number);
        failed += waiter_number != number;
    }
    end(thread);
    printf("waiter: %d %d\n", failed, got.count);
}

/* Blocked by all, then let in by the main thread. */
static void let_in_later(void)
{
    pthread_t thread = begin(await);
    stop = 1;
    pthread_kill(thread, SIGUSR1);
    pthread_join(thread, NULL);
    for (int number = FIRST; number <= LAST; number++)
        kill(getpid(), number);
    printf("later: %d", got.count);
    change_mask(SIG_UNBLOCK, &everything, NULL);
    printf(" %d\n", LAST - FIRST + 1 - got.count);
    got.count = 0;
}

static void threads(void)
{
    everything = all_realtime();
    signal(SIGUSR1, nothing);
    change_mask(SIG_BLOCK, &everything, NULL);
    to_another_thread("idle", idle);
    to_another_thread("spinning", spin);
    to_a_waiter();
    let_in_later();
}

/* ---- processes ---- */

static int to_parent;

static void tell(int number, siginfo_t *info, void *context)
{
    (void)context;
    int message[3] = {number, info->si_value.sival_int, info->si_pid == getppid()};
    if (write(to_parent, message, sizeof message) < 0)
        _exit(9);
}

static void processes(void)
{
    int ends[2], message[3], failed = 0, status;
    char ready;
    fflush(stdout);
    if (pipe(ends))
        return;
    pid_t child = fork();
    if (child == 0) {
        to_parent = ends[1];
        install_all(tell, SA_RESTART);
        if (write(ends[1], "r", 1) < 0)
            _exit(9);
        for (;;)
            pause();
    }
    close(ends[1]);
    failed += read(ends[0], &ready, 1) != 1;
    for (int number = FIRST; number <= LAST; number++) {
        failed += send_value(child, 0, number, 7 * number) != 0;
        failed += read(ends[0], message, sizeof message) != sizeof message;
        failed += message[0] != number || message[1] != 7 * number || !message[2];
        failed += kill(child, number) != 0;
        failed += read(ends[0], message, sizeof message) != sizeof message || message[0] != number;
        failed += syscall(SYS_tgkill, child, child, number) != 0;
        failed += read(ends[0], message, sizeof message) != sizeof message || message[0] != number;
    }
    printf("processes: %d\n", failed);
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
    errno = 0;
    printf("%d", kill(child, LAST));
    printf(" %d", errno == ESRCH);
    printf(" %d", send_value(child, 0, LAST, 1));
    printf(" %d\n", errno == ESRCH);
}

static void groups(void)
{
    int ends[2], count = 0, failed = 0, message[3];
    fflush(stdout);
    if (pipe(ends))
        return;
    pid_t group = 0;
    for (int i = 0; i < 3; i++) {
        pid_t child = fork();
        if (child == 0) {
            setpgid(0, group);
            to_parent = ends[1];
            install_all(tell, SA_RESTART);
            message[0] = 0;
            if (write(ends[1], message, sizeof message) < 0)
                _exit(9);
            for (;;)
                pause();
        }
        group = group ? group : child;
        setpgid(child, group);
        failed += read(ends[0], message, sizeof message) != sizeof message || message[0] != 0;
    }
    failed += kill(-group, LAST) != 0;
    for (; count < 3 && read(ends[0], message, sizeof message) == sizeof message; count++)
        failed += message[0] != LAST;
    kill(-group, SIGKILL);
    while (wait(NULL) > 0)
        ;
    printf("group: %d %d\n", count, failed);
}

static void defaults(void)
{
    const int numbers[] = {FIRST, FIRST + 1, 40, 63, 64};
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        int status = 0;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            install(numbers[i], (void (*)(int, siginfo_t *, void *))(uintptr_t)1, 0);
            kill(getpid(), numbers[i]); /* ignored */
            install(numbers[i], NULL, 0);
            kill(getpid(), numbers[i]);
            _exit(1);
        }
        waitpid(child, &status, 0);
        printf("%d ", WIFSIGNALED(status) && WTERMSIG(status) == numbers[i]);
    }
    printf("\n");
}

/* ---- the next program ---- */

static void inherited(void)
{
    set_type now, pending, set = all_realtime();
    int blocked_wrong = 0, pending_wrong = 0, total = 0, ignored_wrong = 0;
    siginfo_t info;
    const struct timespec at_once = {0, 0};
    change_mask(SIG_BLOCK, NULL, &now);
    syscall(SYS_rt_sigpending, &pending, sizeof pending);
    for (int number = FIRST; number <= LAST; number++) {
        blocked_wrong += in(&now, number) != (number % 3 != 0);
        pending_wrong += in(&pending, number) != (number % 3 == 1);
    }
    for (int number; (number = syscall(SYS_rt_sigtimedwait, &set, &info, &at_once, sizeof set)) > 0; total++)
        pending_wrong += info.si_value.sival_int != number && info.si_value.sival_int != number + 1;
    for (int number = FIRST; number <= LAST; number++)
        if (number % 3 == 0)
            kill(getpid(), number); /* ignored, or this is the end */
    for (int number = 1; number < FIRST; number++)
        if (number == SIGSEGV)
            ignored_wrong += in(&now, number) != 1;
    printf("next: blocked %d pending %d total %d other %d\n", blocked_wrong, pending_wrong, total % 2, ignored_wrong);
    syscall(SYS_rt_sigpending, &pending, sizeof pending);
    printf("%d\n", in(&pending, SIGSEGV));
}

static void next_program(char *self)
{
    set_type set = {{0}};
    install_all(note, 0);
    for (int number = FIRST; number <= LAST; number++) {
        if (number % 3 != 0)
            add(&set, number);
        else
            install(number, (void (*)(int, siginfo_t *, void *))(uintptr_t)1, 0);
    }
    add(&set, SIGSEGV);
    change_mask(SIG_SETMASK, &set, NULL);
    for (int number = FIRST; number <= LAST; number++)
        for (int i = 0; i < 2 && number % 3 == 1; i++)
            send_value(getpid(), i ? getpid() : 0, number, number + i);
    kill(getpid(), SIGSEGV);
    execl("/none/such", "none", (char *)NULL);
    printf("kept: %d\n", got.count);
    fflush(stdout);
    execl(self, self, "inherited", (char *)NULL);
}

int main(int count, char **words)
{
    const char *way = count > 1 ? words[1] : "all";
    if (!strcmp(way, "itself"))
        to_itself();
    if (!strcmp(way, "blocked"))
        blocked();
    if (!strcmp(way, "threads"))
        threads();
    if (!strcmp(way, "processes"))
        processes();
    if (!strcmp(way, "groups"))
        groups();
    if (!strcmp(way, "defaults"))
        defaults();
    if (!strcmp(way, "next"))
        next_program(words[0]);
    if (!strcmp(way, "inherited"))
        inherited();
    return 0;
}
