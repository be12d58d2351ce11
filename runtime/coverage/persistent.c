/* AFL++'s persistent mode: a process runs one function for many inputs.
 *
 *     AFL_QEMU_PERSISTENT_ADDR   the function: the fork server begins there, too
 *     AFL_QEMU_PERSISTENT_CNT    how many inputs a process has; default 1000
 *     AFL_QEMU_PERSISTENT_MEM    memory is for each input as it was for the first
 *     MIPSREC_FUZZ_BUFFER        registers, as `a0,a1`: the first has the address of the input then, the second its size
 *
 * The function returns to an address where no code can be (run/run.h). Registers are for each input as they were for the first.
 * With a buffer the input comes by memory that is shared with the fuzzer, and no file is read. A process that has lost the
 * buffer, or whose mappings are others where memory is to be as before, ends instead of going on: the next input gets a new one.
 *
 * Programs of AFL++ stop themselves behind each input. Their fork server waits for that, tells the fuzzer, and has them go on.
 * Here the process says itself that it had stopped, and hears of the next input: no other process is woken. The fork server
 * only waits for its end, and tells the fuzzer of that if the process has not.
 */
#include "base/counters.h"
#include "base/messages.h"
#include "base/numbers.h"
#include "coverage/coverage.h"
#include "cpu/registers.h"
#include "host/host.h"
#include "memory/pages.h"
#include "memory/values.h"
#include "run/run.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#define MOST_INPUT_BYTES (1u << 20) /* MAX_FILE of its config.h */
#define USUAL_COUNT 1000u
#define STOPPED (SIGSTOP << 8 | 0x7f) /* a status of wait() */
#define LONGEST_PAUSE_MS 5000 /* of a fuzzer between two inputs, if a process dies as it ends one */

static uint32_t function; /* 0: processes are for one input */
static uint32_t most_inputs = USUAL_COUNT;
static unsigned address_register, size_register; /* 0: none */
static const uint8_t *shared; /* the size of the input, 4 bytes, and the input; NULL: it comes as a file */
static uint32_t buffer;       /* guest address of MOST_INPUT_BYTES */

/* ---- whose turn it is ---- */

/* Both processes see it. The server reads it once the process has ended. */
enum turn {
    BEGINS, /* it has an input, and the fuzzer does not know its number yet */
    RUNS,
    TELLS, /* that the input is done */
    WAITS,
};
static _Atomic enum turn *turn;

static void share_turn(void)
{
    turn = mmap(NULL, sizeof *turn, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (turn == MAP_FAILED)
        mr_fail("no memory to share with the processes for the fuzzer's inputs: %s", strerror(errno));
}

/* Whether the fuzzer goes on, so that it has heard of the end of an input. A process may be killed in the moment in which it
 * says that. */
static bool fuzzer_goes_on(void)
{
    struct pollfd next = {.fd = MR_FUZZER_WORDS, .events = POLLIN};
    return poll(&next, 1, LONGEST_PAUSE_MS) > 0;
}

bool mr_persistent_ended(int64_t process, int status)
{
    enum turn last = atomic_exchange(turn, BEGINS);
    if (last == WAITS || (last == TELLS && fuzzer_goes_on()))
        return true;
    return (last != BEGINS || mr_fuzzer_tell((uint32_t)process)) && mr_fuzzer_tell((uint32_t)status);
}

/* What the server would do, without its being woken. The fuzzer kills no process between its word and the answer: so poll()
 * leaves the word to the server where this process is killed. */
static void await_input(void)
{
    struct pollfd next = {.fd = MR_FUZZER_WORDS, .events = POLLIN};
    uint32_t was_ended;
    *turn = TELLS;
    if (!mr_fuzzer_tell(STOPPED))
        _exit(0);
    *turn = WAITS;
    while (poll(&next, 1, -1) < 0)
        ;
    *turn = BEGINS;
    if (!mr_fuzzer_hear(&was_ended))
        _exit(0);
}

/* ---- what is asked for ---- */

static unsigned register_named(const char *name, size_t length)
{
    for (unsigned i = 1; i < 32; i++)
        if (strlen(mr_registers[i].name) == length && strncmp(mr_registers[i].name, name, length) == 0)
            return i;
    mr_fail("MIPSREC_FUZZ_BUFFER is '%s': write one register, or two with a comma between, as a0,a1", name);
}

static void find_registers(void)
{
    const char *text = secure_getenv("MIPSREC_FUZZ_BUFFER");
    if (text == NULL)
        return;
    size_t length = strcspn(text, ",");
    address_register = register_named(text, length);
    if (text[length] == ',')
        size_register = register_named(text + length + 1, strlen(text + length + 1));
    shared = mr_fuzzer_memory("__AFL_SHM_FUZZ_ID", "inputs", NULL);
    if (shared == NULL)
        mr_fail("MIPSREC_FUZZ_BUFFER wants inputs in shared memory (__AFL_SHM_FUZZ_ID), as afl-fuzz and `afl-showmap -i DIR` have them");
}

bool mr_persistent_start(uint32_t bias)
{
    const char *place = secure_getenv("AFL_QEMU_PERSISTENT_ADDR"), *count = secure_getenv("AFL_QEMU_PERSISTENT_CNT");
    if (place == NULL)
        return false;
    if (secure_getenv("AFL_QEMU_PERSISTENT_HOOK") != NULL)
        mr_fail("AFL_QEMU_PERSISTENT_HOOK names native code, which this host cannot load; see MIPSREC_FUZZ_BUFFER in "
                "docs/usage/fuzzing.md");
    if (secure_getenv("AFL_QEMU_PERSISTENT_RET") != NULL || secure_getenv("AFL_QEMU_PERSISTENT_RETADDR_OFFSET") != NULL)
        mr_fail("AFL_QEMU_PERSISTENT_RET and ..._RETADDR_OFFSET are not heeded: AFL_QEMU_PERSISTENT_ADDR must be that of a "
                "function, and the loop ends where it returns");
    if (!mr_parse_address(place, &function) || function == 0)
        mr_fail("AFL_QEMU_PERSISTENT_ADDR is '%s', and must be a hexadecimal address", place);
    if (count != NULL && (!mr_parse_number(count, 10, &most_inputs) || most_inputs == 0))
        mr_fail("AFL_QEMU_PERSISTENT_CNT is '%s', and must be a number from 1 on", count);
    function += function < bias ? bias : 0;
    find_registers();
    share_turn();
    return true;
}

uint32_t mr_persistent_function(void)
{
    return function;
}

bool mr_inputs_are_shared(void)
{
    return shared != NULL;
}

/* ---- inputs ---- */

static void place_input(struct mr_state *s)
{
    uint32_t size_bytes;
    if (shared == NULL)
        return;
    memcpy(&size_bytes, shared, sizeof size_bytes);
    size_bytes = size_bytes < MOST_INPUT_BYTES ? size_bytes : MOST_INPUT_BYTES;
    memcpy(mr_host_at(buffer), shared + sizeof size_bytes, size_bytes);
    GPR(s, address_register) = buffer;
    if (size_register != 0)
        GPR(s, size_register) = size_bytes;
}

static void make_buffer(void)
{
    if (shared == NULL)
        return;
    buffer = mr_find_free(MOST_INPUT_BYTES);
    if (buffer == 0 || mr_map(buffer, MOST_INPUT_BYTES, MR_READ | MR_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, true) < 0)
        mr_fail("no memory for the fuzzer's inputs: %u bytes", MOST_INPUT_BYTES);
}

/* The program may have unmapped it, or made it read-only. */
static bool has_buffer(void)
{
    return shared == NULL || mr_accessible(buffer, MOST_INPUT_BYTES, MR_WRITE);
}

/* ---- the loop ---- */

static void restore_registers(struct mr_state *s, const struct mr_state *before)
{
#define RESTORE(field) memcpy(&s->field, &before->field, sizeof s->field);
    MR_VERIFIED_FIELDS(RESTORE)
#undef RESTORE
    s->fp_word = before->fp_word;
}

void mr_persistent_loop(struct mr_state *s)
{
    if (function == 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a process that waits would stay */
    pid_t self = getpid();
    make_buffer();
    mr_set_counters(mr_counter_map);
    GPR(s, MR_REG_RA) = MR_RETURN_PC;
    GPR(s, MR_REG_T9) = function;
    struct mr_state before = *s;
    if (secure_getenv("AFL_QEMU_PERSISTENT_MEM") != NULL)
        mr_snapshot_take(buffer, shared != NULL ? MOST_INPUT_BYTES : 0);
    for (uint32_t i = 0;; i++) {
        if (!mr_fuzzer_tell((uint32_t)self))
            _exit(0);
        *turn = RUNS;
        place_input(s);
        mr_run_outermost(s, function, MR_RETURN_PC);
        if (i + 1 >= most_inputs || !mr_snapshot_restore() || !has_buffer() || getpid() != self)
            _exit(0);
        restore_registers(s, &before);
        await_input();
    }
}
