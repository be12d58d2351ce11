/* Mappings that grow downward when the page below them is touched: the stack, and those of MAP_GROWSDOWN. As expand_downwards
 * and acct_stack_growth of the kernel do it, which does not look at sp either.
 *
 * Enters: an address that a guest access did not find mapped. Leaves: pages from there up to the mapping above (mapping.c).
 * Simplifications: a mapping is a row of pages that allow the same; it grows by 64 KiB where nothing forbids that, and by
 * zeros also where it is of a file.
 * Under verify, which has two copies of all memory, nothing grows: the stack is whole from the start (linux/stack.c).
 */
#include "base/lock.h"
#include "base/observe.h"
#include "memory/pages.h"

#include <sys/resource.h>

#define GUARD_PAGES (MR_STACK_GUARD_BYTES / MR_PAGE_BYTES)
#define STEP_PAGES 16u

enum { END_PAGE = MR_USER_END / MR_PAGE_BYTES, LOWEST_PAGE = MR_LOWEST_GUEST / MR_PAGE_BYTES };

/* The limit is the process's own: what changes it, and who inherits it, is the kernel's matter. */
uint64_t mr_stack_limit_bytes(void)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_STACK, &limit) ? UINT64_MAX : limit.rlim_cur;
}

/* Whether a mapping that has its pages up to `end` may begin at `page` instead of at `low`. */
static bool may_begin(uint32_t page, uint32_t low, uint32_t end)
{
    if (page < LOWEST_PAGE || (uint64_t)(end - page) * MR_PAGE_BYTES > mr_stack_limit_bytes() || !mr_may_add(low - page, 0))
        return false;
    for (uint32_t below = page - 1; below >= LOWEST_PAGE && page - below <= GUARD_PAGES; below--)
        if (mr_pages[below]) /* a neighbour that grows, or that nothing may touch, needs no gap */
            return (mr_pages[below] & MR_READ) == 0 || (mr_pages[below] & MR_GROWS) != 0;
    return true;
}

/* The first page that is mapped, from this one on, if it is of a mapping that grows; else END_PAGE. */
static uint32_t growing_from(uint32_t page)
{
    while (page < END_PAGE && !mr_pages[page])
        page++;
    return page < END_PAGE && (mr_pages[page] & MR_GROWS) != 0 ? page : END_PAGE;
}

static bool grow_to(uint32_t page)
{
    uint32_t low = growing_from(page), end;
    if (low == END_PAGE)
        return false;
    for (end = low; end < END_PAGE && mr_pages[end] == mr_pages[low]; end++)
        ;
    uint32_t far = page & ~(STEP_PAGES - 1), size = (page - far) * MR_PAGE_BYTES;
    if (!mr_pages_are_free(far * MR_PAGE_BYTES, size) || !may_begin(far, low, end))
        far = page;
    return may_begin(far, low, end) &&
           mr_map(far * MR_PAGE_BYTES, (low - far) * MR_PAGE_BYTES, mr_pages[low] & (MR_READ | MR_WRITE | MR_EXEC),
                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_GROWSDOWN, -1, 0, true) >= 0;
}

bool mr_grow(uint32_t guest)
{
    uint32_t page = guest / MR_PAGE_BYTES;
    if (mr_verifying || growing_from(page) == END_PAGE) /* nothing to wait for the lock for */
        return false;
    mr_lock();
    const uint8_t grown = MR_GROWS | MR_READ | MR_WRITE;
    bool done = mr_pages[page] ? (mr_pages[page] & grown) == grown /* another thread was first */ : grow_to(page);
    mr_unlock();
    return done;
}
