/* What the instruction at s->pc is about to access, for watchpoints (points.c).
 *
 * It is found by looking at the instruction, and at the one in its delay slot. One that jumps accesses nothing itself.
 */
#include "base/instructions.h"
#include "cpu/interp.h"
#include "cpu/mips16.h"
#include "gdb/parts.h"
#include "linux/fault.h"
#include "memory/values.h"

/* ---- by a word ---- */

static struct mr_debug_access part_of_word(uint32_t address, bool from_start, bool store)
{
    uint32_t start = from_start ? address & ~3u : address, end = from_start ? address + 1 : (address & ~3u) + 4;
    return (struct mr_debug_access){start, end - start, store};
}

static struct mr_debug_access indexed_access(uint32_t word, uint32_t address)
{
    switch (funct(word)) {
    case 0x00: return (struct mr_debug_access){address, 4, false};       /* lwxc1 */
    case 0x01: return (struct mr_debug_access){address, 8, false};       /* ldxc1 */
    case 0x05: return (struct mr_debug_access){address & ~7u, 8, false}; /* luxc1 */
    case 0x08: return (struct mr_debug_access){address, 4, true};        /* swxc1 */
    case 0x09: return (struct mr_debug_access){address, 8, true};        /* sdxc1 */
    case 0x0d: return (struct mr_debug_access){address & ~7u, 8, true};  /* suxc1 */
    default: return (struct mr_debug_access){0, 0, false};
    }
}

/* Of lwx, lhx and lbux, in SPECIAL3. */
static struct mr_debug_access register_indexed_access(uint32_t word, uint32_t address)
{
    static const uint8_t bytes[32] = {[0x00] = 4, [0x04] = 2, [0x06] = 1};
    return (struct mr_debug_access){address, funct(word) == 0x0a ? bytes[sa(word)] : 0, false};
}

/* base: the value of register rs. Volume II-A has the opcodes. */
static struct mr_debug_access access_of(const struct mr_state *s, uint32_t word, uint32_t base)
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
        return (struct mr_debug_access){address, load_bytes[opcode] + store_bytes[opcode], store_bytes[opcode] != 0};
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

static unsigned add(struct mr_debug_access *accesses, unsigned count, struct mr_debug_access found)
{
    if (found.size_bytes != 0)
        accesses[count++] = found;
    return count;
}

static unsigned of_mips32(const struct mr_state *s, struct mr_debug_access *accesses)
{
    uint32_t word = mr_peek32(s->pc);
    if (!mr_has_delay_slot(word))
        return add(accesses, 0, access_of(s, word, GPR(s, rs(word))));
    if (annuls(s, word))
        return 0;
    uint32_t slot = mr_peek32(mr_next_pc(s->pc));
    bool linked = link_of(word) != 0 && rs(slot) == link_of(word);
    return add(accesses, 0, access_of(s, slot, linked ? mr_return_pc(s->pc) : GPR(s, rs(slot))));
}

/* ---- MIPS16 code ---- */

/* No access there is by ra, which a jump writes before its slot runs. A load in the slot is relative to the jump's pc. */
static unsigned of_mips16(const struct mr_state *s, struct mr_debug_access *accesses)
{
    struct mr_mips16 found = mr_code_mips16(s->pc);
    uint32_t words[MR16_MOST_WORDS];
    if (found.kind == MR16_JUMP || found.kind == MR16_JUMP_REGISTER)
        found = mr_code_mips16(s->pc + found.size_bytes);
    if (found.kind == MR16_PC_LOAD)
        return add(accesses, 0, (struct mr_debug_access){mr_aligned_down(s->pc) + found.value, 4, false});
    unsigned count = 0, word_count = mr_mips16_words(found, s->pc, words);
    for (unsigned i = 0; i < word_count; i++)
        count = add(accesses, count, access_of(s, words[i], GPR(s, rs(words[i]))));
    return count;
}

unsigned mr_debug_next_accesses(const struct mr_state *s, struct mr_debug_access accesses[MR_DEBUG_MOST_ACCESSES])
{
    return mr_is_mips16(s->pc) ? of_mips16(s, accesses) : of_mips32(s, accesses);
}
