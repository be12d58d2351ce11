/* What the interpreter needs of the host, made small, to test it as a shared library: memory, recorded exceptions. */
#include "base/host_thread.h"
#include "base/observe.h"
#include "base/options.h"
#include "baseline/baseline.h"
#include "cpu/interp.h"
#include "lifted/code_files.h"
#include "lifted/library.h"
#include "lifted/module.h"
#include "lifted/store.h"
#include "lifted/dispatch_table.h"
#include "memory/values.h"
#include "run/run.h"
#include "run/upcalls.h"

#include <string.h>
#include <sys/mman.h>

uint8_t *mr_window;
bool mr_big_endian;
void (*mr_store_watch)(uint32_t guest, uint32_t size_bytes);

/* How many instructions this thread has interpreted. */
uint64_t stub_instructions(void)
{
    return mr_counters.interpreted;
}
int32_t *mr_dispatch, *mr_dispatch16;
uint8_t *mr_fallback;
uint8_t mr_code_pending[1u << (32 - MR_CODE_CHUNK_SHIFT)]; /* none is: stub_lift fills the table */

int32_t mr_dispatch_fill(uint32_t pc)
{
    return mr_dispatch[pc >> 2];
}

bool mr_baseline_on, mr_tiers_random;

bool mr_baseline_has(struct mr_state *s, uint32_t pc)
{
    (void)s, (void)pc;
    return false;
}

bool mr_random_choice(uint32_t one_of)
{
    (void)one_of;
    return false;
}

bool mr_baseline_run(struct mr_state *s, uint32_t pc)
{
    (void)s, (void)pc;
    return true;
}

void mr_print_error(const char *format, ...)
{
    (void)format;
}

void mr_code_file_interpreted(uint32_t pc, uint64_t instructions)
{
    (void)pc, (void)instructions;
}

/* The last exception, and where execution goes on after it. System calls
 * are cause 100, synci 101, signals 102. */
struct stub_event {
    uint32_t count, cause, pc, word, after;
};
struct stub_event stub_event;

static void *reserve(size_t size_bytes)
{
    return mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
}

void stub_begin(bool big_endian, bool interpret_all)
{
    if (mr_window == NULL) {
        mr_window = reserve((size_t)1 << 32);
        mr_dispatch = reserve(((size_t)1 << 30) * sizeof *mr_dispatch);
        mr_dispatch16 = reserve(((size_t)1 << 30) * sizeof *mr_dispatch16);
    }
    mr_big_endian = big_endian;
    mr_options.engine_interp = interpret_all;
}

/* Makes pc a lifted entry, or takes it away. */
void stub_lift(uint32_t pc, bool lifted)
{
    mr_dispatch[pc >> 2] = lifted;
}

void stub_write(uint32_t guest, const void *bytes, uint32_t size_bytes)
{
    memcpy(mr_window + guest, bytes, size_bytes);
}

void stub_read(uint32_t guest, void *bytes, uint32_t size_bytes)
{
    memcpy(bytes, mr_window + guest, size_bytes);
}

static uint32_t record(uint32_t pc, uint32_t cause, uint32_t word)
{
    stub_event.count++;
    stub_event.cause = cause;
    stub_event.pc = pc;
    stub_event.word = word;
    return stub_event.after;
}

uint32_t mr_exception(struct mr_state *s, uint32_t pc, uint32_t cause, uint32_t word)
{
    (void)s;
    return record(pc, cause, word);
}

uint32_t mr_syscall(struct mr_state *s, uint32_t pc)
{
    (void)s;
    uint32_t after = record(pc, 100, 0);
    return after ? after : pc + 4;
}

void mr_synci(struct mr_state *s, uint32_t guest)
{
    record(s->pc, 101, guest);
}

/* One waiting signal, whose handler is at stub_event.after. */
_Thread_local volatile uint32_t mr_signals_queued;

void stub_queue_signal(void)
{
    mr_signals_queued = 1;
}

uint32_t mr_signals_take(struct mr_state *s, uint32_t pc)
{
    (void)s;
    mr_signals_queued = 0;
    return record(pc, 102, 0);
}

uint32_t mr_poll(struct mr_state *s, uint32_t pc)
{
    (void)s, (void)pc;
    return MR_STAY;
}

void mr_restart(struct mr_state *s, uint32_t pc)
{
    (void)s, (void)pc;
    __builtin_trap();
}

uint32_t mr_leave_lifted(struct mr_state *s, uint32_t pc)
{
    (void)s;
    return pc;
}

bool mr_counter_at(uint32_t pc, uint32_t *counter)
{
    (void)pc, (void)counter;
    return false;
}

void mr_note_comparison(const struct mr_state *s, uint32_t pc, uint32_t word)
{
    (void)s, (void)pc, (void)word;
}

void mr_check_access(struct mr_state *s, uint32_t word)
{
    (void)s, (void)word;
}
