/* Modules: libraries in memory, each bound to one place where the guest has mapped the ELF file it was made of.
 *
 * Enters: mappings of files by the guest. Leaves: entries of the dispatch table (dispatch.c). Which module has the code of a
 * guest page is noted page by page, when the page is mapped; the note goes when the page is unmapped, mapped anew, made
 * writable, or its instructions are said to have changed (mr_code_forget). Entries are put into the table only when
 * somebody looks for one, for 64 KiB of guest code at a time: a program touches a small part of its libraries.
 *
 * Everything that changes a table here is done under mr_lock. Readers take no lock: modules are only ever added, and an
 * entry or a note is one word.
 */
#include "../baseline/baseline.h"
#include "../control.h"
#include "code.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define ARENA_BYTES ((uintptr_t)1 << 31) /* as far as a displacement reaches */
#define MOST_MODULES 4096u
#define MOST_PAST_MODULES 512u /* that are bound nowhere any more: their memory stays */
#define CHUNK_SHIFT MR_CODE_CHUNK_SHIFT
#define CHUNK_PAGES ((1u << CHUNK_SHIFT) / MR_PAGE_BYTES)
#define USER_PAGES (0x80000000u / MR_PAGE_BYTES)

uint8_t mr_code_pending[1u << (32 - CHUNK_SHIFT)];
uint8_t *mr_fallback;
uint32_t (*mr_enter)(struct mr_state *, mr_function);

static struct mr_module *modules[MOST_MODULES];
static _Atomic unsigned module_count;
static _Atomic uint32_t times_set_aside;
static bool silent_code;                    /* some module does not tell of calls */
static uintptr_t arena_next;                /* where the next module goes */
static uint16_t module_of_page[USER_PAGES]; /* number of the module whose code is there, from 1 on; 0: none */

/* ---- the arena ---- */

void mr_modules_reserve(void)
{
    mr_code_files_reserve();
    void *arena = mmap(NULL, ARENA_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (arena == MAP_FAILED)
        mr_fail("cannot reserve 2 GiB of address space for recompiled code (%s): lift the limit (ulimit -v unlimited)",
                strerror(errno));
    mr_fallback = arena;
    arena_next = (uintptr_t)arena + MR_PAGE_BYTES;
}

static uintptr_t follow(const int32_t *displacement)
{
    return (uintptr_t)displacement + (uintptr_t)(intptr_t)*displacement;
}

/* Where the dispatch table has no entry, lifted code jumps to the start of the arena, and from there to @call_host of the
 * first module: all modules have the same. */
static bool write_fallback(uintptr_t target)
{
#if defined(__x86_64__)
    static const uint8_t jump[] = {0xff, 0x25, 0, 0, 0, 0}; /* jmp *0(%rip) */
#else
    static const uint8_t jump[] = {0x50, 0x00, 0x00, 0x58, 0x00, 0x02, 0x1f, 0xd6}; /* ldr x16, .+8; br x16 */
#endif
    if (mprotect(mr_fallback, MR_PAGE_BYTES, PROT_READ | PROT_WRITE) != 0)
        return false;
    memcpy(mr_fallback, jump, sizeof jump);
    memcpy(mr_fallback + sizeof jump, &target, sizeof target);
    __builtin___clear_cache((char *)mr_fallback, (char *)mr_fallback + sizeof jump);
    return mprotect(mr_fallback, MR_PAGE_BYTES, PROT_READ | PROT_EXEC) == 0;
}

/* ---- loading ---- */

static bool tells_of_calls(const struct mr_library *table)
{
    static const char thunked[] = "--calls thunked", watched[] = "--calls watched";
    return memmem(table->options, sizeof table->options, thunked, sizeof thunked - 1) != NULL ||
           memmem(table->options, sizeof table->options, watched, sizeof watched - 1) != NULL;
}

bool mr_library_tells_of_calls(void)
{
    return !__atomic_load_n(&silent_code, __ATOMIC_RELAXED);
}

static const struct mr_library *loaded_table(const struct mr_open_library *library, const struct mr_object *object)
{
    return (const struct mr_library *)(object->bias + mr_library_file_symbol_address(&library->file, "mr_library"));
}

/* Adds the delta to every guest pc that the code takes from memory. */
static void apply_delta(const struct mr_library *table, uint32_t delta)
{
    if (table->relocatable == 0 || delta == 0)
        return;
    *(uint32_t *)follow(&table->delta) = delta;
    uint32_t *end = (uint32_t *)follow(&table->pcs_end);
    for (uint32_t *pc = (uint32_t *)follow(&table->pcs); pc < end; pc++)
        *pc += delta;
}

/* Under mr_lock. Returns NULL, or why it cannot be loaded. */
static const char *load(struct mr_module *module)
{
    struct mr_open_library *library = module->library;
    size_t size_bytes = mr_object_size(&library->file);
    if (size_bytes > ARENA_BYTES - (arena_next - (uintptr_t)mr_fallback))
        return "there is no room for it in the arena of recompiled code";
    int fd = mr_library_file_descriptor(&library->file);
    if (fd < 0)
        return "its file was replaced meanwhile";
    const char *wrong = mr_object_map(&library->file, fd, arena_next, &module->object);
    close(fd);
    if (wrong != NULL) {
        mmap((void *)arena_next, size_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
        return wrong;
    }
    module->table = loaded_table(library, &module->object);
    apply_delta(module->table, module->delta);
    if (atomic_load(&module_count) == 0) {
        mr_enter = (uint32_t (*)(struct mr_state *, mr_function))follow(&module->table->enter);
        if (!write_fallback(follow(&module->table->fallback)))
            return strerror(errno);
    }
    arena_next += size_bytes;
    return NULL;
}

/* Under mr_lock: the module of a library at a delta, loaded if need be. */
static struct mr_module *module_for(struct mr_open_library *library, uint32_t delta, const char *guest_path,
                                    const char **wrong)
{
    unsigned count = atomic_load(&module_count), past = 0;
    for (unsigned i = 0; i < count; i++) {
        if (modules[i]->library == library && modules[i]->delta == delta)
            return modules[i];
        past += modules[i]->page_count == 0;
    }
    *wrong = count == MOST_MODULES || past >= MOST_PAST_MODULES ? "too many libraries have been loaded" : NULL;
    struct mr_module *module = *wrong == NULL ? calloc(1, sizeof *module) : NULL;
    if (module == NULL)
        return NULL;
    module->library = library;
    module->delta = delta;
    module->guest_path = guest_path != NULL ? strdup(guest_path) : NULL;
    if ((*wrong = load(module)) != NULL) {
        free(module->guest_path);
        free(module);
        return NULL;
    }
    if (module->table->entry_count > 0) {
        module->low_pc = module->table->entries[0].guest_pc + delta;
        module->high_pc = module->table->entries[module->table->entry_count - 1].guest_pc + delta + 4;
        module->code_file = mr_code_file_number(module->low_pc);
        mr_dispatch_open(module->low_pc, module->high_pc);
    }
    silent_code |= !tells_of_calls(module->table);
    if (mr_options.profile_path != NULL)
        mr_lines_find(library, 0); /* the handler that takes samples must not be the first who asks */
    mr_debugger_tell(module);
    modules[count] = module;
    atomic_store(&module_count, count + 1);
    return module;
}

/* ---- binding ---- */

static void set_module_of(uint64_t page, unsigned number)
{
    unsigned before = module_of_page[page];
    if (before != 0)
        modules[before - 1]->page_count--;
    if (number != 0)
        modules[number - 1]->page_count++;
    module_of_page[page] = (uint16_t)number;
}

static unsigned number_of(const struct mr_module *module)
{
    unsigned number = 1;
    while (modules[number - 1] != module)
        number++;
    return number;
}

/* Under mr_lock: notes that the pages from guest on have the code of a segment of the module's file. */
static void note_pages(struct mr_module *module, uint32_t guest, uint64_t size_bytes)
{
    unsigned number = number_of(module);
    for (uint64_t at = guest; at < guest + size_bytes && at < (uint64_t)USER_PAGES * MR_PAGE_BYTES; at += MR_PAGE_BYTES)
        set_module_of(at / MR_PAGE_BYTES, number);
    for (uint64_t at = guest >> CHUNK_SHIFT; at << CHUNK_SHIFT < guest + size_bytes; at++)
        __atomic_store_n(&mr_code_pending[at], 1, __ATOMIC_RELEASE);
}

static uint32_t page_down(uint32_t address)
{
    return address & ~(MR_PAGE_BYTES - 1);
}

static uint64_t page_up(uint64_t address)
{
    return (address + MR_PAGE_BYTES - 1) & ~(uint64_t)(MR_PAGE_BYTES - 1);
}

const char *mr_module_bind(struct mr_open_library *library, uint32_t delta, const char *guest_path)
{
    const char *wrong = NULL;
    mr_lock();
    struct mr_module *module = module_for(library, delta, guest_path, &wrong);
    for (unsigned i = 0; module != NULL && i < MR_LIBRARY_SEGMENTS; i++) {
        const struct mr_library_segment *segment = &module->table->segments[i];
        uint32_t first = page_down(segment->guest + delta);
        if (segment->size_bytes != 0)
            note_pages(module, first, page_up((uint64_t)segment->guest + delta + segment->size_bytes) - first);
    }
    mr_unlock();
    return wrong;
}

/* Finds which pages of a mapping have code of the library; all lie in one of its segments. Returns false for none. */
struct part {
    uint32_t guest, size_bytes, delta;
};

static bool part_of_mapping(const struct mr_library *table, uint32_t guest, uint32_t size_bytes, uint64_t offset,
                            struct part *part)
{
    for (unsigned i = 0; i < MR_LIBRARY_SEGMENTS; i++) {
        const struct mr_library_segment *segment = &table->segments[i];
        uint64_t low = page_down(segment->offset), high = page_up((uint64_t)segment->offset + segment->size_bytes);
        uint64_t from = offset > low ? offset : low;
        uint64_t to = offset + size_bytes < high ? offset + size_bytes : high;
        if (segment->size_bytes == 0 || from >= to)
            continue;
        part->guest = guest + (uint32_t)(from - offset);
        part->size_bytes = (uint32_t)(to - from);
        part->delta = part->guest - (page_down(segment->guest) + (uint32_t)(from - low));
        return table->relocatable != 0 || part->delta == 0;
    }
    return false;
}

void mr_module_file_mapped(uint32_t guest, uint32_t size_bytes, int fd, uint64_t offset)
{
    mr_code_file_mapped(guest, size_bytes, fd, offset);
    if (!mr_store_has_code())
        return;
    char link[32], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    path[length > 0 ? length : 0] = 0;
    struct mr_open_library *library = mr_store_find(fd, path);
    struct part part;
    if (library == NULL || !part_of_mapping(library->table, guest, size_bytes, offset, &part))
        return;
    const char *wrong = NULL;
    mr_lock();
    struct mr_module *module = module_for(library, part.delta, path, &wrong);
    if (module != NULL)
        note_pages(module, part.guest, part.size_bytes);
    mr_unlock();
    if (wrong != NULL)
        mr_store_refused(path, wrong);
}

/* ---- the dispatch table ---- */

/* The number of entries whose pc in the library is below this. */
static uint32_t entries_below(const struct mr_library *table, uint32_t library_pc)
{
    uint32_t low = 0, high = table->entry_count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (table->entries[middle].guest_pc < library_pc)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void fill_page(uint32_t page)
{
    if (module_of_page[page] == 0)
        return;
    const struct mr_module *module = modules[module_of_page[page] - 1];
    const struct mr_library *table = module->table;
    uint32_t first_pc = page * MR_PAGE_BYTES - module->delta;
    uint32_t end = entries_below(table, first_pc + MR_PAGE_BYTES);
    for (uint32_t i = entries_below(table, first_pc); i < end; i++) {
        const struct mr_entry *entry = &table->entries[i];
        int32_t displacement = (int32_t)(follow(&entry->function) - (uintptr_t)mr_fallback);
        __atomic_store_n(&mr_dispatch[(entry->guest_pc + module->delta) >> 2], displacement, __ATOMIC_RELAXED);
    }
}

int32_t mr_dispatch_fill(uint32_t pc)
{
    uint32_t chunk = pc >> CHUNK_SHIFT;
    mr_lock();
    if (mr_code_pending[chunk] != 0) {
        for (uint32_t page = chunk * CHUNK_PAGES; page < (chunk + 1) * CHUNK_PAGES; page++)
            fill_page(page);
        __atomic_store_n(&mr_code_pending[chunk], 0, __ATOMIC_RELEASE);
    }
    mr_unlock();
    return mr_dispatch[pc >> 2];
}

static void forget_page(uint32_t page)
{
    const struct mr_module *module = modules[module_of_page[page] - 1];
    uint32_t low = page * MR_PAGE_BYTES, high = low + MR_PAGE_BYTES;
    set_module_of(page, 0);
    low = low < module->low_pc ? module->low_pc : low;
    high = high > module->high_pc ? module->high_pc : high;
    for (uint32_t pc = low; pc < high; pc += 4)
        if (mr_dispatch[pc >> 2] != 0) /* a read touches no new page */
            __atomic_store_n(&mr_dispatch[pc >> 2], 0, __ATOMIC_RELAXED);
}

/* Under mr_lock: takes all that is left of a module out of the table. */
static void forget_module(const struct mr_module *module)
{
    for (unsigned i = 0; i < MR_LIBRARY_SEGMENTS; i++) {
        const struct mr_library_segment *segment = &module->table->segments[i];
        uint64_t at = page_down(segment->guest + module->delta);
        uint64_t end = (uint64_t)segment->guest + module->delta + segment->size_bytes;
        for (; segment->size_bytes != 0 && at < end; at += MR_PAGE_BYTES)
            if (module_of_page[at / MR_PAGE_BYTES] != 0 && modules[module_of_page[at / MR_PAGE_BYTES] - 1] == module)
                forget_page((uint32_t)(at / MR_PAGE_BYTES));
    }
}

/* Code calls and copies other code of its module without a look at the table. So where part of a module is no longer what the
 * guest has there, all of it goes, and the frames of it that are on the host's stack as well. */
void mr_code_forget(uint32_t guest, uint32_t size_bytes)
{
    mr_baseline_forget(guest, (uint32_t)page_up(size_bytes));
    mr_code_file_changed(guest, size_bytes);
    if (atomic_load(&module_count) == 0 || size_bytes == 0)
        return;
    uint64_t first = guest / MR_PAGE_BYTES, last = ((uint64_t)guest + size_bytes - 1) / MR_PAGE_BYTES;
    last = last < USER_PAGES ? last : USER_PAGES - 1;
    while (first <= last && module_of_page[first] == 0)
        first++;
    if (first > last)
        return;
    for (uint64_t page = first; page <= last; page++) {
        unsigned number = module_of_page[page];
        if (number == 0)
            continue;
        forget_page((uint32_t)page);
        bool is_last = page == last || module_of_page[page + 1] != number;
        if (is_last && modules[number - 1]->page_count != 0) {
            forget_module(modules[number - 1]);
            mr_host_thread.leave_lifted = true;
        }
    }
}

/* Under mr_lock: the page has the code of another module, if any of the file's segments is there. */
static void rebind_page(uint32_t page, unsigned number)
{
    const struct mr_library *table = modules[number - 1]->table;
    uint32_t at = page * MR_PAGE_BYTES - modules[number - 1]->delta;
    for (unsigned i = 0; i < MR_LIBRARY_SEGMENTS; i++) {
        const struct mr_library_segment *segment = &table->segments[i];
        if (segment->size_bytes == 0 || at < page_down(segment->guest) ||
            at >= page_up((uint64_t)segment->guest + segment->size_bytes))
            continue;
        if (module_of_page[page] != 0) {
            modules[module_of_page[page] - 1]->replaced = true;
            forget_page(page);
        }
        set_module_of(page, number);
        fill_page(page);
    }
}

/* Under mr_lock: all pages of a file have the code of the module. */
static void bind_file(struct mr_module *module, unsigned code_file)
{
    struct mr_code_range range;
    for (unsigned i = 0; i < atomic_load(&module_count); i++)
        if (modules[i]->code_file == code_file && modules[i]->aside && modules[i] != module) {
            modules[i]->aside = false;
            modules[i]->replaced = true;
        }
    for (uint64_t at = 0; mr_code_file_next(&at, &range);) {
        if (range.number != code_file)
            continue;
        for (uint32_t page = range.low / MR_PAGE_BYTES; page < range.high / MR_PAGE_BYTES; page++)
            rebind_page(page, number_of(module));
        mr_baseline_forget(range.low, range.high - range.low);
    }
}

bool mr_module_grow(unsigned code_file, struct mr_open_library *library, const char *identity)
{
    const struct mr_code_file *file = mr_code_file(code_file);
    const char *wrong = NULL;
    mr_lock();
    bool fixed = library->table->relocatable == 0 && file->delta != 0;
    struct mr_module *module = fixed || mr_code_file_is_changed(code_file) ? NULL :
                                                                             module_for(library, file->delta, file->path, &wrong);
    if (module != NULL) {
        bind_file(module, code_file);
        mr_store_replace(identity, library);
    }
    mr_unlock();
    return module != NULL;
}

uint32_t mr_times_set_aside(void)
{
    return atomic_load_explicit(&times_set_aside, memory_order_relaxed);
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
            struct mr_module *module = module_of_page[page] != 0 ? modules[module_of_page[page] - 1] : NULL;
            if (module == NULL || !module->library->grown)
                continue;
            module->aside = found = true;
            forget_page(page);
        }
    }
    if (found)
        atomic_fetch_add(&times_set_aside, 1);
    mr_unlock();
    return found;
}

void mr_module_take_back(unsigned code_file)
{
    mr_lock();
    for (unsigned i = 0; i < atomic_load(&module_count); i++) {
        if (modules[i]->code_file != code_file || !modules[i]->aside)
            continue;
        if (!mr_code_file_is_changed(code_file))
            bind_file(modules[i], code_file);
        modules[i]->aside = false;
    }
    mr_unlock();
}

void mr_code_gone(uint32_t guest, uint32_t size_bytes)
{
    mr_code_forget(guest, size_bytes);
    mr_code_file_unmapped(guest, size_bytes);
}

/* Only a page that the guest may write can have changed since a module was bound. Translated code goes in any case: the page
 * may be mapped elsewhere as well, and be written there. */
void mr_code_flushed(uint32_t guest, uint32_t size_bytes)
{
    uint64_t end = (uint64_t)guest + size_bytes;
    mr_lock();
    mr_baseline_forget(guest, size_bytes);
    for (uint64_t page = guest / MR_PAGE_BYTES; page * MR_PAGE_BYTES < end && page < USER_PAGES; page++)
        if (module_of_page[page] != 0 && (mr_pages[page] & MR_WRITE) != 0)
            mr_code_forget((uint32_t)(page * MR_PAGE_BYTES), MR_PAGE_BYTES);
    mr_unlock();
}

/* ---- who is where ---- */

const struct mr_module *mr_module_of(uintptr_t host_pc)
{
    if (host_pc - (uintptr_t)mr_fallback >= ARENA_BYTES)
        return NULL;
    unsigned count = atomic_load(&module_count);
    for (unsigned i = 0; i < count; i++)
        if (host_pc >= modules[i]->object.code_low && host_pc < modules[i]->object.code_high)
            return modules[i];
    return NULL;
}

const struct mr_module *mr_module(unsigned index)
{
    return index < atomic_load(&module_count) ? modules[index] : NULL;
}

bool mr_library_contains(uintptr_t host_pc)
{
    return mr_module_of(host_pc) != NULL;
}

uint32_t mr_library_guest_pc(uintptr_t host_pc)
{
    const struct mr_module *module = mr_module_of(host_pc);
    uint32_t pc = module == NULL ? 0 : mr_lines_find(module->library, host_pc - module->object.bias);
    return pc == 0 ? 0 : pc + module->delta;
}

struct mr_place mr_library_place(uintptr_t host_pc)
{
    const struct mr_module *module = mr_module_of(host_pc);
    if (module == NULL)
        return (struct mr_place){0, 0};
    return (struct mr_place){module->code_file, mr_lines_near(module->library, host_pc - module->object.bias)};
}

void mr_modules_report(void)
{
    for (unsigned i = 0; i < atomic_load(&module_count); i++)
        mr_print_error("mipsrec-host: recompiled %s, %u entries%s\n",
                       modules[i]->guest_path != NULL ? modules[i]->guest_path : "?", modules[i]->table->entry_count,
                       modules[i]->page_count != 0 ? "" : modules[i]->replaced ? ", replaced since" : ", unmapped since");
    mr_store_report();
}
