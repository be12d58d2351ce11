/* System V IPC, by the old call that the libc of MIPS makes, or ("direct") by the calls of their own. */
#include "show.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>

static int direct;

union argument {
    int value;
    void *pointer;
};

#define MSGGET(...) (direct ? syscall(SYS_msgget, __VA_ARGS__) : msgget(__VA_ARGS__))
#define MSGCTL(...) (direct ? syscall(SYS_msgctl, __VA_ARGS__) : msgctl(__VA_ARGS__))
#define MSGSND(...) (direct ? syscall(SYS_msgsnd, __VA_ARGS__) : msgsnd(__VA_ARGS__))
#define MSGRCV(...) (direct ? syscall(SYS_msgrcv, __VA_ARGS__) : msgrcv(__VA_ARGS__))
#define SEMGET(...) (direct ? syscall(SYS_semget, __VA_ARGS__) : semget(__VA_ARGS__))
#define SEMCTL(...) (direct ? syscall(SYS_semctl, __VA_ARGS__) : semctl(__VA_ARGS__))
#define SHMGET(...) (direct ? syscall(SYS_shmget, __VA_ARGS__) : shmget(__VA_ARGS__))
#define SHMCTL(...) (direct ? syscall(SYS_shmctl, __VA_ARGS__) : shmctl(__VA_ARGS__))
#define SHMAT(...) (direct ? (void *)syscall(SYS_shmat, __VA_ARGS__) : shmat(__VA_ARGS__))
#define SHMDT(...) (direct ? syscall(SYS_shmdt, __VA_ARGS__) : shmdt(__VA_ARGS__))

static int timed_semop(int id, struct sembuf *operations, int count, const struct timespec *time)
{
#ifdef SYS_semtimedop_time64
    long long wide[2] = {time ? time->tv_sec : 0, time ? time->tv_nsec : 0};
    return direct ? syscall(SYS_semtimedop_time64, id, operations, count, time ? wide : NULL)
                  : semtimedop(id, operations, count, time);
#else
    return semtimedop(id, operations, count, time);
#endif
}

static int is_now(time_t time_there)
{
    return time(NULL) - time_there < 60 && time_there - time(NULL) < 60;
}

static void show_perm(const struct ipc_perm *perm)
{
    printf("key %d uid %d %d gid %d %d mode %o seq %d\n", (int)perm->__key, perm->uid == getuid(), perm->cuid == getuid(),
           perm->gid == getgid(), perm->cgid == getgid(), perm->mode, perm->__seq < 65536);
}

/* ---- queues ---- */

struct message {
    long type;
    char text[64];
};

static void queues(void)
{
    struct message message = {7, "seven"};
    struct msqid_ds status;
    struct msginfo info;
    int id = MSGGET(0x4d520001, IPC_CREAT | IPC_EXCL | 0640);
    printf("%d\n", id >= 0);
    SHOW(MSGGET(0x4d520001, IPC_CREAT | IPC_EXCL | 0640));
    SHOW(MSGGET(0x4d520001, 0) == id);
    SHOW(MSGGET(0x4d520002, 0));
    SHOW(MSGSND(id, &message, 6, 0));
    message.type = -1;
    SHOW(MSGSND(id, &message, 6, 0));
    message.type = 0x12345678;
    strcpy(message.text, "large");
    SHOW(MSGSND(id, &message, 64, IPC_NOWAIT));
    SHOW(MSGSND(id, BAD, 6, 0));
    SHOW(MSGSND(id, &message, 1 << 20, 0));
    SHOW(MSGSND(id, &message, -1, 0));
    SHOW(MSGCTL(id, IPC_STAT, &status));
    show_perm(&status.msg_perm);
    printf("%d %d %d %d %ld %ld %d %d\n", is_now(status.msg_stime), status.msg_rtime == 0, is_now(status.msg_ctime),
           status.__msg_cbytes == 70, (long)status.msg_qnum, (long)status.msg_qbytes > 0, status.msg_lspid == getpid(),
           status.msg_lrpid);
    memset(&message, 0, sizeof message);
    SHOW(MSGRCV(id, &message, 3, 7, 0));
    SHOW(MSGRCV(id, &message, 3, 7, MSG_NOERROR));
    printf("%lx %s\n", message.type, message.text);
    SHOW(MSGRCV(id, BAD, 64, 0, 0));
    SHOW(MSGRCV(id, &message, 64, 0, IPC_NOWAIT));
    SHOW(MSGRCV(id, &message, 64, -5L, IPC_NOWAIT | MSG_EXCEPT));
    message.type = 3, strcpy(message.text, "three"), MSGSND(id, &message, 6, 0);
    message.type = 2, strcpy(message.text, "two"), MSGSND(id, &message, 4, 0);
    SHOW(MSGRCV(id, &message, 64, -5L, 0));
    printf("%lx %s\n", message.type, message.text);
    SHOW(MSGRCV(id, &message, 64, 0, 0));
    printf("%lx %s\n", message.type, message.text);
    status.msg_perm.mode = 0600;
    status.msg_qbytes = 1000;
    SHOW(MSGCTL(id, IPC_SET, &status));
    SHOW(MSGCTL(id, IPC_STAT, &status));
    printf("%o %ld %d\n", status.msg_perm.mode, (long)status.msg_qbytes, is_now(status.msg_rtime));
    SHOW(syscall(SYS_msgctl, id, IPC_STAT, BAD)); /* the libc of MIPS would look at it */
    SHOW(MSGCTL(id, 77, &status));
    CHECK(MSGCTL(0, IPC_INFO, (struct msqid_ds *)&info));
    printf("%d %d %d\n", info.msgmax >= 1000, info.msgmnb >= 1000, info.msgmni > 0);
    SHOW(MSGCTL(id, IPC_RMID, NULL));
    SHOW(MSGCTL(id, IPC_RMID, NULL));
}

static void on_alarm(int number)
{
    printf("handler %d\n", number == SIGALRM);
}

/* Interrupted for good, also with SA_RESTART; and one that another process ends. */
static void waiting(void)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    struct itimerval soon = {{0, 0}, {0, 30000}};
    struct message message = {1, "from the child"};
    struct sembuf down = {0, -1, 0}, up = {0, 1, 0};
    sigaction(SIGALRM, &action, NULL);
    int queue = MSGGET(IPC_PRIVATE, 0600), semaphore = SEMGET(IPC_PRIVATE, 1, 0600);
    setitimer(ITIMER_REAL, &soon, NULL);
    SHOW(MSGRCV(queue, &message, 64, 0, 0));
    setitimer(ITIMER_REAL, &soon, NULL);
    SHOW(semop(semaphore, &down, 1));
    setitimer(ITIMER_REAL, &soon, NULL);
    const struct timespec long_time = {10, 0}, short_time = {0, 10000000}, broken = {0, -1};
    SHOW(timed_semop(semaphore, &down, 1, &long_time));
    SHOW(timed_semop(semaphore, &down, 1, &short_time));
    SHOW(timed_semop(semaphore, &down, 1, &broken));
    fflush(stdout);
    if (fork() == 0) {
        usleep(20000);
        MSGSND(queue, &message, 15, 0);
        usleep(20000);
        semop(semaphore, &up, 1);
        usleep(20000);
        MSGCTL(queue, IPC_RMID, NULL);
        SEMCTL(semaphore, 0, IPC_RMID);
        _exit(0);
    }
    SHOW(MSGRCV(queue, &message, 64, 0, 0));
    printf("%s\n", message.text);
    SHOW(timed_semop(semaphore, &down, 1, NULL));
    SHOW(semop(semaphore, &down, 1));
    wait(NULL);
    SHOW(MSGRCV(queue, &message, 64, 0, 0));
}

/* ---- semaphores ---- */

static void semaphores(void)
{
    struct semid_ds status;
    struct seminfo info;
    unsigned short values[5] = {1, 2, 3, 0x1234, 32767};
    union argument argument;
    int id = SEMGET(IPC_PRIVATE, 5, 0600);
    printf("%d\n", id >= 0);
    SHOW(SEMGET(IPC_PRIVATE, 1 << 30, 0600));
    argument.pointer = values;
    SHOW(SEMCTL(id, 0, SETALL, argument));
    memset(values, 0, sizeof values);
    SHOW(SEMCTL(id, 0, GETALL, argument));
    printf("%d %d %d %x %d\n", values[0], values[1], values[2], values[3], values[4]);
    argument.pointer = BAD;
    SHOW(SEMCTL(id, 0, GETALL, argument));
    argument.value = 77;
    SHOW(SEMCTL(id, 1, SETVAL, argument));
    argument.value = 1 << 20;
    SHOW(SEMCTL(id, 1, SETVAL, argument));
    SHOW(SEMCTL(id, 1, GETVAL, argument));
    SHOW(SEMCTL(id, 9, GETVAL, argument));
    SHOW(SEMCTL(id, 1, GETPID, argument) == getpid());
    SHOW(SEMCTL(id, 1, GETNCNT, argument));
    SHOW(SEMCTL(id, 1, GETZCNT, argument));
    struct sembuf operations[70] = {{0, 5, SEM_UNDO}, {1, -7, IPC_NOWAIT}, {3, -0x34, 0}};
    SHOW(semop(id, operations, 3));
    for (int i = 0; i < 5; i++)
        printf("%d ", (int)SEMCTL(id, i, GETVAL, argument));
    for (int i = 0; i < 70; i++)
        operations[i] = (struct sembuf){i % 2, 1, 0};
    SHOW(semop(id, operations, 70));
    for (int i = 0; i < 2; i++)
        printf("%d ", (int)SEMCTL(id, i, GETVAL, argument));
    operations[0] = (struct sembuf){0, -1000, IPC_NOWAIT};
    SHOW(semop(id, operations, 1));
    operations[0] = (struct sembuf){0, 0, IPC_NOWAIT};
    SHOW(semop(id, operations, 1));
    operations[0] = (struct sembuf){99, 0, IPC_NOWAIT};
    SHOW(semop(id, operations, 1));
    SHOW(semop(id, BAD, 1));
    SHOW(semop(id, operations, 0));
    SHOW(semop(id, operations, 100000000));
    argument.pointer = &status;
    SHOW(SEMCTL(id, 0, IPC_STAT, argument));
    show_perm(&status.sem_perm);
    printf("%d %d %ld\n", is_now(status.sem_otime), is_now(status.sem_ctime), (long)status.sem_nsems);
    status.sem_perm.mode = 0644;
    SHOW(SEMCTL(id, 0, IPC_SET, argument));
    SHOW(SEMCTL(id, 0, IPC_STAT, argument));
    printf("%o\n", status.sem_perm.mode);
    argument.pointer = &info;
    CHECK(SEMCTL(0, 0, IPC_INFO, argument));
    printf("%d %d %d\n", info.semmni > 0, info.semmsl > 0, info.semvmx);
    SHOW(SEMCTL(id, 0, 77, argument));
    SHOW(SEMCTL(id, 0, IPC_RMID, argument));
    SHOW(SEMCTL(id, 0, IPC_RMID, argument));
}

/* ---- shared memory ---- */

static int is_mapped(void *at)
{
    unsigned char here;
    return mincore(at, 4096, &here) == 0;
}

static void memory(void)
{
    const size_t size = 3 * 65536 + 100;
    struct shmid_ds status;
    int id = SHMGET(IPC_PRIVATE, size, 0600), status_of_child;
    printf("%d\n", id >= 0);
    char *at = SHMAT(id, NULL, 0);
    printf("%d\n", at != (void *)-1 && ((uintptr_t)at & 0xfff) == 0);
    at[0] = 1;
    at[size - 1] = 2;
    SHOW(at[100]);
    SHOW(SHMCTL(id, IPC_STAT, &status));
    show_perm(&status.shm_perm);
    printf("%ld %ld %d %d %d %d %d\n", (long)status.shm_segsz, (long)status.shm_nattch, is_now(status.shm_atime),
           status.shm_dtime == 0, is_now(status.shm_ctime), status.shm_cpid == getpid(), status.shm_lpid == getpid());
    char *second = SHMAT(id, NULL, SHM_RDONLY);
    printf("%d %d %d\n", second != at, second[0], second[size - 1]);
    SHOW(read(0, second, 1));
    int zero = open("/dev/zero", O_RDONLY);
    SHOW(read(zero, second, 1));
    SHOW(read(zero, at, 1));
    SHOW(second[0]);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        at[5] = 55;
        _exit(SHMDT(second));
    }
    waitpid(child, &status_of_child, 0);
    printf("%d %d %x\n", at[5], second[5], status_of_child);
    SHMCTL(id, IPC_STAT, &status);
    printf("%ld %d\n", (long)status.shm_nattch, status.shm_lpid == child);
    child = fork();
    if (child == 0) {
        second[1] = 1; /* may not be written */
        _exit(1);
    }
    waitpid(child, &status_of_child, 0);
    printf("%d\n", WIFSIGNALED(status_of_child) && WTERMSIG(status_of_child) == SIGSEGV);
    SHOW(SHMDT(second));
    SHOW(SHMDT(second));
    SHOW(SHMDT(at + 4096));
    SHOW(is_mapped(second));
    SHOW(SHMAT(id, at, 0) == (void *)-1);
    SHOW(SHMAT(id, at + 5, SHM_RND | SHM_REMAP) == at);
    SHOW(SHMAT(id, at + 5, 0) == (void *)-1);
    SHOW(SHMAT(id, NULL, SHM_REMAP) == (void *)-1);
    SHOW(SHMAT(-1, NULL, 0) == (void *)-1);
    SHOW(SHMAT(id, second, 0) == second);
    SHOW(second[5]);
    SHOW(munmap(second + 65536, 65536));
    char *inside = mmap(second + 65536, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    SHOW(inside == second + 65536);
    *inside = 42;
    SHOW(SHMDT(second));
    printf("%d %d %d %d\n", *inside, is_mapped(second), is_mapped(inside + 4096), is_mapped(second + 2 * 65536));
    SHOW(mprotect(at, 4096, PROT_READ));
    SHOW(mprotect(at, 4096, PROT_READ | PROT_WRITE));
    SHOW(SHMCTL(id, IPC_RMID, NULL));
    SHMCTL(id, IPC_STAT, &status);
    printf("%o\n", status.shm_perm.mode);
    at[7] = 3;
    SHOW(SHMDT(at));
    SHOW(is_mapped(at));
    SHOW(SHMCTL(id, IPC_STAT, &status));
    SHOW(SHMGET(IPC_PRIVATE, 0, 0600));
    for (int i = 0; i < 40; i++) {
        id = SHMGET(IPC_PRIVATE, 1 << 20, 0600);
        at = SHMAT(id, NULL, 0);
        SHMCTL(id, IPC_RMID, NULL);
        at[0] = i;
        if (SHMDT(at))
            printf("not detached\n");
    }
}

int main(int count, char **words)
{
    direct = count > 2;
    if (!strcmp(words[1], "queues"))
        queues();
    if (!strcmp(words[1], "waiting"))
        waiting();
    if (!strcmp(words[1], "semaphores"))
        semaphores();
    if (!strcmp(words[1], "memory"))
        memory();
    return 0;
}
