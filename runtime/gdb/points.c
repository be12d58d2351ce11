/* Breakpoints and watchpoints: addresses that the interpreter compares with, while the guest's memory stays as it is.
 *
 * A watchpoint stops the thread before the access, as the watch registers of MIPS do and as gdb expects of this machine.
 * Accesses that system calls make are not seen. The lists change only while all threads are stopped.
 * Not done here: what an instruction is about to access (accesses.c).
 */
#include "base/instructions.h"
#include "gdb/parts.h"

#define MOST_BREAKPOINTS 2048u
#define FILTER_BITS 4096u

static uint32_t breakpoints[MOST_BREAKPOINTS], breakpoint_count;
static uint64_t filter[FILTER_BITS / 64]; /* by address: a bit is clear where no breakpoint is */

static struct watchpoint {
    uint32_t address, size_bytes;
    char type;
} watchpoints[MR_DEBUG_MOST_WATCHPOINTS];
static uint32_t watchpoint_count;

/* ---- breakpoints ---- */

/* gdb sets a breakpoint in MIPS16 code at the odd address and removes it at the even one: both name one place. */
static uint32_t place_of(uint32_t pc)
{
    return pc & ~1u;
}

static uint32_t filter_bit(uint32_t pc)
{
    return mr_instruction_index(pc) % FILTER_BITS;
}

static uint32_t find_breakpoint(uint32_t pc)
{
    uint32_t at = 0;
    while (at < breakpoint_count && breakpoints[at] != place_of(pc))
        at++;
    return at;
}

bool mr_debug_breaks_at(uint32_t pc)
{
    uint32_t bit = filter_bit(pc);
    return (filter[bit / 64] >> bit % 64 & 1) != 0 && find_breakpoint(pc) < breakpoint_count;
}

static void make_filter(void)
{
    for (uint32_t i = 0; i < FILTER_BITS / 64; i++)
        filter[i] = 0;
    for (uint32_t i = 0; i < breakpoint_count; i++)
        filter[filter_bit(breakpoints[i]) / 64] |= (uint64_t)1 << filter_bit(breakpoints[i]) % 64;
}

static int set_breakpoint(uint32_t pc, bool set)
{
    uint32_t at = find_breakpoint(pc);
    if (set && at == MOST_BREAKPOINTS)
        return MR_DEBUG_NO_MEMORY;
    if (set && at == breakpoint_count)
        breakpoints[breakpoint_count++] = place_of(pc);
    else if (!set && at < breakpoint_count)
        breakpoints[at] = breakpoints[--breakpoint_count];
    make_filter();
    return 0;
}

/* ---- watchpoints ---- */

static int set_watchpoint(struct watchpoint wanted, bool set)
{
    uint32_t at = 0;
    while (at < watchpoint_count &&
           (watchpoints[at].address != wanted.address || watchpoints[at].size_bytes != wanted.size_bytes ||
            watchpoints[at].type != wanted.type))
        at++;
    if (wanted.size_bytes == 0 || wanted.address + (wanted.size_bytes - 1) < wanted.address)
        return MR_DEBUG_INVALID;
    if (set && at == MR_DEBUG_MOST_WATCHPOINTS)
        return MR_DEBUG_NO_MEMORY;
    if (set && at == watchpoint_count)
        watchpoints[watchpoint_count++] = wanted;
    else if (!set && at < watchpoint_count)
        watchpoints[at] = watchpoints[--watchpoint_count];
    return 0;
}

int mr_debug_set_point(char type, uint32_t address, uint32_t size_bytes, bool set)
{
    if (type == '0' || type == '1')
        return set_breakpoint(address, set);
    return set_watchpoint((struct watchpoint){address, size_bytes, type}, set);
}

void mr_debug_clear_points(void)
{
    breakpoint_count = watchpoint_count = 0;
    make_filter();
}

static bool watches(const struct watchpoint *point, const struct mr_debug_access *access, struct mr_debug_event *event)
{
    bool apart = access->address + (access->size_bytes - 1) < point->address ||
                 point->address + (point->size_bytes - 1) < access->address;
    if (apart || (point->type == '2' && !access->store) || (point->type == '3' && access->store))
        return false;
    event->kind = point->type == '2' ? MR_DEBUG_WATCH : point->type == '3' ? MR_DEBUG_READ_WATCH : MR_DEBUG_ACCESS_WATCH;
    event->address = access->address < point->address ? point->address : access->address;
    return true;
}

bool mr_debug_watches_next(const struct mr_state *s, struct mr_debug_event *event)
{
    if (watchpoint_count == 0)
        return false;
    struct mr_debug_access accesses[MR_DEBUG_MOST_ACCESSES];
    unsigned count = mr_debug_next_accesses(s, accesses);
    for (unsigned i = 0; i < count; i++)
        for (uint32_t j = 0; j < watchpoint_count; j++)
            if (watches(&watchpoints[j], &accesses[i], event))
                return true;
    return false;
}
