/* Processes: who they are, limits, fork and wait, running other programs, and what a process can ask of the machine. */
#include "show.h"

#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <sys/wait.h>

extern char **environ;

static void identity(void)
{
    printf("%d %d %d\n", getpid() > 0, getppid() > 0, (int)syscall(SYS_gettid) == getpid());
    SHOW(getuid() == geteuid());
    SHOW(getgid() == getegid());
    uid_t real, effective, saved;
    SHOW(getresuid(&real, &effective, &saved));
    printf("%d\n", real == getuid() && effective == geteuid());
    SHOW(setuid(getuid()));
    SHOW(setgid(getgid()));
    SHOW(setreuid(-1, -1));
    SHOW(getgroups(0, NULL) >= 0);
    SHOW(getpgrp() == getpgid(0));
    SHOW(getsid(0) > 0);
    SHOW(getsid(999999));
    SHOW(setpgid(0, 999999));
    SHOW(umask(022) >= 0);
    struct utsname name;
    SHOW(uname(&name));
    printf("%s %d\n", name.sysname, name.release[0] >= '3');
    struct sysinfo info;
    SHOW(sysinfo(&info));
    printf("%d %d %d\n", info.uptime > 0, info.totalram > 0, info.procs > 0);
    char task[16];
    SHOW(prctl(PR_SET_NAME, "a name that is too long"));
    SHOW(prctl(PR_GET_NAME, task));
    printf("%s\n", task);
    SHOW(prctl(PR_GET_DUMPABLE));
    SHOW(prctl(PR_SET_PDEATHSIG, SIGUSR1));
    int number = 0;
    SHOW(prctl(PR_GET_PDEATHSIG, &number));
    printf("%d\n", number == SIGUSR1);
    SHOW(prctl(PR_SET_PDEATHSIG, 0));
    SHOW(prctl(99999));
    cpu_set_t set;
    SHOW(sched_getaffinity(0, sizeof set, &set));
    printf("%d\n", CPU_COUNT(&set) > 0);
    SHOW(sched_setaffinity(0, sizeof set, &set));
    SHOW(sched_yield());
    SHOW(sched_getcpu() >= 0);
    SHOW(sched_getscheduler(0));
    SHOW(sched_get_priority_max(SCHED_FIFO));
    SHOW(getpriority(PRIO_PROCESS, 0));
    SHOW(setpriority(PRIO_PROCESS, 0, 3));
    SHOW(getpriority(PRIO_PROCESS, 0));
    SHOW(nice(2));
}

static void limits(void)
{
    struct rlimit limit = {123, 456}, now;
    struct rlimit64 wide;
    SHOW(setrlimit(RLIMIT_NOFILE, &limit));
    SHOW(getrlimit(RLIMIT_NOFILE, &now));
    printf("%ld %ld\n", (long)now.rlim_cur, (long)now.rlim_max);
    SHOW(fcntl(0, F_DUPFD, 200));
    SHOW(prlimit64(0, RLIMIT_NOFILE, NULL, &wide));
    printf("%lld\n", (long long)wide.rlim_cur);
    limit = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
    SHOW(setrlimit(RLIMIT_CPU, &limit));
    SHOW(getrlimit(RLIMIT_CPU, &now));
    printf("%d\n", now.rlim_cur == RLIM_INFINITY);
    limit = (struct rlimit){0, 0};
    SHOW(setrlimit(RLIMIT_CORE, &limit));
    SHOW(getrlimit(RLIMIT_CORE, &now));
    printf("%ld\n", (long)now.rlim_cur);
    SHOW(getrlimit(55, &now));
    limit = (struct rlimit){5, 4};
    SHOW(setrlimit(RLIMIT_AS, &limit));
}

static void print_status(int status)
{
    if (WIFEXITED(status))
        printf("exited %d\n", WEXITSTATUS(status));
    else if (WIFSIGNALED(status))
        printf("signal %s\n", sigabbrev_np(WTERMSIG(status)));
    else if (WIFSTOPPED(status))
        printf("stopped %s\n", sigabbrev_np(WSTOPSIG(status)));
    else if (WIFCONTINUED(status))
        printf("continued\n");
}

static int die_of(int number)
{
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (number < 0)
            _exit(-number);
        raise(number);
        _exit(99);
    }
    int status = 0;
    printf("%d ", waitpid(child, &status, 0) == child);
    print_status(status);
    return child;
}

static void children(void)
{
    const int numbers[] = {-7, -300, SIGTERM, SIGKILL, SIGUSR1, SIGUSR2, SIGALRM, SIGPIPE, SIGCHLD, SIGWINCH, SIGABRT,
                           SIGSEGV, SIGBUS, SIGSYS, SIGXCPU, SIGIO, SIGPWR, SIGVTALRM, SIGRTMIN + 3};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        die_of(numbers[i]);
    SHOW(waitpid(-1, NULL, WNOHANG));
    SHOW(waitpid(-1, NULL, 0x10000));
    fflush(stdout);
    int ends[2], status;
    char byte;
    pipe(ends);
    pid_t child = fork();
    if (child == 0) {
        close(ends[1]);
        raise(SIGSTOP);
        read(ends[0], &byte, 1); /* until the parent lets go of the other end */
        _exit(3);
    }
    SHOW(waitpid(child, &status, WUNTRACED) == child);
    print_status(status);
    SHOW(kill(child, SIGCONT));
    SHOW(waitpid(child, &status, WCONTINUED) == child);
    print_status(status);
    close(ends[1]);
    siginfo_t info = {0};
    SHOW(waitid(P_PID, child, &info, WEXITED | WNOWAIT));
    printf("%d %d %d %d %d\n", info.si_signo == SIGCHLD, info.si_code == CLD_EXITED, info.si_status, info.si_errno,
           info.si_pid == child);
    struct rusage usage;
    SHOW(wait4(child, &status, 0, &usage) == child);
    print_status(status);
    SHOW(kill(child, 0));
    SHOW(kill(getpid(), 0));
    SHOW(kill(getpid(), 1000));
    if ((child = vfork()) == 0)
        _exit(21);
    waitpid(child, &status, 0);
    print_status(status);
}

static void programs(const char *self)
{
    int status;
    pid_t child;
    char *arguments[] = {"another name", "run", "with space", "", NULL}, *variables[] = {"A=1", "B=two words", NULL};
    fflush(stdout);
    if ((child = fork()) == 0) {
        SHOW(execve("none", arguments, variables));
        SHOW(execve("/", arguments, variables));
        SHOW(execve("/etc/passwd", arguments, variables));
        SHOW(execve(self, BAD, variables));
        char start[60];
        int from = open(self, O_RDONLY), to = open("broken", O_WRONLY | O_CREAT, 0755);
        write(to, start, read(from, start, sizeof start)); /* the header, and no more */
        close(to);
        SHOW(execve("./broken", arguments, variables));
        SHOW(open("/proc/self/exe", O_RDONLY | O_NOFOLLOW));
        fflush(stdout);
        execve(self, arguments, variables);
        _exit(77);
    }
    waitpid(child, &status, 0);
    print_status(status);
    int fd = open("script", O_WRONLY | O_CREAT, 0755);
    dprintf(fd, "#! %s run me \nnever read", self);
    close(fd);
    char *script[] = {"ignored", "and more", NULL};
    SHOW(posix_spawn(&child, "./script", NULL, NULL, script, variables));
    waitpid(child, &status, 0);
    print_status(status);
    SHOW(posix_spawn(&child, "./none", NULL, NULL, script, variables));
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "script", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&files, 2, 1);
    SHOW(posix_spawnp(&child, "none-such", &files, NULL, script, variables));
    SHOW(system("exit 5") >> 8);
    FILE *pipe = popen("echo from a shell; kill -USR1 $$", "r");
    char text[64];
    printf("%s", fgets(text, sizeof text, pipe));
    print_status(pclose(pipe));
}

int main(int count, char **words)
{
    if (count > 1 && strncmp(words[1], "run", 3) == 0) {
        char path[256] = {0};
        for (int i = 0; i < count; i++)
            printf("[%s] ", i || !strchr(words[i], '/') ? words[i] : "path");
        for (char **variable = environ; *variable; variable++)
            printf("{%s} ", *variable);
        printf("%d\n", readlink("/proc/self/exe", path, sizeof path - 1) > 0 && access(path, X_OK) == 0);
        return 42;
    }
    identity();
    limits();
    children();
    programs(realpath(words[0], NULL));
    return 0;
}
