/* Switches of tiers at random points, for tests: --threshold random:SEED.
 *
 * Enters: a seed. Leaves: a threshold for each place; at random after system calls, the loss of all translated code, and of
 * the frames of recompiled code; and recompiled functions that are passed over at random, so that another tier runs them.
 * What a guest does depends on none of this. A seed makes the same choices in each run of a guest of one thread.
 */
#include "base/host_thread.h"
#include "base/instructions.h"
#include "base/lock.h"
#include "baseline/baseline.h"

#include <stdatomic.h>

enum { FORGETS_ONE_OF = 32, LEAVES_ONE_OF = 8 }; /* system calls */

bool mr_tiers_random;
uint32_t mr_tiers_seed;

static _Atomic uint32_t choices;

static uint32_t scrambled(uint32_t value)
{
    for (unsigned round = 0; round < 3; round++) {
        value *= 0x9e3779b1u;
        value ^= value >> 15;
    }
    return value;
}

uint32_t mr_random_threshold(uint32_t pc)
{
    return 1 + scrambled(scrambled(mr_tiers_seed) + mr_instruction_index(pc)) % 255;
}

bool mr_random_choice(uint32_t one_of)
{
    return scrambled(scrambled(mr_tiers_seed + 1) + atomic_fetch_add(&choices, 1)) % one_of == 0;
}

void mr_tiers_disturb(void)
{
    if (mr_random_choice(FORGETS_ONE_OF)) {
        mr_lock();
        mr_baseline_forget(0, MR_USER_END);
        mr_unlock();
    }
    if (mr_random_choice(LEAVES_ONE_OF))
        mr_host_thread.leave_lifted = true;
}
