/* Guest memory: the window that it lies in, its pages, and mappings. The host maps the guest's 32-bit address space into one
 * reserved window: guest address A is host address mr_window + A, with the guest's own page protections. Lifted code of memory
 * model `flat` has mr_window = 0 built in.
 */
#ifndef MR_MEMORY_MEMORY_H
#define MR_MEMORY_MEMORY_H

#include "mr_abi.h"

#include <stdbool.h>
#include <stdint.h>

/* Inaccessible, before and after the window. Lifted code adds displacements without wrapping at 32 bits, and may step
 * through memory so, ahead of an access that faults, as far as LLVM unrolls loops. */
#define MR_WINDOW_GUARD_BYTES ((uint64_t)16 << 20)

#define MR_STACK_GUARD_BYTES (1u << 20) /* the kernel's stack_guard_gap */

/* Bits of a page's entry. MR_SHARED: what other mappings of it write is seen there. MR_GROWS: of MAP_GROWSDOWN, as the stack. */
enum { MR_READ = 1, MR_WRITE = 2, MR_EXEC = 4, MR_MAPPED = 8, MR_SHARED = 16, MR_GROWS = 32 };

extern uint8_t *mr_window;            /* host address of guest address 0 */
extern uint8_t mr_pages[1u << 20];    /* MR_* bits of every guest page */

void mr_memory_reserve(bool identity); /* reserves the window; identity: at host address 0 */
/* The caller has mr_lock, once there are threads.
 * All return 0 or a guest address on success, -errno (host numbering) on failure. Sizes are rounded up to pages. */
int64_t mr_map(uint32_t guest, uint32_t size_bytes, int prot, int host_flags, int fd, uint64_t offset, bool fixed);
int mr_unmap(uint32_t guest, uint32_t size_bytes);
int mr_protect(uint32_t guest, uint32_t size_bytes, int prot); /* prot: MR_READ | MR_WRITE | MR_EXEC */
/* As mremap(2); `to` is used only when fixed. The old range is gone when the address changes, if it was not of size 0. */
int64_t mr_remap(uint32_t guest, uint32_t old_bytes, uint32_t new_bytes, bool may_move, bool fixed, uint32_t to);
/* The same with MREMAP_DONTUNMAP: the old range stays, without its contents. Simplification: unless fixed, `to` is ignored,
 * where Linux takes it for a hint and checks it; C libraries before glibc 2.41 leave it undefined. */
int64_t mr_remap_keeping(uint32_t guest, uint32_t size_bytes, bool fixed, uint32_t to);
/* Attaches a segment of System V shared memory as shmat(2) does, at an address that is a multiple of the alignment; 0: any.
 * It replaces what is there if `replaces`. */
int64_t mr_attach(int id, uint32_t guest, uint32_t alignment, uint32_t size_bytes, bool read_only, bool executable,
                  bool replaces);
int mr_detach(uint32_t guest, uint32_t size_bytes); /* what is left there of a segment that was attached at guest */
uint32_t mr_find_free(uint32_t size_bytes); /* address of a free range, the highest there is below mr_mmap_top, or 0 */
extern uint32_t mr_mmap_top; /* where that search starts; what is above is for the stack, and taken when all else is */
/* Called without mr_lock when an access found no page there: a mapping above grows down to it, if it is one that grows and may.
 * Returns whether the access is to be tried again. */
bool mr_grow(uint32_t guest);
uint64_t mr_stack_limit_bytes(void); /* RLIMIT_STACK */
void mr_memory_tables(struct mr_state *s);  /* model paged: makes s->read_pages and s->write_pages, kept up to date */
/* The guest's limits, and what counts: all that is mapped, and of it what is private and writable, but no stack. */
struct mr_memory_limits {
    uint64_t all_bytes, data_bytes;
};
extern struct mr_memory_limits mr_memory_limits;
bool mr_may_add(int64_t page_count, int64_t data_page_count); /* whether the limits allow so many more */
bool mr_accessible(uint32_t guest, uint32_t size_bytes, int prot); /* every page mapped with prot */

static inline bool mr_page_counts(uint8_t bits)
{
    return bits != 0;
}

static inline bool mr_page_is_data(uint8_t bits)
{
    return (bits & (MR_WRITE | MR_SHARED | MR_GROWS)) == MR_WRITE;
}

static inline uint32_t mr_page_down(uint32_t address)
{
    return address & ~(MR_PAGE_BYTES - 1);
}

static inline uint64_t mr_page_up(uint64_t size_bytes)
{
    return (size_bytes + MR_PAGE_BYTES - 1) & ~(uint64_t)(MR_PAGE_BYTES - 1);
}

#endif
