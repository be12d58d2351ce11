/* Runs many programs that were linked into this one, each in a process of its own, from the one numbered argv[1] on.
 *
 * Enters: many.h, a line TEST(n) per program, whose main is called tN.main and whose constructors and destructors stand
 * in sections tN_init and tN_fini. Leaves: on standard output a line "n status" per program, as of waitpid; with a
 * second argument DIR, what each program prints, as DIR/n.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CPU_SECONDS = 120, WALL_SECONDS = 900 };

typedef int program(int, char **, char **);
typedef void constructor(int, char **, char **);
typedef void destructor(void);

#define SYMBOL(name) __asm__(name) __attribute__((weak))
#define TEST(n)                                                                                                        \
    extern program main_##n __asm__("t" #n ".main");                                                                   \
    extern constructor *const first_##n[] SYMBOL("__start_t" #n "_init"), *const last_##n[] SYMBOL("__stop_t" #n "_init"); \
    extern destructor *const begin_##n[] SYMBOL("__start_t" #n "_fini"), *const end_##n[] SYMBOL("__stop_t" #n "_fini");
#include "many.h"
#undef TEST

static const struct test {
    program *main;
    constructor *const *first, *const *last;
    destructor *const *begin, *const *end;
} tests[] = {
#define TEST(n) {main_##n, first_##n, last_##n, begin_##n, end_##n},
#include "many.h"
};

static const struct test *running;
static volatile pid_t child;

static void run_destructors(void) {
    for (destructor *const *each = running->end; each > running->begin;)
        (*--each)();
}

static void run(const struct test *test, const char *folder, char **environment) {
    static char name[] = "test", *words[] = {name, NULL};
    struct rlimit limit = {CPU_SECONDS, CPU_SECONDS};
    signal(SIGALRM, SIG_DFL);
    setpgid(0, 0);
    setrlimit(RLIMIT_CPU, &limit);
    int null = open("/dev/null", O_RDWR);
    for (int stream = 0; stream < 3; stream++)
        dup2(null, stream);
    close(null);
    if (folder != NULL) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%zu", folder, (size_t)(test - tests));
        dup2(open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), STDOUT_FILENO);
    }
    running = test;
    atexit(run_destructors);
    for (constructor *const *each = test->first; each < test->last; each++)
        (*each)(1, words, environment);
    exit(test->main(1, words, environment));
}

static void stop(int number) {
    (void)number;
    kill(child, SIGKILL);
}

int main(int count, char **words, char **environment) {
    int report = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 100);
    struct sigaction action = {.sa_handler = stop};
    sigaction(SIGALRM, &action, NULL);
    for (size_t number = count > 1 ? strtoul(words[1], NULL, 10) : 0; number < sizeof tests / sizeof *tests; number++) {
        child = fork();
        if (child == 0) {
            close(report);
            run(&tests[number], count > 2 ? words[2] : NULL, environment);
        }
        alarm(WALL_SECONDS);
        int status = 0;
        while (waitpid(child, &status, 0) != child)
            ;
        alarm(0);
        kill(-child, SIGKILL);
        dprintf(report, "%zu %d\n", number, status);
    }
    return 0;
}
