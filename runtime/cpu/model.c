/* The processors that the guest can have: models of qemu-user 7.2 (target/mips/cpu-defs.c.inc), by MIPS16, DSP and its
 * release 2. In all else they are the same here. And which words are of these modules, by the manual (volumes IV-a and IV-e);
 * the baseline tier knows that from the rows of mipsrec/isa. */
#include "cpu/model.h"

#include "cpu/interp.h"
#include "mr_modules.h"

#include <string.h>

#define RELEASE_1 (MR_CPU_MIPS16 | MR_CPU_DSP)
#define RELEASE_2 (RELEASE_1 | MR_CPU_DSP2)

const struct mr_cpu_model mr_cpu_models[] = {
    {"4Kc", "MIPS 4Kc", 0},
    {"4Km", "MIPS 4Kc", MR_CPU_MIPS16},
    {"4KEcR1", "MIPS 4KEc", 0},
    {"4KEmR1", "MIPS 4KEc", MR_CPU_MIPS16},
    {"4KEc", "MIPS 4KEc", 0},
    {"4KEm", "MIPS 4KEc", MR_CPU_MIPS16},
    {"24Kc", "MIPS 24Kc", MR_CPU_MIPS16},
    {"24KEc", "MIPS 24KEc", RELEASE_1},
    {"24Kf", "MIPS 24Kc", MR_CPU_MIPS16},
    {"34Kf", "MIPS 34Kc", RELEASE_1},
    {"74Kf", "MIPS 74Kc", RELEASE_2},
    {"M14K", "MIPS M14Kc", 0},
    {"M14Kc", "MIPS M14Kc", 0},
    {"P5600", "MIPS P5600", 0},
    {NULL, NULL, 0},
};
enum { MODEL_74KF = 10 };
const struct mr_cpu_model *mr_cpu_model = &mr_cpu_models[MODEL_74KF];
uint32_t mr_cpu_missing;

bool mr_cpu_choose(const char *name, size_t length)
{
    for (const struct mr_cpu_model *model = mr_cpu_models; model->name != NULL; model++) {
        if (strlen(model->name) == length && strncmp(model->name, name, length) == 0) {
            mr_cpu_model = model;
            mr_cpu_missing = RELEASE_2 & ~(uint32_t)model->modules;
            return true;
        }
    }
    return false;
}

/* ---- words ---- */

enum { SPECIAL = 0x00, REGIMM = 0x01, SPECIAL2 = 0x1c, JALX = 0x1d, SPECIAL3 = 0x1f, BPOSGE32 = 0x1c };
enum { MFHI = 0x10, MTHI, MFLO, MTLO, MULT = 0x18, MULTU };
enum { LX = 0x0a, INSV = 0x0c, ADDU_QB = 0x10, CMPU_EQ_QB, ABSQ_S_PH, SHLL_QB, ADDUH_QB = 0x18,
       DPA_W_PH = 0x30, APPEND, EXTR_W = 0x38 };

/* Whether it names another accumulator than HI and LO: SPECIAL moves and multiplies, SPECIAL2 multiplies. */
static bool has_accumulator(uint32_t word)
{
    uint32_t opcode = word >> 26, function = funct(word);
    if (sa(word) != 0)
        return false;
    if (opcode == SPECIAL && (function == MFHI || function == MFLO))
        return (rs(word) & 3) != 0;
    if (opcode == SPECIAL && (function == MTHI || function == MTLO || function == MULT || function == MULTU))
        return (rd(word) & 3) != 0;
    return opcode == SPECIAL2 && (function & ~5u) == 0 && (rd(word) & 3) != 0; /* madd maddu msub msubu */
}

#define BIT(operation) (1u << (operation))

/* Of the DSP module's functions of SPECIAL3: the operations (bits 10 to 6) that release 2 has added; 0 for other functions. */
static uint32_t release_2_operations(uint32_t function)
{
    switch (function) {
    case ADDU_QB: /* addu.ph subu.ph addu_s.ph subu_s.ph mulq_s.ph */
        return BIT(0x08) | BIT(0x09) | BIT(0x0c) | BIT(0x0d) | BIT(0x1e);
    case CMPU_EQ_QB: /* precr.qb.ph cmpgdu precr_sra.ph.w precr_sra_r.ph.w */
        return BIT(0x0d) | BIT(0x18) | BIT(0x19) | BIT(0x1a) | BIT(0x1e) | BIT(0x1f);
    case ABSQ_S_PH: /* absq_s.qb */
        return BIT(0x01);
    case SHLL_QB: /* shra.qb and its kind, shrl.ph shrlv.ph */
        return BIT(0x04) | BIT(0x05) | BIT(0x06) | BIT(0x07) | BIT(0x19) | BIT(0x1b);
    case DPA_W_PH: /* dpa dps mulsa dpax dpsx dpaqx_s dpsqx_s dpaqx_sa dpsqx_sa */
        return BIT(0x00) | BIT(0x01) | BIT(0x02) | BIT(0x08) | BIT(0x09) | BIT(0x18) | BIT(0x19) | BIT(0x1a) | BIT(0x1b);
    case ADDUH_QB: case APPEND:
        return ~0u;
    default:
        return 0;
    }
}

static uint32_t modules_of_special3(uint32_t word)
{
    switch (funct(word)) {
    case LX: case INSV: case ADDU_QB: case CMPU_EQ_QB: case ABSQ_S_PH: case SHLL_QB: case ADDUH_QB: case DPA_W_PH: case APPEND:
    case EXTR_W:
        return MR_CPU_DSP | (release_2_operations(funct(word)) & BIT(sa(word)) ? MR_CPU_DSP2 : 0);
    default:
        return 0;
    }
}

uint32_t mr_modules_of(uint32_t word)
{
    switch (word >> 26) {
    case SPECIAL: case SPECIAL2: return has_accumulator(word) ? MR_CPU_DSP : 0;
    case REGIMM: return rt(word) == BPOSGE32 ? MR_CPU_DSP : 0;
    case JALX: return MR_CPU_MIPS16;
    case SPECIAL3: return modules_of_special3(word);
    default: return 0;
    }
}

const char *mr_missing_module(uint32_t modules)
{
    uint32_t missing = modules & mr_cpu_missing;
    return missing & MR_CPU_MIPS16 ? MR_MODULE_MIPS16 : missing & MR_CPU_DSP ? MR_MODULE_DSP : MR_MODULE_DSP_RELEASE_2;
}
