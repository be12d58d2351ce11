/* Modules: libraries in memory, each bound to one place where the guest has mapped the ELF file it was made of.
 *
 * Enters: mappings of files by the guest. Leaves: entries of the dispatch table (dispatch.c). Which module has the code of a
 * guest page is noted page by page, when the page is mapped; the note goes when the page is unmapped, mapped anew, made
 * writable, or its instructions are said to have changed (forget.c). Entries are put into the table only when
 * the dispatcher looks for one, for 64 KiB of guest code at a time: a program touches a small part of its libraries.
 *
 * Everything that changes a table here is done under mr_lock. Readers take no lock: modules are only ever added, and an
 * entry or a note is one word.
 */
#include "base/instructions.h"
#include "base/kernel_proc.h"
#include "base/lock.h"
#include "base/messages.h"
#include "base/options.h"
#include "host/host.h"
#include "lifted/code_files.h"
#include "lifted/dispatch_table.h"
#include "lifted/module_parts.h"
#include "lifted/rows.h"
#include "lifted/store.h"
#include "lifted/upcalls.h"
#include "memory/memory.h"
#include "memory/shadow.h"

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

uint8_t mr_code_pending[1u << (32 - CHUNK_SHIFT)];
uint8_t *mr_fallback;
uint32_t (*mr_enter)(struct mr_state *, mr_function);

static struct mr_module *modules[MOST_MODULES];
static _Atomic unsigned module_count;
static bool silent_code;                    /* some module does not tell of calls */
static uintptr_t arena_next;                /* where the next module goes */
static uint16_t module_of_page[MR_CODE_PAGES]; /* number of the module whose code is there, from 1 on; 0: none */

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
    if (mprotect(mr_fallback, MR_PAGE_BYTES, PROT_READ | PROT_WRITE) != 0)
        return false;
    uint8_t *end = mr_write_far_jump(mr_fallback, target);
    __builtin___clear_cache((char *)mr_fallback, (char *)end);
    return mprotect(mr_fallback, MR_PAGE_BYTES, PROT_READ | PROT_EXEC) == 0;
}

/* ---- loading ---- */

bool mr_library_tells_of_calls(void)
{
    return !__atomic_load_n(&silent_code, __ATOMIC_RELAXED);
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
    module->table = (const struct mr_library *)(module->object.bias + library->table_address);
    apply_delta(module->table, module->delta);
    if (atomic_load(&module_count) == 0) {
        mr_enter = (uint32_t (*)(struct mr_state *, mr_function))follow(&module->table->enter);
        if (!write_fallback(follow(&module->table->fallback)))
            return strerror(errno);
    }
    arena_next += size_bytes;
    return NULL;
}

static bool has_mips16(const struct mr_library *table)
{
    for (uint32_t i = 0; i < table->entry_count; i++)
        if (mr_is_mips16(table->entries[i].guest_pc))
            return true;
    return false;
}

/* Fills in what is known before it is in memory. */
static void begin(struct mr_module *module, struct mr_open_library *library, uint32_t delta, const char *guest_path)
{
    const struct mr_library *table = library->table;
    module->library = library;
    module->table = table;
    module->delta = delta;
    module->guest_path = guest_path != NULL ? strdup(guest_path) : NULL;
    if (table->entry_count == 0)
        return;
    module->low_pc = table->entries[0].guest_pc + delta;
    module->high_pc = table->entries[table->entry_count - 1].guest_pc + delta + MR_INSTRUCTION_BYTES;
    module->code_file = mr_code_file_number(module->low_pc);
    module->has_mips16 = has_mips16(table);
}

static void drop(struct mr_module *module)
{
    free(module->guest_path);
    free(module->guest_bytes);
    free(module);
}

struct mr_module *mr_module_for(struct mr_open_library *library, uint32_t delta, const char *guest_path,
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
    begin(module, library, delta, guest_path);
    *wrong = mr_module_needs_missing(module);
    if (*wrong == NULL)
        *wrong = load(module);
    if (*wrong != NULL) {
        drop(module);
        return NULL;
    }
    if (module->table->entry_count > 0)
        mr_dispatch_open(module->low_pc, module->high_pc);
    if (module->has_mips16)
        mr_dispatch_open16(module->low_pc, module->high_pc);
    if (module->table->counts != 0)
        mr_coverage_unread();
    silent_code |= module->table->call_model == MR_CALLS_DIRECT;
    if (mr_options.profile_path != NULL)
        mr_lines_find(library, 0); /* the handler that takes samples must not be the first who asks */
    mr_debugger_tell(module);
    module->number = count + 1;
    modules[count] = module;
    atomic_store(&module_count, count + 1);
    return module;
}

void mr_modules_prepare(void)
{
    for (unsigned i = 0; i < atomic_load(&module_count); i++)
        mr_keep_code_pages(modules[i]->object.code_low, modules[i]->object.code_high);
    for (uint32_t chunk = 0; chunk < sizeof mr_code_pending; chunk++)
        if (mr_code_pending[chunk] != 0)
            mr_dispatch_fill(chunk << CHUNK_SHIFT);
}

/* ---- binding ---- */

struct mr_module *mr_module(unsigned number)
{
    return number > 0 && number <= atomic_load(&module_count) ? modules[number - 1] : NULL;
}

struct mr_module *mr_module_at_page(uint64_t page)
{
    return page < MR_CODE_PAGES ? mr_module(module_of_page[page]) : NULL;
}

void mr_module_set_page(uint64_t page, struct mr_module *module)
{
    struct mr_module *before = mr_module_at_page(page);
    if (before != NULL)
        before->page_count--;
    if (module != NULL)
        module->page_count++;
    module_of_page[page] = (uint16_t)(module != NULL ? module->number : 0);
}

/* Under mr_lock: notes that the pages from guest on have the code of a segment of the module's file. */
static void note_pages(struct mr_module *module, uint32_t guest, uint64_t size_bytes)
{
    for (uint64_t at = guest; at < guest + size_bytes && at < (uint64_t)MR_CODE_PAGES * MR_PAGE_BYTES; at += MR_PAGE_BYTES)
        mr_module_set_page(at / MR_PAGE_BYTES, module);
    for (uint64_t at = guest >> CHUNK_SHIFT; at << CHUNK_SHIFT < guest + size_bytes; at++)
        __atomic_store_n(&mr_code_pending[at], 1, __ATOMIC_RELEASE);
}

const char *mr_module_bind(struct mr_open_library *library, uint32_t delta, const char *guest_path)
{
    const char *wrong = NULL;
    mr_lock();
    struct mr_module *module = mr_module_for(library, delta, guest_path, &wrong);
    for (unsigned i = 0; module != NULL && i < MR_LIBRARY_SEGMENTS; i++) {
        const struct mr_library_segment *segment = &module->table->segments[i];
        uint32_t first = mr_page_down(segment->guest + delta);
        if (segment->size_bytes != 0)
            note_pages(module, first, mr_page_up((uint64_t)segment->guest + delta + segment->size_bytes) - first);
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
        uint64_t low = mr_page_down(segment->offset), high = mr_page_up((uint64_t)segment->offset + segment->size_bytes);
        uint64_t from = offset > low ? offset : low;
        uint64_t to = offset + size_bytes < high ? offset + size_bytes : high;
        if (segment->size_bytes == 0 || from >= to)
            continue;
        part->guest = guest + (uint32_t)(from - offset);
        part->size_bytes = (uint32_t)(to - from);
        part->delta = part->guest - (mr_page_down(segment->guest) + (uint32_t)(from - low));
        return table->relocatable != 0 || part->delta == 0;
    }
    return false;
}

void mr_module_file_mapped(uint32_t guest, uint32_t size_bytes, int fd, uint64_t offset)
{
    mr_code_file_mapped(guest, size_bytes, fd, offset);
    if (mr_checking)
        mr_heap_file_mapped(guest, size_bytes, fd);
    if (!mr_store_has_code())
        return;
    enum mr_code_kind kind = mr_code_kind_of(mr_code_file_number(guest));
    if (kind == MR_NO_CODE)
        return;
    char path[4096];
    mr_descriptor_link(fd, path, sizeof path);
    struct mr_open_library *library = mr_store_find(fd, path, kind == MR_COUNTING_CODE);
    struct part part;
    if (library == NULL || !part_of_mapping(library->table, guest, size_bytes, offset, &part))
        return;
    const char *wrong = NULL;
    mr_lock();
    struct mr_module *module = mr_module_for(library, part.delta, path, &wrong);
    if (module != NULL)
        note_pages(module, part.guest, part.size_bytes);
    mr_unlock();
    if (wrong != NULL)
        mr_store_refused(path, wrong);
}

/* ---- the dispatch table ---- */

/* The number of entries whose pc in the library is below this. */
static size_t entries_below(const struct mr_library *table, uint32_t library_pc)
{
    return mr_count_below(table->entries, table->entry_count, sizeof *table->entries, library_pc);
}

void mr_module_fill_page(uint32_t page)
{
    const struct mr_module *module = mr_module_at_page(page);
    if (module == NULL)
        return;
    const struct mr_library *table = module->table;
    uint32_t first_pc = page * MR_PAGE_BYTES - module->delta;
    size_t end = entries_below(table, first_pc + MR_PAGE_BYTES);
    for (size_t i = entries_below(table, first_pc); i < end; i++) {
        const struct mr_entry *entry = &table->entries[i];
        int32_t displacement = (int32_t)(follow(&entry->function) - (uintptr_t)mr_fallback);
        __atomic_store_n(mr_dispatch_entry(entry->guest_pc + module->delta), displacement, __ATOMIC_RELAXED);
    }
}

int32_t mr_dispatch_fill(uint32_t pc)
{
    uint32_t chunk = pc >> CHUNK_SHIFT;
    mr_lock();
    if (mr_code_pending[chunk] != 0) {
        for (uint32_t page = chunk * CHUNK_PAGES; page < (chunk + 1) * CHUNK_PAGES; page++)
            mr_module_fill_page(page);
        __atomic_store_n(&mr_code_pending[chunk], 0, __ATOMIC_RELEASE);
    }
    mr_unlock();
    const int32_t *entry = mr_dispatch_entry(pc);
    return entry != NULL ? *entry : 0;
}

static void clear_entry(uint32_t pc)
{
    int32_t *entry = mr_dispatch_entry(pc);
    if (*entry != 0) /* a read touches no new page */
        __atomic_store_n(entry, 0, __ATOMIC_RELAXED);
}

void mr_module_forget_page(uint32_t page)
{
    const struct mr_module *module = mr_module_at_page(page);
    uint32_t low = page * MR_PAGE_BYTES, high = low + MR_PAGE_BYTES;
    mr_module_set_page(page, NULL);
    low = low < module->low_pc ? module->low_pc : low;
    high = high > module->high_pc ? module->high_pc : high;
    for (uint32_t pc = mr_aligned_down(low); pc < high; pc += MR_INSTRUCTION_BYTES)
        clear_entry(pc);
    for (uint32_t pc = low | 1; module->has_mips16 && pc < high; pc += MR_HALF_BYTES)
        clear_entry(pc);
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

uint32_t mr_library_registers(uintptr_t host_pc, const struct mr_host_frame *frame, uint32_t values[MR_PLACE_REGISTERS])
{
    const struct mr_module *module = mr_module_of(host_pc);
    uint64_t file_address = module == NULL ? 0 : host_pc - module->object.bias;
    if (module == NULL || mr_lines_stored(module->library, file_address))
        return 0;
    return mr_places_find(module->library, file_address, module->delta, frame, values);
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
