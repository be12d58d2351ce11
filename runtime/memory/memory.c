/* Guest memory: the reserved window, its pages, and the one door to them.
 *
 * Enters: mappings by guest address. Leaves: host mappings inside the window, MR_* bits in mr_pages, and the page
 * tables of memory model `paged`. A free page of the window is PROT_NONE, so that a stray access faults.
 */
#include "base/host.h"
#include "verify/verify.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <unistd.h>

#define WINDOW_BYTES (1ull << 32)
#define PAGE_COUNT (1u << 20)

uint8_t *mr_window;
uint8_t mr_pages[PAGE_COUNT];
bool mr_big_endian;
uint32_t mr_mmap_top = MR_USER_END;

static uint8_t **read_table, **write_table; /* model `paged`, shared by all threads; NULL otherwise */
static uint32_t free_hint;                  /* no large free range lies between here and mr_mmap_top */

/* All arithmetic on host addresses is on integers: with the identity window, mr_window is the null pointer. */
static void *host_at(uint32_t guest)
{
    return (void *)((uintptr_t)mr_window + guest);
}

static uint64_t page_up(uint64_t size_bytes)
{
    return (size_bytes + MR_PAGE_BYTES - 1) & ~(uint64_t)(MR_PAGE_BYTES - 1);
}

static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;

void mr_lock(void)
{
    pthread_mutex_lock(&shared_lock);
}

void mr_unlock(void)
{
    pthread_mutex_unlock(&shared_lock);
}

/* ---- the window ---- */

static uintptr_t lowest_host_address(void)
{
    unsigned long lowest = MR_LOWEST_GUEST;
    FILE *file = fopen("/proc/sys/vm/mmap_min_addr", "re");
    if (file) {
        if (fscanf(file, "%lu", &lowest) != 1)
            lowest = MR_LOWEST_GUEST;
        fclose(file);
    }
    return lowest < MR_PAGE_BYTES ? MR_PAGE_BYTES : page_up(lowest);
}

static void reserve_identity(void)
{
    uintptr_t lowest = lowest_host_address();
    size_t size = WINDOW_BYTES + MR_WINDOW_GUARD_BYTES - lowest;
    void *got = mmap((void *)lowest, size, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == (void *)lowest)
        return;
    if (got != MAP_FAILED) {
        munmap(got, size);
        errno = EEXIST; /* a kernel before 4.17 takes the address as a hint */
    }
    mr_fail("cannot reserve the low 4 GiB of this process for the guest (%s): %s", strerror(errno),
            errno == ENOMEM ? "lift the address space limit (ulimit -v unlimited)"
                            : "something else lies there; recompile the guest with --memory paged");
}

static void reserve_anywhere(void)
{
    size_t size = WINDOW_BYTES + 2 * MR_WINDOW_GUARD_BYTES;
    uint8_t *got = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (got == MAP_FAILED)
        mr_fail("cannot reserve 4 GiB of address space for the guest (%s): lift the limit (ulimit -v unlimited)",
                strerror(errno));
    mr_window = got + MR_WINDOW_GUARD_BYTES;
}

void mr_memory_reserve(bool identity)
{
    long host_page_bytes = sysconf(_SC_PAGESIZE);
    if (host_page_bytes != (long)MR_PAGE_BYTES)
        mr_fail("this kernel's pages are %ld bytes; guest protections need %u", host_page_bytes, MR_PAGE_BYTES);
    if (identity)
        reserve_identity();
    else
        reserve_anywhere();
}

/* Makes a range of the window free again. Returns false when the kernel is out of mappings. */
static bool release_host(uint32_t guest, uint64_t size_bytes)
{
    if (mmap(host_at(guest), size_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) ==
        MAP_FAILED)
        return false;
    mr_verify_release(guest, size_bytes);
    return true;
}

/* ---- bookkeeping ---- */

/* What a page really allows: MIPS before RIXI reads wherever it may write or execute. */
static uint8_t page_bits(int prot)
{
    int bits = prot & (MR_READ | MR_WRITE | MR_EXEC);
    return (uint8_t)(bits | (bits ? MR_READ : 0) | MR_MAPPED);
}

static int host_protection(uint8_t bits)
{
    return (bits & MR_READ ? PROT_READ : 0) | (bits & MR_WRITE ? PROT_WRITE : 0);
}

static void set_page(uint32_t page, uint8_t bits)
{
    mr_pages[page] = bits;
    if (read_table) {
        uint8_t *host = host_at(page * MR_PAGE_BYTES);
        read_table[page] = bits & MR_READ ? host : NULL;
        write_table[page] = bits & MR_WRITE ? host : NULL;
    }
}

static void set_pages(uint32_t guest, uint64_t size_bytes, uint8_t bits)
{
    uint32_t first = guest / MR_PAGE_BYTES, count = (uint32_t)(size_bytes / MR_PAGE_BYTES);
    for (uint32_t page = first; page < first + count; page++)
        set_page(page, bits);
}

static bool range_free(uint32_t guest, uint64_t size_bytes)
{
    for (uint64_t at = guest; at < guest + size_bytes; at += MR_PAGE_BYTES)
        if (mr_pages[at / MR_PAGE_BYTES])
            return false;
    return true;
}

static bool in_user_space(uint32_t guest, uint64_t size_bytes)
{
    return guest >= MR_LOWEST_GUEST && guest + size_bytes <= MR_USER_END;
}

void mr_memory_tables(struct mr_state *s)
{
    if (!read_table) {
        size_t size = PAGE_COUNT * sizeof(uint8_t *);
        uint8_t **both = mmap(NULL, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (both == MAP_FAILED)
            mr_fail("cannot allocate the guest's page tables: %s", strerror(errno));
        read_table = both;
        write_table = both + PAGE_COUNT;
        for (uint32_t page = 0; page < PAGE_COUNT; page++)
            if (mr_pages[page])
                set_page(page, mr_pages[page]);
    }
    s->read_pages = read_table;
    s->write_pages = write_table;
}

/* ---- mapping ---- */

/* Returns the highest free range that ends at or below `end`, or 0. */
static uint32_t search_down(uint32_t end, uint32_t page_count)
{
    uint32_t run = 0;
    for (uint32_t page = end / MR_PAGE_BYTES; page-- > MR_LOWEST_GUEST / MR_PAGE_BYTES;) {
        run = mr_pages[page] ? 0 : run + 1;
        if (run == page_count)
            return page * MR_PAGE_BYTES;
    }
    return 0;
}

uint32_t mr_find_free(uint32_t size_bytes)
{
    uint64_t size = page_up(size_bytes);
    if (size == 0 || size > MR_USER_END)
        return 0;
    uint32_t page_count = (uint32_t)(size / MR_PAGE_BYTES);
    uint32_t end = free_hint && free_hint < mr_mmap_top ? free_hint : mr_mmap_top;
    uint32_t found = search_down(end, page_count);
    if (!found && end != mr_mmap_top)
        found = search_down(mr_mmap_top, page_count);
    if (found)
        free_hint = found;
    return found;
}

int64_t mr_map(uint32_t guest, uint32_t size_bytes, int prot, int host_flags, int fd, uint64_t offset, bool fixed)
{
    uint64_t size = page_up(size_bytes);
    if (size == 0 || (fixed && guest % MR_PAGE_BYTES))
        return -EINVAL;
    if (fixed && !in_user_space(guest, size))
        return guest < MR_LOWEST_GUEST ? -EPERM : -ENOMEM;
    if (!fixed) {
        guest &= ~(MR_PAGE_BYTES - 1);
        if (!in_user_space(guest, size) || !range_free(guest, size))
            guest = mr_find_free(size_bytes);
        if (guest == 0)
            return -ENOMEM;
    }
    uint8_t bits = (uint8_t)(page_bits(prot) | (host_flags & MAP_SHARED ? MR_SHARED : 0));
    host_flags &= ~(MAP_FIXED_NOREPLACE | MAP_GROWSDOWN); /* the latter would make the kernel keep gaps */
    if (mmap(host_at(guest), size, host_protection(bits), host_flags | MAP_FIXED, fd, (off_t)offset) == MAP_FAILED) {
        int error = errno;
        if (range_free(guest, size))
            release_host(guest, size); /* the kernel may have left a hole in the window */
        return -error;
    }
    mr_verify_map(guest, size, host_protection(bits), host_flags | MAP_FIXED, fd, offset);
    set_pages(guest, size, bits);
    return guest;
}

int mr_unmap(uint32_t guest, uint32_t size_bytes)
{
    uint64_t size = page_up(size_bytes);
    if (size == 0 || guest % MR_PAGE_BYTES || guest + size > MR_USER_END)
        return -EINVAL;
    uint32_t from = guest < MR_LOWEST_GUEST ? MR_LOWEST_GUEST : guest;
    if (guest + size <= from)
        return 0;
    size -= from - guest;
    if (!release_host(from, size))
        return -ENOMEM;
    set_pages(from, size, 0);
    if (from + size > free_hint)
        free_hint = (uint32_t)(from + size);
    return 0;
}

int mr_protect(uint32_t guest, uint32_t size_bytes, int prot)
{
    uint64_t size = page_up(size_bytes);
    if (guest % MR_PAGE_BYTES)
        return -EINVAL;
    if (guest + size > WINDOW_BYTES)
        return -ENOMEM;
    uint64_t mapped = 0; /* as the kernel does, change the pages before the first hole */
    while (mapped < size && mr_pages[(guest + mapped) / MR_PAGE_BYTES])
        mapped += MR_PAGE_BYTES;
    uint8_t bits = page_bits(prot);
    if (mapped && mprotect(host_at(guest), mapped, host_protection(bits)))
        return -errno;
    mr_verify_protect(guest, mapped, host_protection(bits));
    for (uint64_t at = guest; at < guest + mapped; at += MR_PAGE_BYTES)
        set_page((uint32_t)(at / MR_PAGE_BYTES), (uint8_t)(bits | (mr_pages[at / MR_PAGE_BYTES] & MR_SHARED)));
    return mapped < size ? -ENOMEM : 0;
}

/* ---- remapping ---- */

static int64_t grow_in_place(uint32_t guest, uint64_t old_size, uint64_t new_size)
{
    uint32_t tail = (uint32_t)(guest + old_size);
    uint64_t extra = new_size - old_size;
    munmap(host_at(tail), extra);
    void *got = mremap(host_at(guest), old_size, new_size, 0);
    if (got == MAP_FAILED) {
        int error = errno;
        release_host(tail, extra);
        return -error;
    }
    mr_verify_grow(guest, old_size, new_size);
    set_pages(tail, extra, mr_pages[(tail - 1) / MR_PAGE_BYTES]);
    return guest;
}

static int64_t move_mapping(uint32_t guest, uint64_t old_size, uint64_t new_size, uint32_t to)
{
    if (mremap(host_at(guest), old_size, new_size, MREMAP_MAYMOVE | MREMAP_FIXED, host_at(to)) == MAP_FAILED) {
        int error = errno;
        if (range_free(to, new_size))
            release_host(to, new_size);
        return -error;
    }
    mr_verify_move(guest, old_size, new_size, to);
    uint8_t last = mr_pages[(guest + old_size - 1) / MR_PAGE_BYTES];
    for (uint64_t at = 0; at < new_size; at += MR_PAGE_BYTES)
        set_page((uint32_t)((to + at) / MR_PAGE_BYTES),
                 at < old_size ? mr_pages[(guest + at) / MR_PAGE_BYTES] : last);
    release_host(guest, old_size);
    set_pages(guest, old_size, 0);
    if (guest + old_size > free_hint)
        free_hint = (uint32_t)(guest + old_size);
    return to;
}

int64_t mr_remap(uint32_t guest, uint32_t old_bytes, uint32_t new_bytes, bool may_move, bool fixed, uint32_t to)
{
    uint64_t old_size = page_up(old_bytes), new_size = page_up(new_bytes);
    if (guest % MR_PAGE_BYTES || old_size == 0 || new_size == 0)
        return -EINVAL;
    if (guest + old_size > MR_USER_END || !mr_accessible(guest, (uint32_t)old_size, MR_MAPPED))
        return -EFAULT;
    if (fixed) {
        if (to % MR_PAGE_BYTES || !in_user_space(to, new_size) || (to < guest + old_size && guest < to + new_size))
            return -EINVAL;
        if (new_size < old_size) {
            mr_unmap((uint32_t)(guest + new_size), (uint32_t)(old_size - new_size));
            old_size = new_size;
        }
        return move_mapping(guest, old_size, new_size, to);
    }
    if (new_size == old_size)
        return guest;
    if (new_size < old_size) {
        int error = mr_unmap((uint32_t)(guest + new_size), (uint32_t)(old_size - new_size));
        return error ? error : (int64_t)guest;
    }
    if (in_user_space(guest, new_size) && range_free((uint32_t)(guest + old_size), new_size - old_size))
        return grow_in_place(guest, old_size, new_size);
    if (!may_move || (to = mr_find_free((uint32_t)new_size)) == 0)
        return -ENOMEM;
    return move_mapping(guest, old_size, new_size, to);
}

int64_t mr_remap_keeping(uint32_t guest, uint32_t size_bytes, bool fixed, uint32_t to)
{
    uint64_t size = page_up(size_bytes);
    if (guest + size > MR_USER_END || !mr_accessible(guest, (uint32_t)size, MR_MAPPED))
        return -EFAULT;
    if (fixed && (to % MR_PAGE_BYTES || !in_user_space(to, size) || (to < guest + size && guest < to + size)))
        return -EINVAL;
    if (!fixed && (to = mr_find_free((uint32_t)size)) == 0)
        return -ENOMEM;
    if (mremap(host_at(guest), size, size, MREMAP_MAYMOVE | MREMAP_FIXED | MREMAP_DONTUNMAP, host_at(to)) == MAP_FAILED) {
        int error = errno;
        if (range_free(to, size))
            release_host(to, size);
        return -error;
    }
    mr_verify_move(guest, size, size, to);
    mr_verify_map(guest, size, host_protection(mr_pages[guest / MR_PAGE_BYTES]), MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (uint64_t at = 0; at < size; at += MR_PAGE_BYTES)
        set_page((uint32_t)((to + at) / MR_PAGE_BYTES), mr_pages[(guest + at) / MR_PAGE_BYTES]);
    return to;
}

/* ---- System V shared memory ---- */

static uint32_t find_free_aligned(uint32_t size_bytes, uint32_t alignment)
{
    uint32_t found = mr_find_free((uint32_t)page_up(size_bytes) + alignment - MR_PAGE_BYTES);
    return found == 0 ? 0 : (found + alignment - 1) & ~(alignment - 1);
}

int64_t mr_attach(int id, uint32_t guest, uint32_t alignment, uint32_t size_bytes, bool read_only, bool executable,
                  bool replaces)
{
    uint64_t size = page_up(size_bytes);
    if (guest == 0 && (guest = find_free_aligned(size_bytes, alignment)) == 0)
        return -ENOMEM;
    if (!in_user_space(guest, size))
        return -EINVAL;
    if (!replaces && !range_free(guest, size))
        return -EINVAL;
    if (shmat(id, host_at(guest), SHM_REMAP | (read_only ? SHM_RDONLY : 0)) == (void *)-1)
        return -errno;
    uint8_t bits = page_bits(MR_READ | (read_only ? 0 : MR_WRITE) | (executable ? MR_EXEC : 0)) | MR_SHARED;
    mr_verify_map(guest, size, host_protection(bits), MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    set_pages(guest, size, bits);
    return guest;
}

/* Makes holes that the kernel left in the window free pages again. */
static void fill_holes(uint32_t guest, uint64_t size)
{
    void *got = mmap(host_at(guest), size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE,
                     -1, 0);
    if (got == host_at(guest)) {
        mr_verify_release(guest, size);
        set_pages(guest, size, 0);
        free_hint = 0;
    } else if (size > MR_PAGE_BYTES) {
        uint64_t half = page_up(size / 2);
        fill_holes(guest, half);
        fill_holes((uint32_t)(guest + half), size - half);
    }
}

/* The guest may have mapped something else over parts of it, which stays. */
int mr_detach(uint32_t guest, uint32_t size_bytes)
{
    if (shmdt(host_at(guest)) != 0)
        return -errno;
    fill_holes(guest, page_up(size_bytes));
    return 0;
}

/* ---- the door ---- */

bool mr_accessible(uint32_t guest, uint32_t size_bytes, int prot)
{
    if (size_bytes == 0)
        return true;
    uint64_t last = (uint64_t)guest + size_bytes - 1;
    if (last >= WINDOW_BYTES)
        return false;
    for (uint32_t page = guest / MR_PAGE_BYTES; page <= last / MR_PAGE_BYTES; page++)
        if ((mr_pages[page] & prot) != prot)
            return false;
    return true;
}

void *mr_guest_bytes(uint32_t guest, uint32_t size_bytes, int prot)
{
    static uint8_t nothing[1]; /* address 0 is a fine place for no bytes, but NULL says failure */
    if (size_bytes == 0)
        return nothing;
    if (!mr_accessible(guest, size_bytes, prot))
        return NULL;
    if (prot & MR_WRITE)
        mr_verify_range(guest, size_bytes);
    return host_at(guest);
}

const char *mr_guest_string(uint32_t guest)
{
    uint64_t at = guest;
    while (at < WINDOW_BYTES && mr_pages[at / MR_PAGE_BYTES] & MR_READ) {
        size_t rest = MR_PAGE_BYTES - at % MR_PAGE_BYTES;
        if (memchr(host_at((uint32_t)at), 0, rest))
            return host_at(guest);
        at += rest;
    }
    return NULL;
}
