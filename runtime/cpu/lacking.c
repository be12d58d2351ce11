/* Which part of the MIPS architecture an instruction is of that this processor lacks.
 *
 * Enters: a word that raised the reserved instruction exception. Leaves: the name of its module, for people: two where both
 * use the same encodings. Sources: the manual's volumes II-A (opcode maps) and IV-b to IV-j, and binutils' mips-opc.c.
 */
#include "cpu/lacking.h"

#include <stddef.h>

#define OPCODE(opcode) (uint32_t)(opcode) << 26
#define WHOLE_OPCODE OPCODE(0x3f)
#define RS(rs) (uint32_t)(rs) << 21
#define SA(sa) (uint32_t)(sa) << 6

#define SPECIAL 0x00
#define REGIMM 0x01
#define COP1X 0x13
#define SPECIAL2 0x1c
#define SPECIAL3 0x1f
#define COP1 0x11

#define WIDE MR_MODULE_MIPS_III " or " MR_MODULE_MIPS64 " (64 bits)"
#define SMART MR_MODULE_SMARTMIPS
#define THREADS "the " MR_MODULE_MT " module"
#define EVA "enhanced virtual addressing (" MR_MODULE_EVA ")"
#define PAIRED MR_MODULE_PAIRED_SINGLE_FLOATING_POINT
#define GRAPHICS MR_MODULE_MIPS_3D
#define VECTORS MR_MODULE_MSA " or " MR_MODULE_MDMX
#define RELEASE6 MR_MODULE_MIPS_R6
#define COPROCESSOR2 MR_MODULE_COPROCESSOR_2 " or " RELEASE6
#define KERNEL "coprocessor 0, the kernel's"

/* The first row that fits: a word under the mask is the value. */
struct row {
    uint32_t mask, value;
    const char *module;
};

#define BY_OPCODE(opcode, module) {WHOLE_OPCODE, OPCODE(opcode), module}
#define BY_FUNCTION(opcode, function, module) {WHOLE_OPCODE | 0x3f, OPCODE(opcode) | (function), module}
/* Eight functions whose upper three bits are these. */
#define BY_FUNCTIONS(opcode, upper, module) {WHOLE_OPCODE | 0x38, OPCODE(opcode) | (uint32_t)(upper) << 3, module}
#define BY_RS(opcode, rs, module) {WHOLE_OPCODE | RS(31), OPCODE(opcode) | RS(rs), module}

static const struct row rows[] = {
    /* Encodings of SmartMIPS among those that every processor has: fields that must be 0 elsewhere. */
    {0xffff07ff, 0x00000052, SMART}, {0xfc1fffff, 0x00000053, SMART}, {0xfc00ffff, 0x00000459, SMART},
    {WHOLE_OPCODE | 0x7ff, OPCODE(SPECIAL2) | 0x441, SMART}, {WHOLE_OPCODE | 0x7ff, OPCODE(SPECIAL2) | 0x481, SMART},
    {WHOLE_OPCODE | 0x7ff, OPCODE(SPECIAL2) | 0x088, SMART},
    {WHOLE_OPCODE | 0x001f0000, OPCODE(REGIMM) | 0x00070000, "the " MR_MODULE_MCU " module"},
    {WHOLE_OPCODE | 0x001f0000, OPCODE(REGIMM) | 0x00060000, RELEASE6},
    {WHOLE_OPCODE | 0x001f0000, OPCODE(REGIMM) | 0x001e0000, RELEASE6},

    BY_FUNCTION(SPECIAL, 0x14, WIDE), BY_FUNCTION(SPECIAL, 0x16, WIDE), BY_FUNCTION(SPECIAL, 0x17, WIDE),
    {WHOLE_OPCODE | 0x7fc, OPCODE(SPECIAL) | 0x098, RELEASE6}, {WHOLE_OPCODE | 0x7fc, OPCODE(SPECIAL) | 0x0d8, RELEASE6},
    {WHOLE_OPCODE | 0x7fc, OPCODE(SPECIAL) | 0x09c, RELEASE6}, {WHOLE_OPCODE | 0x7fc, OPCODE(SPECIAL) | 0x0dc, RELEASE6},
    {WHOLE_OPCODE | 0x3c, OPCODE(SPECIAL) | 0x1c, WIDE}, {WHOLE_OPCODE | 0x3c, OPCODE(SPECIAL) | 0x2c, WIDE},
    {WHOLE_OPCODE | 0x72f, OPCODE(SPECIAL) | 0x005, MR_MODULE_MSA " or " RELEASE6}, BY_FUNCTION(SPECIAL, 0x35, RELEASE6),
    BY_FUNCTION(SPECIAL, 0x37, RELEASE6), BY_FUNCTION(SPECIAL, 0x39, NULL), BY_FUNCTION(SPECIAL, 0x3d, NULL),
    BY_FUNCTIONS(SPECIAL, 7, WIDE),

    BY_FUNCTION(SPECIAL2, 0x24, WIDE), BY_FUNCTION(SPECIAL2, 0x25, WIDE),
    {WHOLE_OPCODE | 0x30, OPCODE(SPECIAL2) | 0x10, "the processor's maker (UDI, Loongson)"},

    {WHOLE_OPCODE | 0x7ff, OPCODE(SPECIAL3) | 0x020, RELEASE6}, {WHOLE_OPCODE | 0x73f, OPCODE(SPECIAL3) | 0x220, RELEASE6},
    BY_FUNCTION(SPECIAL3, 0x08, THREADS), BY_FUNCTION(SPECIAL3, 0x09, THREADS), BY_FUNCTION(SPECIAL3, 0x0f, RELEASE6),
    BY_FUNCTION(SPECIAL3, 0x3d, RELEASE6), BY_FUNCTION(SPECIAL3, 0x24, WIDE), BY_FUNCTION(SPECIAL3, 0x25, RELEASE6),
    BY_FUNCTION(SPECIAL3, 0x26, RELEASE6), BY_FUNCTION(SPECIAL3, 0x27, RELEASE6), BY_FUNCTION(SPECIAL3, 0x35, RELEASE6),
    BY_FUNCTION(SPECIAL3, 0x36, RELEASE6), BY_FUNCTION(SPECIAL3, 0x37, RELEASE6),
    BY_FUNCTION(SPECIAL3, 0x18, NULL), BY_FUNCTIONS(SPECIAL3, 3, EVA), BY_FUNCTION(SPECIAL3, 0x21, EVA),
    BY_FUNCTION(SPECIAL3, 0x22, EVA), BY_FUNCTION(SPECIAL3, 0x23, EVA), BY_FUNCTIONS(SPECIAL3, 5, EVA),
    {WHOLE_OPCODE | 0x38, OPCODE(SPECIAL3) | 0x00, WIDE},
    BY_FUNCTION(SPECIAL3, 0x0d, WIDE), {WHOLE_OPCODE | 0x3c, OPCODE(SPECIAL3) | 0x14, WIDE},
    BY_FUNCTION(SPECIAL3, 0x34, WIDE), BY_FUNCTION(SPECIAL3, 0x3c, WIDE), /* the DSP module of 64 bits */

    /* mftr, mttr, and the calls that stop threads */
    BY_RS(0x10, 0x08, THREADS), BY_RS(0x10, 0x0c, THREADS), {0xffe0ffdf, 0x41600001, THREADS}, {0xffe0ffdf, 0x41600bc1, THREADS},
    BY_OPCODE(0x10, KERNEL),

    BY_RS(COP1, 0x01, WIDE), BY_RS(COP1, 0x05, WIDE), BY_RS(COP1, 0x09, GRAPHICS " or " RELEASE6),
    BY_RS(COP1, 0x0d, RELEASE6), BY_RS(COP1, 0x0a, GRAPHICS), {WHOLE_OPCODE | RS(24) | RS(3), OPCODE(COP1) | RS(11), VECTORS},
    {WHOLE_OPCODE | RS(24), OPCODE(COP1) | RS(24), VECTORS},
    {WHOLE_OPCODE | RS(31) | 0x3c, OPCODE(COP1) | RS(22) | 0x1c, GRAPHICS},
    {WHOLE_OPCODE | RS(31) | 0x3d, OPCODE(COP1) | RS(22) | 0x18, GRAPHICS},
    BY_RS(COP1, 22, PAIRED), {WHOLE_OPCODE | RS(30) | 0x3c, OPCODE(COP1) | RS(16) | 0x1c, GRAPHICS " or " RELEASE6},
    {WHOLE_OPCODE | RS(31) | 0x3f, OPCODE(COP1) | RS(16) | 0x26, PAIRED},
    {WHOLE_OPCODE | RS(30) | 0x38, OPCODE(COP1) | RS(16) | 0x18, RELEASE6}, BY_RS(COP1, 20, RELEASE6), BY_RS(COP1, 21, RELEASE6),
    {WHOLE_OPCODE | 0x27, OPCODE(COP1X) | 0x26, PAIRED}, BY_FUNCTION(COP1X, 0x1e, PAIRED),

    BY_OPCODE(0x12, COPROCESSOR2), BY_OPCODE(0x32, COPROCESSOR2), BY_OPCODE(0x36, COPROCESSOR2),
    BY_OPCODE(0x3a, COPROCESSOR2), BY_OPCODE(0x3e, COPROCESSOR2), BY_OPCODE(0x3b, RELEASE6),
    BY_OPCODE(0x1e, VECTORS),
    {OPCODE(0x3c), OPCODE(0x18), WIDE}, BY_OPCODE(0x27, WIDE), BY_OPCODE(0x2c, WIDE), BY_OPCODE(0x2d, WIDE),
    BY_OPCODE(0x34, WIDE), BY_OPCODE(0x37, WIDE), BY_OPCODE(0x3c, WIDE), BY_OPCODE(0x3f, WIDE),
};

const char *mr_lacking_module(uint32_t word)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if ((word & rows[i].mask) == rows[i].value)
            return rows[i].module;
    return NULL;
}
