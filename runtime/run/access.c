/* Memory accesses that lifted code makes through the runtime: all of them in model thunk, those that miss in model paged.
 *
 * The page's permissions are looked up first. The access itself is still a plain one, since a page may vanish between the
 * two, or lie beyond the end of the file it maps: then the host's fault handler finds the lifted code in access_return.
 */
#include "lifted/module.h"
#include "memory/values.h"
#include "run/run.h"

#include <stdatomic.h>
#include <string.h>

static _Thread_local uint32_t misaligned_pc;

static uint32_t raise_misaligned(struct mr_state *s)
{
    return mr_exception(s, misaligned_pc, MR_ADDRESS, 0);
}

/* Returns when the access is to be tried again. */
static void refuse(struct mr_state *s, uint32_t guest, uint32_t size_bytes, uint8_t needed, uintptr_t host_return)
{
    struct mr_access_fault fault = {mr_library_guest_pc(host_return - 1), guest, false, false, 0};
    if ((mr_pages[guest / MR_PAGE_BYTES] & needed) != 0) /* so it is the second page that may not be touched */
        fault.address = (guest + size_bytes - 1) & ~(MR_PAGE_BYTES - 1);
    if (mr_grow(fault.address))
        return;
    mr_fault_in_lifted_code(s, &fault);
}

static inline uint8_t *begin_access(struct mr_state *s, uint32_t guest, uint32_t size_bytes, uint8_t needed,
                                    uintptr_t host_return)
{
    uint32_t last = guest + size_bytes - 1; /* may wrap: page 0 is never mapped */
    while ((mr_pages[guest / MR_PAGE_BYTES] & mr_pages[last / MR_PAGE_BYTES] & needed) == 0)
        refuse(s, guest, size_bytes, needed, host_return);
    mr_host_thread.access_return = host_return;
    atomic_signal_fence(memory_order_seq_cst); /* in memory before the access: the fault handler reads it */
    return (uint8_t *)((uintptr_t)mr_window + guest);
}

static inline void end_access(void)
{
    atomic_signal_fence(memory_order_seq_cst);
    mr_host_thread.access_return = 0;
}

#define HOST_RETURN ((uintptr_t)__builtin_return_address(0))
#define KEEP(value) (value)

#define DEFINE_LOAD(NAME, RESULT, TYPE, SWAP)                                                      \
    RESULT NAME(struct mr_state *s, uint32_t guest)                                                \
    {                                                                                              \
        TYPE value;                                                                                \
        memcpy(&value, begin_access(s, guest, sizeof value, MR_READ, HOST_RETURN), sizeof value);  \
        end_access();                                                                              \
        return SWAP(value);                                                                        \
    }

#define DEFINE_STORE(NAME, ARGUMENT, TYPE, SWAP)                                                   \
    void NAME(struct mr_state *s, uint32_t guest, ARGUMENT argument)                               \
    {                                                                                              \
        TYPE value = SWAP((TYPE)argument);                                                         \
        memcpy(begin_access(s, guest, sizeof value, MR_WRITE, HOST_RETURN), &value, sizeof value); \
        end_access();                                                                              \
    }

DEFINE_LOAD(mr_load8, uint32_t, uint8_t, KEEP)
DEFINE_LOAD(mr_load16, uint32_t, uint16_t, mr_swap16)
DEFINE_LOAD(mr_load32, uint32_t, uint32_t, mr_swap32)
DEFINE_LOAD(mr_load64, uint64_t, uint64_t, mr_swap64)
DEFINE_STORE(mr_store8, uint32_t, uint8_t, KEEP)
DEFINE_STORE(mr_store16, uint32_t, uint16_t, mr_swap16)
DEFINE_STORE(mr_store32, uint32_t, uint32_t, mr_swap32)
DEFINE_STORE(mr_store64, uint64_t, uint64_t, mr_swap64)

uint32_t mr_compare_exchange(struct mr_state *s, uint32_t guest, uint32_t expected, uint32_t value)
{
    if ((guest & 3) != 0) {
        misaligned_pc = mr_library_guest_pc(HOST_RETURN - 1);
        mr_restart_through(raise_misaligned);
    }
    uint32_t *word = (uint32_t *)(void *)begin_access(s, guest, sizeof *word, MR_WRITE, HOST_RETURN);
    expected = mr_swap32(expected);
    bool stored = __atomic_compare_exchange_n(word, &expected, mr_swap32(value), false, __ATOMIC_SEQ_CST,
                                              __ATOMIC_SEQ_CST);
    end_access();
    return stored;
}
