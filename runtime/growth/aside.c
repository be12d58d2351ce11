/* Host code that needs descriptors while the guest's threads run, and processes that are none of the guest's children.
 *
 * A thread that opens a file takes the lowest free number, and another thread of the guest might expect that one. So such
 * code runs in a process that shares the memory but has a copy of the descriptors (CLONE_VM without CLONE_FILES); its maker
 * waits. Neither that process nor the server sends SIGCHLD, and wait does not see them.
 */
#include "base/sanitizer.h"
#include "growth/growth.h"
#include "linux/signals.h"
#include "linux/threads.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define ASIDE_STACK_BYTES ((size_t)256 << 10)
#define MOST_WORDS 64u
#define ALL_SIGNALS (~(uint64_t)0)
#define MODEST 19

struct aside {
    void (*body)(void *);
    void *argument;
};

static int run_aside(void *given)
{
    const struct aside *aside = given;
    aside->body(aside->argument);
    return 0;
}

void mr_aside(void (*body)(void *), void *argument)
{
    struct aside aside = {body, argument};
    void *stack = MAP_FAILED;
    if (mr_threads_several() && !MR_ADDRESS_SANITIZER)
        stack = mmap(NULL, ASIDE_STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    uint64_t mask = mr_signals_set_host_mask(ALL_SIGNALS); /* its handlers would find the thread's variables of its maker */
    int child = stack == MAP_FAILED ? -1 : clone(run_aside, (char *)stack + ASIDE_STACK_BYTES, CLONE_VM | CLONE_VFORK, &aside);
    if (child < 0)
        body(argument);
    else
        while (waitpid(child, NULL, __WALL) < 0 && errno == EINTR)
            ;
    mr_signals_set_host_mask(mask);
    if (stack != MAP_FAILED)
        munmap(stack, ASIDE_STACK_BYTES);
}

/* ---- starting the server ---- */

/* Splits text at its newlines. Returns how many words there are. */
static unsigned split(char *text, char *words[MOST_WORDS])
{
    unsigned count = 0;
    char *rest = NULL;
    for (char *word = strtok_r(text, "\n", &rest); word != NULL && count < MOST_WORDS - 1; word = strtok_r(NULL, "\n", &rest))
        words[count++] = word;
    words[count] = NULL;
    return count;
}

/* What the guest has set for itself is nothing to the server. */
static void forget_guest(void)
{
    const struct sigaction action = {.sa_handler = SIG_DFL};
    for (int number = 1; number <= 64; number++)
        if (number != SIGKILL && number != SIGSTOP && number != 32 && number != 33)
            sigaction(number, &action, NULL);
    setsid();
    umask(077);
    int null = open("/dev/null", O_RDWR);
    for (int fd = 0; fd < 3; fd++)
        dup2(null, fd);
    syscall(SYS_close_range, 3u, ~0u, 0u);
    if (chdir("/") != 0)
        _exit(1);
    mr_signals_set_host_mask(0);
}

/* The server that is to be. Its stack is in memory that its makers share with it, and wait for. */
struct start {
    char **words, **environment;
    char *stack_end;
};

#define SHARING (MR_ADDRESS_SANITIZER ? 0 : CLONE_VM | CLONE_VFORK) /* no page table is copied; no signal at its end */

static int become_server(void *given)
{
    const struct start *start = given;
    forget_guest();
    execve(*start->words, start->words, start->environment);
    _exit(127);
}

/* In a process between the guest's and the server, which is none of the guest's children. The server gives way to all who
 * work for a user from its first instruction on, but no sooner: until it is another program, the guest waits for it. */
static int start_server(void *given)
{
    struct start *start = given;
    const struct sched_param none = {0};
    int server = clone(become_server, start->stack_end, SHARING, start);
    if (server > 0) {
        setpriority(PRIO_PROCESS, (id_t)server, MODEST);
        sched_setscheduler(server, SCHED_BATCH, &none);
    }
    return 0;
}

static bool start_words(char **words, char **environment)
{
    char *stacks = mmap(NULL, 2 * ASIDE_STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (stacks == MAP_FAILED)
        return false;
    struct start start = {words, environment, stacks + ASIDE_STACK_BYTES};
    uint64_t mask = mr_signals_set_host_mask(ALL_SIGNALS);
    int child = clone(start_server, stacks + 2 * ASIDE_STACK_BYTES, SHARING, &start);
    if (child > 0)
        while (waitpid(child, NULL, __WALL) < 0 && errno == EINTR)
            ;
    mr_signals_set_host_mask(mask);
    munmap(stacks, 2 * ASIDE_STACK_BYTES);
    return child > 0;
}

bool mr_start_apart(const char *command)
{
    char *text = strdup(command), *words[MOST_WORDS];
    unsigned count = text != NULL ? split(text, words) : 0, first = 0;
    char *environment[MOST_WORDS + 1];
    while (first < count && strchr(words[first], '=') != NULL && words[first][0] != '/') {
        environment[first] = words[first];
        first++;
    }
    environment[first] = NULL;
    bool started = first < count && start_words(words + first, environment);
    free(text);
    return started;
}
