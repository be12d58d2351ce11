/* Which bytes an instruction touches, for --check-memory (memory/shadow.h). */
#ifndef MR_CPU_ACCESS_H
#define MR_CPU_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

struct mr_access {
    uint8_t size_bytes; /* from its address on; 0: it is no access */
    bool stores, is_indexed; /* the latter: the address is of two registers */
};

/* A word that is loaded counts by its first byte: string functions load the word that has a string's end. The same instructions in
 * MIPS16e code, but for save and restore, which use the stack alone. */
static inline struct mr_access mr_access_of(uint32_t word)
{
    enum { COP1X = 0x13, SPECIAL3 = 0x1f, LX = 0x0a };
    const struct mr_access none = {0, false, false};
    uint32_t opcode = word >> 26, function = word & 63;
    switch (opcode) {
    case 0x20: case 0x22: case 0x23: case 0x24: case 0x26: case 0x30: case 0x31: /* lb lwl lw lbu lwr ll lwc1 */
        return (struct mr_access){1, false, false};
    case 0x21: case 0x25: /* lh lhu */
        return (struct mr_access){2, false, false};
    case 0x35: /* ldc1 */
        return (struct mr_access){8, false, false};
    case 0x28: case 0x2a: case 0x2e: /* sb swl swr */
        return (struct mr_access){1, true, false};
    case 0x29: /* sh */
        return (struct mr_access){2, true, false};
    case 0x2b: case 0x38: case 0x39: /* sw sc swc1 */
        return (struct mr_access){4, true, false};
    case 0x3d: /* sdc1 */
        return (struct mr_access){8, true, false};
    case COP1X: /* lwxc1, ldxc1 luxc1, swxc1, sdxc1 suxc1 */
        return function == 0x00                       ? (struct mr_access){1, false, true}
               : function == 0x01 || function == 0x05 ? (struct mr_access){8, false, true}
               : function == 0x08                     ? (struct mr_access){4, true, true}
               : function == 0x09 || function == 0x0d ? (struct mr_access){8, true, true}
                                                      : none;
    case SPECIAL3: /* lwx, lhx, lbux */
        return function == LX ? (struct mr_access){(word >> 6 & 31) == 0x04 ? 2 : 1, false, true} : none;
    default:
        return none;
    }
}

#endif
