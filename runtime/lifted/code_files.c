/* Which file the guest's code is of: for reports, profiles, statistics and mipsrec verify.
 *
 * Enters: executable mappings of files, recompiled or not. Leaves: for a guest pc, the file and the pc that mipsrec names
 * there: that of `mipsrec disasm FILE`, where a position-independent file has the bias PIE_BIAS. A file that is mapped at
 * two places has two numbers. Numbers are never given back, so what was counted for one stays true after munmap. With
 * --profile forked children share the numbers, as they share the samples. Notes change under mr_lock; readers take none,
 * as each note is one word.
 */
#include "lifted/code_files.h"

#include "base/counters.h"
#include "base/kernel_proc.h"
#include "base/lock.h"
#include "base/marks.h"
#include "base/messages.h"
#include "base/options.h"
#include "lifted/module.h"
#include "lifted/store.h"
#include "lifted/upcalls.h"
#include "memory/values.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIE_BIAS 0x00400000u         /* equals PIE_BIAS of mipsrec/elf/header.py */
#define USER_SPACE_START 0x00010000u /* equals USER_SPACE_START of mipsrec/elf/header.py */
#define MOST_FILES MR_MOST_CODE_FILES
#define MOST_HEADERS 64u
#define USER_PAGES (0x80000000u / MR_PAGE_BYTES)

struct code_files {
    _Atomic unsigned count; /* of numbers given, and perhaps some more than there are */
    struct mr_code_file by_number[MOST_FILES + 1];
};
static struct code_files *all;
static _Atomic uint64_t interpreted[MOST_FILES + 1];
static uint16_t file_of_page[USER_PAGES]; /* 0: none */
static uint32_t pages_of[MOST_FILES + 1];  /* how many have the file's number */
static bool changed[MOST_FILES + 1];       /* what is mapped there may not be what the file has */

/* Finds the guest address that mipsrec gives to a byte of the file, the file's bias, and where its code is. The file may be
 * anything. */
static bool place_in_file(int fd, uint64_t offset, uint32_t *address, struct mr_code_file *file)
{
    Elf32_Ehdr header;
    Elf32_Phdr segments[MOST_HEADERS];
    if (pread(fd, &header, sizeof header, 0) != sizeof header || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return false;
    unsigned count = mr_get16(&header.e_phnum) < MOST_HEADERS ? mr_get16(&header.e_phnum) : MOST_HEADERS;
    ssize_t size_bytes = (ssize_t)(count * sizeof *segments);
    if (mr_get16(&header.e_phentsize) != sizeof *segments ||
        pread(fd, segments, (size_t)size_bytes, mr_get32(&header.e_phoff)) != size_bytes)
        return false;
    bool found = false;
    uint32_t lowest = UINT32_MAX;
    file->code_low = UINT32_MAX;
    for (unsigned i = 0; i < count; i++) {
        uint32_t start = mr_get32(&segments[i].p_vaddr), at = mr_get32(&segments[i].p_offset), before = at % MR_PAGE_BYTES;
        if (mr_get32(&segments[i].p_type) != PT_LOAD)
            continue;
        lowest = start < lowest ? start : lowest;
        if ((mr_get32(&segments[i].p_flags) & PF_X) == 0)
            continue;
        uint32_t file_bytes = mr_get32(&segments[i].p_filesz), end = start + file_bytes;
        file->code_low = start < file->code_low ? start : file->code_low;
        file->code_high = end > file->code_high ? end : file->code_high;
        if (offset >= at - before && offset < (uint64_t)at + file_bytes) {
            *address = start - before + (uint32_t)(offset - (at - before));
            found = true;
        }
    }
    file->counter_seed = mr_counter_seed(mr_get32(&header.e_entry), mr_get32(&header.e_shoff));
    file->bias = mr_get16(&header.e_type) == ET_DYN && lowest < USER_SPACE_START ? PIE_BIAS : 0;
    *address += file->bias;
    return found;
}

bool mr_is_same_stamp(const struct mr_file_stamp *a, const struct mr_file_stamp *b)
{
    return a->device == b->device && a->inode == b->inode && a->seconds == b->seconds && a->fraction == b->fraction;
}

static struct mr_file_stamp stamp_of(const struct stat *status)
{
    return (struct mr_file_stamp){status->st_dev, status->st_ino, status->st_ctim.tv_sec, status->st_ctim.tv_nsec};
}

bool mr_code_file_is(const struct mr_code_file *file, const struct stat *status)
{
    struct mr_file_stamp now = stamp_of(status);
    return mr_is_same_stamp(&file->stamp, &now);
}

unsigned mr_code_file_count(void)
{
    unsigned count = atomic_load(&all->count);
    return count < MOST_FILES ? count : MOST_FILES;
}

struct mr_code_file *mr_code_file(unsigned number)
{
    return number > 0 && number <= mr_code_file_count() && atomic_load(&all->by_number[number].ready) ?
               &all->by_number[number] : NULL;
}

/* Under mr_lock, but another process may do the same: the number of a file at a place, a new one if need be; 0 where there
 * is no room. */
static unsigned number_of(const struct mr_code_file *wanted)
{
    for (unsigned i = mr_code_file_count(); i > 0; i--) {
        const struct mr_code_file *known = mr_code_file(i);
        if (known != NULL && known->delta == wanted->delta && mr_is_same_stamp(&known->stamp, &wanted->stamp))
            return i;
    }
    unsigned number = mr_code_file_count() < MOST_FILES ? atomic_fetch_add(&all->count, 1) + 1 : MOST_FILES + 1;
    if (number > MOST_FILES)
        return 0;
    struct mr_code_file *file = &all->by_number[number];
    memcpy(file, wanted, sizeof *file);
    atomic_store(&file->ready, 1);
    return number;
}

void mr_code_files_reserve(void)
{
    int sharing = mr_options.profile_path != NULL ? MAP_SHARED : MAP_PRIVATE;
    all = mmap(NULL, sizeof *all, PROT_READ | PROT_WRITE, sharing | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED)
        mr_fail("cannot get address space for the list of files with code: %s", strerror(errno));
}

static void note(uint32_t guest, uint32_t size_bytes, unsigned number)
{
    uint64_t end = (uint64_t)guest + size_bytes;
    for (uint64_t at = guest; at < end && at < (uint64_t)USER_PAGES * MR_PAGE_BYTES; at += MR_PAGE_BYTES)
        if (file_of_page[at / MR_PAGE_BYTES] != number) { /* a read touches no new page */
            pages_of[file_of_page[at / MR_PAGE_BYTES]]--;
            pages_of[number]++;
            __atomic_store_n(&file_of_page[at / MR_PAGE_BYTES], (uint16_t)number, __ATOMIC_RELAXED);
        }
}

void mr_code_file_mapped(uint32_t guest, uint32_t size_bytes, int fd, uint64_t offset)
{
    struct stat status;
    struct mr_code_file file = {0};
    uint32_t address = 0;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
        return;
    if (mr_descriptor_link(fd, file.path, sizeof file.path) < 0)
        strcpy(file.path, "-"); /* there is no /proc: readers go by the identity */
    file.delta = place_in_file(fd, offset, &address, &file) ? guest - address : guest - (uint32_t)offset;
    file.stamp = stamp_of(&status);
    bool wanted = mr_options.profile_path != NULL || mr_options.verify_fd >= 0;
    if (wanted && !mr_store_identify(fd, file.identity))
        file.identity[0] = 0;
    mr_lock();
    unsigned number = number_of(&file);
    if (pages_of[number] == 0)
        changed[number] = false;
    note(guest, size_bytes, number);
    if (mr_marks != NULL)
        mr_marks_mapped(guest, size_bytes, fd, offset, mr_code_file(number), &status);
    mr_unlock();
}

void mr_code_file_unmapped(uint32_t guest, uint32_t size_bytes)
{
    if (mr_code_file_count() == 0)
        return;
    if (mr_marks != NULL)
        mr_marks_unmapped(guest, size_bytes);
    note(guest, size_bytes, 0);
}

/* Whether a page has code of the file. A dynamic linker maps the whole of a file executable first, then its data anew. */
static bool has_code_at(const struct mr_code_file *file, uint32_t guest)
{
    uint64_t at = guest & ~(MR_PAGE_BYTES - 1), to_guest = (uint64_t)file->bias + file->delta;
    return file->code_low < file->code_high && at + MR_PAGE_BYTES > file->code_low + to_guest &&
           at < file->code_high + to_guest;
}

void mr_code_file_changed(uint32_t guest, uint32_t size_bytes)
{
    uint64_t end = (uint64_t)guest + size_bytes;
    if (mr_code_file_count() == 0)
        return;
    for (uint64_t at = guest; at < end && at < (uint64_t)USER_PAGES * MR_PAGE_BYTES; at += MR_PAGE_BYTES)
        if (file_of_page[at / MR_PAGE_BYTES] != 0 && has_code_at(&all->by_number[file_of_page[at / MR_PAGE_BYTES]], (uint32_t)at))
            changed[file_of_page[at / MR_PAGE_BYTES]] = true;
}

bool mr_code_file_is_changed(unsigned number)
{
    return changed[number];
}

unsigned mr_code_file_number(uint32_t pc)
{
    return pc / MR_PAGE_BYTES < USER_PAGES ? __atomic_load_n(&file_of_page[pc / MR_PAGE_BYTES], __ATOMIC_RELAXED) : 0;
}

bool mr_code_file_next(uint64_t *at, struct mr_code_range *range)
{
    uint32_t page = (uint32_t)(*at / MR_PAGE_BYTES);
    while (page < USER_PAGES && file_of_page[page] == 0)
        page++;
    if (page == USER_PAGES)
        return false;
    range->low = page * MR_PAGE_BYTES;
    range->number = file_of_page[page];
    while (page < USER_PAGES && file_of_page[page] == range->number)
        page++;
    range->high = page * MR_PAGE_BYTES;
    *at = range->high;
    return true;
}

/* ---- what was interpreted ---- */

#define FILES_TOLD 10u

void mr_code_file_interpreted(uint32_t pc, uint64_t instructions)
{
    atomic_fetch_add_explicit(&interpreted[mr_code_file_number(pc)], instructions, memory_order_relaxed);
}

void mr_code_files_forked(void)
{
    for (unsigned i = 0; i <= MOST_FILES; i++)
        interpreted[i] = 0;
}

/* Adds the counts of a file that was mapped at several places to the first of its numbers. */
static void join_counts(unsigned count)
{
    for (unsigned i = 2; i <= count; i++)
        for (unsigned first = 1; first < i && interpreted[i] != 0; first++) {
            const struct mr_code_file *a = mr_code_file(first), *b = mr_code_file(i);
            if (a != NULL && b != NULL && mr_is_same_stamp(&a->stamp, &b->stamp))
                atomic_fetch_add(&interpreted[first], atomic_exchange(&interpreted[i], 0));
        }
}

/* The number with most instructions, where none has more than `most`. The lowest of several, above `after` if it has so. */
static unsigned next_most(unsigned count, uint64_t most, unsigned after)
{
    unsigned found = MOST_FILES + 1;
    for (unsigned i = 0; i <= count; i++)
        if (interpreted[i] != 0 && (interpreted[i] < most || (interpreted[i] == most && i > after)) &&
            (found > MOST_FILES || interpreted[i] > interpreted[found]))
            found = i;
    return found;
}

static bool has_code(const struct mr_code_file *file)
{
    const struct mr_module *module;
    for (unsigned i = 1; (module = mr_module(i)) != NULL; i++) {
        const struct mr_code_file *other = mr_code_file(module->code_file);
        if (other != NULL && mr_is_same_stamp(&file->stamp, &other->stamp))
            return true;
    }
    return false;
}

void mr_code_files_report(void)
{
    unsigned count = mr_code_file_count(), with_any = 0;
    uint64_t sum = 0;
    join_counts(count);
    for (unsigned i = 0; i <= count; i++) {
        with_any += interpreted[i] != 0;
        sum += interpreted[i];
    }
    unsigned number = next_most(count, UINT64_MAX, 0);
    for (unsigned told = 0; told < FILES_TOLD && number <= MOST_FILES; told++) {
        const struct mr_code_file *file = mr_code_file(number);
        uint64_t tenths = 1000 * interpreted[number] / sum;
        mr_print_error("mipsrec-host: interpreted instructions: %llu (%u.%u %%) in %s%s\n",
                       (unsigned long long)interpreted[number], (unsigned)tenths / 10, (unsigned)tenths % 10,
                       file == NULL ? "code of no file" : file->path,
                       file == NULL || has_code(file) ? "" : ", which has no recompiled code");
        number = next_most(count, interpreted[number], number);
    }
    if (with_any > FILES_TOLD)
        mr_print_error("mipsrec-host: interpreted some in %u more files\n", with_any - FILES_TOLD);
}

/* ---- names ---- */

/* The guest's file in memory; all that is read of it is bounded by its size. */
struct bytes {
    const uint8_t *at;
    size_t size_bytes;
};

static bool take(const struct bytes *file, uint64_t offset, void *to, size_t size_bytes)
{
    if (offset > file->size_bytes || size_bytes > file->size_bytes - offset)
        return false;
    memcpy(to, file->at + offset, size_bytes);
    return true;
}

static bool take_section(const struct bytes *file, const Elf32_Ehdr *header, uint32_t index, Elf32_Shdr *section)
{
    return index < mr_get16(&header->e_shnum) &&
           take(file, mr_get32(&header->e_shoff) + (uint64_t)index * sizeof *section, section, sizeof *section);
}

/* Puts NAME+0xDISTANCE of the function at an address of the file into text, where a symbol of the table has it. */
static bool name_by_table(const struct bytes *file, const Elf32_Shdr *table, const Elf32_Shdr *strings, uint32_t address,
                          char *text, size_t size_bytes)
{
    char name[80];
    Elf32_Sym symbol;
    for (uint32_t i = 0; i < mr_get32(&table->sh_size) / sizeof symbol; i++) {
        if (!take(file, mr_get32(&table->sh_offset) + (uint64_t)i * sizeof symbol, &symbol, sizeof symbol))
            return false;
        uint32_t distance = address - mr_get32(&symbol.st_value);
        if (ELF32_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_shndx == SHN_UNDEF ||
            distance >= mr_get32(&symbol.st_size))
            continue;
        uint64_t at = (uint64_t)mr_get32(&strings->sh_offset) + mr_get32(&symbol.st_name);
        size_t length = 0;
        while (length < sizeof name - 1 && take(file, at + length, &name[length], 1) && name[length] > ' ')
            length++;
        name[length] = 0;
        if (distance != 0)
            snprintf(text, size_bytes, "%s+0x%x", name, distance);
        else
            snprintf(text, size_bytes, "%s", name);
        return length > 0;
    }
    return false;
}

static bool name_in(const struct bytes *file, uint32_t address, char *text, size_t size_bytes)
{
    static const uint32_t types[] = {SHT_SYMTAB, SHT_DYNSYM};
    Elf32_Ehdr header;
    Elf32_Shdr table, strings;
    if (!take(file, 0, &header, sizeof header) || mr_get16(&header.e_shentsize) != sizeof table)
        return false;
    for (int which = 0; which < 2; which++)
        for (uint32_t i = 0; take_section(file, &header, i, &table); i++)
            if (mr_get32(&table.sh_type) == types[which] &&
                take_section(file, &header, mr_get32(&table.sh_link), &strings) &&
                name_by_table(file, &table, &strings, address, text, size_bytes))
                return true;
    return false;
}

/* Reads the file rather than mapping it: it may be cut short meanwhile. */
static bool name_function(const struct mr_code_file *file, uint32_t pc, char *text, size_t size_bytes)
{
    struct stat status;
    bool found = false;
    int fd = mr_open_regular(file->path);
    if (fd >= 0 && fstat(fd, &status) == 0 && mr_code_file_is(file, &status) && status.st_size > 0) {
        size_t room_bytes = (size_t)status.st_size;
        void *copy = mmap(NULL, room_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ssize_t got = copy != MAP_FAILED ? pread(fd, copy, room_bytes, 0) : -1;
        if (got > 0)
            found = name_in(&(struct bytes){copy, (size_t)got}, pc - file->delta - file->bias, text, size_bytes);
        if (copy != MAP_FAILED)
            munmap(copy, room_bytes);
    }
    if (fd >= 0)
        close(fd);
    return found;
}

bool mr_code_file_describe(uint32_t pc, bool with_function, char *text, size_t size_bytes)
{
    char name[100] = "";
    const struct mr_code_file *file = mr_code_file(mr_code_file_number(pc));
    if (file == NULL)
        return false;
    bool named = with_function && name_function(file, pc, name, sizeof name);
    snprintf(text, size_bytes, "0x%08x%s%s%s of %s", pc - file->delta, named ? " <" : "", name, named ? ">" : "",
             file->path);
    return true;
}
