/* Which modules of the architecture the guest's processor has, of those that programs can use here. */
#ifndef MR_CPU_MODEL_H
#define MR_CPU_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum mr_cpu_modules { MR_CPU_MIPS16 = 1, MR_CPU_DSP = 2, MR_CPU_DSP2 = 4 };

struct mr_cpu_model {
    const char *name;        /* as qemu calls it */
    const char *kernel_name; /* as /proc/cpuinfo does, arch/mips/kernel/cpu-probe.c */
    uint8_t modules;         /* of enum mr_cpu_modules */
};
extern const struct mr_cpu_model mr_cpu_models[]; /* the last has no name */
extern const struct mr_cpu_model *mr_cpu_model;   /* the guest's: a 74Kf, which has all, unless another one was chosen */
extern uint32_t mr_cpu_missing;                   /* the modules that it has not */

/* Chooses the model of that name; returns false where there is none. */
bool mr_cpu_choose(const char *name, size_t length);

static inline bool mr_cpu_lacks(uint32_t modules)
{
    return (mr_cpu_missing & modules) != 0;
}

/* The modules that a word of MIPS32 code needs: all must be there. */
uint32_t mr_modules_of(uint32_t word);

/* Whether a word is an instruction that other processors have, but not this one: it raises the reserved instruction
 * exception. */
static inline bool mr_cpu_lacks_word(uint32_t word)
{
    return mr_cpu_missing != 0 && mr_cpu_lacks(mr_modules_of(word));
}

const char *mr_missing_module(uint32_t modules); /* the name, for people, of one of these that the processor has not */

#endif
