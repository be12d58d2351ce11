/* What siginfo_t says of signals that no instruction has raised, though they have its number or a code above 0: in a handler, by
 * sigtimedwait and by signalfd; and what waitid writes. */
#include "show.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static volatile int count;
static pid_t child;

static void tell(const char *how, const siginfo_t *info)
{
    printf("%s: SIG%s code %d errno %d", how, info->si_signo < 32 ? sigabbrev_np(info->si_signo) : "RT", info->si_code,
           info->si_errno);
    if (child)
        printf(" child %d uid %d status %d\n", info->si_pid == child, info->si_uid == getuid(), info->si_status);
    else
        printf(" addr %lx\n", (unsigned long)(uintptr_t)info->si_addr);
}

static void on_signal(int number, siginfo_t *info, void *context)
{
    count++;
    tell("handler", info);
}

static void install(int number)
{
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    sigaction(number, &action, NULL);
}

static void set_blocked(int how, int number)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, number);
    sigprocmask(how, &set, NULL);
}

static void await(int wanted)
{
    struct timespec moment = {0, 1000000};
    for (int i = 0; i < 20000 && count < wanted; i++)
        nanosleep(&moment, NULL);
}

/* ---- the exit signal of clone ---- */

static pid_t start(int number, int status)
{
    int ends[2];
    char byte;
    pipe(ends);
    fflush(stdout);
    pid_t made = syscall(SYS_clone, number, 0, 0, 0, 0);
    if (made == 0) { /* the parent knows its number before it ends */
        close(ends[1]);
        read(ends[0], &byte, 1);
        if (status < 0)
            raise(-status);
        _exit(status);
    }
    child = made;
    close(ends[0]);
    close(ends[1]);
    return made;
}

static void exits(void)
{
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGUSR1, SIGCHLD};
    for (int i = 0; i < 7; i++) {
        int status = 0;
        count = 0;
        install(numbers[i]);
        pid_t made = start(numbers[i], i % 2 ? -SIGTERM : 3 + i);
        await(1);
        SHOW(count);
        SHOW(waitpid(made, &status, numbers[i] == SIGCHLD ? 0 : __WCLONE) == made);
        SHOW(WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    }
    signal(SIGSEGV, SIG_IGN);
    SHOW(waitpid(start(SIGSEGV, 1), NULL, __WALL) == child);
    set_blocked(SIG_BLOCK, SIGBUS);
    SHOW(waitpid(start(SIGBUS, 1), NULL, __WALL) == child);
    sigset_t pending;
    sigpending(&pending);
    SHOW(sigismember(&pending, SIGBUS));
    set_blocked(SIG_UNBLOCK, SIGBUS);
}

/* The parent has no handler: it ends as by any such signal. */
static void death(void)
{
    start(SIGSEGV, 0);
    pause();
}

/* ---- descriptors ---- */

static void tell_descriptor(int number, siginfo_t *info, void *context)
{
    count++;
    printf("handler: SIG%s code %d band %lx fd %d\n", sigabbrev_np(number), info->si_code, (unsigned long)info->si_band,
           info->si_fd);
}

static void descriptors(void)
{
    static const int numbers[] = {SIGSEGV, SIGTRAP, SIGUSR1, SIGIO};
    struct sigaction action = {.sa_sigaction = tell_descriptor, .sa_flags = SA_SIGINFO};
    for (int i = 0; i < 4; i++) {
        int ends[2];
        count = 0;
        sigaction(numbers[i], &action, NULL);
        pipe(ends);
        fcntl(ends[0], F_SETOWN, getpid());
        fcntl(ends[0], F_SETSIG, numbers[i]);
        fcntl(ends[0], F_SETFL, O_ASYNC | O_NONBLOCK);
        write(ends[1], "x", 1);
        await(1);
        close(ends[0]);
        close(ends[1]);
    }
    char name[] = "/tmp/siginfo-XXXXXX";
    int folder = open(mkdtemp(name), O_RDONLY | O_DIRECTORY);
    fcntl(folder, F_SETSIG, SIGBUS);
    sigaction(SIGBUS, &action, NULL);
    SHOW(fcntl(folder, F_NOTIFY, DN_CREATE));
    count = 0;
    close(openat(folder, "made", O_CREAT | O_WRONLY, 0600));
    await(1);
    unlinkat(folder, "made", 0);
    rmdir(name);
}

/* ---- what a process makes up ---- */

static int queue(int number, const siginfo_t *info)
{
    return syscall(SYS_rt_sigqueueinfo, getpid(), number, info);
}

static siginfo_t made_up(int number, int code)
{
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_signo = number;
    info.si_code = code;
    info.si_addr = (void *)0x12345678;
    return info;
}

static void show_descriptor(int fd)
{
    struct signalfd_siginfo got;
    SHOW(read(fd, &got, sizeof got) == sizeof got);
    printf("signalfd: %s code %d pid %x band %x fd %d addr %lx\n", sigabbrev_np(got.ssi_signo), got.ssi_code, got.ssi_pid,
           got.ssi_band, got.ssi_fd, (unsigned long)got.ssi_addr);
}

static void forged(void)
{
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGUSR1, SIGCHLD}, codes[] = {1, 2, 5, 0x80, 0, -60, -5};
    siginfo_t got;
    sigset_t set;
    for (int i = 0; i < 5 * 7; i++) {
        int number = numbers[i / 7], code = codes[i % 7];
        siginfo_t info = made_up(number, code);
        install(number);
        SHOW(queue(number, &info));
        SHOW(syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), number, &info));
        set_blocked(SIG_BLOCK, number);
        SHOW(queue(number, &info));
        sigemptyset(&set);
        sigaddset(&set, number);
        SHOW(sigwaitinfo(&set, &got) == number);
        tell("sigwaitinfo", &got);
        int fd = signalfd(-1, &set, 0);
        SHOW(queue(number, &info));
        if (code != -5) /* for which the host's signalfd has no room */
            show_descriptor(fd);
        close(fd);
        set_blocked(SIG_UNBLOCK, number);
    }
}

/* Codes that mean something to hosts of other guests, and all that may come with them. */
static void imitated(void)
{
    int numbers[] = {SIGSEGV, SIGUSR1, 64};
    for (int i = 0; i < 3; i++) {
        install(numbers[i]);
        for (int code = -0x4d60; code < -0x4d4e; code++) {
            siginfo_t info = made_up(numbers[i], code);
            count = 0;
            fflush(stdout);
            pid_t sender = fork();
            if (sender == 0)
                _exit(syscall(SYS_rt_sigqueueinfo, getppid(), numbers[i], &info) != 0);
            await(1);
            waitpid(sender, NULL, 0);
        }
    }
}

/* ---- waitid ---- */

static void waits(void)
{
    unsigned char bytes[sizeof(siginfo_t) + sizeof(struct rusage)];
    siginfo_t *info = (siginfo_t *)bytes;
    struct rusage *usage = (struct rusage *)(bytes + sizeof *info);
    install(SIGUSR1);
    pid_t made = start(SIGUSR1, 9);
    memset(bytes, 0x5a, sizeof bytes);
    await(1);
    SHOW(waitid(P_PID, made, info, WEXITED));
    memset(bytes, 0x5a, sizeof bytes);
    SHOW(syscall(SYS_waitid, P_PID, made, info, WEXITED | __WALL, usage));
    SHOW(info->si_pid == made && info->si_status == 9 && info->si_signo == SIGCHLD);
    SHOW(bytes[sizeof *info - 1]);
    SHOW(usage->ru_nsignals);
    made = fork();
    if (made == 0) {
        pause();
        _exit(0);
    }
    memset(bytes, 0x5a, sizeof bytes);
    SHOW(syscall(SYS_waitid, P_PID, made, info, WEXITED | WNOHANG, usage));
    SHOW(info->si_pid);
    SHOW(bytes[sizeof *info - 1]);
    SHOW(*(unsigned char *)usage);
    kill(made, SIGKILL);
    waitpid(made, NULL, 0);
}

int main(int count, char **words)
{
    static const struct { const char *name; void (*run)(void); } ways[] = {
        {"exits", exits}, {"death", death}, {"descriptors", descriptors}, {"forged", forged}, {"imitated", imitated},
        {"waits", waits},
    };
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strcmp(words[1], ways[i].name) == 0)
            ways[i].run();
    return 0;
}
