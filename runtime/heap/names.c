/* Finds malloc and its like: by their names in the symbol tables of each file that is mapped to be executed, or as --allocator
 * names them. */
#include "base/counters.h"
#include "base/messages.h"
#include "base/numbers.h"
#include "base/options.h"
#include "coverage/coverage.h"
#include "heap/heap.h"
#include "lifted/code_files.h"
#include "lifted/upcalls.h"
#include "linux/descriptors.h"
#include "memory/shadow.h"
#include "memory/values.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct {
    const char *name;
    enum mr_function_kind kind;
} names[] = {
    {"malloc", MR_MALLOC}, {"calloc", MR_CALLOC}, {"realloc", MR_REALLOC}, {"free", MR_FREE}, {"cfree", MR_FREE},
    {"memalign", MR_MEMALIGN}, {"aligned_alloc", MR_MEMALIGN}, {"posix_memalign", MR_POSIX_MEMALIGN}, {"valloc", MR_VALLOC},
    {"pvalloc", MR_PVALLOC}, {"malloc_usable_size", MR_USABLE_SIZE},
    {"__libc_malloc", MR_MALLOC}, {"__libc_calloc", MR_CALLOC}, {"__libc_realloc", MR_REALLOC}, {"__libc_free", MR_FREE},
    {"__libc_memalign", MR_MEMALIGN}, {"__libc_valloc", MR_VALLOC}, {"__libc_pvalloc", MR_PVALLOC},
};
#define NAMES (sizeof names / sizeof *names)

/* ---- what --allocator names ---- */

/* Of NAME=PLACE,... the place for a name, into text. */
static bool named_place(const char *name, char *text, size_t size_bytes)
{
    size_t length = strlen(name);
    for (const char *at = mr_options.allocator; at != NULL && *at != 0; at += strcspn(at, ","), at += *at == ',')
        if (strncmp(at, name, length) == 0 && at[length] == '=') {
            size_t end = strcspn(at + length + 1, ",");
            if (end >= size_bytes)
                return false;
            memcpy(text, at + length + 1, end);
            text[end] = 0;
            return true;
        }
    return false;
}

static void check_names(void)
{
    bool was_given[NAMES] = {false};
    for (const char *at = mr_options.allocator; at != NULL && *at != 0; at += strcspn(at, ","), at += *at == ',') {
        unsigned i = 0;
        while (i < NAMES && (strncmp(at, names[i].name, strlen(names[i].name)) != 0 || at[strlen(names[i].name)] != '='))
            i++;
        if (i < NAMES && was_given[i])
            mr_fail("--allocator names %s twice", names[i].name);
        if (i < NAMES)
            was_given[i] = true;
        if (i == NAMES)
            mr_fail("--allocator: '%.*s' is not NAME=SYMBOL or NAME=0xADDRESS, where NAME is malloc, calloc, realloc, free or "
                    "another function of that kind", (int)strcspn(at, ","), at);
    }
}

static bool was_found[NAMES]; /* what --allocator says of a name, in a file */

static void hook_addresses(uint32_t low, uint32_t high)
{
    char text[80];
    uint32_t function;
    for (unsigned i = 0; i < NAMES; i++)
        if (named_place(names[i].name, text, sizeof text) && mr_parse_address(text, &function) && function >= low &&
            function < high) {
            mr_function_hook(function, names[i].kind);
            was_found[i] = true;
        }
}

/* ---- symbols of a file ---- */

struct symbols {
    int fd;
    uint32_t to_guest, low, high; /* what is mapped */
};

static void look_at_symbol(const struct symbols *symbols, const Elf32_Sym *symbol, const char *name)
{
    const uint8_t kind_bits = 0xf0, mips16 = 0xf0; /* STO_MIPS16: the value has no bit 0 then */
    uint32_t function = mr_get32(&symbol->st_value) + symbols->to_guest, size_bytes = mr_get32(&symbol->st_size);
    function |= (symbol->st_other & kind_bits) == mips16;
    if (ELF32_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF || function < symbols->low ||
        function >= symbols->high)
        return;
    mr_heap_note_function(name, function, function + size_bytes);
    if (size_bytes != 0 && size_bytes < MR_HOOK_BYTES)
        return;
    /* Static linkers make malloc local; but no C library has cfree any more, so a local one is the program's. */
    bool is_other = strcmp(name, "cfree") == 0 && ELF32_ST_BIND(symbol->st_info) == STB_LOCAL;
    for (unsigned i = 0; i < NAMES && !is_other; i++) {
        char text[80];
        bool is_named = named_place(names[i].name, text, sizeof text);
        if (strcmp(name, is_named ? text : names[i].name) != 0)
            continue;
        mr_function_hook(function, names[i].kind);
        was_found[i] |= is_named;
    }
}

static void look_at_table(const struct symbols *symbols, const Elf32_Shdr *table, const Elf32_Shdr *strings)
{
    enum { AT_ONCE = 256 };
    Elf32_Sym part[AT_ONCE];
    uint32_t count = mr_get32(&table->sh_size) / sizeof *part, names_bytes = mr_get32(&strings->sh_size);
    char *text = mmap(NULL, (size_t)names_bytes + 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (text == MAP_FAILED)
        return;
    if (pread(symbols->fd, text, names_bytes, mr_get32(&strings->sh_offset)) == (ssize_t)names_bytes)
        for (uint32_t i = 0; i < count; i += AT_ONCE) {
            uint32_t here = count - i < AT_ONCE ? count - i : AT_ONCE;
            off_t at = mr_get32(&table->sh_offset) + (off_t)i * (off_t)sizeof *part;
            if (pread(symbols->fd, part, here * sizeof *part, at) != (ssize_t)(here * sizeof *part))
                break;
            for (uint32_t n = 0; n < here; n++)
                if (mr_get32(&part[n].st_name) < names_bytes)
                    look_at_symbol(symbols, &part[n], text + mr_get32(&part[n].st_name));
        }
    munmap(text, (size_t)names_bytes + 1);
}

static bool section_at(int fd, const Elf32_Ehdr *header, uint32_t index, Elf32_Shdr *section)
{
    off_t at = mr_get32(&header->e_shoff) + (off_t)index * (off_t)sizeof *section;
    return index < mr_get16(&header->e_shnum) && pread(fd, section, sizeof *section, at) == sizeof *section;
}

void mr_heap_file_mapped(uint32_t guest, uint32_t size_bytes, int fd)
{
    const struct mr_code_file *file = mr_code_file(mr_code_file_number(guest));
    Elf32_Ehdr header;
    Elf32_Shdr table, strings;
    hook_addresses(guest, guest + size_bytes);
    if (file == NULL || pread(fd, &header, sizeof header, 0) != sizeof header ||
        mr_get16(&header.e_shentsize) != sizeof table)
        return;
    struct symbols symbols = {fd, file->bias + file->delta, guest, guest + size_bytes};
    for (uint32_t i = 0; section_at(fd, &header, i, &table); i++)
        if ((mr_get32(&table.sh_type) == SHT_SYMTAB || mr_get32(&table.sh_type) == SHT_DYNSYM) &&
            section_at(fd, &header, mr_get32(&table.sh_link), &strings))
            look_at_table(&symbols, &table, &strings);
}

/* ---- at the start ---- */

/* All of the guest's memory may be touched at first. The map of counters, if there is one, moves to where the shadow is. */
static void reserve_shadow(void)
{
    uint8_t *both = mmap(NULL, MR_SHADOW_OFFSET + MR_SHADOW_BYTES, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (both == MAP_FAILED ||
        (mr_counter_map != NULL &&
         mremap(mr_counter_map, 0, MR_COUNTER_BYTES, MREMAP_MAYMOVE | MREMAP_FIXED, both) == MAP_FAILED))
        mr_fail("--check-memory: no address space for %zu bytes: %s", MR_SHADOW_BYTES, strerror(errno));
    mr_counter_map = both;
    mr_shadow = (int8_t *)both + MR_SHADOW_OFFSET;
    mr_checking = true;
}

void mr_heap_start(void)
{
    mr_options.check_memory |= mr_fuzzed && secure_getenv("AFL_USE_QASAN") != NULL;
    if (!mr_options.check_memory)
        return;
    check_names();
    mr_own_keep(MR_OWN_COMPLAINT, mr_options.complaint_fd);
    reserve_shadow();
    mr_options.engine_interp = true; /* recompiled code does not look */
}

void mr_heap_program_loaded(bool is_static)
{
    char text[80];
    for (unsigned i = 0; mr_checking && is_static && i < NAMES; i++)
        if (named_place(names[i].name, text, sizeof text) && *text != 0 && !was_found[i])
            mr_fail("--allocator: %s has no function %s, which is to be %s", mr_options.program_path, text, names[i].name);
    if (mr_checking && is_static && !mr_has_malloc)
        mr_fail("--check-memory: %s has no symbol malloc; name its functions: --allocator malloc=0x401230,free=0x401340",
                mr_options.program_path);
}
