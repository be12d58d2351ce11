/* Loads a MIPS program and the interpreter it names: files in, guest mappings and `struct mr_image` out.
 *
 * Layout follows the kernel (fs/binfmt_elf.c): segments go down in file order, later ones over earlier ones, in whole pages
 * of the file; memory beyond p_filesz of a segment with p_memsz > p_filesz is zero. mipsrec/elf/header.py and memory.py
 * state the same rules for the translator. Where a position-independent file goes:
 *
 *     static program                     PIE_BIAS, which is where the translator looks at it; so is any whose function is
 *                                        called (--call)
 *     program with an interpreter        DYNAMIC_PIE_BIAS, the kernel's ELF_ET_DYN_BASE (two thirds of user space)
 *     interpreter                        the highest free range below the stack, as mmap
 *
 * A file we cannot run ends in mr_fail with one line. Not done here: sections, symbols, relocation (a position-independent
 * program, or its interpreter, relocates itself).
 */
#include "base/instructions.h"
#include "base/messages.h"
#include "base/options.h"
#include "cpu/interp.h"
#include "cpu/mips16.h"
#include "linux/marks.h"
#include "linux/descriptors.h"
#include "linux/paths.h"
#include "linux/program.h"
#include "memory/values.h"
#include "mr_modules.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIE_BIAS 0x00400000u         /* equals PIE_BIAS of mipsrec/elf/header.py */
#define DYNAMIC_PIE_BIAS 0x55550000u /* arch/mips/include/asm/elf.h: TASK_SIZE / 3 * 2, in units of 64 KiB */
#define LOWEST_ADDRESS 0x10000u
#define MAX_FILE_BYTES (256u << 20)
#define MAX_PROGRAM_HEADERS 128u
#define FP_ABI_OFFSET 7u /* of .MIPS.abiflags */
#define ISA_REVISION_OFFSET 3u

/* Fields of e_flags that not every elf.h has (MIPS ABI supplement, and binutils' include/elf/mips.h). */
#define FLAG_ABI_MASK 0xf000u
#define FLAG_ABI_O32 0x1000u
#define FLAG_MICROMIPS 0x02000000u
#define ARCH_R6_32 9u
#define ARCH_R6_64 10u

uint32_t mr_brk_start;

/* The file being loaded; every field of it is read through `half` and `word`. */
struct file {
    const char *path;
    int fd;
    const uint8_t *bytes;
    uint64_t size_bytes;
    Elf32_Phdr segments[MAX_PROGRAM_HEADERS]; /* in the host's byte order, once they are checked */
    uint32_t count;
};

static uint32_t half(const struct file *file, uint64_t offset)
{
    uint16_t value;
    memcpy(&value, file->bytes + offset, sizeof value);
    return mr_swap16(value);
}

static uint32_t word(const struct file *file, uint64_t offset)
{
    return mr_get32(file->bytes + offset);
}

/* Takes the descriptor over; -1: it could not be opened, and errno says why. */
static struct file open_file(const char *path, int fd)
{
    struct file file = {.path = path, .fd = fd};
    struct stat status;
    if (file.fd < 0 || fstat(file.fd, &status))
        mr_fail("%s: cannot be read: %s", path, strerror(errno));
    if (S_ISDIR(status.st_mode))
        mr_fail("%s: is a directory; give the file name of a MIPS program", path);
    if (!S_ISREG(status.st_mode))
        mr_fail("%s: is not a regular file: write what comes from it to a file, and give that", path);
    if (status.st_size > (off_t)MAX_FILE_BYTES)
        mr_fail("%s: is larger than %u MiB; remove debug information (strip -g)", path, MAX_FILE_BYTES >> 20);
    file.size_bytes = (uint64_t)status.st_size;
    if (file.size_bytes < 4)
        mr_fail("%s: is not an ELF file; give a MIPS Linux program", path);
    void *bytes = mmap(NULL, file.size_bytes, PROT_READ, MAP_PRIVATE, file.fd, 0);
    if (bytes == MAP_FAILED)
        mr_fail("%s: cannot be read: %s", path, strerror(errno));
    file.bytes = bytes;
    return file;
}

/* ---- checks ---- */

_Noreturn static void refuse_machine(const struct file *file, uint32_t machine)
{
    const char *name = mr_machine_name(machine);
    char number[] = "machine 65535";
    snprintf(number, sizeof number, "machine %u", machine & 0xffff);
    mr_fail("%s: is a program for %s, not for MIPS; give a MIPS Linux program", file->path, name != NULL ? name : number);
}

_Noreturn static void refuse_type(const struct file *file, uint32_t type)
{
    if (type == ET_REL)
        mr_fail("%s: is an object file; link it first", file->path);
    if (type == ET_CORE)
        mr_fail("%s: is a core dump; give the program itself", file->path);
    mr_fail("%s: is no program (e_type %u); give a MIPS Linux program", file->path, type);
}

/* Checks e_ident, e_type and e_machine, and sets the guest's byte order. Returns e_type. */
static uint32_t check_ident(const struct file *file)
{
    if (memcmp(file->bytes, ELFMAG, SELFMAG))
        mr_fail("%s: is not an ELF file; give a MIPS Linux program", file->path);
    if (file->size_bytes < sizeof(Elf32_Ehdr) || file->bytes[EI_DATA] < ELFDATA2LSB || file->bytes[EI_DATA] > ELFDATA2MSB)
        mr_fail("%s: the ELF header is cut off or broken; get a whole copy of the file", file->path);
    mr_big_endian = file->bytes[EI_DATA] == ELFDATA2MSB;
    uint32_t type = half(file, offsetof(Elf32_Ehdr, e_type)), machine = half(file, offsetof(Elf32_Ehdr, e_machine));
    if (machine != EM_MIPS)
        refuse_machine(file, machine);
    if (file->bytes[EI_CLASS] != ELFCLASS32)
        mr_fail("%s: is a 64-bit (n64) program; only 32-bit o32 is supported: build it with -mabi=32", file->path);
    if (type != ET_EXEC && type != ET_DYN)
        refuse_type(file, type);
    return type;
}

_Noreturn static void refuse_release_6(const struct file *file)
{
    mr_fail("%s: is a " MR_MODULE_MIPS_R6 " program; " MR_MODULE_MIPS_I " to " MR_MODULE_MIPS32R2
            " are supported: build with -march=mips32r2", file->path);
}

static void check_flags(const struct file *file, uint32_t flags)
{
    uint32_t architecture = flags >> 28, abi = flags & FLAG_ABI_MASK;
    if (flags & EF_MIPS_ABI2)
        mr_fail("%s: is an n32 program; only o32 is supported: build it with -mabi=32", file->path);
    if (abi != 0 && abi != FLAG_ABI_O32)
        mr_fail("%s: uses ABI 0x%x; only o32 is supported: build it with -mabi=32", file->path, abi);
    if (architecture == ARCH_R6_32 || architecture == ARCH_R6_64)
        refuse_release_6(file);
    if (architecture > ARCH_R6_64)
        mr_fail("%s: has an unknown architecture (e_flags 0x%08x); build it with -march=mips32r2", file->path, flags);
    if (flags & FLAG_MICROMIPS)
        mr_fail("%s: holds " MR_MODULE_MICROMIPS " code, which is not supported: build it with -mno-micromips", file->path);
}

/* ---- program headers ---- */

/* Returns the name in PT_INTERP, which ends inside the segment. */
static const char *interpreter_name(const struct file *file, const Elf32_Phdr *segment)
{
    const char *name = (const char *)file->bytes + segment->p_offset;
    if ((uint64_t)segment->p_offset + segment->p_filesz > file->size_bytes || segment->p_filesz < 2 ||
        segment->p_filesz > PATH_MAX || name[segment->p_filesz - 1] != 0)
        mr_fail("%s: the name of its interpreter (PT_INTERP) is broken; get a whole copy of the file", file->path);
    return name;
}

/* All members of a program header are words. */
static void read_program_headers(struct file *file)
{
    uint64_t phoff = word(file, offsetof(Elf32_Ehdr, e_phoff));
    uint32_t entry_bytes = half(file, offsetof(Elf32_Ehdr, e_phentsize)), count = half(file, offsetof(Elf32_Ehdr, e_phnum));
    if (count == 0)
        mr_fail("%s: has no program headers, so nothing to load; link it as a program", file->path);
    if (entry_bytes != sizeof(Elf32_Phdr) || count > MAX_PROGRAM_HEADERS)
        mr_fail("%s: has %u program headers of %u bytes; the file is broken, link it again", file->path, count,
                entry_bytes);
    if (phoff + (uint64_t)count * entry_bytes > file->size_bytes)
        mr_fail("%s: the program headers lie beyond the end of the file; get a whole copy of the file", file->path);
    file->count = count;
    for (uint32_t at = 0; at < count * sizeof(Elf32_Phdr); at += 4) {
        uint32_t value = word(file, phoff + at);
        memcpy((uint8_t *)file->segments + at, &value, sizeof value);
    }
}

/* What the kinds of segments say, before anything is mapped. */
struct extent {
    uint32_t lowest, highest;  /* first and one past the last address of PT_LOAD segments, unbiased */
    const char *interpreter;   /* of PT_INTERP, or NULL; in the mapped file */
};

static struct extent examine_segments(const struct file *file)
{
    struct extent extent = {.lowest = UINT32_MAX};
    uint32_t loadable = 0;
    for (const Elf32_Phdr *segment = file->segments; segment < file->segments + file->count; segment++) {
        if (segment->p_type == PT_INTERP && !extent.interpreter)
            extent.interpreter = interpreter_name(file, segment);
        if (segment->p_type != PT_LOAD)
            continue;
        uint64_t end = (uint64_t)segment->p_vaddr + segment->p_memsz;
        loadable++;
        extent.lowest = segment->p_vaddr < extent.lowest ? segment->p_vaddr : extent.lowest;
        extent.highest = end > extent.highest ? (uint32_t)(end < UINT32_MAX ? end : UINT32_MAX) : extent.highest;
    }
    if (!loadable)
        mr_fail("%s: has no loadable segment (PT_LOAD), so nothing to run; link it as a program", file->path);
    return extent;
}

static void check_segment(const struct file *file, const Elf32_Phdr *segment, uint64_t start)
{
    if (segment->p_filesz > segment->p_memsz)
        mr_fail("%s: segment at 0x%08x has more bytes in the file than in memory; the file is broken, link it again",
                file->path, (uint32_t)start);
    if (segment->p_filesz && (uint64_t)segment->p_offset + segment->p_filesz > file->size_bytes)
        mr_fail("%s: segment at 0x%08x lies beyond the end of the file; get a whole copy of the file", file->path,
                (uint32_t)start);
    if (start < LOWEST_ADDRESS || start + segment->p_memsz > MR_USER_END)
        mr_fail("%s: segment at 0x%08x of 0x%x bytes is outside the addresses a MIPS program can use (0x%x to 0x%x); "
                "link it elsewhere", file->path, (uint32_t)start, segment->p_memsz, LOWEST_ADDRESS, MR_USER_END);
    if (segment->p_filesz && (segment->p_offset - segment->p_vaddr) % MR_PAGE_BYTES)
        mr_fail("%s: segment at 0x%08x is not aligned with its place in the file (0x%x); link it again", file->path,
                (uint32_t)start, segment->p_offset);
}

/* ---- mapping ---- */

static uint64_t page_down(uint64_t address)
{
    return address & ~(uint64_t)(MR_PAGE_BYTES - 1);
}

static void map_or_fail(const struct file *file, uint64_t start, uint64_t end, int flags, int fd, uint64_t offset)
{
    int64_t got = mr_map((uint32_t)start, (uint32_t)(end - start), MR_READ | MR_WRITE, flags, fd, offset, true);
    if (got < 0)
        mr_fail("%s: cannot map 0x%x bytes at 0x%08x: %s", file->path, (uint32_t)(end - start), (uint32_t)start,
                strerror((int)-got));
}

static void load_segment(const struct file *file, const Elf32_Phdr *segment, uint64_t start, struct mr_image *image)
{
    uint64_t first = page_down(start), file_end = start + segment->p_filesz, memory_end = start + segment->p_memsz;
    uint64_t file_page_end = segment->p_filesz ? page_down(file_end + MR_PAGE_BYTES - 1) : first;
    uint64_t memory_page_end = page_down(memory_end + MR_PAGE_BYTES - 1);
    if (file_page_end > first)
        map_or_fail(file, first, file_page_end, MAP_PRIVATE, file->fd, segment->p_offset - (start - first));
    if (memory_end > file_end && file_page_end > file_end)
        memset(mr_guest_bytes((uint32_t)file_end, (uint32_t)(file_page_end - file_end), MR_WRITE), 0,
               file_page_end - file_end);
    if (memory_page_end > file_page_end)
        map_or_fail(file, file_page_end, memory_page_end, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int prot = (segment->p_flags & PF_R ? MR_READ : 0) | (segment->p_flags & PF_W ? MR_WRITE : 0) |
               (segment->p_flags & PF_X ? MR_EXEC : 0);
    int error = mr_protect((uint32_t)first, (uint32_t)(memory_page_end - first), prot);
    if (error)
        mr_fail("%s: cannot protect the segment at 0x%08x: %s", file->path, (uint32_t)start, strerror(-error));
    if ((segment->p_flags & PF_X) && file_page_end > first &&
        image->code_count < sizeof image->code / sizeof *image->code)
        image->code[image->code_count++] = (struct mr_image_code){
            (uint32_t)first, (uint32_t)(file_page_end - first), segment->p_offset - (start - first), dup(file->fd)};
}

/* Where one file was loaded. */
struct placed {
    uint32_t bias, low, high; /* the first and one past the last loaded byte */
    uint32_t phdr;            /* guest address of the program headers, or 0 */
};

static struct placed load_segments(const struct file *file, uint32_t bias, struct mr_image *image)
{
    uint32_t phoff = word(file, offsetof(Elf32_Ehdr, e_phoff));
    struct placed placed = {.bias = bias, .low = UINT32_MAX};
    for (const Elf32_Phdr *segment = file->segments; segment < file->segments + file->count; segment++) {
        if (segment->p_type != PT_LOAD || segment->p_memsz == 0)
            continue;
        uint64_t start = (uint64_t)segment->p_vaddr + bias, end = start + segment->p_memsz;
        check_segment(file, segment, start);
        load_segment(file, segment, start, image);
        placed.low = start < placed.low ? (uint32_t)start : placed.low;
        placed.high = end > placed.high ? (uint32_t)end : placed.high;
        uint64_t file_end = (uint64_t)segment->p_offset + segment->p_filesz;
        if (!placed.phdr && phoff >= segment->p_offset && phoff + file->count * sizeof(Elf32_Phdr) <= file_end)
            placed.phdr = (uint32_t)(start + (phoff - segment->p_offset));
    }
    return placed;
}

/* Returns the entry point with bias, which must be in a segment. */
static uint32_t checked_entry(const struct file *file, uint32_t bias)
{
    uint32_t entry = word(file, offsetof(Elf32_Ehdr, e_entry));
    bool found = false;
    for (const Elf32_Phdr *segment = file->segments; segment < file->segments + file->count; segment++)
        found |= segment->p_type == PT_LOAD && entry >= segment->p_vaddr && entry - segment->p_vaddr < segment->p_memsz;
    if (!found || !mr_may_be_code(entry))
        mr_fail("%s: the entry point 0x%08x is not in a loaded segment; link it again", file->path, entry + bias);
    return entry + bias;
}

/* Checks what a file says of itself behind its header. Returns fp_abi of .MIPS.abiflags, or 0 where it has none. */
static uint32_t check_marks(const struct file *file, const char *interpreter)
{
    struct mr_file_bytes bytes = {file->bytes, file->size_bytes};
    const char *system = mr_other_system(bytes, file->segments, file->count, interpreter);
    const uint8_t *flags = mr_abiflags(bytes, file->segments, file->count);
    if (system != NULL)
        mr_fail("%s: is a program for %s; give a MIPS Linux program", file->path, system);
    if (flags != NULL && flags[ISA_REVISION_OFFSET] == 6)
        refuse_release_6(file);
    return flags != NULL ? flags[FP_ABI_OFFSET] : 0;
}

static void close_file(const struct file *file)
{
    munmap((void *)(uintptr_t)file->bytes, file->size_bytes);
    close(file->fd);
}

/* Loads the program's interpreter. Its byte order and ABI must be the program's. */
static void load_interpreter(const struct file *program, const char *name, struct mr_image *image)
{
    bool big_endian = mr_big_endian;
    const char *path = name;
    int error = mr_host_path_of(name, MR_FOLLOW, &path);
    int fd = error ? -1 : mr_own_open_file(AT_FDCWD, path, O_RDONLY | O_NONBLOCK); /* a pipe has nobody at its other end */
    if (error)
        errno = -error;
    if (fd < 0)
        mr_fail("%s: its interpreter %s cannot be read (%s); name the folder that has the guest's /lib with --sysroot DIR",
                program->path, name, strerror(errno));
    struct file file = open_file(path, fd);
    uint32_t type = check_ident(&file);
    check_flags(&file, word(&file, offsetof(Elf32_Ehdr, e_flags)));
    if (mr_big_endian != big_endian)
        mr_fail("%s: its interpreter %s has the other byte order: name the right sysroot", program->path, path);
    uint32_t bias = 0;
    read_program_headers(&file);
    struct extent extent = examine_segments(&file);
    check_marks(&file, extent.interpreter);
    if (type == ET_DYN) {
        uint32_t size = (uint32_t)page_down((uint64_t)extent.highest - page_down(extent.lowest) + MR_PAGE_BYTES - 1);
        uint32_t place = mr_find_free(size);
        if (place == 0)
            mr_fail("%s: no room for its interpreter %s of 0x%x bytes", program->path, path, size);
        bias = place - (uint32_t)page_down(extent.lowest);
    }
    image->start = checked_entry(&file, bias);
    load_segments(&file, bias, image);
    image->interpreter_base = bias;
    close_file(&file);
}

static uint32_t choose_bias(uint32_t type, const struct extent *extent)
{
    if (type != ET_DYN || extent->lowest >= LOWEST_ADDRESS)
        return 0;
    return extent->interpreter && mr_options.call_function == NULL ? DYNAMIC_PIE_BIAS : PIE_BIAS;
}

void mr_load(const char *path, struct mr_image *image)
{
    struct file file = open_file(path, mr_program_open(path));
    uint32_t type = check_ident(&file);
    uint32_t flags = word(&file, offsetof(Elf32_Ehdr, e_flags)), entry = word(&file, offsetof(Elf32_Ehdr, e_entry));
    check_flags(&file, flags);
    read_program_headers(&file);
    struct extent extent = examine_segments(&file);
    if (type == ET_DYN && entry == 0)
        mr_fail("%s: is a shared library, not a program (no entry point); give the program that uses it", path);
    *image = (struct mr_image){
        .phent = sizeof(Elf32_Phdr),
        .phnum = file.count,
        .flags = flags,
        .fp_abi = check_marks(&file, extent.interpreter),
        .nan2008 = flags & EF_MIPS_NAN2008,
    };
    struct placed placed = load_segments(&file, choose_bias(type, &extent), image);
    image->start = image->entry = checked_entry(&file, placed.bias);
    image->phdr = placed.phdr;
    image->low = placed.low;
    image->high = placed.high;
    image->bias = placed.bias;
    mr_brk_start = (uint32_t)page_down((uint64_t)image->high + MR_PAGE_BYTES - 1);
    if (extent.interpreter)
        load_interpreter(&file, extent.interpreter, image);
    close_file(&file);
}
