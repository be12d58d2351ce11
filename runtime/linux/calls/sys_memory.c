/* System calls on the address space. memory/ keeps the pages; here are the o32 calls and flags. */
#include "base/lock.h"
#include "baseline/baseline.h"
#include "lifted/module.h"
#include "linux/abi.h"
#include "linux/calls/syscall.h"
#include "linux/program.h"
#include "memory/values.h"

#include <errno.h>
#include <sys/mman.h>

#define MAP_FIXED_GUEST 0x10u
#define MAP_ANONYMOUS_GUEST 0x800u
#define MAP_NOREPLACE_GUEST 0x100000u
#define MAP_TYPE_GUEST 0xfu
#define PROT_GROWSDOWN_GUEST 0x01000000u
#define PROT_GROWSUP_GUEST 0x02000000u
#define PROT_SEM_GUEST 0x10u
#define PROT_KNOWN_GUEST (MR_READ | MR_WRITE | MR_EXEC)

/* Flags of asm/mman.h without the type and without those that are looked at here. */
static const struct mr_bit map_bits[] = {
    {MAP_ANONYMOUS_GUEST, MAP_ANONYMOUS, "MAP_ANONYMOUS"},
    {0x400, MAP_NORESERVE, "MAP_NORESERVE"},
    {0x1000, MAP_GROWSDOWN, "MAP_GROWSDOWN"}, /* only PROT_GROWSDOWN sees it */
    {0x8000, MAP_LOCKED, "MAP_LOCKED"},
    {0x10000, MAP_POPULATE, "MAP_POPULATE"},
    {0x20000, MAP_NONBLOCK, "MAP_NONBLOCK"},
    {0, 0, NULL},
};

/* ---- the heap ---- */

static uint32_t heap_end; /* exact, not rounded; 0 until the first brk */

static uint32_t page_up(uint32_t guest)
{
    return (guest + MR_PAGE_BYTES - 1) & ~(MR_PAGE_BYTES - 1);
}

/* Whether the guest's limits allow that a range becomes pages of this kind, in place of what is there. */
static bool may_become(uint32_t guest, uint32_t size_bytes, uint8_t bits)
{
    int64_t pages = mr_page_counts(bits) ? size_bytes / MR_PAGE_BYTES : 0, data = mr_page_is_data(bits) ? pages : 0;
    for (uint32_t page = guest / MR_PAGE_BYTES, end = page + size_bytes / MR_PAGE_BYTES; page < end; page++) {
        pages -= mr_page_counts(mr_pages[page]);
        data -= mr_page_is_data(mr_pages[page]);
    }
    return mr_may_add(pages, data);
}

static bool all_free(uint32_t from, uint32_t to)
{
    for (uint32_t at = from; at < to; at += MR_PAGE_BYTES)
        if (mr_pages[at / MR_PAGE_BYTES])
            return false;
    return true;
}

/* Returns the end of the heap, which is the old one when it cannot be moved. */
static uint32_t move_heap_end(uint32_t wanted)
{
    if (heap_end == 0)
        heap_end = mr_brk_start;
    if (wanted < mr_brk_start || wanted > mr_mmap_top)
        return heap_end;
    uint32_t old_page = page_up(heap_end), new_page = page_up(wanted);
    if (new_page > old_page) {
        if (!all_free(old_page, new_page) || !may_become(old_page, new_page - old_page, MR_WRITE) ||
            mr_map(old_page, new_page - old_page, MR_READ | MR_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, true) < 0)
            return heap_end;
    } else if (new_page < old_page) {
        if (mr_unmap(new_page, old_page - new_page) < 0)
            return heap_end;
        mr_code_gone(new_page, old_page - new_page);
    }
    heap_end = wanted;
    return heap_end;
}

SYSCALL(4045, brk, "x")
{
    mr_lock();
    uint32_t end = move_heap_end(U32(0));
    mr_unlock();
    return end;
}

/* ---- mapping ---- */

static bool may_map(bool fixed, uint32_t guest, uint32_t size_bytes, uint32_t prot, int host_flags)
{
    uint32_t bits = MR_MAPPED | (host_flags & MAP_SHARED ? MR_SHARED : 0) | (host_flags & MAP_GROWSDOWN ? MR_GROWS : 0);
    bits |= prot & MR_WRITE;
    int64_t pages = page_up(size_bytes) / MR_PAGE_BYTES;
    if (!fixed || (uint64_t)guest + size_bytes > MR_USER_END) /* the latter is refused anyway */
        return mr_may_add(mr_page_counts((uint8_t)bits) ? pages : 0, mr_page_is_data((uint8_t)bits) ? pages : 0);
    return may_become(guest, page_up(size_bytes), (uint8_t)bits);
}

static int64_t map(uint32_t guest, uint32_t size_bytes, uint32_t prot, uint32_t flags, int fd, uint64_t offset)
{
    uint32_t type = flags & MAP_TYPE_GUEST;
    bool fixed = flags & (MAP_FIXED_GUEST | MAP_NOREPLACE_GUEST);
    if (type < MAP_SHARED || type > MAP_SHARED_VALIDATE)
        return -EINVAL;
    if (size_bytes > MR_USER_END)
        return -ENOMEM;
    if (fixed && guest % MR_PAGE_BYTES)
        return -EINVAL;
    int host_flags = (int)(mr_bits_to_host(map_bits, flags) | type);
    if (host_flags & MAP_GROWSDOWN && host_flags & MAP_ANONYMOUS && type != MAP_PRIVATE)
        return -EINVAL;
    int64_t result = -EEXIST;
    mr_lock();
    if (!(flags & MAP_NOREPLACE_GUEST) || (uint64_t)guest + size_bytes > MR_USER_END ||
        all_free(guest, guest + size_bytes))
        result = !may_map(fixed, guest, size_bytes, prot, host_flags) ? -ENOMEM : mr_map(guest, size_bytes, (int)(prot & PROT_KNOWN_GUEST), host_flags,
                        flags & MAP_ANONYMOUS_GUEST ? -1 : fd, offset, fixed);
    if (result >= 0)
        mr_code_gone((uint32_t)result, size_bytes);
    mr_unlock();
    if (result >= 0 && (prot & MR_EXEC) != 0 && (prot & MR_WRITE) == 0 && !(flags & MAP_ANONYMOUS_GUEST))
        mr_module_file_mapped((uint32_t)result, size_bytes, fd, offset);
    return result;
}

SYSCALL(4090, mmap, "pxxxdx")
{
    if (U32(5) % MR_PAGE_BYTES)
        return -EINVAL;
    return map(U32(0), U32(1), U32(2), U32(3), FD(4), U32(5));
}

SYSCALL(4210, mmap2, "pxxxdx") /* the offset counts units of 4 KiB */
{
    return map(U32(0), U32(1), U32(2), U32(3), FD(4), (uint64_t)U32(5) * 4096);
}

SYSCALL(4091, munmap, "px")
{
    if (U32(1) > MR_USER_END)
        return -EINVAL;
    mr_lock();
    int error = mr_unmap(U32(0), U32(1));
    if (!error)
        mr_code_gone(U32(0), U32(1));
    mr_unlock();
    return error;
}

static bool may_remap(uint32_t guest, uint32_t old_size, uint32_t new_size)
{
    uint8_t bits = guest < MR_USER_END ? mr_pages[guest / MR_PAGE_BYTES] : 0;
    int64_t more = ((int64_t)new_size - old_size) / MR_PAGE_BYTES;
    return mr_may_add(mr_page_counts(bits) ? more : 0, mr_page_is_data(bits) ? more : 0);
}

SYSCALL(4167, mremap, "pxxxp")
{
    uint32_t flags = U32(3), old_size = page_up(U32(1)), new_size = page_up(U32(2)); /* 0 where that wraps */
    if (flags & ~(uint32_t)(MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP) ||
        (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP) && !(flags & MREMAP_MAYMOVE)) ||
        (flags & MREMAP_DONTUNMAP && old_size != new_size) || U32(0) % MR_PAGE_BYTES || new_size == 0)
        return -EINVAL;
    mr_lock();
    int64_t result = !may_remap(U32(0), flags & MREMAP_DONTUNMAP ? 0 : old_size, new_size) ? -ENOMEM
                     : flags & MREMAP_DONTUNMAP
                         ? mr_remap_keeping(U32(0), old_size, flags & MREMAP_FIXED, U32(4))
                         : mr_remap(U32(0), old_size, new_size, flags & MREMAP_MAYMOVE, flags & MREMAP_FIXED, U32(4));
    if (result >= 0 && (uint32_t)result != U32(0)) {
        mr_code_gone(U32(0), old_size);
        mr_code_gone((uint32_t)result, new_size);
    } else if (result >= 0 && new_size < old_size) {
        mr_code_gone(U32(0) + new_size, old_size - new_size);
    }
    mr_unlock();
    return result;
}

/* Where PROT_GROWSDOWN begins: where the first mapping of the range does, if that grows; so a stack is made executable. No
 * mapping grows upward. Returns 0 or -errno. */
static int find_growing(uint32_t *guest, uint32_t end, uint32_t grows)
{
    uint32_t from = *guest;
    while (from < end && !mr_pages[from / MR_PAGE_BYTES])
        from += MR_PAGE_BYTES;
    if (from == end || (grows == PROT_GROWSUP_GUEST && from != *guest))
        return -ENOMEM;
    uint8_t bits = mr_pages[from / MR_PAGE_BYTES];
    if (grows == PROT_GROWSUP_GUEST || !(bits & MR_GROWS))
        return -EINVAL;
    while (mr_pages[from / MR_PAGE_BYTES - 1] == bits)
        from -= MR_PAGE_BYTES;
    *guest = from;
    return 0;
}

static bool may_protect(uint32_t guest, uint32_t size_bytes, uint32_t prot)
{
    int64_t data = 0;
    for (uint32_t at = guest; at < guest + size_bytes && mr_pages[at / MR_PAGE_BYTES]; at += MR_PAGE_BYTES)
        data += (mr_pages[at / MR_PAGE_BYTES] & (MR_WRITE | MR_SHARED | MR_GROWS)) == 0;
    return (prot & MR_WRITE) == 0 || mr_may_add(0, data);
}

/* Takes the range as the guest gave it, and leaves the one of whole pages that is changed. */
static int protect(uint32_t *guest, uint32_t *size_bytes, uint32_t prot)
{
    uint32_t grows = prot & (PROT_GROWSDOWN_GUEST | PROT_GROWSUP_GUEST), size = page_up(*size_bytes), end = *guest + size;
    if (*guest % MR_PAGE_BYTES || grows == (PROT_GROWSDOWN_GUEST | PROT_GROWSUP_GUEST))
        return -EINVAL;
    if (*size_bytes == 0)
        return 0;
    if (end <= *guest)
        return -ENOMEM;
    if (prot & ~(PROT_KNOWN_GUEST | PROT_SEM_GUEST | grows))
        return -EINVAL;
    int error = grows ? find_growing(guest, end, grows) : 0;
    *size_bytes = end - *guest;
    if (!error && !may_protect(*guest, *size_bytes, prot))
        error = -ENOMEM;
    return error ? error : mr_protect(*guest, *size_bytes, (int)(prot & PROT_KNOWN_GUEST));
}

SYSCALL(4125, mprotect, "pxx")
{
    uint32_t guest = U32(0), size_bytes = U32(1);
    mr_lock();
    int error = protect(&guest, &size_bytes, U32(2));
    if ((U32(2) & MR_WRITE) != 0 || (U32(2) & PROT_KNOWN_GUEST) == 0)
        mr_code_forget(guest, size_bytes); /* nobody follows what the guest may write there; PROT_NONE: fetches are to fault */
    else /* code there changes no longer */
        mr_baseline_forget(guest, page_up(size_bytes));
    mr_unlock();
    return error;
}

/* ---- caches ---- */

SYSCALL(4147, cacheflush, "pux")
{
    if (U32(2) & ~3u)
        return -EINVAL;
    if ((uint64_t)U32(0) + U32(1) > MR_USER_END)
        return -EFAULT;
    mr_code_flushed(U32(0), U32(1));
    return 0;
}

#define SYNCI_LINE_BYTES 32u /* what rdhwr $1 tells, or more */

enum { SYSMIPS_FLUSH_CACHE = 3, SYSMIPS_FIX_UNALIGNED = 7, SYSMIPS_ATOMIC_SET = 2001 };

SYSCALL(4149, sysmips, "dxx")
{
    switch (INT(0)) {
    case SYSMIPS_FLUSH_CACHE: mr_code_flushed(0, MR_USER_END); return 0;
    case SYSMIPS_FIX_UNALIGNED: return 0; /* they are always fixed up */
    case SYSMIPS_ATOMIC_SET: {
        uint32_t *word = mr_guest_bytes(U32(1), 4, MR_WRITE);
        if (U32(1) & 3)
            return -EINVAL;
        return word ? (int64_t)mr_swap32(__atomic_exchange_n(word, mr_swap32(U32(2)), __ATOMIC_SEQ_CST)) : -EFAULT;
    }
    default: return -EINVAL;
    }
}

void mr_synci(struct mr_state *s, uint32_t guest)
{
    (void)s;
    mr_code_flushed(guest & ~(SYNCI_LINE_BYTES - 1), SYNCI_LINE_BYTES);
}
