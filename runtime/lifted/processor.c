/* Whether a library has code of instructions that the guest's processor lacks (cpu/model.h).
 *
 * Recompiled code performs them without a look at the processor, so such a library is not used, and slower tiers raise the
 * exception. The guest's file is read for that, once for each library, and only where the processor lacks something.
 *
 * Data looks like instructions now and then. So of a file whose section headers say where code is, only that is read, if all
 * entries of the library lie there. Code elsewhere that a function jumps into without a call is not seen then.
 */
#include "base/instructions.h"
#include "base/numbers.h"
#include "cpu/model.h"
#include "lifted/module_parts.h"
#include "memory/values.h"
#include "mr_modules.h"

#include <elf.h>
#include <string.h>

#define NEEDS(module) "it has instructions of " module ", which the program's processor lacks"

struct file {
    const uint8_t *bytes;
    size_t size_bytes;
    bool big_endian;
};

#define FIELD(file, field) mr_number_at(&(field), sizeof(field), (file)->big_endian)

/* Part of a file. */
struct extent {
    size_t start, end;
};

/* ---- where code is ---- */

static struct extent extent_within(const struct file *file, size_t start, size_t size_bytes)
{
    struct extent extent = {start, start + size_bytes};
    extent.end = extent.end < file->size_bytes ? extent.end : file->size_bytes;
    extent.start = extent.start < extent.end ? extent.start : extent.end;
    return extent;
}

/* Moves *number to the next section of code, from it on. */
static bool next_section(const struct file *file, const Elf32_Ehdr *header, unsigned *number, struct extent *extent)
{
    size_t table = FIELD(file, header->e_shoff), row_bytes = FIELD(file, header->e_shentsize);
    for (; *number < FIELD(file, header->e_shnum) && row_bytes >= sizeof(Elf32_Shdr); ++*number) {
        Elf32_Shdr section;
        size_t at = table + *number * row_bytes;
        if (at + sizeof section > file->size_bytes)
            return false;
        memcpy(&section, file->bytes + at, sizeof section);
        if ((FIELD(file, section.sh_flags) & SHF_EXECINSTR) == 0 || FIELD(file, section.sh_type) == SHT_NOBITS)
            continue;
        *extent = extent_within(file, FIELD(file, section.sh_offset), FIELD(file, section.sh_size));
        return true;
    }
    return false;
}

static bool is_in_section(const struct file *file, const Elf32_Ehdr *header, size_t offset)
{
    struct extent extent;
    for (unsigned number = 0; next_section(file, header, &number, &extent); number++)
        if (offset >= extent.start && offset < extent.end)
            return true;
    return false;
}

static bool sections_have(const struct file *file, const Elf32_Ehdr *header, const struct mr_library *table, uint32_t pc)
{
    for (unsigned i = 0; i < MR_LIBRARY_SEGMENTS; i++) {
        const struct mr_library_segment *segment = &table->segments[i];
        if (pc - segment->guest < segment->size_bytes)
            return is_in_section(file, header, segment->offset + (pc - segment->guest));
    }
    return false;
}

static bool sections_have_all(const struct file *file, const Elf32_Ehdr *header, const struct mr_library *table)
{
    for (uint32_t i = 0; i < table->entry_count; i++)
        if (!sections_have(file, header, table, table->entries[i].guest_pc & ~1u))
            return false;
    return true;
}

/* ---- what it needs ---- */

static uint32_t modules_of(const struct file *file, struct extent extent)
{
    uint32_t modules = 0, word;
    for (size_t at = mr_aligned_down(extent.start + MR_INSTRUCTION_BYTES - 1); at + sizeof word <= extent.end; at += sizeof word) {
        memcpy(&word, file->bytes + at, sizeof word);
        modules |= mr_modules_of(FIELD(file, word));
    }
    return modules;
}

static uint32_t modules_of_file(const struct file *file, const struct mr_library *table)
{
    Elf32_Ehdr header;
    struct extent extent;
    uint32_t modules = 0;
    if (file->size_bytes < sizeof header)
        return 0;
    memcpy(&header, file->bytes, sizeof header);
    if (sections_have_all(file, &header, table)) {
        for (unsigned number = 0; next_section(file, &header, &number, &extent); number++)
            modules |= modules_of(file, extent);
        return modules;
    }
    for (unsigned i = 0; i < MR_LIBRARY_SEGMENTS; i++)
        modules |= modules_of(file, extent_within(file, table->segments[i].offset, table->segments[i].size_bytes));
    return modules;
}

static uint32_t modules_of_module(struct mr_module *module)
{
    struct file file = {.big_endian = mr_big_endian};
    file.bytes = mr_module_guest_file(module, &file.size_bytes);
    if (file.bytes == NULL) /* what cannot be told */
        return MR_CPU_MIPS16 | MR_CPU_DSP | MR_CPU_DSP2;
    return modules_of_file(&file, module->table) | (module->has_mips16 ? MR_CPU_MIPS16 : 0);
}

const char *mr_module_needs_missing(struct mr_module *module)
{
    struct mr_open_library *library = module->library;
    if (mr_cpu_missing == 0)
        return NULL;
    if (!library->modules_known)
        library->modules = modules_of_module(module);
    library->modules_known = true;
    if (!mr_cpu_lacks(library->modules))
        return NULL;
    return mr_cpu_lacks(library->modules & MR_CPU_DSP)    ? NEEDS(MR_MODULE_DSP)
           : mr_cpu_lacks(library->modules & MR_CPU_DSP2) ? NEEDS(MR_MODULE_DSP_RELEASE_2)
                                                          : NEEDS(MR_MODULE_MIPS16);
}
