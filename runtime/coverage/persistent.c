/* AFL++'s persistent mode: a process runs one function for many inputs, and stops itself behind each.
 *
 *     AFL_QEMU_PERSISTENT_ADDR   the function: the fork server begins there, too
 *     AFL_QEMU_PERSISTENT_CNT    how many inputs a process has; default 1000
 *     AFL_QEMU_PERSISTENT_MEM    memory is for each input as it was for the first
 *     MIPSREC_FUZZ_BUFFER        registers, as `a0,a1`: the first has the address of the input then, the second its size
 *
 * The function returns to an address where no code can be (run/run.h). Registers are for each input as they were for the first.
 * With a buffer the input comes by memory that is shared with the fuzzer, and no file is read. Memory is compared with a copy of
 * what could be written and was there. A process that has mapped memory, or given it back, ends instead of going on, so that the
 * next input gets a new one.
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
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define MOST_INPUT_BYTES (1u << 20) /* MAX_FILE of its config.h */
#define USUAL_COUNT 1000u

static uint32_t function; /* 0: processes are for one input */
static uint32_t most_inputs = USUAL_COUNT;
static unsigned address_register, size_register; /* 0: none */
static const uint8_t *shared; /* the size of the input, 4 bytes, and the input; NULL: it comes as a file */
static uint32_t buffer;       /* guest address of MOST_INPUT_BYTES */

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
    shared = mr_fuzzer_memory("__AFL_SHM_FUZZ_ID", "inputs");
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

/* ---- memory ---- */

static struct copy {
    uint32_t page;
    bool was_there; /* else it has become what its file has, or zeros */
    uint8_t bytes[MR_PAGE_BYTES];
} *copies;
static uint32_t copy_count;
static uint8_t *pages_before; /* mr_pages */

static bool is_there(uint32_t page)
{
    unsigned char state = 0;
    return mincore(mr_host_at(page * MR_PAGE_BYTES), MR_PAGE_BYTES, &state) == 0 && (state & 1) != 0;
}

static bool may_change(uint32_t page)
{
    return (mr_pages[page] & (MR_WRITE | MR_SHARED)) == MR_WRITE && (buffer == 0 || page - buffer / MR_PAGE_BYTES >=
           MOST_INPUT_BYTES / MR_PAGE_BYTES);
}

static void remember_memory(void)
{
    uint32_t count = 0;
    for (uint32_t page = 0; page < sizeof mr_pages; page++)
        count += may_change(page);
    pages_before = malloc(sizeof mr_pages);
    copies = mmap(NULL, (count + 1) * sizeof *copies, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages_before == NULL || copies == MAP_FAILED)
        mr_fail("AFL_QEMU_PERSISTENT_MEM: no memory to keep %u pages in", count);
    memcpy(pages_before, mr_pages, sizeof mr_pages);
    for (uint32_t page = 0; page < sizeof mr_pages; page++) {
        if (!may_change(page))
            continue;
        struct copy *copy = &copies[copy_count++];
        copy->page = page;
        copy->was_there = is_there(page);
        if (copy->was_there)
            memcpy(copy->bytes, mr_host_at(page * MR_PAGE_BYTES), MR_PAGE_BYTES);
    }
}

/* Returns false where that cannot be done. */
static bool restore_memory(void)
{
    if (copies == NULL)
        return true;
    if (memcmp(pages_before, mr_pages, sizeof mr_pages) != 0)
        return false;
    for (uint32_t i = 0; i < copy_count; i++) {
        uint8_t *at = mr_host_at(copies[i].page * MR_PAGE_BYTES);
        if (!copies[i].was_there)
            madvise(at, MR_PAGE_BYTES, MADV_DONTNEED);
        else if (memcmp(at, copies[i].bytes, MR_PAGE_BYTES) != 0)
            memcpy(at, copies[i].bytes, MR_PAGE_BYTES);
    }
    return true;
}

/* ---- the loop ---- */

static void restore_registers(struct mr_state *s, const struct mr_state *before)
{
    for (unsigned i = 0; i < MR_REGISTERS; i++)
        mr_set_register(s, i, mr_register(before, i));
}

void mr_persistent_loop(struct mr_state *s)
{
    if (function == 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* a process that has stopped itself would stay */
    make_buffer();
    mr_set_counters(mr_counter_map);
    GPR(s, MR_REG_RA) = MR_RETURN_PC;
    GPR(s, MR_REG_T9) = function;
    struct mr_state before = *s;
    if (secure_getenv("AFL_QEMU_PERSISTENT_MEM") != NULL)
        remember_memory();
    for (uint32_t i = 0;; i++) {
        place_input(s);
        mr_run_outermost(s, function, MR_RETURN_PC);
        if (i + 1 >= most_inputs || !restore_memory())
            _exit(0);
        restore_registers(s, &before);
        kill(getpid(), SIGSTOP);
    }
}
