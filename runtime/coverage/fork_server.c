/* AFL++'s fork server: a process for each input, from where the program has begun.
 *
 * AFL++ starts the program once, with a pipe for its words at descriptor 198 and one for answers behind it. The
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
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS = MR_FUZZER_WORDS, ANSWERS };

bool mr_fuzzed;

void *mr_fuzzer_memory(const char *variable, const char *what, size_t *size_bytes)
{
    const char *text = mr_fuzzed ? secure_getenv(variable) : NULL;
    uint32_t number;
    if (text == NULL || !mr_parse_number(text, 10, &number))
        return NULL;
    void *shared = shmat((int)number, NULL, 0);
    if (shared == (void *)-1)
        mr_fail("AFL++'s map of %s (%s=%s) cannot be had: %s", what, variable, text, strerror(errno));
    struct shmid_ds status;
    if (size_bytes != NULL && shmctl((int)number, IPC_STAT, &status) == 0)
        *size_bytes = status.shm_segsz;
    return shared;
}

const char *mr_fuzzer_cover(void)
{
    const char *chosen = secure_getenv("AFL_QEMU_INST_RANGES");
    return chosen != NULL ? chosen : secure_getenv("AFL_INST_LIBS") != NULL ? "all" : "program";
}

const char *mr_fuzzer_cover_not(void)
{
    return secure_getenv(MR_FUZZER_COVER_NOT);
}

void mr_fork_server_start(void)
{
    if (!mr_fuzzed)
        return;
    for (int fd = WORDS; fd <= ANSWERS; fd++) {
        mr_descriptor_keep(fd);
        fcntl(fd, F_SETFD, FD_CLOEXEC);
    }
}

bool mr_fuzzer_tell(uint32_t word)
{
    ssize_t count;
    do
        count = write(ANSWERS, &word, sizeof word);
    while (count < 0 && errno == EINTR);
    return count == sizeof word;
}

bool mr_fuzzer_hear(uint32_t *word)
{
    ssize_t count;
    do
        count = read(WORDS, word, sizeof *word);
    while (count < 0 && errno == EINTR);
    return count == sizeof *word;
}

static void give_up_descriptors(void)
{
    for (int fd = WORDS; fd <= ANSWERS; fd++) {
        close(fd);
        mr_descriptor_give_up(fd);
    }
}

static int status_of(int64_t child)
{
    int status = 0;
    while (waitpid((pid_t)child, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}

/* Does once what each process would do, or fault for. */
static void prepare(void)
{
    extern const char _start[], etext[]; /* of the host's code; the linker's */
    mr_keep_code_pages((uintptr_t)_start, (uintptr_t)etext);
    mr_modules_prepare();
    mr_own_move_down(ANSWERS + 1);
    mr_baseline_share();
}

/* Returns in each new process; ends with the fuzzer. Who ignores SIGCHLD learns of no process how it ended. `loops`: a process
 * speaks to the fuzzer itself. */
static void serve(struct mr_state *s, bool loops)
{
    const struct sigaction usual = {.sa_handler = SIG_DFL, .sa_flags = SA_NOCLDSTOP};
    struct sigaction guests;
    struct mr_clone fork_only = {.exit_signal = SIGCHLD};
    uint32_t was_ended; /* by the fuzzer, because it took too long: waitpid() has it already */
    bool goes_on = true;
    sigaction(SIGCHLD, &usual, &guests);
    while (goes_on && mr_fuzzer_hear(&was_ended)) {
        mr_baseline_inherit(s);
        int64_t child = mr_process_make(s, &fork_only);
        if (child < 0)
            mr_fail("no process for an input of the fuzzer: %s", strerror((int)-child));
        if (child == 0) {
            sigaction(SIGCHLD, &guests, NULL);
            madvise(mr_counter_map, MR_COUNTER_BYTES, MADV_POPULATE_WRITE); /* one call, not a fault for each page */
            if (!loops)
                give_up_descriptors();
            return;
        }
        if (loops)
            goes_on = mr_persistent_ended(child, status_of(child));
        else
            goes_on = mr_fuzzer_tell((uint32_t)child) && mr_fuzzer_tell((uint32_t)status_of(child));
    }
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
    if (mr_fuzzer_tell(hello) && (!mr_inputs_are_shared() || mr_fuzzer_hear(&answer))) {
        prepare();
        serve(s, loops);
        mr_persistent_loop(s);
    }
    return pc;
}
