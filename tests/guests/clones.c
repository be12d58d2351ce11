/* clone and clone3, waiting in its forms, and job control on a terminal. */
#include "show.h"

#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>

#define clone_fork(flags, parent, child)                                                                       \
    (IS_MIPS ? syscall(SYS_clone, flags, 0, parent, 0, child) : syscall(SYS_clone, flags, 0, parent, child, 0))
#ifdef __mips__
#define IS_MIPS 1
#else
#define IS_MIPS 0
#endif
#ifndef P_PIDFD
#define P_PIDFD 3
#endif

static int waited(pid_t child)
{
    int status = -1;
    if (waitpid(child, &status, __WALL) != child)
        printf("waitpid failed: %s\n", strerror(errno));
    return status;
}

static volatile int got;

static void note(int number)
{
    got = number;
}

static void clones(void)
{
    int parent_tid = 0, child_tid = 0, pidfd = -1;
    fflush(stdout);
    pid_t child = clone_fork(CLONE_PARENT_SETTID | CLONE_CHILD_SETTID | SIGCHLD, &parent_tid, &child_tid);
    if (child == 0)
        _exit(child_tid == getpid() ? 3 : 4);
    printf("%d %d %x\n", parent_tid == child, child_tid, waited(child));
    child = clone_fork(CLONE_PIDFD | SIGCHLD, &pidfd, NULL);
    if (child == 0)
        _exit(5);
    siginfo_t info = {0};
    struct rusage usage;
    memset(&usage, 77, sizeof usage);
    struct pollfd polled = {pidfd, POLLIN, 0};
    SHOW(poll(&polled, 1, 5000));
    SHOW(syscall(SYS_waitid, P_PIDFD, pidfd, &info, WEXITED, &usage));
    printf("%d %d %d %d %d\n", info.si_pid == child, info.si_status, info.si_code == CLD_EXITED, info.si_signo == SIGCHLD,
           usage.ru_utime.tv_sec == 0 && usage.ru_maxrss > 0);
    SHOW(fcntl(pidfd, F_GETFD));
    close(pidfd);
    signal(SIGUSR1, note);
    child = clone_fork(SIGUSR1, NULL, NULL); /* tells its end by that signal */
    if (child == 0)
        _exit(6);
    SHOW(waitpid(child, NULL, WNOHANG));
    while (!got)
        usleep(1000);
    printf("%d %x\n", got == SIGUSR1, waited(child));
    int fd = dup(0);
    child = clone_fork(CLONE_FILES | CLONE_FS | SIGCHLD, NULL, NULL);
    if (child == 0) {
        close(fd);
        _exit(chdir("/tmp") != 0);
    }
    printf("%x\n", waited(child));
    SHOW(close(fd));
    char folder[64];
    printf("%s\n", getcwd(folder, sizeof folder));
    SHOW(clone_fork(CLONE_SIGHAND | SIGCHLD, NULL, NULL));
    SHOW(clone_fork(CLONE_FS | CLONE_NEWNS | SIGCHLD, NULL, NULL));
    SHOW(clone_fork(CLONE_PIDFD | CLONE_PARENT_SETTID | SIGCHLD, &pidfd, NULL));
    child = clone_fork(SIGCHLD, NULL, NULL);
    if (child == 0) {
        pid_t sibling = clone_fork(CLONE_PARENT | SIGCHLD, NULL, NULL);
        if (sibling == 0)
            _exit(9);
        _exit(waitpid(sibling, NULL, 0) == -1 && errno == ECHILD ? 8 : 1);
    }
    printf("%x", waited(child));
    int status;
    printf(" %d", wait(&status) > 0);
    printf(" %x\n", status);
}

static void namespaces(void)
{
    char name[64], path[64];
    fflush(stdout);
    pid_t child = clone_fork(CLONE_NEWUTS | CLONE_NEWPID | CLONE_NEWIPC | SIGCHLD, NULL, NULL);
    if (child == -1) {
        printf("may not\n");
        return;
    }
    if (child == 0) {
        int failed = sethostname("of-the-guest", 12);
        gethostname(name, sizeof name);
        printf("%d %d %d\n", getpid(), failed, strcmp(name, "of-the-guest"));
        fflush(stdout);
        pid_t second = fork();
        if (second == 0)
            _exit(getpid());
        _exit(waited(second) >> 8);
    }
    printf("%x\n", waited(child));
    gethostname(name, sizeof name);
    printf("%d\n", strcmp(name, "of-the-guest") != 0);
}

static long clone_three(struct clone_args *arguments, size_t size)
{
    return syscall(SYS_clone3, arguments, size);
}

static void threes(void)
{
    int pidfd = -1, parent_tid = 0, child_tid = 0;
    struct clone_args arguments = {
        .flags = CLONE_PIDFD | CLONE_PARENT_SETTID | CLONE_CHILD_SETTID,
        .pidfd = (uintptr_t)&pidfd, .parent_tid = (uintptr_t)&parent_tid, .child_tid = (uintptr_t)&child_tid,
        .exit_signal = SIGCHLD,
    };
    fflush(stdout);
    pid_t child = clone_three(&arguments, sizeof arguments);
    if (child == 0)
        _exit(child_tid == getpid() ? 3 : 4);
    printf("%d %d %x %d\n", parent_tid == child, child_tid, waited(child), pidfd >= 0);
    close(pidfd);
    signal(SIGUSR1, note);
    signal(SIGUSR2, SIG_IGN);
    arguments = (struct clone_args){.flags = 0x100000000, .exit_signal = SIGCHLD}; /* CLONE_CLEAR_SIGHAND */
    child = clone_three(&arguments, 64);
    if (child == 0) {
        kill(getpid(), SIGUSR2);
        kill(getpid(), SIGUSR1);
        _exit(7);
    }
    int status = waited(child);
    printf("%d\n", WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR1);
    SHOW(clone_three(&arguments, 63));
    SHOW(clone_three(&arguments, 5000));
    SHOW(clone_three(BAD, 64));
    arguments.flags = 1ull << 40;
    SHOW(clone_three(&arguments, 64));
    arguments = (struct clone_args){.exit_signal = 300};
    SHOW(clone_three(&arguments, 64));
    arguments = (struct clone_args){.exit_signal = SIGCHLD, .stack = 0x10000};
    SHOW(clone_three(&arguments, 64));
    arguments = (struct clone_args){.exit_signal = SIGCHLD, .set_tid_size = 1};
    SHOW(clone_three(&arguments, sizeof arguments));
    arguments = (struct clone_args){.exit_signal = SIGCHLD, .flags = CLONE_PARENT};
    SHOW(clone_three(&arguments, 64));
}

/* ---- waiting ---- */

static void waiting(void)
{
    siginfo_t info;
    struct rusage usage;
    int status;
    SHOW(waitid(P_ALL, 0, &info, WEXITED));
    SHOW(waitid(P_ALL, 0, &info, 0));
    SHOW(waitid(77, 0, &info, WEXITED));
    SHOW(waitid(P_PIDFD, 0, &info, WEXITED));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        setpgid(0, 0);
        for (;;)
            pause();
    }
    setpgid(child, child);
    memset(&info, 0x77, sizeof info);
    SHOW(waitid(P_PGID, child, &info, WEXITED | WNOHANG));
    printf("%d %d\n", info.si_signo, info.si_pid);
    SHOW(kill(-child, SIGSTOP));
    SHOW(waitid(P_PID, child, &info, WSTOPPED));
    printf("%d %d\n", info.si_code == CLD_STOPPED, info.si_status == SIGSTOP);
    kill(child, SIGCONT);
    SHOW(waitid(P_PID, child, &info, WCONTINUED | WEXITED));
    printf("%d %d\n", info.si_code == CLD_CONTINUED, info.si_status == SIGCONT);
    kill(child, SIGTSTP);
    SHOW(wait4(-child, &status, WUNTRACED, &usage) == child);
    printf("%d %d\n", WIFSTOPPED(status), WSTOPSIG(status) == SIGTSTP);
    kill(child, SIGUSR2);
    kill(child, SIGCONT);
    SHOW(waitid(P_PID, child, &info, WEXITED | WNOWAIT));
    printf("%d %d %d\n", info.si_code == CLD_KILLED, info.si_status == SIGUSR2, info.si_uid == getuid());
    SHOW(wait4(child, &status, __WALL, &usage) == child);
    printf("%d\n", WIFSIGNALED(status) && WTERMSIG(status) == SIGUSR2);
    SHOW(wait4(child, &status, 0, &usage));
    SHOW(syscall(SYS_wait4, -1, NULL, 0x10, NULL));
}

/* ---- job control ---- */

static int master;

static void expect(const char *what, pid_t child, int options)
{
    int status = 0;
    pid_t found = waitpid(child, &status, options);
    printf("%s: %s", what, found == child ? "" : "nobody ");
    if (WIFSTOPPED(status))
        printf("stopped %s\n", sigabbrev_np(WSTOPSIG(status)));
    else if (WIFCONTINUED(status))
        printf("continued\n");
    else if (WIFSIGNALED(status))
        printf("signal %s\n", sigabbrev_np(WTERMSIG(status)));
    else
        printf("exited %d\n", WEXITSTATUS(status));
}

static pid_t job(void (*body)(void))
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        setpgid(0, 0);
        body();
        _exit(0);
    }
    setpgid(child, child);
    return child;
}

static void reads(void)
{
    char line[16];
    signal(SIGTTIN, SIG_DFL);
    ssize_t size = read(0, line, sizeof line);
    _exit(size == 3 ? 33 : 1);
}

static void writes(void)
{
    struct termios settings;
    signal(SIGTTOU, SIG_DFL);
    tcgetattr(0, &settings);
    settings.c_lflag |= TOSTOP;
    tcsetattr(0, TCSANOW, &settings); /* SIGTTOU in the background */
    _exit(34);
}

static void waits(void)
{
    for (;;)
        pause();
}

static void shell(void)
{
    signal(SIGTTOU, SIG_IGN);
    signal(SIGTTIN, SIG_IGN);
    signal(SIGTSTP, SIG_IGN);
    SHOW(tcgetpgrp(0) == getpgrp());
    SHOW(getsid(0) == getpid());
    pid_t child = job(reads);
    expect("in the background", child, WUNTRACED);
    SHOW(tcsetpgrp(0, child));
    kill(-child, SIGCONT);
    expect("continued", child, WCONTINUED);
    write(master, "ab\n", 3);
    expect("read", child, WUNTRACED);
    SHOW(tcsetpgrp(0, getpgrp()));
    child = job(writes);
    expect("in the background", child, WUNTRACED);
    SHOW(tcsetpgrp(0, child));
    kill(-child, SIGCONT);
    expect("written", child, 0);
    SHOW(tcsetpgrp(0, getpgrp()));
    child = job(waits);
    signal(SIGTSTP, SIG_DFL);
    signal(SIGTSTP, SIG_IGN);
    SHOW(tcsetpgrp(0, child));
    usleep(20000);
    kill(child, 0);
    write(master, "\003", 1); /* ^C */
    expect("interrupted", child, WUNTRACED);
    SHOW(tcsetpgrp(0, getpgrp()));
    SHOW(tcsetpgrp(0, 999999));
    SHOW(setsid());
}

static void jobs(void)
{
    master = posix_openpt(O_RDWR | O_NOCTTY);
    grantpt(master);
    unlockpt(master);
    char name[64];
    ptsname_r(master, name, sizeof name);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        setsid();
        int terminal = open(name, O_RDWR);
        dup2(terminal, 0);
        shell();
        fflush(stdout);
        _exit(12);
    }
    int status = waited(child);
    printf("%x\n", status);
}

int main(int count, char **words)
{
    const char *way = count > 1 ? words[1] : "";
    if (!strcmp(way, "clones"))
        clones();
    if (!strcmp(way, "namespaces"))
        namespaces();
    if (!strcmp(way, "threes"))
        threes();
    if (!strcmp(way, "waiting"))
        waiting();
    if (!strcmp(way, "jobs"))
        jobs();
    return 0;
}
