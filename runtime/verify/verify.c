/* mipsrec verify: brings the interpreter to where lifted code is, and compares.
 *
 * Lifted code passes points: it calls, returns, makes a system call, raises an exception. The interpreter's way to the next
 * point is not known beforehand, since code between two points counts nothing. So it runs until its pc is the point's and all
 * its registers are those of lifted code. Where only the pc is right it goes on, as a loop may pass there more often than
 * lifted code tells; but not beyond a system call, an exception, or more than a few calls of lifted functions, since lifted
 * code would have told of them. When it ends there, both disagree. Of the places it passed, that with the fewest
 * differences is reported.
 * Not compared: ll and sc's memory of an address, and what the interpreter itself did in place of lifted code.
 */
#include "verify/verify.h"

#include "base/messages.h"
#include "base/observe.h"
#include "base/options.h"
#include "cpu/fpu.h"
#include "cpu/interp.h"
#include "cpu/mips16.h"
#include "lifted/dispatch_table.h"
#include "lifted/module.h"
#include "memory/pages.h"

#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* How far from what is wanted, in registers, the interpreter counts as being elsewhere. */
#define FAR_AWAY 100u     /* at another call */
#define FARTHEST_AWAY 101u /* beyond which it cannot be followed */
#define NO_PC 2u /* no instruction is there, and no pc of an exception */
#define MOST_CALLS_PASSED 64u
#define MOST_ROUNDS (1u << 28) /* of a loop that calls nothing, before a signal is delivered in it */
#define TRAIL_LENGTH 16u
#define CLOCK_EVERY 1024u           /* points between two looks at the clock */
#define RECORD_NANOSECONDS 200000000ull
#define SCAN_SHARE 20u              /* comparing all memory may take one part in so many of the time */

/* The interpreter's side. */
static struct mr_state shadow __attribute__((aligned(64)));
static uint32_t shadow_pc;
static bool following; /* it runs now */
static sigjmp_buf stop;
static struct mr_point stopped_at;

/* The last agreement; the interpreter's memory can be taken back to it. */
static struct mr_state agreed_state;
static struct mr_point agreed;
static uint64_t agreed_steps;
static bool agreed_in_host; /* it was the host that came there, and lifted code may be about to tell of it again */

static struct mr_point trail[TRAIL_LENGTH];
static struct mr_verify_counts counts;
static unsigned once_depth; /* of begin_once without end_once */
static uint8_t *entries_seen;
static uint64_t last_record, last_scan, scan_cost;

/* What the interpreter met on its way that comes nearest to the point wanted. */
static struct mr_state nearest_state;
static struct mr_point nearest;
static uint64_t nearest_steps;
static unsigned nearest_differences;

static uint64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- disagreement ---- */

static _Noreturn void disagree(const struct mr_state *s, const struct mr_point *lifted,
                               const struct mr_verify_difference *memory)
{
    struct mr_point ordered[TRAIL_LENGTH];
    uint32_t length = counts.points < TRAIL_LENGTH ? (uint32_t)counts.points : TRAIL_LENGTH;
    for (uint32_t i = 0; i < length; i++)
        ordered[i] = trail[(counts.points - length + i) % TRAIL_LENGTH];
    const struct mr_verify_finding finding = {
        .agreed = &agreed, .lifted = lifted, .interpreted = &nearest, .at_agreement = &agreed_state, .lifted_state = s,
        .interpreted_state = &nearest_state, .steps = nearest_steps - agreed_steps, .memory = memory, .trail = ordered,
        .trail_length = length,
    };
    mr_verify_diverge(&finding, &counts);
}

/* Remembers where the interpreter is, unless it was nearer to what is wanted before. Where lifted code tells of calls, a call
 * that it has not made is where they part, whatever comes later. */
static void note_nearest(struct mr_point here, unsigned differences)
{
    bool noted = nearest.kind != MR_AT_START;
    if (noted && (differences >= nearest_differences || (mr_library_tells_of_calls() && nearest.kind == MR_AT_CALL)))
        return;
    nearest = here;
    nearest_state = shadow;
    nearest_steps = counts.steps;
    nearest_differences = differences;
}

/* ---- the interpreter follows ---- */

/* jal, jalr with a register to link, and the branches that link. */
static bool links(uint32_t word)
{
    uint32_t opcode = word >> 26;
    return opcode == 0x03 || (opcode == 0x00 && funct(word) == 0x09 && rd(word) != 0) ||
           (opcode == 0x01 && (rt(word) & 0x1c) == 0x10);
}

/* Runs from pc until control is at wanted, after one instruction at least, or until a call comes to a lifted entry.
 * Takes no signals. Instructions are counted as they complete. */
static uint32_t interpret_to(struct mr_state *s, uint32_t pc, uint32_t wanted)
{
    for (;;) {
        pc = mr_aligned(s, pc);
        if (mr_is_mips16(pc)) {
            counts.steps++;
            pc = mr_mips16_step(s, pc);
            if (pc == wanted || mr_lookup(pc) != NULL)
                return pc;
            continue;
        }
        *(volatile uint32_t *)&s->pc = pc;
        uint32_t word = mr_fetch(pc), next = mr_operation_of(word)(s, word, mr_next_pc(pc));
        counts.steps++;
        if (next == wanted || (next != mr_next_pc(pc) && next != mr_return_pc(pc) && links(word) && mr_lookup(next) != NULL))
            return next;
        pc = next;
    }
}

/* Runs it until it is at pc `wanted`, at a lifted entry by a call, or stopped by what happens once. */
static void run_shadow(uint32_t wanted)
{
    uint8_t *lifted_window = mr_window;
    mr_window = mr_verify_window;
    mr_verify_watch_stores(true);
    mr_fpu_enter(&shadow);
    following = true;
    if (sigsetjmp(stop, 0) == 0) {
        shadow_pc = interpret_to(&shadow, shadow_pc, wanted);
        stopped_at = (struct mr_point){MR_AT_PLACE, shadow_pc, 0};
    }
    following = false;
    mr_fpu_collect(&shadow);
    mr_verify_watch_stores(false);
    mr_window = lifted_window;
}

static _Noreturn void stop_shadow(struct mr_point point)
{
    stopped_at = point;
    siglongjmp(stop, 1);
}

/* Lifted code may have registers at a fault that it has not written to its state: then those of the interpreter count. */
static bool registers_agree(struct mr_state *s, const struct mr_point *point)
{
    if (point->kind == MR_AT_FAULT && mr_host_thread.registers_stale) {
        counts.faults_skipped++;
        memcpy(s, &shadow, MR_STATE_GUEST_BYTES);
        return true;
    }
    return mr_verify_same_registers(s, &shadow);
}

static void follow_to_place(struct mr_state *s, const struct mr_point *point)
{
    unsigned calls_passed = 0, rounds = 0;
    unsigned most_rounds = point->detail == MR_FOR_SIGNAL ? MOST_ROUNDS : MOST_CALLS_PASSED;
    for (;;) {
        run_shadow(point->pc);
        if (stopped_at.kind != MR_AT_PLACE) {
            note_nearest(stopped_at, FARTHEST_AWAY);
            disagree(s, point, NULL);
        }
        if (shadow_pc == point->pc && registers_agree(s, point))
            return;
        if (shadow_pc == point->pc) {
            note_nearest(*point, mr_verify_count_differences(s, &shadow));
            rounds++;
        } else {
            note_nearest((struct mr_point){MR_AT_CALL, shadow_pc, 0}, FAR_AWAY);
            calls_passed++;
        }
        if (mr_library_tells_of_calls() && (calls_passed > MOST_CALLS_PASSED || rounds > most_rounds))
            disagree(s, point, NULL);
    }
}

static void follow_to_stop(struct mr_state *s, const struct mr_point *point)
{
    unsigned calls_passed = 0;
    for (run_shadow(NO_PC); stopped_at.kind == MR_AT_PLACE; run_shadow(NO_PC)) {
        note_nearest((struct mr_point){MR_AT_CALL, shadow_pc, 0}, FAR_AWAY);
        if (mr_library_tells_of_calls() && ++calls_passed > MOST_CALLS_PASSED)
            disagree(s, point, NULL);
    }
    bool same = stopped_at.kind == point->kind && stopped_at.pc == point->pc && stopped_at.detail == point->detail;
    if (same && registers_agree(s, point))
        return;
    note_nearest(stopped_at, same ? mr_verify_count_differences(s, &shadow) : FARTHEST_AWAY);
    disagree(s, point, NULL);
}

/* ---- agreement ---- */

static void agree(const struct mr_state *s, const struct mr_point *point)
{
    memcpy(&agreed_state, s, MR_STATE_GUEST_BYTES);
    agreed = *point;
    agreed_steps = counts.steps;
}

static void scan(struct mr_state *s, const struct mr_point *point)
{
    struct mr_verify_difference difference;
    uint64_t before = nanoseconds();
    counts.scans++;
    if (mr_verify_memory_differs(&difference)) {
        nearest = *point;
        nearest_state = shadow;
        nearest_steps = counts.steps;
        disagree(s, point, &difference);
    }
    last_scan = nanoseconds();
    scan_cost = last_scan - before;
}

static void count_point(struct mr_state *s, const struct mr_point *point)
{
    trail[counts.points % TRAIL_LENGTH] = *point;
    counts.points++;
    if (mr_lookup(point->pc) != NULL && !entries_seen[mr_instruction_index(point->pc)]) {
        entries_seen[mr_instruction_index(point->pc)] = 1;
        counts.entries++;
    }
    if (mr_options.verify_scan && counts.points % mr_options.verify_scan == 0)
        scan(s, point);
    if (counts.points % CLOCK_EVERY != 0)
        return;
    uint64_t now = nanoseconds();
    if (!mr_options.verify_scan && now - last_scan > SCAN_SHARE * scan_cost)
        scan(s, point);
    if (now - last_record > RECORD_NANOSECONDS) {
        last_record = now;
        mr_verify_record("progress", &counts, "");
    }
}

/* Whether lifted code has come here without an instruction since the last point: a function returns what its callee returned
 * to, or calls what it runs into. Two calls in a row are two. */
static bool is_there(const struct mr_state *s, const struct mr_point *point)
{
    return shadow_pc == point->pc && (point->kind == MR_AT_PLACE || agreed.kind == MR_AT_PLACE) &&
           mr_verify_same_registers(s, &shadow);
}

/* Brings the interpreter to a point of lifted code and compares. */
static void reach(struct mr_state *s, const struct mr_point *point)
{
    struct mr_verify_difference difference;
    mr_fpu_collect(s);
    nearest = (struct mr_point){MR_AT_START, 0, 0};
    if (point->kind != MR_AT_CALL && point->kind != MR_AT_PLACE)
        follow_to_stop(s, point);
    else if (!is_there(s, point))
        follow_to_place(s, point);
    if (mr_verify_stores_differ(&difference)) {
        note_nearest(*point, 0);
        disagree(s, point, &difference);
    }
    count_point(s, point);
    agree(s, point);
}

static void pass(struct mr_state *s, enum mr_point_kind kind, uint32_t pc, bool in_host)
{
    const struct mr_point point = {kind, pc, 0};
    reach(s, &point);
    mr_fpu_enter(s);
    agreed_in_host = in_host;
}

static void point(struct mr_state *s, enum mr_point_kind kind, uint32_t pc)
{
    pass(s, kind, pc, true);
}

/* The host compares before it enters a function, and a call from lifted code is seen here only. */
void mr_watch_call(struct mr_state *s, uint32_t pc)
{
    if (!mr_verifying)
        return;
    if (agreed_in_host && agreed.pc == pc)
        agreed_in_host = false;
    else
        pass(s, MR_AT_CALL, pc, false);
}

void mr_watch_place(struct mr_state *s, uint32_t pc)
{
    if (mr_verifying)
        pass(s, MR_AT_PLACE, pc, false);
}

static void begin_once(struct mr_state *s, struct mr_point point)
{
    mr_verify_stop_walking();
    if (s == &shadow)
        stop_shadow(point);
    if (once_depth++ > 0)
        return;
    reach(s, &point);
    counts.calls_made += point.kind == MR_AT_SYSCALL;
    mr_fpu_enter(s);
    mr_verify_watch_ranges(true);
}

static uint32_t end_once(struct mr_state *s, uint32_t pc)
{
    if (--once_depth > 0)
        return pc;
    mr_verify_copy_ranges();
    mr_verify_watch_ranges(false);
    mr_fpu_collect(s);
    memcpy(&shadow, s, MR_STATE_GUEST_BYTES);
    shadow_pc = pc;
    mr_fpu_enter(s);
    agree(s, &(struct mr_point){MR_AT_PLACE, pc, 0});
    agreed_in_host = true;
    return pc;
}

void mr_verify_memory_disagrees(const struct mr_verify_difference *difference)
{
    nearest = agreed;
    nearest_state = shadow;
    nearest_steps = counts.steps;
    disagree(&shadow, &agreed, difference);
}

static void host_fault(uintptr_t host_address)
{
    mr_verify_stop_walking();
    mr_verify_comparing_faulted();
    uint64_t into_window = (uint64_t)host_address - (uint64_t)(uintptr_t)mr_verify_window;
    if (following && into_window + MR_WINDOW_GUARD_BYTES < MR_WINDOW_BYTES + 2 * MR_WINDOW_GUARD_BYTES)
        stop_shadow((struct mr_point){MR_AT_FAULT, shadow.pc, (uint32_t)into_window});
}

/* ---- the cycle counter: the interpreter sees what lifted code saw ---- */

#define CYCLES_KEPT 256u
static uint32_t cycles_seen[CYCLES_KEPT];
static uint32_t cycles_given, cycles_taken;

static uint32_t share_cycles(const struct mr_state *s, uint32_t cycles)
{
    if (s != &shadow)
        return cycles_seen[cycles_given++ % CYCLES_KEPT] = cycles;
    return cycles_taken == cycles_given ? cycles : cycles_seen[cycles_taken++ % CYCLES_KEPT];
}

/* ---- start and end ---- */

static void executes(void)
{
    mr_verify_record("exec", &counts, "");
}

void mr_verify_start(struct mr_state *s)
{
    mr_verify_record_start(mr_options.verify_fd);
    mr_verify_memory_start();
    entries_seen = mmap(NULL, (size_t)1 << 30, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (entries_seen == MAP_FAILED)
        mr_fail("verify: no address space for the entries seen: lift the limit (ulimit -v unlimited)");
    shadow = *s;
    shadow_pc = s->pc;
    agree(s, &(struct mr_point){MR_AT_START, s->pc, 0});
    agreed_in_host = true;
    mr_cycles_seen = share_cycles;
    last_record = last_scan = nanoseconds();
    mr_observe.point = point;
    mr_observe.begin_once = begin_once;
    mr_observe.end_once = end_once;
    mr_observe.host_fault = host_fault;
    mr_observe.verify_executes = executes;
    mr_verifying = true;
}

void mr_verify_exit(int status, int mips_signal)
{
    char more[64];
    if (!mr_verifying)
        return;
    mr_verify_copy_ranges();
    mr_verify_watch_ranges(false);
    scan(&shadow, &agreed);
    snprintf(more, sizeof more, ",\"status\":%d,\"signal\":%d", status, mips_signal);
    mr_verify_record("end", &counts, more);
}
