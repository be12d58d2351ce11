/* Maps a shared object of recompiled code into the arena and relocates it, as a dynamic linker would.
 *
 * Enters: a file that libfile.c has found sound, and a place. Leaves: its segments there, with their protections. Such an
 * object needs little: it imports functions of the host (upcalls.h), and has no thread-local data, constructors or
 * versions. Anything else is refused by name. So the host can be a static program that needs no dynamic linker.
 */
#include "lifted/library.h"

#include "host/host.h"
#include "lifted/upcalls.h"
#include "memory/memory.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

void mr_keep_code_pages(uintptr_t code_low, uintptr_t code_high)
{
    uint8_t *low = (uint8_t *)(code_low & ~(uintptr_t)(MR_PAGE_BYTES - 1));
    size_t size_bytes = code_high - (uintptr_t)low;
    if (mprotect(low, size_bytes, PROT_READ | PROT_WRITE | PROT_EXEC) != 0)
        return;
    *(volatile uint8_t *)low = *(volatile uint8_t *)low;
    mprotect(low, size_bytes, PROT_READ | PROT_EXEC);
    for (size_t at = 0; at < size_bytes; at += MR_PAGE_BYTES)
        (void)*(volatile uint8_t *)(low + at);
}

static uintptr_t find_import(const char *name)
{
    for (size_t i = 0; i < mr_import_count; i++)
        if (strcmp(mr_imports[i].name, name) == 0)
            return mr_imports[i].address;
    return 0;
}

size_t mr_object_size(const struct mr_library_file *file)
{
    uint64_t end = 0;
    for (unsigned i = 0; i < file->header.e_phnum; i++) {
        Elf64_Phdr segment = mr_library_file_segment(file, i);
        if (segment.p_type == PT_LOAD && segment.p_vaddr + segment.p_memsz > end)
            end = segment.p_vaddr + segment.p_memsz;
    }
    return mr_page_up(end);
}

static int protection_of(const Elf64_Phdr *segment)
{
    return (segment->p_flags & PF_R ? PROT_READ : 0) | (segment->p_flags & PF_W ? PROT_WRITE : 0) |
           (segment->p_flags & PF_X ? PROT_EXEC : 0);
}

/* Maps one segment: pages of the file, then zeros. The place is mapped already, without access. */
static bool map_segment(const Elf64_Phdr *segment, int fd, uintptr_t place)
{
    uintptr_t start = place + segment->p_vaddr, first = start & ~(uintptr_t)(MR_PAGE_BYTES - 1);
    uint64_t before = start - first, file_bytes = mr_page_up(before + segment->p_filesz);
    uint64_t memory_bytes = mr_page_up(before + segment->p_memsz);
    int protection = protection_of(segment);
    if (segment->p_filesz != 0 && mmap((void *)first, file_bytes, protection, MAP_PRIVATE | MAP_FIXED, fd,
                                       (off_t)(segment->p_offset - before)) == MAP_FAILED)
        return false;
    if (segment->p_filesz == 0)
        file_bytes = 0;
    if (memory_bytes > file_bytes && mmap((void *)(first + file_bytes), memory_bytes - file_bytes, protection,
                                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
        return false;
    if (segment->p_memsz > segment->p_filesz && file_bytes != 0 && (protection & PROT_WRITE) != 0)
        memset((void *)(start + segment->p_filesz), 0, first + file_bytes - (start + segment->p_filesz));
    return true;
}

/* ---- relocation ---- */

/* Where the dynamic section says things are, in memory. */
struct dynamic {
    const Elf64_Sym *symbols;
    const char *strings;
    const Elf64_Rela *tables[2]; /* DT_RELA, DT_JMPREL */
    size_t counts[2];
    uint64_t strings_bytes;
};

static struct dynamic read_dynamic(const struct mr_object *object)
{
    struct dynamic found = {0};
    const Elf64_Dyn *entry = object->dynamic;
    for (size_t n = object->dynamic_count; n-- > 0 && entry->d_tag != DT_NULL; entry++) {
        uintptr_t host = object->bias + entry->d_un.d_ptr;
        switch (entry->d_tag) {
        case DT_SYMTAB: found.symbols = (const Elf64_Sym *)host; break;
        case DT_STRTAB: found.strings = (const char *)host; break;
        case DT_STRSZ: found.strings_bytes = entry->d_un.d_val; break;
        case DT_RELA: found.tables[0] = (const Elf64_Rela *)host; break;
        case DT_RELASZ: found.counts[0] = entry->d_un.d_val / sizeof(Elf64_Rela); break;
        case DT_JMPREL: found.tables[1] = (const Elf64_Rela *)host; break;
        case DT_PLTRELSZ: found.counts[1] = entry->d_un.d_val / sizeof(Elf64_Rela); break;
        default: break;
        }
    }
    return found;
}

static uintptr_t symbol_address(const struct dynamic *dynamic, uint64_t index, uintptr_t bias)
{
    const Elf64_Sym *symbol = &dynamic->symbols[index];
    if (symbol->st_shndx != SHN_UNDEF)
        return bias + symbol->st_value;
    return symbol->st_name < dynamic->strings_bytes ? find_import(dynamic->strings + symbol->st_name) : 0;
}

static const char *relocate(const struct dynamic *dynamic, uintptr_t bias)
{
    for (int which = 0; which < 2; which++)
        for (size_t i = 0; i < dynamic->counts[which]; i++) {
            const Elf64_Rela *entry = &dynamic->tables[which][i];
            uint64_t *place = (uint64_t *)(bias + entry->r_offset);
            uint32_t type = (uint32_t)ELF64_R_TYPE(entry->r_info);
            if (type == MR_RELOCATION_RELATIVE) {
                *place = bias + (uint64_t)entry->r_addend;
                continue;
            }
            uintptr_t symbol = symbol_address(dynamic, ELF64_R_SYM(entry->r_info), bias);
            if (symbol == 0)
                return "it needs a function that this host does not have";
            if (type != MR_RELOCATION_ENTRY && type != MR_RELOCATION_JUMP && type != MR_RELOCATION_ABSOLUTE)
                return "it has a relocation of an unknown kind";
            *place = symbol + (uint64_t)entry->r_addend;
        }
    return NULL;
}

const char *mr_object_map(const struct mr_library_file *file, int fd, uintptr_t place, struct mr_object *object)
{
    *object = (struct mr_object){.bias = place, .code_low = UINTPTR_MAX};
    for (unsigned i = 0; i < file->header.e_phnum; i++) {
        Elf64_Phdr segment = mr_library_file_segment(file, i);
        if (segment.p_type == PT_DYNAMIC) {
            object->dynamic = (Elf64_Dyn *)(place + segment.p_vaddr);
            object->dynamic_count = segment.p_memsz / sizeof *object->dynamic;
        }
        if (segment.p_type != PT_LOAD)
            continue;
        if (!map_segment(&segment, fd, place))
            return strerror(errno);
        uintptr_t low = place + segment.p_vaddr, high = low + segment.p_memsz;
        if ((segment.p_flags & PF_X) != 0) {
            object->code_low = low < object->code_low ? low : object->code_low;
            object->code_high = high > object->code_high ? high : object->code_high;
        }
    }
    struct dynamic dynamic = read_dynamic(object);
    return relocate(&dynamic, place);
}
