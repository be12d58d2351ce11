/* A libFuzzer target: the interpreter on any words and registers, with the host's real faults, exceptions and handlers of
 * the guest, but without system calls: those but the two sigreturns answer ENOSYS.
 *
 * Link with the sources that host.py names and -Wl,--wrap=mr_signals_take; fault.c with -Draise=fuzz_raise. The first
 * bytes of an input choose registers and handlers, the rest is code. A guest that runs long or dies ends the input.
 */
#include "base/host_thread.h"
#include "base/observe.h"
#include "base/messages.h"
#include "base/options.h"
#include "baseline/baseline.h"
#include "cpu/interp.h"
#include "cpu/fpu.h"
#include "lifted/code_files.h"
#include "lifted/library.h"
#include "lifted/module.h"
#include "lifted/store.h"
#include "lifted/dispatch_table.h"
#include "memory/values.h"
#include "linux/fault.h"
#include "linux/signals.h"
#include "linux/upcalls.h"
#include "memory/memory.h"
#include "run/host_stack.h"
#include "run/run.h"
#include "run/upcalls.h"

#include <setjmp.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { CODE = 0x10000, DATA = 0x20000, READONLY = 0x21000, FORBIDDEN = 0x22000, STACK = 0x30000, STACK_TOP = 0x32000 };
enum { CHOICES = 3, HEAD = CHOICES + 32 + 8, MOST_JUMPS = 3000, JUMPS_FOR_A_SIGNAL = 60, ENOSYS_MIPS = 89, SIGRETURN = 4119, RT_SIGRETURN = 4193 };

uint8_t *mr_fallback;
uint32_t (*mr_enter)(struct mr_state *, mr_function);
uint8_t mr_code_pending[1u << (32 - MR_CODE_CHUNK_SHIFT)];
_Atomic uint32_t mr_times_set_aside;
static struct mr_state state;
static sigjmp_buf over;
static int jumps;

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes);
int fuzz_raise(int host_signal);
uint32_t __real_mr_signals_take(struct mr_state *s, uint32_t pc);
uint32_t __wrap_mr_signals_take(struct mr_state *s, uint32_t pc);

/* ---- what the rest of the host would be ---- */

/* Only the host's own faults come here: a finding. */
int fuzz_raise(int host_signal)
{
    (void)host_signal;
    abort();
}

void mr_fail(const char *format, ...)
{
    (void)format;
    abort();
}

void mr_die_by_signal(struct mr_state *s, int mips_signal, uint32_t guest_pc, uint32_t address)
{
    (void)s, (void)mips_signal, (void)guest_pc, (void)address;
    siglongjmp(over, 1);
}

uint32_t mr_syscall(struct mr_state *s, uint32_t pc)
{
    uint32_t number = GPR(s, 2), new_pc;
    if (number == SIGRETURN || number == RT_SIGRETURN) {
        if (!mr_signal_return(s, number == RT_SIGRETURN, &new_pc))
            siglongjmp(over, 1);
        return new_pc;
    }
    GPR(s, 2) = ENOSYS_MIPS;
    GPR(s, 7) = 1;
    return pc + 4;
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

void mr_synci(struct mr_state *s, uint32_t guest)
{
    (void)s, (void)guest;
}

/* Called for each signal delivered: handlers that fault run their handlers, without a jump, for ever. */
static void trace_signal(const struct mr_signal_info *info, uint32_t pc)
{
    (void)info, (void)pc;
    if ((jumps += JUMPS_FOR_A_SIGNAL) > MOST_JUMPS)
        siglongjmp(over, 1);
}

const struct mr_module *mr_module_of(uintptr_t host_pc)
{
    (void)host_pc;
    return NULL;
}

bool mr_code_file_describe(uint32_t pc, bool with_function, char *text, size_t size_bytes)
{
    (void)pc, (void)with_function, (void)text, (void)size_bytes;
    return false;
}

int32_t mr_dispatch_fill(uint32_t pc)
{
    (void)pc;
    return 0;
}

void mr_print_error(const char *format, ...)
{
    (void)format;
}

void mr_code_file_interpreted(uint32_t pc, uint64_t instructions)
{
    (void)pc, (void)instructions;
}

bool mr_library_contains(uintptr_t host_pc)
{
    (void)host_pc;
    return false;
}

uint32_t mr_library_guest_pc(uintptr_t host_pc)
{
    (void)host_pc;
    return 0;
}

uint32_t mr_library_registers(uintptr_t host_pc, const struct mr_host_frame *frame, uint32_t values[MR_PLACE_REGISTERS])
{
    (void)host_pc, (void)frame, (void)values;
    return 0;
}

int mr_timer_to_guest(int host)
{
    return host;
}

/* ---- no other tier ---- */

bool mr_baseline_on, mr_tiers_random;

bool mr_baseline_has(struct mr_state *s, uint32_t pc) { return (void)s, (void)pc, false; }
bool mr_baseline_run(struct mr_state *s, uint32_t pc) { return (void)s, (void)pc, true; }
void mr_baseline_thread_begins(struct mr_state *s) { (void)s; }
void mr_baseline_thread_ends(void) {}
void mr_baseline_abandoned(void) {}
void mr_baseline_fault(struct mr_state *s, uintptr_t pc, const void *context) { (void)s, (void)pc, (void)context; }
bool mr_random_choice(uint32_t one_of) { return (void)one_of, false; }

/* The interpreter asks after each jump as long as a signal waits; one that is blocked always does. */
uint32_t __wrap_mr_signals_take(struct mr_state *s, uint32_t pc)
{
    if (++jumps > MOST_JUMPS)
        siglongjmp(over, 1);
    return __real_mr_signals_take(s, pc);
}

/* ---- one input ---- */

static void map(uint32_t guest, uint32_t size_bytes, int protection)
{
    if (mr_map(guest, size_bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, true) < 0)
        abort();
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    mr_memory_reserve(false);
    mr_dispatch_reserve();
    map(CODE, 0x2000, MR_READ | MR_WRITE | MR_EXEC);
    map(DATA, 0x1000, MR_READ | MR_WRITE);
    map(READONLY, 0x1000, MR_READ);
    map(FORBIDDEN, 0x1000, 0);
    map(STACK, STACK_TOP - STACK, MR_READ | MR_WRITE);
    mr_options.engine_interp = true;
    mr_options.strace = true;
    mr_observe.trace_signal = trace_signal;
    mr_signal_stack_enter();
    mr_faults_install();
    return 0;
}

static uint32_t register_value(uint8_t byte, uint32_t previous)
{
    static const uint32_t values[32] = {
        0, 1, 2, 0xffffffff, 0x80000000, 0x7fffffff, DATA, DATA + 4, DATA + 0x7fd, DATA + 0xffd, READONLY, READONLY + 0xffe,
        FORBIDDEN, CODE, CODE + 8, CODE + 0x1ffc, CODE + 2, STACK + 0x800, STACK_TOP - 8, STACK_TOP, 0x7ffeffff, 0xfffffffc,
        0x7f800000, 0x7fc00000, 0xff800000, 0x3f800000, 0x00000001, 0x00800000, 0x7ff80000, 0x7ff00000, 0x41f00000, 0x5f000000,
    };
    return byte < 128 ? values[byte & 31] + (uint32_t)(byte >> 5) : previous * 0x9e3779b1u + byte;
}

static void choose_handlers(uint8_t choice)
{
    static const int numbers[] = {MIPS_SIGILL, MIPS_SIGTRAP, MIPS_SIGFPE, MIPS_SIGBUS, MIPS_SIGSEGV};
    memset(mr_signal_actions, 0, sizeof mr_signal_actions);
    for (unsigned i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (choice >> i & 1)
            mr_signal_actions[numbers[i]] = (struct mr_signal_action){
                .flags = (choice & 0x20 ? MR_SA_SIGINFO : 0) | (choice & 0x40 ? MR_SA_NODEFER : 0) |
                         (choice & 0x80 ? (uint32_t)MR_SA_ONSTACK : 0),
                .handler = CODE + 4 * i + (choice == 0xff ? 1 : 0),
            };
}

static void reset_signals(uint8_t choice)
{
    struct mr_signal_info blocked = {16, 0, 0, {0}, false}; /* SIGUSR1 */
    struct mr_signal_set all_but_faults = {{1u << 15, 0}};
    uint64_t none = 0;
    choose_handlers(choice);
    mr_signals_queued = 0;
    memset(&mr_thread_signals, 0, sizeof mr_thread_signals);
    mr_thread_signals.stack = (struct mr_alternate_stack){DATA, 0x1000, choice & 1 ? MR_SS_DISABLE : 0};
    mr_thread_signals.blocked = all_but_faults;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof none);
    mr_signal_queue(&blocked);
    mr_host_thread.nested_faults = 0;
    mr_host_thread.in_fault = false;
    mr_host_thread.access_return = 0;
}

static void put_code(const uint8_t *bytes, size_t size_bytes)
{
    size_t room = 0x2000;
    memset((void *)((uintptr_t)mr_window + CODE), 0, room);
    for (size_t at = 0; at + 4 <= size_bytes && at + 4 <= room; at += 4) {
        uint32_t word;
        memcpy(&word, bytes + at, sizeof word);
        mr_poke32(CODE + (uint32_t)at, __builtin_bswap32(word)); /* an input is big-endian, whatever the guest is */
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    if (size_bytes < HEAD + 4)
        return -1;
    const uint8_t *registers = bytes + CHOICES, *floats = registers + 32;
    memset(&state, 0, sizeof state);
    mr_big_endian = bytes[0] & 1;
    state.fr = bytes[0] >> 1 & 1;
    state.base = mr_window;
    state.dispatch = mr_dispatch;
    for (int n = 1; n < 32; n++)
        GPR(&state, n) = register_value(registers[n], GPR(&state, n - 1));
    for (int n = 0; n < 32; n++)
        state.fpr[n].bits = (uint64_t)register_value(floats[n & 7], (uint32_t)n) << 32 | register_value(floats[n & 3], 5);
    for (int i = 0; i < 4; i++)
        state.hilo[i] = state.fpr[3 + i].bits;
    state.dsp_control.value = (uint32_t)state.fpr[7].bits;
    reset_signals(bytes[2]);
    put_code(bytes + HEAD, size_bytes - HEAD);
    jumps = 0;
    mr_ctc1(&state, 31, (uint32_t)(bytes[0] & 0xf8) << 17 | (uint32_t)bytes[1] << 2 | (bytes[1] & 3));
    if (sigsetjmp(over, 0) == 0)
        mr_run_outermost(&state, CODE, 1);
    return 0;
}
