/* Puts calls of the host where functions of the guest's allocator begin.
 *
 * `syscall CODE; jr $ra; nop` goes there. So all callers come here, also those inside the C library, in every tier that reads the
 * guest's code from its memory. A function of MIPS16e code, which has no syscall, jumps to such words elsewhere.
 */
#include "base/instructions.h"
#include "base/lock.h"
#include "base/messages.h"
#include "cpu/interp.h"
#include "heap/heap.h"
#include "linux/upcalls.h"
#include "memory/memory.h"
#include "memory/values.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

enum { CODE = 0x48e00, MOST_HOOKS = 256, SYSCALL = 0x0c, JR_RA = 0x03e00008, HOOK_WORDS = MR_HOOK_BYTES / 4 };
static struct hook {
    uint32_t pc, function; /* pc: of the syscall; function: the entry that callers know */
    enum mr_function_kind kind;
} hooks[MOST_HOOKS];
static uint32_t hook_count;
static uint32_t stubs; /* a page of the guest's for MIPS16e functions; 0: there is none yet */
bool mr_has_malloc;

bool mr_heap_called(struct mr_state *s, uint32_t pc, uint32_t *after)
{
    uint32_t word = mr_peek32(pc), index = (word >> 6 & 0xfffff) - CODE;
    if ((word & 0xfc00003f) != SYSCALL || index >= hook_count || hooks[index].pc != pc)
        return false;
    s->pc = hooks[index].function;
    GPR(s, MR_REG_V0) = mr_function_perform(s, hooks[index].kind);
    s->pc = pc;
    *after = GPR(s, MR_REG_RA);
    return true;
}

static void write_words(uint32_t guest, const uint32_t *words, uint32_t count)
{
    uint8_t *first = mr_window + mr_page_down(guest);
    size_t size_bytes = (size_t)(guest - mr_page_down(guest)) + 4 * count;
    if (mprotect(first, size_bytes, PROT_READ | PROT_WRITE) != 0)
        mr_fail("--check-memory: cannot write the guest's code: %s", strerror(errno));
    for (uint32_t i = 0; i < count; i++)
        mr_poke32(guest + 4 * i, words[i]);
    if ((mr_pages[guest / MR_PAGE_BYTES] & MR_WRITE) == 0)
        mprotect(first, size_bytes, PROT_READ);
}

static bool make_stubs(void)
{
    mr_lock();
    uint32_t place = stubs != 0 ? stubs : mr_find_free(MR_PAGE_BYTES);
    if (stubs == 0 && place != 0 &&
        mr_map(place, MR_PAGE_BYTES, MR_READ | MR_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, true) >= 0)
        stubs = place;
    mr_unlock();
    return stubs != 0;
}

/* lw $v0, 8(pc); jr $v0; nop; and the address of the stub, which is 8 bytes behind the aligned pc. */
static void jump_to_stub(uint32_t function, uint32_t stub)
{
    static const uint16_t halves[] = {0xb202, 0xea00, 0x6500, 0x6500};
    uint32_t entry = function & ~1u, aligned = mr_aligned_down(entry), words[HOOK_WORDS];
    uint8_t bytes[MR_HOOK_BYTES];
    memcpy(bytes, mr_window + aligned, sizeof bytes);
    for (uint32_t i = 0; i < 4 && entry - aligned + 2 * i < 8; i++)
        mr_put16(bytes + (entry - aligned) + 2 * i, halves[i]);
    mr_put32(bytes + 8, stub);
    for (uint32_t i = 0; i < HOOK_WORDS; i++)
        words[i] = mr_get32(bytes + 4 * i);
    write_words(aligned, words, HOOK_WORDS);
}

/* The number of the hook of a function, a new one if need be; MOST_HOOKS: there is no room. */
static uint32_t number_of(uint32_t function, enum mr_function_kind kind)
{
    uint32_t index = 0;
    mr_lock();
    while (index < hook_count && hooks[index].function != function)
        index++;
    if (index < MOST_HOOKS) {
        uint32_t pc = mr_is_mips16(function) ? stubs + MR_HOOK_BYTES * index : function;
        hooks[index] = (struct hook){pc, function, kind};
        hook_count = index == hook_count ? index + 1 : hook_count;
        mr_has_malloc |= kind == MR_MALLOC;
    }
    mr_unlock();
    return index;
}

void mr_function_hook(uint32_t function, enum mr_function_kind kind)
{
    if (!mr_may_be_code(function) || !mr_accessible(mr_aligned_down(function), MR_HOOK_BYTES, MR_EXEC) ||
        (mr_is_mips16(function) && !make_stubs()))
        return;
    uint32_t index = number_of(function, kind);
    if (index == MOST_HOOKS)
        return;
    const uint32_t words[HOOK_WORDS] = {(CODE + index) << 6 | SYSCALL, JR_RA, 0};
    write_words(hooks[index].pc, words, HOOK_WORDS);
    if (mr_is_mips16(function))
        jump_to_stub(function, hooks[index].pc);
}
