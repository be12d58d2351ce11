/* Scheduling, prctl, capabilities and groups, advice about memory: what a process asks the kernel about itself. */
#include "show.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>

#ifndef MREMAP_DONTUNMAP
#define MREMAP_DONTUNMAP 4
#endif

struct attributes {
    unsigned size, policy;
    unsigned long long flags;
    int nice;
    unsigned priority;
    unsigned long long runtime, deadline, period;
    unsigned least, most;
};

static void classes(void)
{
    struct sched_param parameters = {.sched_priority = 7};
    struct attributes attributes = {0};
    struct timespec interval;
    cpu_set_t set;
    SHOW(sched_setscheduler(0, SCHED_OTHER, &parameters));
    SHOW(sched_setscheduler(0, SCHED_FIFO, &parameters));
    SHOW(sched_getscheduler(0));
    SHOW(sched_getparam(0, &parameters));
    printf("%d\n", parameters.sched_priority);
    parameters.sched_priority = 9;
    SHOW(sched_setparam(0, &parameters));
    SHOW(syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0));
    printf("%u %u %llx %d %u %llu\n", attributes.size, attributes.policy, attributes.flags, attributes.nice,
           attributes.priority, attributes.runtime);
    SHOW(sched_rr_get_interval(0, &interval));
    printf("%ld %ld\n", (long)interval.tv_sec, interval.tv_nsec);
    parameters.sched_priority = 0;
    SHOW(sched_setscheduler(0, SCHED_BATCH | SCHED_RESET_ON_FORK, &parameters));
    SHOW(sched_getscheduler(0) == (SCHED_BATCH | SCHED_RESET_ON_FORK));
    SHOW(sched_setscheduler(0, 77, &parameters));
    SHOW(sched_setscheduler(0, SCHED_OTHER, &parameters));
    attributes = (struct attributes){.size = sizeof attributes, .policy = SCHED_OTHER, .nice = 5};
    SHOW(syscall(SYS_sched_setattr, 0, &attributes, 0));
    SHOW(getpriority(PRIO_PROCESS, 0));
    SHOW(syscall(SYS_sched_getattr, 0, &attributes, 48, 0));
    printf("%u %d\n", attributes.size, attributes.nice);
    SHOW(syscall(SYS_sched_getattr, 0, &attributes, 47, 0));
    SHOW(syscall(SYS_sched_getattr, 0, BAD, 48, 0));
    attributes = (struct attributes){.size = 6, .policy = SCHED_OTHER};
    SHOW(syscall(SYS_sched_setattr, 0, &attributes, 0));
    printf("%u\n", attributes.size);
    attributes = (struct attributes){.size = 48, .policy = SCHED_DEADLINE, .runtime = 10000000, .deadline = 30000000,
                                     .period = 5000000};
    SHOW(syscall(SYS_sched_setattr, 0, &attributes, 0)); /* its period is too short */
    SHOW(syscall(SYS_sched_setattr, 999999, &attributes, 0));
    SHOW(setpriority(PRIO_PROCESS, 0, -3));
    SHOW(getpriority(PRIO_PROCESS, 0));
    SHOW(setpriority(9, 0, 0));
    SHOW(nice(4));
    CPU_ZERO(&set);
    SHOW(sched_setaffinity(0, sizeof set, &set));
    CPU_SET(0, &set);
    SHOW(sched_setaffinity(0, sizeof set, &set));
    CPU_ZERO(&set);
    SHOW(sched_getaffinity(0, sizeof set, &set));
    printf("%d %d\n", CPU_COUNT(&set), CPU_ISSET(0, &set));
    SHOW(syscall(SYS_sched_getaffinity, 0, 3, &set));
    SHOW(syscall(SYS_sched_setaffinity, 0, sizeof set, BAD));
    unsigned cpu = 99, node = 99;
    SHOW(syscall(SYS_getcpu, &cpu, &node, NULL));
    printf("%u %u\n", cpu, node);
    SHOW(syscall(SYS_ioprio_set, 1, 0, 2 << 13 | 3));
    SHOW(syscall(SYS_ioprio_get, 1, 0));
    SHOW(sched_get_priority_max(SCHED_RR));
    SHOW(sched_get_priority_min(99));
}

static void barriers(void)
{
    SHOW(syscall(SYS_membarrier, 0, 0, 0) > 0);
    SHOW(syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0));
    SHOW(syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0));
    SHOW(syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0));
    SHOW(syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0));
    SHOW(syscall(SYS_membarrier, 0x10000, 0, 0));
    SHOW(syscall(SYS_membarrier, 0, 1, 0));
}

static void *name_itself(void *name)
{
    static char got[16];
    prctl(PR_SET_NAME, name);
    prctl(PR_GET_NAME, got);
    return got;
}

static void options(void)
{
    int number = 77;
    char name[16];
    pthread_t thread;
    void *got;
    SHOW(prctl(PR_SET_NAME, "the main one"));
    pthread_create(&thread, NULL, name_itself, "another thread of the program");
    pthread_join(thread, &got);
    SHOW(prctl(PR_GET_NAME, name));
    printf("%s, %s\n", name, (char *)got);
    SHOW(prctl(PR_SET_NAME, BAD));
    SHOW(prctl(PR_GET_NAME, BAD));
    SHOW(prctl(PR_SET_PDEATHSIG, SIGUSR2));
    SHOW(prctl(PR_GET_PDEATHSIG, &number));
    printf("%d\n", number == SIGUSR2);
    SHOW(prctl(PR_SET_PDEATHSIG, 200));
    SHOW(prctl(PR_SET_PDEATHSIG, 0));
    SHOW(prctl(PR_SET_DUMPABLE, 0));
    SHOW(prctl(PR_GET_DUMPABLE));
    SHOW(prctl(PR_SET_DUMPABLE, 7));
    SHOW(prctl(PR_SET_DUMPABLE, 1));
    SHOW(prctl(PR_SET_KEEPCAPS, 1));
    SHOW(prctl(PR_GET_KEEPCAPS));
    SHOW(prctl(PR_SET_KEEPCAPS, 2));
    SHOW(prctl(PR_GET_TIMING));
    SHOW(prctl(PR_SET_TIMING, 1));
    SHOW(prctl(PR_GET_SECCOMP));
    SHOW(prctl(PR_CAPBSET_READ, CAP_KILL));
    SHOW(prctl(PR_CAPBSET_READ, 9999));
    SHOW(prctl(PR_CAPBSET_DROP, CAP_SYS_TIME));
    SHOW(prctl(PR_CAPBSET_READ, CAP_SYS_TIME));
    SHOW(prctl(PR_GET_SECUREBITS));
    SHOW(prctl(PR_SET_TIMERSLACK, 123456));
    SHOW(prctl(PR_GET_TIMERSLACK));
    SHOW(prctl(PR_SET_CHILD_SUBREAPER, 1));
    SHOW(prctl(PR_GET_CHILD_SUBREAPER, &number));
    SHOW(number);
    SHOW(prctl(PR_SET_NO_NEW_PRIVS, 0, 0, 0, 0));
    SHOW(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 5));
    SHOW(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    SHOW(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0));
    SHOW(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_KILL, 0, 0));
    SHOW(prctl(PR_CAP_AMBIENT, 99, 0, 0, 0));
    SHOW(prctl(PR_SET_ENDIAN, 0));
    SHOW(prctl(PR_MCE_KILL_GET, 0, 0, 0, 0));
    SHOW(prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0));
    SHOW(prctl(PR_TASK_PERF_EVENTS_DISABLE));
    SHOW(prctl(424242));
    SHOW(prctl(-1));
    if (fork() == 0) { /* a grandchild comes to the reaper */
        if (fork() == 0) {
            usleep(30000);
            _exit(getppid() != 1 ? 5 : 6);
        }
        _exit(0);
    }
    int status, sum = 0;
    while (wait(&status) > 0)
        sum += status;
    printf("%x\n", sum);
}

/* PR_SET_PDEATHSIG with a signal whose number differs. */
static void death(void)
{
    int ends[2], status;
    char byte;
    if (pipe(ends))
        return;
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGUSR1);
            sigset_t set;
            sigemptyset(&set);
            sigaddset(&set, SIGUSR1);
            sigprocmask(SIG_BLOCK, &set, NULL);
            write(ends[1], "r", 1);
            siginfo_t info;
            int got = sigwaitinfo(&set, &info);
            printf("%d %d\n", got == SIGUSR1, info.si_code);
            fflush(stdout);
            write(ends[1], "d", 1);
            _exit(0);
        }
        read(ends[0], &byte, 1);
        _exit(0);
    }
    waitpid(child, &status, 0);
    read(ends[0], &byte, 1);
    printf("%c\n", byte);
}

static void identities(void)
{
    struct __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct data[2];
    gid_t groups[40], got[40];
    SHOW(syscall(SYS_capget, &header, data));
    printf("%d\n", data[0].effective == data[0].permitted);
    header.version = 7;
    SHOW(syscall(SYS_capget, &header, data));
    printf("%x\n", header.version);
    SHOW(syscall(SYS_capget, &header, BAD));
    header.pid = 999999;
    SHOW(syscall(SYS_capget, &header, data));
    header.pid = 0;
    for (int i = 0; i < 40; i++)
        groups[i] = 0x10000 + 40 - i;
    if (geteuid() == 0) {
        SHOW(setgroups(40, groups));
        SHOW(getgroups(0, NULL));
        SHOW(getgroups(40, got));
        printf("%x %x\n", got[0], got[39]);
        SHOW(getgroups(5, got));
        SHOW(syscall(SYS_getgroups, 40, BAD));
        SHOW(syscall(SYS_getgroups, -1, got));
        SHOW(syscall(SYS_setgroups, 100000, groups));
        SHOW(syscall(SYS_setgroups, 2, BAD));
        SHOW(setfsuid(1234));
        SHOW(setfsuid(-1));
        SHOW(setfsgid(1235));
        SHOW(setfsgid(-1));
        SHOW(setfsuid(0));
        data[0].effective &= ~(1u << CAP_SYS_NICE);
        SHOW(syscall(SYS_capset, &header, data));
        struct sched_param parameters = {.sched_priority = 7};
        SHOW(sched_setscheduler(0, SCHED_FIFO, &parameters));
        SHOW(setresuid(70000, 70001, 70002));
        uid_t real, effective, saved;
        SHOW(getresuid(&real, &effective, &saved));
        printf("%u %u %u\n", real, effective, saved);
        SHOW(setuid(0));
        SHOW(setpriority(PRIO_PROCESS, 0, -1));
        SHOW(kill(1, 0));
        SHOW(setgroups(0, NULL));
    }
    SHOW(personality(0xffffffff));
    SHOW(personality(ADDR_NO_RANDOMIZE));
    SHOW(personality(0xffffffff) == ADDR_NO_RANDOMIZE);
    struct utsname name;
    struct tms times_now;
    SHOW(uname(&name));
    SHOW(times(&times_now) != -1);
    SHOW(syscall(SYS_times, BAD));
    struct rusage usage;
    SHOW(getrusage(RUSAGE_THREAD, &usage));
    SHOW(getrusage(77, &usage));
    SHOW(syscall(SYS_getrusage, RUSAGE_CHILDREN, BAD));
}

static void advice(void)
{
    unsigned char resident[16];
    char *at = mmap(NULL, 16 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(at, 1, 16 * 4096);
    SHOW(madvise(at, 16 * 4096, MADV_DONTNEED));
    SHOW(at[5]);
    memset(at, 1, 16 * 4096);
    munmap(at + 8 * 4096, 4096);
    SHOW(madvise(at, 16 * 4096, MADV_DONTNEED));
    printf("%d %d\n", at[0], at[10 * 4096]);
    SHOW(madvise(at, 4096, 999));
    SHOW(madvise(at + 1, 4096, MADV_DONTNEED));
    SHOW(madvise(at, 0, MADV_DONTNEED));
    SHOW(madvise(at + 8 * 4096, 4096, 999));
    SHOW(madvise(at + 8 * 4096, 4096, MADV_NORMAL));
    SHOW(mincore(at, 4096 * 8, resident));
    SHOW(mincore(at, 4096 * 16, resident));
    SHOW(mincore(at + 1, 4096, resident));
    SHOW(mincore(at, 4096, BAD));
    SHOW(msync(at, 4096, MS_SYNC));
    SHOW(msync(at, 4096, MS_SYNC | MS_ASYNC));
    SHOW(msync(at, 4096, 0x100));
    SHOW(msync(at + 1, 4096, MS_SYNC));
    SHOW(msync(at, 16 * 4096, MS_SYNC));
    SHOW(msync(at + 8 * 4096, 4096, 0x100));
    SHOW(mlock(at + 5, 4096));
    SHOW(munlock(at + 5, 4096));
    SHOW(mlock(at, 16 * 4096));
    SHOW(munlock(at, 16 * 4096));
    SHOW(mlock2(at, 4096, MLOCK_ONFAULT));
    SHOW(mlock2(at, 4096, 6));
    SHOW(mlock2(at + 8 * 4096, 4096, 6));
    SHOW(mlockall(0));
    SHOW(mlockall(8));
    SHOW(mlockall(MCL_ONFAULT));
    SHOW(munlockall());
    SHOW(mremap(at, 4096, 4096, MREMAP_DONTUNMAP) == MAP_FAILED);
    SHOW(mremap(at, 4096, 8192, MREMAP_MAYMOVE | MREMAP_DONTUNMAP) == MAP_FAILED);
    at[0] = 42, at[4096] = 43;
    char *to = mremap(at, 8192, 8192, MREMAP_MAYMOVE | MREMAP_DONTUNMAP);
    printf("%d %d %d %d %d\n", to != MAP_FAILED && to != at, to[0], to[4096], at[0], at[4096]);
    at[1] = 7, to[1] = 8;
    printf("%d %d\n", at[1], to[1]);
    char *fixed = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    SHOW(mremap(to, 8192, 8192, MREMAP_MAYMOVE | MREMAP_DONTUNMAP | MREMAP_FIXED, fixed) == fixed);
    printf("%d %d\n", fixed[1], to[1]);
    fixed[2] = 1;
    SHOW(mremap(fixed, 8192, 8192, MREMAP_FIXED, to) == MAP_FAILED);
    SHOW(mremap(fixed, 8192, 8192, 0x100) == MAP_FAILED);
    SHOW(mremap(fixed + 1, 8192, 8192, 0) == MAP_FAILED);
    SHOW(mremap(fixed, 8192, 0, 0) == MAP_FAILED);
    SHOW(mremap(at + 8 * 4096, 4096, 8192, MREMAP_MAYMOVE) == MAP_FAILED);
    SHOW(mremap(fixed, 8192, 8192, MREMAP_MAYMOVE | MREMAP_FIXED, fixed + 4096) == MAP_FAILED);
    SHOW(mremap(fixed, 8192, 8192, MREMAP_MAYMOVE | MREMAP_FIXED, to + 1) == MAP_FAILED);
    if (fork() == 0) {
        struct rlimit none = {0, 0};
        setrlimit(RLIMIT_MEMLOCK, &none);
        if (geteuid() == 0)
            setresuid(1000, 1000, 1000);
        SHOW(mlock(at, 4096));
        SHOW(mlockall(MCL_CURRENT));
        SHOW(mlock2(at, 4096, 6));
        fflush(stdout);
        _exit(0);
    }
    wait(NULL);
}

int main(int count, char **words)
{
    setvbuf(stdout, NULL, _IONBF, 0);
    const char *way = count > 1 ? words[1] : "";
    if (!strcmp(way, "classes"))
        classes();
    if (!strcmp(way, "barriers"))
        barriers();
    if (!strcmp(way, "options"))
        options();
    if (!strcmp(way, "death"))
        death();
    if (!strcmp(way, "identities"))
        identities();
    if (!strcmp(way, "advice"))
        advice();
    return 0;
}
