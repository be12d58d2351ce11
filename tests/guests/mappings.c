/* The address space: mmap in its kinds, mprotect, mremap, brk, advice. Runs in an empty folder. */
#include "show.h"

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#define PAGE 4096

static sigjmp_buf back;
static volatile int fault_signal, fault_code;

static void on_fault(int number, siginfo_t *info, void *context)
{
    fault_signal = number;
    fault_code = info->si_code;
    siglongjmp(back, 1);
}

/* Whether a byte can be read and written: "rw", "r-", or "--" with the signal and its code. */
static const char *rights(volatile char *at)
{
    static char text[32];
    fault_signal = 0;
    if (sigsetjmp(back, 1)) {
        sprintf(text, "-- %s %d", fault_signal == SIGSEGV ? "SEGV" : "BUS", fault_code);
        return text;
    }
    char value = *at;
    if (sigsetjmp(back, 1))
        return "r-";
    *at = value;
    return "rw";
}

static void anonymous(void)
{
    char *at = mmap(NULL, 3 * PAGE + 5, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    printf("%s %s %d\n", rights(at), rights(at + 4 * PAGE - 1), at[2 * PAGE]);
    SHOW(mprotect(at + PAGE, PAGE, PROT_READ));
    printf("%s\n", rights(at + PAGE));
    SHOW(mprotect(at + PAGE, PAGE, PROT_NONE));
    printf("%s\n", rights(at + PAGE));
    SHOW(mprotect(at + PAGE, PAGE, PROT_WRITE));
    printf("%s\n", rights(at + PAGE));
    SHOW(mprotect(at + 1, PAGE, PROT_READ));
    SHOW(munmap(at + PAGE, PAGE));
    printf("%s %s %s\n", rights(at), rights(at + PAGE), rights(at + 2 * PAGE));
    SHOW(mprotect(at, 3 * PAGE, PROT_READ));
    printf("%s %s\n", rights(at), rights(at + 2 * PAGE));
    SHOW(munmap(at + 1, PAGE));
    SHOW(munmap(at, 0));
    SHOW(mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
    SHOW(mmap(NULL, PAGE, PROT_READ, MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
    SHOW(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, 99, 0) == MAP_FAILED);
    SHOW(mmap(at + 1, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED);
    SHOW(mmap(at, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED);
    SHOW((char *)mmap(at + PAGE, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) - at);
    SHOW((char *)mmap(at, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) - at);
    printf("%s\n", rights(at));
    SHOW(msync(at, 3 * PAGE, MS_SYNC));
    unsigned char in_core[2];
    at[0] = 1;
    SHOW(mincore(at, PAGE, in_core));
    printf("%d\n", in_core[0] & 1);
    SHOW(madvise(at, PAGE, MADV_DONTNEED));
    printf("%d\n", at[0]);
    SHOW(madvise(at, PAGE, 12345));
    SHOW(mlock(at, PAGE));
    SHOW(munlock(at, PAGE));
    SHOW(munmap(at, 4 * PAGE));
    SHOW(mincore(at, PAGE, in_core));
    SHOW(madvise(at, PAGE, MADV_NORMAL));
}

static void files(void)
{
    int fd = open("f", O_RDWR | O_CREAT | O_TRUNC, 0600);
    char text[32];
    ftruncate(fd, PAGE + 100);
    char *shared = mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    char *private = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, PAGE);
    strcpy(shared + PAGE, "through the map");
    pread(fd, text, 16, PAGE);
    printf("%s / %s\n", text, private);
    pwrite(fd, "by the call", 12, PAGE);
    printf("%s / %s\n", shared + PAGE, private);
    strcpy(private, "mine");
    printf("%s / %s\n", shared + PAGE, private);
    printf("%s %s\n", rights(shared + PAGE), rights(shared + 2 * PAGE));
    SHOW(msync(shared, PAGE, MS_SYNC));
    SHOW(msync(shared, PAGE, MS_SYNC | MS_ASYNC));
    SHOW(mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE, fd, 100) == MAP_FAILED);
    fflush(stdout);
    if (fork() == 0) {
        strcpy(shared, "from the child");
        strcpy(private, "lost");
        _exit(0);
    }
    wait(NULL);
    printf("%s / %s\n", shared, private);
    close(fd);
    fd = open("f", O_RDONLY);
    SHOW(mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
    char *read_only = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, 0);
    SHOW(mprotect(read_only, PAGE, PROT_READ | PROT_WRITE));
    SHOW(mprotect(read_only, PAGE, 0x100));
    SHOW(mprotect(read_only, 0, 0x100));
    char *free_pages = mmap(NULL, 4 * PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(free_pages, 4 * PAGE);
    char *hinted = mmap(free_pages + PAGE + 1, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    printf("%ld\n", (long)(hinted - free_pages));
    printf("%s\n", rights(read_only));
}

static void heap(void);

/* Calls find pages that are mapped beyond the end of their file as they find those that are not there. */
static void beyond_the_end(void)
{
    sigset_t set, now;
    int fd = open("short", O_RDWR | O_CREAT, 0600);
    ftruncate(fd, PAGE);
    char *at = (char *)mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) + PAGE;
    sigfillset(&set);
    SHOW(syscall(SYS_pipe2, at, 0));
    SHOW(syscall(SYS_uname, at));
    SHOW(syscall(SYS_uname, at - 8));
    SHOW(syscall(SYS_clock_gettime, CLOCK_REALTIME, at));
    SHOW(syscall(SYS_nanosleep, at, NULL));
    SHOW(syscall(SYS_rt_sigprocmask, SIG_BLOCK, at, NULL, _NSIG / 8));
    SHOW(syscall(SYS_ppoll, at, 1, NULL, &set, _NSIG / 8));
    SHOW(open(at, O_RDONLY));
    SHOW(writev(1, (struct iovec *)at, 1));
    SHOW(execve("/proc/self/exe", (char **)at, NULL));
    SHOW(read(fd, at, 1));
    sigprocmask(SIG_BLOCK, NULL, &now);
    printf("%d %s\n", sigismember(&now, SIGUSR1), rights(at));
    fflush(stdout);
    if (fork() == 0) {
        stack_t stack = {.ss_sp = at - 3 * PAGE, .ss_size = 4 * PAGE};
        struct sigaction action = {.sa_handler = (void (*)(int))heap, .sa_flags = SA_ONSTACK};
        sigaltstack(&stack, NULL);
        sigaction(SIGUSR1, &action, NULL);
        signal(SIGSEGV, SIG_DFL);
        signal(SIGBUS, SIG_DFL);
        raise(SIGUSR1);
        _exit(0);
    }
    int status;
    wait(&status);
    printf("%d\n", WTERMSIG(status) == SIGSEGV);
    ftruncate(fd, 2 * PAGE);
    SHOW(syscall(SYS_clock_gettime, CLOCK_REALTIME, at));
}

static void remapping(void)
{
    char *at = mmap(NULL, 8 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    strcpy(at, "content");
    munmap(at + 2 * PAGE, 6 * PAGE);
    SHOW((char *)mremap(at, 2 * PAGE, 4 * PAGE, 0) - at);
    printf("%s %s\n", rights(at + 3 * PAGE), rights(at + 4 * PAGE));
    SHOW((char *)mremap(at, 4 * PAGE, PAGE, 0) - at);
    printf("%s %s\n", rights(at), rights(at + PAGE));
    char *block = mmap(at + PAGE, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    SHOW(mremap(at, PAGE, 2 * PAGE, 0) == MAP_FAILED);
    char *moved = mremap(at, PAGE, 200 * PAGE, MREMAP_MAYMOVE);
    printf("%s %d %s\n", moved, moved != at, rights(at));
    moved[200 * PAGE - 1] = 1;
    char *fixed = mremap(moved, 200 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, block);
    printf("%d %s %s %s\n", fixed == block, fixed, rights(moved), rights(block + PAGE));
    SHOW(mremap(moved, PAGE, PAGE, MREMAP_MAYMOVE) == MAP_FAILED);
    SHOW(mremap(fixed, PAGE, 0, MREMAP_MAYMOVE) == MAP_FAILED);
    SHOW(mremap(fixed, 2 * PAGE, PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, fixed + PAGE) == MAP_FAILED);
}

static void heap(void)
{
    char *start = sbrk(0);
    SHOW(brk(start + 5 * PAGE + 7));
    printf("%ld\n", (long)((char *)sbrk(0) - start));
    printf("%s\n", rights(start + 5 * PAGE + 6));
    SHOW(brk(start));
    printf("%s\n", rights((char *)(((uintptr_t)start + PAGE - 1) & -PAGE) + PAGE));
    char *blocks[200];
    unsigned sum = 0;
    for (int i = 0; i < 200; i++)
        memset(blocks[i] = malloc(i * 1000 + 1), i, i * 1000 + 1);
    for (int i = 0; i < 200; i++) {
        sum += (unsigned char)blocks[i][i * 1000];
        blocks[i] = realloc(blocks[i], i * 2000 + 1);
    }
    for (int i = 0; i < 200; i++) {
        sum += (unsigned char)blocks[i][i * 1000];
        free(blocks[i]);
    }
    printf("%u\n", sum);
}

int main(void)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
    anonymous();
    files();
    beyond_the_end();
    remapping();
    heap();
    return 0;
}
