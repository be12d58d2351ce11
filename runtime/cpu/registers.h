/* The registers of the guest as mipsrec/state.py has them in its table, each by its number MR_REG_*. The table says where a
 * register is in the state, and who sees it as what; what is computed, such as FCSR, those compute who show it.
 */
#ifndef MR_CPU_REGISTERS_H
#define MR_CPU_REGISTERS_H

#include "mr_state.h"

#include <stdbool.h>
#include <string.h>

enum mr_register_kind { MR_KIND_PLAIN, MR_KIND_FLOAT, MR_KIND_FCSR, MR_KIND_COMPUTED };

struct mr_register {
    const char *name;
    enum mr_register_kind kind;
    uint8_t size_bytes;
    bool dumped;
    uint16_t offset;           /* in the state */
    const char *gdb_feature;   /* of org.gnu.gdb.mips.*, or "" */
    uint16_t gdb_number;
    uint16_t frame, frame_bytes; /* place in struct sigcontext; 0: it has none there */
};
extern const struct mr_register mr_registers[MR_REGISTERS];

/* Returns what the state has, without an extension of its sign. */
static inline uint64_t mr_register(const struct mr_state *s, unsigned number)
{
    uint64_t value = 0;
    memcpy(&value, (const uint8_t *)s + mr_registers[number].offset, mr_registers[number].size_bytes);
    return value;
}

static inline void mr_set_register(struct mr_state *s, unsigned number, uint64_t value)
{
    memcpy((uint8_t *)s + mr_registers[number].offset, &value, mr_registers[number].size_bytes);
}

/* Whether all registers are the same that a program can see: what verify compares, and the handler of a signal can restore. */
static inline bool mr_same_registers(const struct mr_state *a, const struct mr_state *b)
{
#define SAME(field) && memcmp(&a->field, &b->field, sizeof a->field) == 0
    return true MR_VERIFIED_FIELDS(SAME);
#undef SAME
}

#endif
