/* The guest's call chain, without unwind tables, which most MIPS programs lack.
 *
 * The code before a pc tells what its function has done with sp and ra so far: compilers make the frame by one addiu and store
 * ra, and s8 where that is the frame's address, into it. Where no symbol tells where the function begins, that is looked for
 * backward, up to the end of the function before. What is found for a pc is remembered. A chain ends at MIPS16e code, whose
 * frames are not looked at.
 */
#include "base/instructions.h"
#include "base/lock.h"
#include "cpu/interp.h"
#include "heap/heap.h"
#include "memory/memory.h"
#include "memory/values.h"

#define FARTHEST 2048u /* instructions that a function is looked through for its beginning */
#define NONE INT32_MIN
#define FP 30u

/* What a function has done up to a pc. */
struct frame {
    uint32_t pc;
    int32_t size_bytes;   /* of its frame */
    int32_t ra_at, fp_at; /* offsets from sp; NONE: still in the register */
    bool by_fp;           /* fp has what sp was when the frame was made */
};

static bool is_code(uint32_t pc)
{
    return mr_may_be_code(pc) && (mr_pages[pc / MR_PAGE_BYTES] & MR_EXEC) != 0;
}

enum { ADDIU_SP = 0x27bd, SW_RA = 0xafbf, SW_FP = 0xafbe, MOVE_FP_SP = 0x03a0f025, ADDU_FP_SP = 0x03a0f021, JR_RA = 0x03e00008 };

/* Whether an instruction is of a function that has a frame: it calls, or loads from the stack. */
static bool wants_frame(uint32_t word)
{
    uint32_t opcode = word >> 26;
    bool calls = opcode == 0x03 || (opcode == 0x00 && (word & 63) == 0x09) || word >> 16 == 0x0411; /* jal jalr bal */
    return calls || (opcode == 0x23 && rs(word) == MR_REG_SP);
}

/* The first instruction of the function, or of the part of it that is looked at: where its frame is made, or behind the end of the
 * function before. A function may end by more than one `jr $ra`. */
static uint32_t beginning(uint32_t pc)
{
    uint32_t known = mr_heap_function_of(pc);
    if (known != 0 && pc - known < FARTHEST * MR_INSTRUCTION_BYTES)
        return known;
    uint32_t at = pc;
    bool has_frame = false;
    for (unsigned i = 0; i < FARTHEST && is_code(at - MR_INSTRUCTION_BYTES); i++) {
        uint32_t before = at - MR_INSTRUCTION_BYTES, word = mr_peek32(before), behind = before + 2 * MR_INSTRUCTION_BYTES;
        if (word == JR_RA && behind <= pc && !has_frame)
            return behind;
        has_frame |= wants_frame(word);
        at = before;
        if (word >> 16 == ADDIU_SP && (int16_t)word < 0)
            return at;
    }
    return at;
}

static struct frame look(uint32_t pc)
{
    struct frame found = {.pc = pc, .ra_at = NONE, .fp_at = NONE};
    for (uint32_t at = beginning(pc); at < pc; at += MR_INSTRUCTION_BYTES) {
        uint32_t word = mr_peek32(at);
        if (word >> 16 == ADDIU_SP && (int16_t)word < 0 && found.size_bytes == 0)
            found.size_bytes = -(int16_t)word;
        else if (word >> 16 == SW_RA && found.ra_at == NONE)
            found.ra_at = (int16_t)word;
        else if (word >> 16 == SW_FP && found.fp_at == NONE)
            found.fp_at = (int16_t)word;
        else if (word == MOVE_FP_SP || word == ADDU_FP_SP)
            found.by_fp = found.size_bytes != 0;
    }
    return found;
}

static struct frame frame_at(uint32_t pc)
{
    enum { REMEMBERED = 4096 };
    static struct frame frames[REMEMBERED]; /* under mr_lock */
    struct frame *known = &frames[mr_instruction_index(pc) % REMEMBERED];
    mr_lock();
    struct frame frame = *known;
    mr_unlock();
    if (frame.pc == pc)
        return frame;
    frame = look(pc);
    mr_lock();
    *known = frame;
    mr_unlock();
    return frame;
}

static bool load(uint32_t guest, uint32_t *value)
{
    return (guest & 3) == 0 && mr_read32(guest, value) == 0;
}

struct place {
    uint32_t pc, sp, fp, ra;
};

/* Moves to what called the function. `first`: ra is in the register where the function has not stored it. Returns false where the
 * caller is not known. */
static bool go_out(struct place *place, bool first)
{
    struct frame frame = frame_at(place->pc);
    uint32_t base = frame.by_fp ? place->fp : place->sp, low = place->sp;
    if ((frame.ra_at != NONE && !load(base + (uint32_t)frame.ra_at, &place->ra)) ||
        (frame.fp_at != NONE && !load(base + (uint32_t)frame.fp_at, &place->fp)) || (frame.ra_at == NONE && !first))
        return false;
    place->sp = base + (uint32_t)frame.size_bytes;
    place->pc = place->ra;
    return place->sp >= low;
}

void mr_heap_unwind(const struct mr_state *s, uint32_t pc, bool entered, struct mr_trace *trace)
{
    struct place place = {pc, GPR(s, MR_REG_SP), GPR(s, FP), GPR(s, MR_REG_RA)};
    trace->count = 0;
    trace->pcs[trace->count++] = pc;
    if (entered)
        place.pc = place.ra;
    else if (mr_is_mips16(pc) || !go_out(&place, true))
        return;
    while (trace->count < MR_TRACE_FRAMES && place.pc != 0 && is_code(place.pc)) {
        bool is_16 = mr_is_mips16(place.pc);
        trace->pcs[trace->count++] = place.pc - 2 * (is_16 ? MR_HALF_BYTES : MR_INSTRUCTION_BYTES);
        if (is_16 || !go_out(&place, false))
            return;
    }
}
