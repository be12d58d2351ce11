/* What the interpreter, the fault handler and the system calls ask of the baseline tier. */
#include "baseline/baseline.h"

#include "base/host_thread.h"
#include "base/instructions.h"
#include "base/lock.h"
#include "base/messages.h"
#include "baseline/parts.h"
#include "memory/values.h"

#include <setjmp.h>

#define MOST_STALE 8

bool mr_baseline_on;
/* What runs once is interpreted sooner than translated. */
uint32_t mr_baseline_threshold = 8;
size_t mr_code_cache_bytes = MR_CODE_CACHE_BYTES;

static struct mr_came own_came[MR_CAME_PLACES];
struct mr_came *mr_came = own_came;

void mr_baseline_start(struct mr_state *s)
{
    mr_baseline_on = mr_baseline_on && mr_code_cache_start(s);
}

struct words {
    uint32_t pc;
    bool changing; /* the guest may write them, here or through another mapping */
    volatile unsigned count;
    uint32_t words[MR_UNIT_INSTRUCTIONS];
    uint16_t halves[MR_UNIT_HALVES]; /* of MIPS16e code */
};

static bool may_change(uint32_t pc)
{
    return (mr_pages[pc / MR_PAGE_BYTES] & (MR_WRITE | MR_SHARED)) != 0;
}

static bool is_of_that_kind(const struct words *words, uint32_t pc)
{
    return pc < MR_USER_END && (mr_pages[pc / MR_PAGE_BYTES] & MR_READ) != 0 && may_change(pc) == words->changing;
}

static void copy_words(struct words *words)
{
    for (uint32_t pc = words->pc; words->count < MR_UNIT_INSTRUCTIONS && is_of_that_kind(words, pc); pc += 4) {
        words->words[words->count] = mr_swap32(*(const volatile uint32_t *)((uintptr_t)mr_window + pc));
        words->count = words->count + 1;
    }
}

static void copy_halves(struct words *words)
{
    uint32_t at = words->pc & ~1u;
    for (; words->count < MR_UNIT_HALVES && is_of_that_kind(words, at); at += MR_HALF_BYTES) {
        words->halves[words->count] = mr_swap16(*(const volatile uint16_t *)((uintptr_t)mr_window + at));
        words->count = words->count + 1;
    }
}

/* Reads guest code, from pages of one kind, up to where it cannot be read. */
static void read_words(struct words *words)
{
    jmp_buf faulted, *outer = mr_host_thread.recovery;
    if (setjmp(faulted) == 0) {
        mr_host_thread.recovery = &faulted;
        if (mr_is_mips16(words->pc))
            copy_halves(words);
        else
            copy_words(words);
    }
    mr_host_thread.recovery = outer;
}

/* What may change of MIPS16e code is left to the interpreter. */
static bool translate(struct mr_state *s, const struct words *words)
{
    if (!mr_is_mips16(words->pc))
        return mr_translate(s, words->pc, words->words, words->count, words->changing);
    return !words->changing && mr_translate16(s, words->pc, words->halves, words->count);
}

bool mr_translate_at(struct mr_state *s, uint32_t pc)
{
    struct words words = {.pc = pc, .count = 0};
    mr_lock();
    words.changing = may_change(pc);
    read_words(&words);
    bool made = mr_code_of(s, pc) != NULL || translate(s, &words);
    mr_unlock();
    return made;
}

bool mr_baseline_has(struct mr_state *s, uint32_t pc)
{
    if (pc >= MR_USER_END)
        return false;
    if (mr_code_of(s, pc) != NULL)
        return true;
    uint32_t key = mr_instruction_index(pc) % MR_CAME_PLACES;
    uint32_t threshold = mr_tiers_random ? mr_random_threshold(pc) : mr_baseline_threshold;
    if (++mr_came[key].came < threshold << mr_came[key].stale)
        return false;
    mr_came[key].came = 0;
    if (!mr_translate_at(s, pc))
        return false;
    mr_note_translated(pc);
    return true;
}

static void forget_stale(const struct mr_state *s, uint32_t pc)
{
    uint32_t key = mr_instruction_index(pc) % MR_CAME_PLACES;
    mr_came[key].stale += mr_came[key].stale < MOST_STALE;
    mr_lock();
    mr_unit_forget_at(s, pc);
    mr_unlock();
}

bool mr_baseline_run(struct mr_state *s, uint32_t pc)
{
    mr_counters.baseline_entries++;
    uint32_t before = mr_code_enter(), outcome = MR_PERFORM;
    const uint8_t *code = mr_code_of(s, pc);
    s->pc = pc;
    if (code != NULL) /* nobody has taken it away meanwhile */
        outcome = mr_entrance.enter(s, code);
    mr_code_leave(before);
    if (outcome == MR_STALE)
        forget_stale(s, s->pc);
    return outcome != MR_GO_ON;
}

void mr_baseline_forget(uint32_t guest, uint32_t size_bytes)
{
    if (mr_baseline_on && mr_current != NULL)
        mr_units_forget(mr_current, guest, size_bytes);
}

void mr_baseline_fault(struct mr_state *s, uintptr_t host_pc, const void *context)
{
    const struct mr_unit_place *place = mr_baseline_on ? mr_code_place(host_pc) : NULL;
    if (place == NULL)
        return;
    if (!place->in_state)
        mr_store_pins(s, context);
    s->pc = place->pc;
}

uint32_t mr_baseline_guest_pc(uintptr_t host_pc)
{
    const struct mr_unit_place *place = mr_baseline_on ? mr_code_place(host_pc) : NULL;
    return place != NULL ? place->pc : 0;
}

void mr_baseline_report(uint64_t entries)
{
    if (mr_baseline_on)
        mr_print_error("mipsrec-host: translated %llu instructions in %llu units to %llu bytes, entered them %llu times\n",
                       (unsigned long long)mr_baseline_counts.instructions, (unsigned long long)mr_baseline_counts.units,
                       (unsigned long long)mr_baseline_counts.code_bytes, (unsigned long long)entries);
}
