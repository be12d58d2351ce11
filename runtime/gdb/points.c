/* Breakpoints and watchpoints: addresses that the interpreter compares with, while the guest's memory stays as it is.
 *
 * What an instruction is about to access is found by looking at it, and at the one in its delay slot. A watchpoint stops the
 * thread before the access, as the watch registers of MIPS do and as gdb expects of this machine. Accesses that system calls
 * make are not seen. The lists change only while all threads are stopped.
 */
#include "base/instructions.h"
#include "cpu/interp.h"
#include "cpu/mips16.h"
#include "gdb/parts.h"
#include "linux/fault.h"
#include "memory/values.h"

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

/* ---- accesses ---- */

struct access {
    uint32_t address, size_bytes; /* size 0: none */
    bool store;
};

static struct access part_of_word(uint32_t address, bool from_start, bool store)
{
    uint32_t start = from_start ? address & ~3u : address, end = from_start ? address + 1 : (address & ~3u) + 4;
    return (struct access){start, end - start, store};
}

static struct access indexed_access(uint32_t word, uint32_t address)
{
    switch (funct(word)) {
    case 0x00: return (struct access){address, 4, false};       /* lwxc1 */
    case 0x01: return (struct access){address, 8, false};       /* ldxc1 */
    case 0x05: return (struct access){address & ~7u, 8, false}; /* luxc1 */
    case 0x08: return (struct access){address, 4, true};        /* swxc1 */
    case 0x09: return (struct access){address, 8, true};        /* sdxc1 */
    case 0x0d: return (struct access){address & ~7u, 8, true};  /* suxc1 */
    default: return (struct access){0, 0, false};
    }
}

/* Of lwx, lhx and lbux, in SPECIAL3. */
static struct access register_indexed_access(uint32_t word, uint32_t address)
{
    static const uint8_t bytes[32] = {[0x00] = 4, [0x04] = 2, [0x06] = 1};
    return (struct access){address, funct(word) == 0x0a ? bytes[sa(word)] : 0, false};
}

/* base: the value of register rs. Volume II-A has the opcodes. */
static struct access access_of(const struct mr_state *s, uint32_t word, uint32_t base)
{
    static const uint8_t load_bytes[64] = { /* lb lbu lh lhu lw ll lwc1 ldc1 */
        [0x20] = 1, [0x24] = 1, [0x21] = 2, [0x25] = 2, [0x23] = 4, [0x30] = 4, [0x31] = 4, [0x35] = 8,
    };
    static const uint8_t store_bytes[64] = { /* sb sh sw sc swc1 sdc1 */
        [0x28] = 1, [0x29] = 2, [0x2b] = 4, [0x38] = 4, [0x39] = 4, [0x3d] = 8,
    };
    uint32_t opcode = word >> 26, address = base + signed_immediate(word);
    switch (opcode) {
    case 0x22: case 0x2a: /* lwl swl */
        return part_of_word(address, !mr_big_endian, opcode == 0x2a);
    case 0x26: case 0x2e: /* lwr swr */
        return part_of_word(address, mr_big_endian, opcode == 0x2e);
    case 0x13: /* COP1X */
        return indexed_access(word, base + GPR(s, rt(word)));
    case 0x1f: /* SPECIAL3 */
        return register_indexed_access(word, base + GPR(s, rt(word)));
    default:
        return (struct access){address, load_bytes[opcode] + store_bytes[opcode], store_bytes[opcode] != 0};
    }
}

/* ---- delay slots ---- */

/* Whether the branch is one of those that annul their slots, and is not taken. */
static bool annuls(const struct mr_state *s, uint32_t word)
{
    uint32_t opcode = word >> 26, a = GPR(s, rs(word)), b = GPR(s, rt(word));
    switch (opcode) {
    case 0x14: return a != b;             /* beql */
    case 0x15: return a == b;             /* bnel */
    case 0x16: return (int32_t)a > 0;     /* blezl */
    case 0x17: return (int32_t)a <= 0;    /* bgtzl */
    case 0x01: /* bltzl bltzall, bgezl bgezall */
        return (rt(word) & 0x0e) == 0x02 && ((int32_t)a < 0) == ((rt(word) & 1) != 0);
    case 0x11: /* bc1fl bc1tl */
        return (rt(word) & 2) != 0 && s->fcc[rt(word) >> 2].value != (rt(word) & 1);
    default: return false;
    }
}

/* The register that a jump writes before its slot runs, or 0. */
static unsigned link_of(uint32_t word)
{
    uint32_t opcode = word >> 26;
    if (opcode == 0x00)
        return funct(word) == 0x09 ? rd(word) : 0;
    return opcode == 0x03 || (opcode == 0x01 && (rt(word) & 0x10) != 0) ? MR_REG_RA : 0;
}

/* What the instruction at s->pc accesses. One that jumps accesses nothing itself. Of MIPS16 code, accesses of delay slots, of
 * save and restore, and loads by the pc are not found. */
static struct access next_access(const struct mr_state *s)
{
    bool is_mips16 = mr_is_mips16(s->pc);
    uint32_t word = is_mips16 ? mr_code_word(s->pc) : mr_peek32(s->pc);
    if (is_mips16 || !mr_has_delay_slot(word))
        return access_of(s, word, GPR(s, rs(word)));
    if (annuls(s, word))
        return (struct access){0, 0, false};
    uint32_t slot = mr_peek32(mr_next_pc(s->pc));
    bool linked = link_of(word) != 0 && rs(slot) == link_of(word);
    return access_of(s, slot, linked ? mr_return_pc(s->pc) : GPR(s, rs(slot)));
}

static bool watches(const struct watchpoint *point, const struct access *access, struct mr_debug_event *event)
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
    struct access access = next_access(s);
    for (uint32_t i = 0; access.size_bytes != 0 && i < watchpoint_count; i++)
        if (watches(&watchpoints[i], &access, event))
            return true;
    return false;
}
