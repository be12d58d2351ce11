/* Recompiled code that is no longer what the guest has in its pages: taken out of the dispatch table, with translated code. */
#include "base/host_thread.h"
#include "base/lock.h"
#include "baseline/baseline.h"
#include "lifted/code_files.h"
#include "lifted/module_parts.h"
#include "memory/memory.h"

/* Under mr_lock: takes all that is left of a module out of the table. */
static void forget_module(const struct mr_module *module)
{
    for (unsigned i = 0; i < MR_LIBRARY_SEGMENTS; i++) {
        const struct mr_library_segment *segment = &module->table->segments[i];
        uint64_t at = mr_page_down(segment->guest + module->delta);
        uint64_t end = (uint64_t)segment->guest + module->delta + segment->size_bytes;
        for (; segment->size_bytes != 0 && at < end; at += MR_PAGE_BYTES)
            if (mr_module_at_page(at / MR_PAGE_BYTES) == module)
                mr_module_forget_page((uint32_t)(at / MR_PAGE_BYTES));
    }
}

/* Code calls and copies other code of its module without a look at the table. So where part of a module is no longer what the
 * guest has there, all of it goes, and the frames of it that are on the host's stack as well. */
void mr_code_forget(uint32_t guest, uint32_t size_bytes)
{
    mr_baseline_forget(guest, (uint32_t)mr_page_up(size_bytes));
    mr_code_file_changed(guest, size_bytes);
    if (mr_module(1) == NULL || size_bytes == 0)
        return;
    uint64_t first = guest / MR_PAGE_BYTES, last = ((uint64_t)guest + size_bytes - 1) / MR_PAGE_BYTES;
    last = last < MR_CODE_PAGES ? last : MR_CODE_PAGES - 1;
    for (uint64_t page = first; page <= last; page++) {
        const struct mr_module *module = mr_module_at_page(page);
        if (module == NULL)
            continue;
        mr_module_forget_page((uint32_t)page);
        bool is_last = page == last || mr_module_at_page(page + 1) != module;
        if (is_last && module->page_count != 0) {
            forget_module(module);
            mr_host_thread.leave_lifted = true;
        }
    }
}

void mr_code_gone(uint32_t guest, uint32_t size_bytes)
{
    mr_code_forget(guest, size_bytes);
    mr_code_file_unmapped(guest, size_bytes);
}

/* A page that the guest may not write may have changed all the same (unchanged.c). Translated code goes in any case. */
void mr_code_flushed(uint32_t guest, uint32_t size_bytes)
{
    uint64_t end = (uint64_t)guest + size_bytes;
    mr_lock();
    mr_baseline_forget(guest, size_bytes);
    for (uint64_t page = guest / MR_PAGE_BYTES; page * MR_PAGE_BYTES < end && page < MR_CODE_PAGES; page++) {
        struct mr_module *module = mr_module_at_page(page);
        if (module != NULL && ((mr_pages[page] & MR_WRITE) != 0 || !mr_module_has_page(module, page)))
            mr_code_forget((uint32_t)(page * MR_PAGE_BYTES), MR_PAGE_BYTES);
    }
    mr_unlock();
}
