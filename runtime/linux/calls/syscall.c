/* System calls of the o32 ABI: fetches arguments, calls the body, traces, sets v0 and a3.
 *
 * Enters: the state at a syscall instruction. Leaves: the state after it and the pc to go on at. The bodies are in sys_*.c;
 * syscall.h says how they look. Signals that the call raised are delivered at its end (signal_delivery.c).
 */
#include "linux/calls/syscall.h"

#include "base/instructions.h"
#include "base/messages.h"
#include "base/observe.h"
#include "base/options.h"
#include "baseline/baseline.h"
#include "cpu/upcalls.h"
#include "linux/abi.h"
#include "linux/descriptors.h"
#include "linux/host_call.h"
#include "linux/signals.h"
#include "linux/upcalls.h"
#include "memory/shadow.h"
#include "memory/values.h"
#include "run/upcalls.h"

#include <errno.h>

#define FIRST_NUMBER 4000u
#define NUMBER_COUNT 500u
#define INDIRECT_CALL 4000u
#define STACK_ARGUMENTS 16u /* offset from sp of the fifth argument */

extern const struct mr_call_row *const __start_mr_calls[], *const __stop_mr_calls[];

static const struct mr_call_row *table[NUMBER_COUNT];
static uint8_t unknown_seen[NUMBER_COUNT + 1]; /* the last one: any number beyond the table */

__attribute__((constructor)) static void fill_table(void)
{
    for (const struct mr_call_row *const *row = __start_mr_calls; row < __stop_mr_calls; row++)
        table[(*row)->number - FIRST_NUMBER] = *row;
}

const struct mr_call_row *mr_call_row(uint32_t number)
{
    return number - FIRST_NUMBER < NUMBER_COUNT ? table[number - FIRST_NUMBER] : NULL;
}

/* ---- arguments ---- */

/* The argument words: registers, then the stack; fetched one by one because only those a call has must be readable. */
struct words {
    const struct mr_state *s;
    uint32_t next; /* position of the next word; the number of an indirect call is word 0 */
};

static bool next_word(struct words *words, uint32_t *value)
{
    uint32_t position = words->next++;
    if (position < 4) {
        *value = GPR(words->s, MR_REG_A0 + position);
        return true;
    }
    return mr_read32(GPR(words->s, MR_REG_SP) + STACK_ARGUMENTS + 4 * (position - 4), value) == 0;
}

/* An o32 argument of 64 bits starts at an even word and lies in memory order. `first` is the word the arguments start at. */
static bool next_pair(struct words *words, uint32_t first, uint64_t *value)
{
    uint32_t one, two;
    if ((words->next - first) & 1)
        words->next++;
    if (!next_word(words, &one) || !next_word(words, &two))
        return false;
    *value = mr_big_endian ? (uint64_t)one << 32 | two : (uint64_t)two << 32 | one;
    return true;
}

static bool fetch_arguments(struct mr_call *c, uint32_t first)
{
    struct words words = {c->s, first};
    const char *kind = mr_call_kinds(c->row);
    for (int n = 0; kind[n]; n++) {
        uint32_t value;
        if (kind[n] == 'q' ? !next_pair(&words, first, &c->arg[n]) : !next_word(&words, &value))
            return false;
        if (kind[n] != 'q')
            c->arg[n] = value;
    }
    return true;
}

/* ---- the call ---- */

static void note_unknown(uint32_t number)
{
    mr_counters.unknown_syscalls++;
    uint32_t index = number - FIRST_NUMBER < NUMBER_COUNT ? number - FIRST_NUMBER : NUMBER_COUNT;
    if (__atomic_exchange_n(&unknown_seen[index], 1, __ATOMIC_RELAXED))
        return;
    if (mr_options.stats || mr_options.strace)
        mr_print_error("mipsrec-host: system call %u is not there (ENOSYS); said once\n", number);
}

static void set_result(struct mr_state *s, int64_t result)
{
    bool failed = result < 0;
    GPR(s, MR_REG_V0) = failed ? (uint32_t)mr_errno_to_mips((int)-result) : (uint32_t)result;
    GPR(s, MR_REG_A3) = failed;
}

int64_t mr_call_perform(struct mr_call *c)
{
    const char *kind = mr_call_kinds(c->row);
    for (int n = 0; kind[n]; n++)
        if (kind[n] == 'D' && mr_descriptor_is_host(INT(n)))
            return -EBADF;
    return c->row->body(c);
}

/* What the body reads or writes itself may lie beyond the end of a file: EFAULT, as from a kernel. What it had got hold of
 * by then, such as memory of the host or descriptors, it keeps. */
static int64_t run_body(struct mr_call *c)
{
    jmp_buf faulted;
    if (setjmp(faulted) != 0) {
        mr_signal_wait_abandoned();
        return -EFAULT;
    }
    mr_host_thread.recovery = &faulted;
    int64_t result = mr_call_perform(c);
    mr_host_thread.recovery = NULL;
    return result;
}

static int64_t make_call(struct mr_call *c, uint32_t first_word)
{
    if (!fetch_arguments(c, first_word))
        return -EFAULT;
    if (mr_options.strace)
        mr_observe.trace_enter(c);
    int64_t result = run_body(c);
    if (result == -EMFILE && mr_own_make_room())
        result = run_body(c);
    if (mr_options.strace)
        mr_observe.trace_leave(c, result);
    return result;
}

/* Whether the call was interrupted for a handler that wants it made again afterwards (SA_RESTART). */
static bool to_be_restarted(const struct mr_call *c, int64_t result)
{
    return result == -EINTR && !mr_call_marked(c->row, '~') && !c->for_good && mr_signals_restart();
}

static uint32_t take_call(struct mr_state *s, uint32_t pc)
{
    uint32_t number = GPR(s, MR_REG_V0), first_word = 0;
    mr_signal_came = 0; /* from here on, mr_wait_call sees what comes */
    if (mr_signals_waiting()) { /* one that came before the call must not wait until the call is over */
        uint32_t new_pc = mr_signals_take(s, pc);
        if (new_pc != pc)
            return new_pc;
    }
    if (mr_debugging && mr_observe.debug_holds_call(s))
        return pc;
    mr_counters.syscalls++;
    if (number == INDIRECT_CALL) {
        number = GPR(s, MR_REG_A0);
        first_word = 1;
    }
    struct mr_call c = {.s = s, .row = mr_call_row(number), .pc = pc, .next_pc = mr_next_pc(pc)};
    int64_t result = -ENOSYS;
    if (c.row)
        result = make_call(&c, first_word);
    else
        note_unknown(number);
    if (mr_checking && first_word == 0)
        mr_check_call(s, number, result); /* a0 to a3 still are what the call was made with */
    if ((mr_debugging && mr_observe.debug_moved(s, &pc)) || result == -ERESTART)
        return mr_signals_take(s, pc);
    if (mr_debugging && result == -EINTR && !mr_signals_waiting())
        return pc; /* only the debugger wanted the thread to stop */
    bool waiting = mr_signals_waiting();
    if (waiting && to_be_restarted(&c, result))
        return mr_signals_take(s, pc); /* v0 and a3 still are what the call was made with */
    if (!c.moved)
        set_result(s, result);
    return waiting ? mr_signals_take(s, c.next_pc) : c.next_pc;
}

static uint32_t take_call_with_samples(struct mr_state *s, uint32_t pc)
{
    struct mr_doing before = mr_doing;
    mr_doing = (struct mr_doing){MR_FOR_CALL, pc};
    pc = take_call(s, pc);
    mr_doing = before;
    return pc;
}

/* Whether the frames that wait for a fault's handler are to go on at pc, and the innermost loop would go on there without
 * them. Translated code may have passed the place where that loop ends, and on another stack sp does not show that the
 * handler is over. */
static bool ends_handler(const struct mr_state *s, uint32_t pc)
{
    const struct mr_waiting_frames *waiting = mr_host_thread.waiting;
    return waiting != NULL && mr_is_back(s, pc, waiting->interrupted) && pc != (uint32_t)mr_host_thread.stop;
}

uint32_t mr_syscall(struct mr_state *s, uint32_t pc)
{
    uint32_t after;
    if (mr_checking && mr_heap_called(s, pc, &after))
        return after;
    if (mr_verifying) {
        mr_observe.begin_once(s, (struct mr_point){MR_AT_SYSCALL, pc, 0});
        pc = mr_observe.end_once(s, take_call(s, pc));
    } else {
        pc = take_call_with_samples(s, pc);
    }
    if (mr_tiers_random)
        mr_tiers_disturb();
    if (!mr_host_thread.leave_lifted && !ends_handler(s, pc))
        return pc;
    mr_host_thread.leave_lifted = false;
    return mr_leave_lifted(s, pc);
}
