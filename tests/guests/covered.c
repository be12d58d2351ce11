/* Ways in which code comes to run, and in which programs end, one for each word of the command line (test_marks.py). Each is a
 * function of its own. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/cachectl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))
#define PAGE 4096

APART int in_child(int x) { return x * 3 + 1; }
APART int in_thread(int x) { return x * 5 + 1; }
APART int before_kill(int x) { return x * 7 + 1; }
APART int in_handler(int x) { return x * 9 + 1; }
APART int nowhere(int x) { return x * 11 + 1; }
int patched(int);
__asm__(".section .text.patched, \"ax\", @progbits\n.balign 4\n.set push\n.set noreorder\n.set nomips16\n"
        ".globl patched\n.type patched, @function\npatched:\n\tjr $ra\n\tli $v0, 1\n"
        ".globl after_patched\nafter_patched:\n\tjr $ra\n\tli $v0, 2\n"
        ".set pop\n.size patched, . - patched\n.previous\n");

static void forks(void)
{
    if (fork() == 0) {
        volatile int x = in_child(1);
        kill(getpid(), SIGKILL + 0 * x);
    }
    wait(NULL);
}

static void *thread(void *argument)
{
    *(volatile int *)argument = in_thread(2);
    return NULL;
}

static void threads(void)
{
    pthread_t made;
    int result;
    pthread_create(&made, NULL, thread, &result);
    pthread_join(made, NULL);
}

static void on_signal(int number)
{
    volatile int x = in_handler(number);
    (void)x;
}

static void handles(void)
{
    signal(SIGUSR1, on_signal);
    raise(SIGUSR1);
}

/* The first instruction becomes a nop, so that control goes on to what is behind. */
static void patches(void)
{
    uint32_t *word = (uint32_t *)(uintptr_t)patched;
    void *page = (void *)((uintptr_t)word & ~(uintptr_t)(PAGE - 1));
    mprotect(page, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
    *word = 0;
    cacheflush(word, 4, BCACHE);
    printf("%d\n", patched(0));
}

/* Code of no file where a file was mapped before. */
static void maps(const char *own)
{
    static const uint32_t code[] = {0x03e00008, 0x2402002a}; /* jr $ra; li $v0, 42 */
    FILE *file = fopen(own, "rb");
    void *at = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fileno(file), 0);
    munmap(at, PAGE);
    uint32_t *words = mmap(at, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    memcpy(words, code, sizeof code);
    cacheflush(words, sizeof code, BCACHE);
    printf("%d\n", ((int (*)(void))(uintptr_t)words)());
}

static void opens(const char *library)
{
    void *handle = dlopen(library, RTLD_NOW);
    int (*one)(void) = handle != NULL ? (int (*)(void))(uintptr_t)dlsym(handle, "one") : NULL;
    printf("%d\n", one != NULL ? one() : -1);
}

int main(int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : "";
    if (strcmp(word, "fork") == 0)
        forks();
    else if (strcmp(word, "thread") == 0)
        threads();
    else if (strcmp(word, "handle") == 0)
        handles();
    else if (strcmp(word, "patch") == 0)
        patches();
    else if (strcmp(word, "map") == 0)
        maps(argv[0]);
    else if (strcmp(word, "open") == 0)
        opens(argv[2]);
    else if (strcmp(word, "exec") == 0)
        execv(argv[2], argv + 2);
    else if (strcmp(word, "kill") == 0) {
        volatile int x = before_kill(3);
        kill(getpid(), SIGKILL + 0 * x);
    } else if (strcmp(word, "wait") == 0) {
        handles();
        puts("ready");
        fflush(stdout);
        for (;;)
            pause();
    }
    return nowhere == NULL;
}
