/* What the files of guest memory share: single pages, and the host's view of them. */
#ifndef MR_MEMORY_PAGES_H
#define MR_MEMORY_PAGES_H

#include "memory/memory.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>

#define MR_WINDOW_BYTES ((uint64_t)1 << 32)

/* All arithmetic on host addresses is on integers: with the identity window, mr_window is the null pointer. */
static inline void *mr_host_at(uint32_t guest)
{
    return (void *)((uintptr_t)mr_window + guest);
}

static inline bool mr_in_user_space(uint32_t guest, uint64_t size_bytes)
{
    return guest >= MR_LOWEST_GUEST && guest + size_bytes <= MR_USER_END;
}

/* What a page really allows: MIPS before RIXI reads wherever it may write or execute. */
static inline uint8_t mr_page_bits(int prot)
{
    int bits = prot & (MR_READ | MR_WRITE | MR_EXEC);
    return (uint8_t)(bits | (bits ? MR_READ : 0) | MR_MAPPED);
}

static inline int mr_host_protection(uint8_t bits)
{
    return (bits & MR_READ ? PROT_READ : 0) | (bits & MR_WRITE ? PROT_WRITE : 0);
}

void mr_page_set(uint32_t page, uint8_t bits);
void mr_pages_set(uint32_t guest, uint64_t size_bytes, uint8_t bits);
uint64_t mr_pages_time(void); /* goes on with each change of a page's bits */
bool mr_pages_are_free(uint32_t guest, uint64_t size_bytes);
/* Makes a range of the window free again. Returns false when the kernel is out of mappings. */
bool mr_pages_release(uint32_t guest, uint64_t size_bytes);
void mr_pages_were_freed(uint64_t end); /* below this address */

#endif
