/* Modules of libraries that grow: bound over the pages of their file in place of what was there, and set aside for a time. */
#include "base/lock.h"
#include "baseline/baseline.h"
#include "lifted/code_files.h"
#include "lifted/module_parts.h"
#include "lifted/store.h"
#include "memory/memory.h"

#include <stdatomic.h>

_Atomic uint32_t mr_times_set_aside;

/* Under mr_lock: the page has the code of another module, if any of the file's segments is there. */
static void rebind_page(uint32_t page, struct mr_module *module)
{
    const struct mr_library *table = module->table;
    uint32_t at = page * MR_PAGE_BYTES - module->delta;
    for (unsigned i = 0; i < MR_LIBRARY_SEGMENTS; i++) {
        const struct mr_library_segment *segment = &table->segments[i];
        if (segment->size_bytes == 0 || at < mr_page_down(segment->guest) ||
            at >= mr_page_up((uint64_t)segment->guest + segment->size_bytes))
            continue;
        struct mr_module *before = mr_module_at_page(page);
        if (before != NULL) {
            before->replaced = true;
            mr_module_forget_page(page);
        }
        mr_module_set_page(page, module);
        mr_module_fill_page(page);
    }
}

/* Under mr_lock: all pages of a file have the code of the module. */
static void bind_file(struct mr_module *module, unsigned code_file)
{
    struct mr_code_range range;
    struct mr_module *other;
    for (unsigned number = 1; (other = mr_module(number)) != NULL; number++)
        if (other->code_file == code_file && other->aside && other != module) {
            other->aside = false;
            other->replaced = true;
        }
    for (uint64_t at = 0; mr_code_file_next(&at, &range);) {
        if (range.number != code_file)
            continue;
        for (uint32_t page = range.low / MR_PAGE_BYTES; page < range.high / MR_PAGE_BYTES; page++)
            rebind_page(page, module);
        mr_baseline_forget(range.low, range.high - range.low);
    }
}

bool mr_module_grow(unsigned code_file, struct mr_open_library *library, const char *identity)
{
    const struct mr_code_file *file = mr_code_file(code_file);
    const char *wrong = NULL;
    mr_lock();
    bool fixed = library->table->relocatable == 0 && file->delta != 0;
    struct mr_module *module = NULL;
    if (!fixed && !mr_code_file_is_changed(code_file))
        module = mr_module_for(library, file->delta, file->path, &wrong);
    if (module != NULL) {
        bind_file(module, code_file);
        mr_store_replace(identity, library);
    }
    mr_unlock();
    if (wrong != NULL)
        mr_store_refused(file->path, wrong);
    return module != NULL;
}

bool mr_module_set_aside(unsigned code_file)
{
    struct mr_code_range range;
    bool found = false;
    mr_lock();
    for (uint64_t at = 0; mr_code_file_next(&at, &range);) {
        if (range.number != code_file)
            continue;
        for (uint32_t page = range.low / MR_PAGE_BYTES; page < range.high / MR_PAGE_BYTES; page++) {
            struct mr_module *module = mr_module_at_page(page);
            if (module == NULL || !module->library->grown)
                continue;
            module->aside = found = true;
            mr_module_forget_page(page);
        }
    }
    if (found)
        atomic_fetch_add(&mr_times_set_aside, 1);
    mr_unlock();
    return found;
}

void mr_module_take_back(unsigned code_file)
{
    struct mr_module *module;
    mr_lock();
    for (unsigned number = 1; (module = mr_module(number)) != NULL; number++) {
        if (module->code_file != code_file || !module->aside)
            continue;
        if (!mr_code_file_is_changed(code_file))
            bind_file(module, code_file);
        module->aside = false;
    }
    mr_unlock();
}
