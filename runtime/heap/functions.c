/* What malloc and its like do in the host's heap. errno is the guest's own, and stays as it is. */
#include "base/lock.h"
#include "cpu/interp.h"
#include "heap/heap.h"
#include "linux/abi.h"
#include "memory/memory.h"
#include "memory/values.h"

#include <errno.h>
#include <string.h>

const char *const mr_function_names[] = {
    [MR_MALLOC] = "malloc", [MR_CALLOC] = "calloc", [MR_REALLOC] = "realloc", [MR_FREE] = "free", [MR_MEMALIGN] = "memalign",
    [MR_POSIX_MEMALIGN] = "posix_memalign", [MR_VALLOC] = "valloc", [MR_PVALLOC] = "pvalloc",
    [MR_USABLE_SIZE] = "malloc_usable_size",
};

static uint32_t make(struct mr_state *s, uint32_t size_bytes, uint32_t alignment)
{
    struct mr_trace trace;
    mr_heap_unwind(s, s->pc, true, &trace);
    mr_lock();
    struct mr_block *block = mr_block_make(size_bytes, alignment, mr_trace_keep(&trace));
    mr_unlock();
    return block != NULL ? block->at : 0;
}

static void clear(uint32_t guest, uint32_t size_bytes)
{
    if (guest != 0)
        memset(mr_window + guest, 0, size_bytes);
}

static struct mr_block *live_block(struct mr_state *s, uint32_t guest, const char *name)
{
    mr_lock();
    struct mr_block *block = mr_block_at(guest);
    bool lives = block != NULL && block->state == MR_BLOCK_LIVE;
    mr_unlock();
    if (!lives)
        mr_heap_bad_pointer(s, guest, name);
    return block;
}

static void release(struct mr_state *s, uint32_t guest, const char *name)
{
    struct mr_trace trace;
    if (guest == 0)
        return;
    struct mr_block *block = live_block(s, guest, name);
    mr_heap_unwind(s, s->pc, true, &trace);
    mr_lock();
    mr_block_free(block, mr_trace_keep(&trace));
    mr_unlock();
}

static uint32_t resize(struct mr_state *s, uint32_t guest, uint32_t size_bytes, const char *name)
{
    if (guest == 0)
        return make(s, size_bytes, 0);
    struct mr_block *block = live_block(s, guest, name);
    if (size_bytes == 0) {
        release(s, guest, name);
        return 0;
    }
    uint32_t kept = block->size_bytes < size_bytes ? block->size_bytes : size_bytes, to = make(s, size_bytes, 0);
    if (to != 0) {
        memcpy(mr_window + to, mr_window + guest, kept);
        release(s, guest, name);
    }
    return to;
}

static bool is_power_of_two(uint32_t number)
{
    return number != 0 && (number & (number - 1)) == 0;
}

#define MOST_ALIGNMENT (1u << 30)

/* As C libraries do for memalign, to a power of two. */
static uint32_t rounded_up(uint32_t alignment)
{
    uint32_t power = 1;
    while (power < alignment)
        power *= 2;
    return power;
}

/* Returns an error number of MIPS. */
static uint32_t make_at(struct mr_state *s, uint32_t to, uint32_t alignment, uint32_t size_bytes)
{
    if (!is_power_of_two(alignment) || alignment % 4 != 0)
        return (uint32_t)mr_errno_to_mips(EINVAL);
    uint32_t made = make(s, size_bytes, alignment);
    if (made == 0)
        return (uint32_t)mr_errno_to_mips(ENOMEM);
    return mr_write32(to, made) == 0 ? 0 : (uint32_t)mr_errno_to_mips(EINVAL);
}

uint32_t mr_function_perform(struct mr_state *s, enum mr_function_kind kind)
{
    const char *name = mr_function_names[kind];
    uint32_t a = GPR(s, MR_REG_A0), b = GPR(s, MR_REG_A0 + 1), made;
    uint64_t product = (uint64_t)a * b;
    switch (kind) {
    case MR_MALLOC: return make(s, a, 0);
    case MR_CALLOC:
        made = product <= UINT32_MAX ? make(s, (uint32_t)product, 0) : 0;
        clear(made, (uint32_t)product);
        return made;
    case MR_REALLOC: return resize(s, a, b, name);
    case MR_FREE: release(s, a, name); return GPR(s, MR_REG_V0);
    case MR_MEMALIGN: return a <= MOST_ALIGNMENT ? make(s, b, rounded_up(a)) : 0;
    case MR_POSIX_MEMALIGN: return make_at(s, a, b, GPR(s, MR_REG_A0 + 2));
    case MR_VALLOC: return make(s, a, MR_PAGE_BYTES);
    case MR_PVALLOC: return a < UINT32_MAX - MR_PAGE_BYTES ? make(s, (uint32_t)mr_page_up(a), MR_PAGE_BYTES) : 0;
    case MR_USABLE_SIZE: return a != 0 ? live_block(s, a, name)->size_bytes : 0;
    }
    return 0;
}
