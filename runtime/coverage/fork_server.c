/* AFL++'s fork server: a process for each input, from where the program has begun.
 *
 * AFL++ starts the program once, with a pipe for its words at descriptor FORK_SERVER_FD and one for answers behind it. The
 * program says that it is there; then for each word that comes it makes a process, and answers with the process's number and,
 * when that has ended, with its status (docs of AFL++, "Tutorial: building a fork server"; forkserver.c of its releases).
 *
 * Until then the interpreter runs the guest: it stops at any pc.
 */
#include "coverage/coverage.h"

#include "base/counters.h"
#include "base/messages.h"
#include "base/numbers.h"
#include "base/options.h"
#include "baseline/baseline.h"
#include "lifted/module.h"
#include "linux/calls/clone.h"
#include "linux/descriptors.h"
#include "linux/signals.h"
#include "run/host_stack.h"
#include "run/run.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FORK_SERVER_FD = 198, ANSWER_FD };

bool mr_fuzzed;

void *mr_fuzzer_memory(const char *variable, const char *what)
{
    const char *text = mr_fuzzed ? secure_getenv(variable) : NULL;
    uint32_t number;
    if (text == NULL || !mr_parse_number(text, 10, &number))
        return NULL;
    void *shared = shmat((int)number, NULL, 0);
    if (shared == (void *)-1)
        mr_fail("AFL++'s map of %s (%s=%s) cannot be had: %s", what, variable, text, strerror(errno));
    return shared;
}

const char *mr_fuzzer_cover(void)
{
    const char *chosen = secure_getenv("AFL_QEMU_INST_RANGES");
    return chosen != NULL ? chosen : secure_getenv("AFL_INST_LIBS") != NULL ? "all" : "program";
}

void mr_fork_server_start(void)
{
    if (!mr_fuzzed)
        return;
    mr_descriptor_keep(FORK_SERVER_FD);
    mr_descriptor_keep(ANSWER_FD);
}

static bool say(uint32_t word)
{
    ssize_t count;
    do
        count = write(ANSWER_FD, &word, sizeof word);
    while (count < 0 && errno == EINTR);
    return count == sizeof word;
}

static bool hear(uint32_t *word)
{
    ssize_t count;
    do
        count = read(FORK_SERVER_FD, word, sizeof *word);
    while (count < 0 && errno == EINTR);
    return count == sizeof *word;
}

static void give_up_descriptors(void)
{
    for (int fd = FORK_SERVER_FD; fd <= ANSWER_FD; fd++) {
        close(fd);
        mr_descriptor_give_up(fd);
    }
}

/* A process that AFL++ has ended because it took too long is still to be waited for. `stops`: one may also stop itself. */
static int status_of(int64_t child, bool stops)
{
    int status = 0;
    while (waitpid((pid_t)child, &status, stops ? WUNTRACED : 0) < 0 && errno == EINTR)
        ;
    return status;
}

/* Does once what each process would do, or fault for. */
static void prepare(void)
{
    extern const char _start[], etext[]; /* of the host's code; the linker's */
    mr_keep_code_pages((uintptr_t)_start, (uintptr_t)etext);
    mr_modules_prepare();
}

/* Returns in each new process; ends with the fuzzer. Who ignores SIGCHLD learns of no process how it ended. `loops`: a process
 * that has stopped itself goes on with the next input. */
static void serve(struct mr_state *s, bool loops)
{
    const struct sigaction usual = {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDSTOP};
    struct sigaction guests;
    struct mr_clone fork_only = {.exit_signal = SIGCHLD};
    uint32_t was_ended;
    int64_t child = 0;
    bool is_stopped = false;
    sigaction(SIGCHLD, &usual, &guests);
    while (hear(&was_ended)) {
        if (is_stopped && was_ended)
            status_of(child, false);
        if (is_stopped && !was_ended)
            kill((pid_t)child, SIGCONT);
        else
            child = mr_process_make(s, &fork_only);
        if (child < 0)
            mr_fail("no process for an input of the fuzzer: %s", strerror((int)-child));
        if (child == 0) {
            sigaction(SIGCHLD, &guests, NULL);
            give_up_descriptors();
            return;
        }
        if (!say((uint32_t)child))
            break;
        int status = status_of(child, loops);
        is_stopped = WIFSTOPPED(status);
        if (!say((uint32_t)status))
            break;
    }
    if (is_stopped)
        kill((pid_t)child, SIGKILL);
    _exit(0);
}

/* Where AFL_ENTRYPOINT says, as a hexadecimal address: where the program is, or in its file, which may lie anywhere. */
static uint32_t start_of_inputs(uint32_t entry, uint32_t bias)
{
    const char *text = secure_getenv("AFL_ENTRYPOINT");
    if (text == NULL)
        return entry;
    if (!mr_parse_address(text, &entry))
        mr_fail("AFL_ENTRYPOINT is '%s', and must be a hexadecimal address", text);
    return entry < bias ? entry + bias : entry;
}

uint32_t mr_fork_server(struct mr_state *s, uint32_t pc, uint32_t entry, uint32_t bias)
{
    if (!mr_fuzzed)
        return pc;
    const uint32_t enabled = 0x80000001u, new_compares = 0x02000000u, shared_inputs = 0x01000000u; /* FS_OPT_ of its types.h */
    uint32_t hello = 0, answer;
    bool without_code = mr_options.engine_interp, baseline = mr_baseline_on, counting = mr_counting;
    bool comparing = mr_comparing;
    bool loops = mr_persistent_start(bias);
    entry = loops ? mr_persistent_function() : start_of_inputs(entry, bias);
    mr_signal_stack_enter();
    if (pc != entry) {
        mr_options.engine_interp = true;
        mr_baseline_on = mr_counting = mr_comparing = false;
        pc = mr_run_outermost(s, pc, entry);
        mr_options.engine_interp = without_code;
        mr_baseline_on = baseline;
        mr_counting = counting;
        mr_comparing = comparing;
    }
    hello |= comparing ? enabled | new_compares : 0;
    hello |= mr_inputs_are_shared() ? enabled | shared_inputs : 0;
    if (say(hello) && (!mr_inputs_are_shared() || hear(&answer))) {
        prepare();
        serve(s, loops);
        mr_persistent_loop(s);
    }
    return pc;
}
