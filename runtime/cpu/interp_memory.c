/* Loads, stores, ll/sc and hints (MIPS32 manual, volume II-A). Unaligned accesses work, as if mended by a kernel. */
#include "cpu/fpu.h"
#include "cpu/interp.h"
#include "memory/values.h"

static uint32_t based_address(struct mr_state *s, uint32_t word)
{
    return GPR(s, rs(word)) + signed_immediate(word);
}

static uint32_t indexed_address(struct mr_state *s, uint32_t word)
{
    return GPR(s, rs(word)) + GPR(s, rt(word));
}

#define LOAD(name, value)                                          \
    uint32_t op_##name(struct mr_state *s, uint32_t word, uint32_t next) \
    {                                                              \
        uint32_t address = based_address(s, word);                 \
        set_gpr(s, rt(word), (value));                             \
        return next;                                               \
    }

LOAD(lb, (uint32_t)(int8_t)mr_peek8(address))
LOAD(lbu, mr_peek8(address))
LOAD(lh, (uint32_t)(int16_t)mr_peek16(address))
LOAD(lhu, mr_peek16(address))
LOAD(lw, mr_peek32(address))

/* lwx, lhx, lbux (volume IV-e): the loads of the DSP module, whose addresses are sums of two registers. */
uint32_t op_lx(struct mr_state *s, uint32_t word, uint32_t next)
{
    uint32_t address = indexed_address(s, word);
    switch (sa(word)) {
    case 0x00: set_gpr(s, rd(word), mr_peek32(address)); return next;
    case 0x04: set_gpr(s, rd(word), (uint32_t)(int16_t)mr_peek16(address)); return next;
    case 0x06: set_gpr(s, rd(word), mr_peek8(address)); return next;
    default: return raise_reserved(s, word);
    }
}

#define STORE(name, poke, type)                                    \
    uint32_t op_##name(struct mr_state *s, uint32_t word, uint32_t next) \
    {                                                              \
        poke(based_address(s, word), (type)GPR(s, rt(word)));      \
        return next;                                               \
    }

STORE(sb, mr_poke8, uint8_t)
STORE(sh, mr_poke16, uint16_t)
STORE(sw, mr_poke32, uint32_t)

/* ---- the parts of an unaligned word ---- */

/* How many bytes of the aligned word at `address & ~3` lie before `address` in order of significance, from the most
 * significant one: lwl and swl leave them out, lwr and swr end with the byte after them. */
static unsigned more_significant_bytes(uint32_t address)
{
    return mr_big_endian ? address & 3 : 3 - (address & 3);
}

/* Memory from `address` down in significance becomes the most significant part of the register. */
uint32_t op_lwl(struct mr_state *s, uint32_t word, uint32_t next)
{
    uint32_t address = based_address(s, word);
    unsigned shift = 8 * more_significant_bytes(address);
    uint32_t kept = GPR(s, rt(word)) & ~(0xffffffffu << shift);
    set_gpr(s, rt(word), mr_peek32(address & ~3u) << shift | kept);
    return next;
}

/* Memory from `address` up in significance becomes the least significant part of the register. */
uint32_t op_lwr(struct mr_state *s, uint32_t word, uint32_t next)
{
    uint32_t address = based_address(s, word);
    unsigned shift = 8 * (3 - more_significant_bytes(address));
    uint32_t kept = GPR(s, rt(word)) & ~(0xffffffffu >> shift);
    set_gpr(s, rt(word), mr_peek32(address & ~3u) >> shift | kept);
    return next;
}

/* Bytes are stored one by one: the others of the word may belong to another thread. They share a page. */
uint32_t op_swl(struct mr_state *s, uint32_t word, uint32_t next)
{
    uint32_t address = based_address(s, word), value = GPR(s, rt(word));
    uint32_t toward_less = mr_big_endian ? 1 : 0xffffffffu;
    for (unsigned count = 4 - more_significant_bytes(address); count > 0; count--) {
        mr_poke8(address, (uint8_t)(value >> 24));
        value <<= 8;
        address += toward_less;
    }
    return next;
}

uint32_t op_swr(struct mr_state *s, uint32_t word, uint32_t next)
{
    uint32_t address = based_address(s, word), value = GPR(s, rt(word));
    uint32_t toward_more = mr_big_endian ? 0xffffffffu : 1;
    for (unsigned count = 1 + more_significant_bytes(address); count > 0; count--) {
        mr_poke8(address, (uint8_t)value);
        value >>= 8;
        address += toward_more;
    }
    return next;
}

/* ---- ll, sc, order ---- */

uint32_t op_ll(struct mr_state *s, uint32_t word, uint32_t next)
{
    uint32_t address = based_address(s, word);
    if (address & 3)
        return mr_exception(s, s->pc, MR_ADDRESS, word);
    uint32_t value = mr_peek32(address);
    s->ll_address = address;
    s->ll_value = value;
    s->ll_valid = 1;
    set_gpr(s, rt(word), value);
    return next;
}

/* Succeeds when memory still has the value that ll saw; a value that came back meanwhile goes unnoticed. */
uint32_t op_sc(struct mr_state *s, uint32_t word, uint32_t next)
{
    uint32_t address = based_address(s, word);
    if (address & 3)
        return mr_exception(s, s->pc, MR_ADDRESS, word);
    bool stored = false;
    if (s->ll_valid && s->ll_address == address) {
        uint32_t expected = mr_swap32(s->ll_value), desired = mr_swap32(GPR(s, rt(word)));
        uint32_t *host_ptr = (uint32_t *)((uintptr_t)mr_window + address);
        mr_watch_store(address, sizeof desired);
        stored = __atomic_compare_exchange_n(host_ptr, &expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    }
    s->ll_valid = 0;
    set_gpr(s, rt(word), stored);
    return next;
}

uint32_t op_sync(struct mr_state *s, uint32_t word, uint32_t next)
{
    (void)s, (void)word;
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    return next;
}

uint32_t op_synci(struct mr_state *s, uint32_t word, uint32_t next)
{
    mr_synci(s, based_address(s, word));
    return next;
}

uint32_t op_pref(struct mr_state *s, uint32_t word, uint32_t next)
{
    (void)s, (void)word;
    return next;
}

/* ---- floating-point registers ---- */

MR_INLINE uint32_t load_float(struct mr_state *s, uint32_t word, uint32_t next, unsigned number, bool is_double,
                              uint32_t address)
{
    if (is_double && !mr_fpr_has_double(s, number))
        return raise_reserved(s, word);
    if (is_double)
        mr_fpr_set_double(s, number, mr_peek64(address));
    else
        mr_fpr_set_single(s, number, mr_peek32(address));
    return next;
}

MR_INLINE uint32_t store_float(struct mr_state *s, uint32_t word, uint32_t next, unsigned number, bool is_double,
                               uint32_t address)
{
    if (is_double && !mr_fpr_has_double(s, number))
        return raise_reserved(s, word);
    if (is_double)
        mr_poke64(address, mr_fpr_double(s, number));
    else
        mr_poke32(address, mr_fpr_single(s, number));
    return next;
}

/* Of the register in a field. */
#define FLOAT_ACCESS(name, access, field, is_double, address)      \
    uint32_t op_##name(struct mr_state *s, uint32_t word, uint32_t next) \
    {                                                              \
        return access(s, word, next, field(word), is_double, address); \
    }

FLOAT_ACCESS(lwc1, load_float, rt, false, based_address(s, word))
FLOAT_ACCESS(ldc1, load_float, rt, true, based_address(s, word))
FLOAT_ACCESS(swc1, store_float, rt, false, based_address(s, word))
FLOAT_ACCESS(sdc1, store_float, rt, true, based_address(s, word))
FLOAT_ACCESS(lwxc1, load_float, sa /* fd */, false, indexed_address(s, word))
FLOAT_ACCESS(ldxc1, load_float, sa, true, indexed_address(s, word))
FLOAT_ACCESS(luxc1, load_float, sa, true, indexed_address(s, word) & ~7u)
FLOAT_ACCESS(swxc1, store_float, rd /* fs */, false, indexed_address(s, word))
FLOAT_ACCESS(sdxc1, store_float, rd, true, indexed_address(s, word))
FLOAT_ACCESS(suxc1, store_float, rd, true, indexed_address(s, word) & ~7u)
