/* Mappings of guest memory: made, changed, moved and taken away, as the guest's system calls ask.
 *
 * Enters: guest addresses. Leaves: host mappings inside the window, noted page by page (pages.c).
 */
#include "base/observe.h"
#include "memory/pages.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/shm.h>

/* After a call of the kernel's that failed, and may have left a hole in the window. Returns -errno. */
static int failed(uint32_t guest, uint64_t size)
{
    int error = errno;
    if (mr_pages_are_free(guest, size))
        mr_pages_release(guest, size);
    return -error;
}

/* Makes holes that the kernel left in the window free pages again. */
static void fill_holes(uint32_t guest, uint64_t size)
{
    void *got = mmap(mr_host_at(guest), size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
                     -1, 0);
    if (got == mr_host_at(guest)) {
        MR_TELL(release, guest, size);
        mr_pages_set(guest, size, 0);
        mr_pages_were_freed(MR_USER_END); /* somewhere */
    } else if (size > MR_PAGE_BYTES) {
        uint64_t half = mr_page_up(size / 2);
        fill_holes(guest, half);
        fill_holes((uint32_t)(guest + half), size - half);
    }
}

int64_t mr_map(uint32_t guest, uint32_t size_bytes, int prot, int host_flags, int fd, uint64_t offset, bool fixed)
{
    uint64_t size = mr_page_up(size_bytes);
    if (size == 0 || (fixed && guest % MR_PAGE_BYTES))
        return -EINVAL;
    if (fixed && !mr_in_user_space(guest, size))
        return guest < MR_LOWEST_GUEST ? -EPERM : -ENOMEM;
    if (!fixed) {
        guest &= ~(MR_PAGE_BYTES - 1);
        if (!mr_in_user_space(guest, size) || !mr_pages_are_free(guest, size))
            guest = mr_find_free(size_bytes);
        if (guest == 0)
            return -ENOMEM;
    }
    uint8_t bits = (uint8_t)(mr_page_bits(prot) | (host_flags & MAP_SHARED ? MR_SHARED : 0) |
                             (host_flags & MAP_GROWSDOWN ? MR_GROWS : 0));
    host_flags &= ~(MAP_FIXED_NOREPLACE | MAP_GROWSDOWN); /* the latter would make the kernel keep gaps */
    int protection = mr_host_protection(bits);
    if (mmap(mr_host_at(guest), size, protection, host_flags | MAP_FIXED, fd, (off_t)offset) == MAP_FAILED)
        return failed(guest, size);
    MR_TELL(map, guest, size, protection, host_flags | MAP_FIXED, fd, offset);
    mr_pages_set(guest, size, bits);
    return guest;
}

int mr_unmap(uint32_t guest, uint32_t size_bytes)
{
    uint64_t size = mr_page_up(size_bytes);
    if (size == 0 || guest % MR_PAGE_BYTES || guest + size > MR_USER_END)
        return -EINVAL;
    uint32_t from = guest < MR_LOWEST_GUEST ? MR_LOWEST_GUEST : guest;
    if (guest + size <= from)
        return 0;
    size -= from - guest;
    if (!mr_pages_release(from, size))
        return -ENOMEM;
    mr_pages_set(from, size, 0);
    mr_pages_were_freed(from + size);
    return 0;
}

static int protect_pages(uint32_t guest, uint64_t size, uint8_t bits)
{
    if (size && mprotect(mr_host_at(guest), size, mr_host_protection(bits)))
        return -errno;
    MR_TELL(protect, guest, size, mr_host_protection(bits));
    for (uint64_t at = guest; at < guest + size; at += MR_PAGE_BYTES)
        mr_page_set((uint32_t)(at / MR_PAGE_BYTES),
                    (uint8_t)(bits | (mr_pages[at / MR_PAGE_BYTES] & (MR_SHARED | MR_GROWS))));
    return 0;
}

/* As the kernel does, changes the pages before the first hole and before the first mapping that may not have it. */
int mr_protect(uint32_t guest, uint32_t size_bytes, int prot)
{
    uint64_t size = mr_page_up(size_bytes);
    if (guest % MR_PAGE_BYTES)
        return -EINVAL;
    if (guest + size > MR_WINDOW_BYTES)
        return -ENOMEM;
    uint64_t mapped = 0;
    while (mapped < size && mr_pages[(guest + mapped) / MR_PAGE_BYTES])
        mapped += MR_PAGE_BYTES;
    uint8_t bits = mr_page_bits(prot);
    int error = protect_pages(guest, mapped, bits);
    if (error) /* the kernel does not say where it stopped; what it has changed can be changed again */
        for (uint64_t at = 0; at < mapped && !protect_pages((uint32_t)(guest + at), MR_PAGE_BYTES, bits);)
            at += MR_PAGE_BYTES;
    return error == 0 && mapped < size ? -ENOMEM : error;
}

/* ---- remapping ---- */

static bool is_mapped(uint32_t guest)
{
    return guest < MR_USER_END && mr_pages[guest / MR_PAGE_BYTES] != 0;
}

/* A range that is to grow must lie in one mapping. The kernel knows: nothing in the window can grow where it is,
 * for the window has no hole, so it only says why not. */
static bool in_one_mapping(uint32_t guest, uint64_t size)
{
    if (guest + size > MR_USER_END || !mr_accessible(guest, (uint32_t)size, MR_MAPPED))
        return false;
    return size == 0 || mremap(mr_host_at(guest), size, size + MR_PAGE_BYTES, 0) != MAP_FAILED || errno != EFAULT;
}

static bool may_move_to(uint32_t to, uint64_t new_size, uint32_t guest, uint64_t old_size)
{
    bool overlaps = to < guest + old_size && guest < to + new_size;
    return to % MR_PAGE_BYTES == 0 && to + new_size <= MR_USER_END && !overlaps;
}

static int64_t grow_in_place(uint32_t guest, uint64_t old_size, uint64_t new_size)
{
    uint32_t tail = (uint32_t)(guest + old_size);
    uint64_t extra = new_size - old_size;
    munmap(mr_host_at(tail), extra);
    if (mremap(mr_host_at(guest), old_size, new_size, 0) == MAP_FAILED)
        return failed(tail, extra);
    MR_TELL(grow, guest, old_size, new_size);
    mr_pages_set(tail, extra, mr_pages[(tail - 1) / MR_PAGE_BYTES]);
    return guest;
}

/* flags: more of mremap. Returns 0, or -errno. The pages of the old range stay as they are noted. */
static int move_pages(uint32_t guest, uint64_t old_size, uint64_t new_size, uint32_t to, int flags)
{
    flags |= MREMAP_MAYMOVE | MREMAP_FIXED;
    if (mremap(mr_host_at(guest), old_size, new_size, flags, mr_host_at(to)) == MAP_FAILED) {
        int error = failed(to, new_size);
        if (!mr_pages_are_free(to, new_size)) /* old kernels have unmapped it all, new ones nothing */
            fill_holes(to, new_size);
        return error;
    }
    MR_TELL(move, guest, old_size, new_size, to);
    uint8_t last = mr_pages[(guest + (old_size ? old_size - 1 : 0)) / MR_PAGE_BYTES];
    for (uint64_t at = 0; at < new_size; at += MR_PAGE_BYTES)
        mr_page_set((uint32_t)((to + at) / MR_PAGE_BYTES),
                 at < old_size ? mr_pages[(guest + at) / MR_PAGE_BYTES] : last);
    return 0;
}

/* An old size of 0 maps again what is shared. */
static int64_t move_mapping(uint32_t guest, uint64_t old_size, uint64_t new_size, uint32_t to)
{
    int error = move_pages(guest, old_size, new_size, to, 0);
    if (error || old_size == 0)
        return error ? error : (int64_t)to;
    mr_pages_release(guest, old_size);
    mr_pages_set(guest, old_size, 0);
    mr_pages_were_freed(guest + old_size);
    return to;
}

static int64_t shrink(uint32_t guest, uint64_t old_size, uint64_t new_size)
{
    int error = mr_unmap((uint32_t)(guest + new_size), (uint32_t)(old_size - new_size));
    return error ? error : (int64_t)guest;
}

static int64_t remap_to(uint32_t guest, uint64_t old_size, uint64_t new_size, uint32_t to)
{
    if (!may_move_to(to, new_size, guest, old_size))
        return -EINVAL;
    if (to < MR_LOWEST_GUEST)
        return -EPERM;
    if (guest + old_size > MR_USER_END || (new_size > old_size && !in_one_mapping(guest, old_size)))
        return -EFAULT;
    int64_t shrunk = new_size < old_size ? shrink(guest, old_size, new_size) : 0;
    return shrunk < 0 ? shrunk : move_mapping(guest, new_size < old_size ? new_size : old_size, new_size, to);
}

int64_t mr_remap(uint32_t guest, uint32_t old_bytes, uint32_t new_bytes, bool may_move, bool fixed, uint32_t to)
{
    uint64_t old_size = mr_page_up(old_bytes), new_size = mr_page_up(new_bytes);
    if (guest % MR_PAGE_BYTES || new_size == 0)
        return -EINVAL;
    if (!is_mapped(guest))
        return -EFAULT;
    if (!fixed && new_size == old_size)
        return guest;
    if (!fixed && new_size < old_size)
        return shrink(guest, old_size, new_size);
    if (old_size == 0 && !(mr_pages[guest / MR_PAGE_BYTES] & MR_SHARED))
        return -EINVAL;
    if (fixed)
        return remap_to(guest, old_size, new_size, to);
    if (!in_one_mapping(guest, old_size))
        return -EFAULT;
    if (old_size && mr_in_user_space(guest, new_size) &&
        mr_pages_are_free((uint32_t)(guest + old_size), new_size - old_size))
        return grow_in_place(guest, old_size, new_size);
    if (!may_move || (to = mr_find_free((uint32_t)new_size)) == 0)
        return -ENOMEM;
    return move_mapping(guest, old_size, new_size, to);
}

int64_t mr_remap_keeping(uint32_t guest, uint32_t size_bytes, bool fixed, uint32_t to)
{
    uint64_t size = mr_page_up(size_bytes);
    if (!is_mapped(guest))
        return -EFAULT;
    if (fixed && !may_move_to(to, size, guest, size))
        return -EINVAL;
    if (fixed && to < MR_LOWEST_GUEST)
        return -EPERM;
    if (guest + size > MR_USER_END || !mr_accessible(guest, (uint32_t)size, MR_MAPPED))
        return -EFAULT; /* Linux 6.17 moves several mappings at once, so the kernel says whether they may */
    if (!fixed && (to = mr_find_free((uint32_t)size)) == 0)
        return -ENOMEM;
    int error = move_pages(guest, size, size, to, MREMAP_DONTUNMAP);
    if (error)
        return error;
    MR_TELL(map, guest, size, mr_host_protection(mr_pages[guest / MR_PAGE_BYTES]), MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return to;
}

/* ---- System V shared memory ---- */

static uint32_t find_free_aligned(uint32_t size_bytes, uint32_t alignment)
{
    uint32_t found = mr_find_free((uint32_t)mr_page_up(size_bytes) + alignment - MR_PAGE_BYTES);
    return found == 0 ? 0 : (found + alignment - 1) & ~(alignment - 1);
}

int64_t mr_attach(int id, uint32_t guest, uint32_t alignment, uint32_t size_bytes, bool read_only, bool executable,
                  bool replaces)
{
    uint64_t size = mr_page_up(size_bytes);
    if (guest == 0 && (guest = find_free_aligned(size_bytes, alignment)) == 0)
        return -ENOMEM;
    if (!mr_in_user_space(guest, size) || (!replaces && !mr_pages_are_free(guest, size)))
        return -EINVAL;
    if (shmat(id, mr_host_at(guest), SHM_REMAP | (read_only ? SHM_RDONLY : 0)) == (void *)-1)
        return -errno;
    uint8_t bits = mr_page_bits(MR_READ | (read_only ? 0 : MR_WRITE) | (executable ? MR_EXEC : 0)) | MR_SHARED;
    MR_TELL(map, guest, size, mr_host_protection(bits), MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    mr_pages_set(guest, size, bits);
    return guest;
}

/* The guest may have mapped something else over parts of it, which stays. */
int mr_detach(uint32_t guest, uint32_t size_bytes)
{
    if (shmdt(mr_host_at(guest)) != 0)
        return -errno;
    fill_holes(guest, mr_page_up(size_bytes));
    return 0;
}
