/* What a debugger looks at (tests/gdb); the first argument chooses. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

const char greeting[] = "hello";
volatile int turns, handled, go_on;
struct {
    int count;
    double ratio;
} cell = {3, 1.5};

__attribute__((noipa)) int add(int a, int b)
{
    turns += a;
    cell.ratio *= 2;
    return a + b;
}

__attribute__((noipa)) int sum(int count)
{
    int result = 0;
    for (int i = 0; i < count; i++)
        result = add(result, i);
    return result;
}

__attribute__((noipa)) void tell(const char *text)
{
    write(1, text, strlen(text));
}

static void on_signal(int number)
{
    handled += number;
}

__attribute__((noipa)) void work(long number)
{
    __sync_fetch_and_add(&turns, 1 << 8 * number);
}

static void *in_thread(void *number)
{
    for (int i = 0; i < 2; i++)
        work((long)number);
    while (!go_on)
        usleep(1000);
    return NULL;
}

static void threads(void)
{
    pthread_t all[3];
    for (long i = 0; i < 3; i++)
        pthread_create(&all[i], NULL, in_thread, (void *)i);
    go_on = 1;
    for (int i = 0; i < 3; i++)
        pthread_join(all[i], NULL);
    printf("turns %x\n", turns);
}

static void signals(void)
{
    signal(SIGUSR1, on_signal);
    signal(SIGUSR2, on_signal);
    raise(SIGUSR1);
    printf("handled %d\n", handled);
    raise(SIGUSR2);
    printf("handled %d\n", handled);
    kill(getpid(), SIGUSR1);
    printf("handled %d\n", handled);
}

static void forks(void)
{
    int status = 0, child = fork();
    if (child == 0)
        _exit(sum(5));
    waitpid(child, &status, 0);
    printf("child %d\n", WEXITSTATUS(status));
}

static void block(void)
{
    char byte = 0;
    tell("reading\n");
    long count = read(0, &byte, 1);
    printf("read %ld %c, turns %d\n", count, byte, turns);
}

static void spin(void)
{
    tell("spinning\n");
    while (!go_on)
        turns++;
    tell("done\n");
}

__attribute__((noipa)) int crash(volatile int *where)
{
    return *where + 1;
}

__attribute__((noipa)) static void *turn(void *turned)
{
    for (;;)
        ++*(volatile unsigned *)turned;
    return NULL;
}

static int crash_beside_threads(void)
{
    static volatile unsigned turned[2];
    pthread_t all[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&all[i], NULL, turn, (void *)&turned[i]);
    while (turned[0] < 1000 || turned[1] < 1000)
        ;
    return crash((int *)0x1234);
}

int main(int count, char **words)
{
    const char *way = count > 1 ? words[1] : "";
    if (strcmp(way, "sum") == 0)
        printf("sum %d\n", sum(5));
    if (strcmp(way, "threads") == 0)
        threads();
    if (strcmp(way, "signals") == 0)
        signals();
    if (strcmp(way, "forks") == 0)
        forks();
    if (strcmp(way, "block") == 0)
        block();
    if (strcmp(way, "spin") == 0)
        spin();
    if (strcmp(way, "crash") == 0)
        return crash((int *)0x1234);
    if (strcmp(way, "busy") == 0)
        return crash_beside_threads();
    if (strcmp(way, "abort") == 0)
        abort();
    if (strcmp(way, "exec") == 0)
        execv(words[2], words + 2);
    return 7;
}
