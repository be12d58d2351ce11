/* What the processes of a fork server make of code, for the next ones: each would make the same again.
 *
 * All see how often control came by a place, so that it is translated after many short processes as after one long one. A process
 * notes what it translates. The fork server makes the same of its own memory before the next fork; where that has other code, or
 * none, nothing is wrong.
 */
#include "base/messages.h"
#include "baseline/baseline.h"
#include "baseline/parts.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

#define MOST_PLACES (1u << 16) /* of one process; what comes behind is noted by a later one */

static struct notes {
    struct mr_came came[MR_CAME_PLACES];
    _Atomic uint32_t count;
    _Atomic uint32_t places[MOST_PLACES];
} *notes;

void mr_baseline_share(void)
{
    if (!mr_baseline_on)
        return;
    notes = mmap(NULL, sizeof *notes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (notes == MAP_FAILED)
        mr_fail("no memory to share with the processes for the fuzzer's inputs: %s", strerror(errno));
    mr_came = notes->came;
}

void mr_note_translated(uint32_t pc)
{
    uint32_t number = notes != NULL ? atomic_fetch_add(&notes->count, 1) : MOST_PLACES;
    if (number < MOST_PLACES)
        notes->places[number] = pc;
}

void mr_baseline_inherit(struct mr_state *s)
{
    uint32_t count = notes != NULL ? atomic_exchange(&notes->count, 0) : 0;
    for (uint32_t i = 0; i < count && i < MOST_PLACES; i++) {
        uint32_t pc = atomic_exchange(&notes->places[i], 0);
        if (pc != 0)
            mr_translate_at(s, pc);
    }
}
