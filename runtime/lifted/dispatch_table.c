/* The dispatch table's memory. Its entries are written by modules (module.c). */
#include "lifted/dispatch_table.h"

#include "base/instructions.h"
#include "base/messages.h"
#include "mr_abi.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#define TABLE_ENTRIES ((size_t)1 << 30)

int32_t *mr_dispatch, *mr_dispatch16;

/* Reserved without write access, so that no memory is charged for it however strict the host is. */
static int32_t *reserve(void)
{
    void *table = mmap(NULL, TABLE_ENTRIES * sizeof *mr_dispatch, PROT_READ,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (table == MAP_FAILED)
        mr_fail("cannot reserve 4 GiB of address space for the dispatch table: %s", strerror(errno));
    return table;
}

void mr_dispatch_reserve(void)
{
    mr_dispatch = reserve();
    mr_dispatch16 = reserve();
}

static void open_entries(const int32_t *first, const int32_t *end)
{
    uintptr_t low = (uintptr_t)first & ~(uintptr_t)(MR_PAGE_BYTES - 1), high = (uintptr_t)end;
    if (mprotect((void *)low, high - low, PROT_READ | PROT_WRITE) != 0)
        mr_fail("cannot get memory for the dispatch table: %s", strerror(errno));
}

void mr_dispatch_open(uint32_t low_pc, uint32_t high_pc)
{
    open_entries(&mr_dispatch[mr_instruction_index(low_pc)], &mr_dispatch[mr_instruction_index(high_pc)]);
}

void mr_dispatch_open16(uint32_t low_pc, uint32_t high_pc)
{
    open_entries(&mr_dispatch16[mr_half_index(low_pc)], &mr_dispatch16[mr_half_index(high_pc)]);
}
