/* Reads the headers, sections and dynamic symbols of a shared object from its file.
 *
 * The dynamic loader maps a truncated file without complaint, and the process dies of SIGBUS when it first touches what is
 * missing; so everything the headers name is compared with the file's size here. Every access is bounded by the file.
 */
#include "lifted/libfile.h"

#include "base/inflate.h"
#include "host/host.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_BYTES ((off_t)1 << 31) /* all modules of a process have to fit into so many */

static bool within(const struct mr_library_file *file, uint64_t offset, uint64_t size_bytes)
{
    return offset <= file->size_bytes && size_bytes <= file->size_bytes - offset;
}

Elf64_Phdr mr_library_file_segment(const struct mr_library_file *file, unsigned index)
{
    Elf64_Phdr header;
    memcpy(&header, file->bytes + file->header.e_phoff + (size_t)index * sizeof header, sizeof header);
    return header;
}

static Elf64_Shdr section_header(const struct mr_library_file *file, unsigned index)
{
    Elf64_Shdr header;
    memcpy(&header, file->bytes + file->header.e_shoff + (size_t)index * sizeof header, sizeof header);
    return header;
}

static const char *map_file(struct mr_library_file *file, const char *path)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); /* a pipe has nobody at its other end */
    struct stat status;
    bool there = fd >= 0 && fstat(fd, &status) == 0;
    if (!there || !S_ISREG(status.st_mode) || status.st_size > MOST_BYTES) {
        const char *reason = !there ? strerror(errno) : S_ISREG(status.st_mode) ? "the file is too large" : "not a regular file";
        if (fd >= 0)
            close(fd);
        return reason;
    }
    void *bytes = MAP_FAILED;
    file->size_bytes = (size_t)status.st_size;
    if (file->size_bytes > 0)
        bytes = mmap(NULL, file->size_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    close(fd);
    file->device = status.st_dev;
    file->inode = status.st_ino;
    file->path = strdup(path);
    if (bytes == MAP_FAILED)
        return file->size_bytes == 0 ? "the file is empty" : strerror(errno);
    file->bytes = bytes;
    return NULL;
}

static const char *check_extent(const struct mr_library_file *file)
{
    const Elf64_Ehdr *header = &file->header;
    if (!within(file, header->e_phoff, (uint64_t)header->e_phnum * sizeof(Elf64_Phdr)))
        return "the file is truncated: its program headers lie beyond its end";
    if (!within(file, header->e_shoff, (uint64_t)header->e_shnum * sizeof(Elf64_Shdr)))
        return "the file is truncated: its section headers lie beyond its end";
    for (unsigned i = 0; i < header->e_phnum; i++) {
        Elf64_Phdr segment = mr_library_file_segment(file, i);
        if (!within(file, segment.p_offset, segment.p_filesz))
            return "the file is truncated: a segment lies beyond its end";
    }
    for (unsigned i = 0; i < header->e_shnum; i++) {
        Elf64_Shdr section = section_header(file, i);
        if (section.sh_type != SHT_NOBITS && !within(file, section.sh_offset, section.sh_size))
            return "the file is truncated: a section lies beyond its end";
    }
    return NULL;
}

void mr_library_file_close(struct mr_library_file *file)
{
    if (file->bytes != NULL)
        munmap((void *)(uintptr_t)file->bytes, file->size_bytes);
    free(file->path);
    *file = (struct mr_library_file){0};
}

int mr_library_file_descriptor(const struct mr_library_file *file)
{
    struct stat status;
    int fd = file->path != NULL ? open(file->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY) : -1;
    if (fd >= 0 && fstat(fd, &status) == 0 && status.st_dev == file->device && status.st_ino == file->inode &&
        (size_t)status.st_size == file->size_bytes)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

void mr_library_file_read_all(const struct mr_library_file *file)
{
#ifdef MADV_POPULATE_READ
    madvise((void *)(uintptr_t)file->bytes, file->size_bytes, MADV_POPULATE_READ); /* else each page when it is needed */
#else
    (void)file;
#endif
}

const char *mr_library_file_open(struct mr_library_file *file, const char *path)
{
    const char *reason = map_file(file, path);
    if (reason != NULL)
        return reason;
    size_t magic_bytes = file->size_bytes < SELFMAG ? file->size_bytes : SELFMAG;
    if (memcmp(file->bytes, ELFMAG, magic_bytes) != 0)
        return "not an ELF file";
    if (file->size_bytes < sizeof file->header)
        return "the file is truncated: its ELF header is incomplete";
    memcpy(&file->header, file->bytes, sizeof file->header);
    const Elf64_Ehdr *header = &file->header;
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
        header->e_machine != MR_ELF_MACHINE)
        return "not made for this machine";
    if (header->e_type != ET_DYN || header->e_phnum == 0)
        return "not a shared object";
    if (header->e_phentsize != sizeof(Elf64_Phdr) ||
        (header->e_shnum != 0 && header->e_shentsize != sizeof(Elf64_Shdr)))
        return "the file is damaged: its ELF header gives impossible sizes";
    return check_extent(file);
}

/* The string at offset in a string table, or "" when it does not end inside the table. */
static const char *string_at(struct mr_bytes table, uint64_t offset)
{
    if (offset >= table.size_bytes || memchr(table.bytes + offset, 0, table.size_bytes - offset) == NULL)
        return "";
    return (const char *)table.bytes + offset;
}

static struct mr_bytes section_contents(const struct mr_library_file *file, unsigned index)
{
    if (index >= file->header.e_shnum)
        return (struct mr_bytes){NULL, 0};
    Elf64_Shdr section = section_header(file, index);
    if (section.sh_type == SHT_NOBITS || (section.sh_flags & SHF_COMPRESSED) != 0)
        return (struct mr_bytes){NULL, 0};
    return (struct mr_bytes){file->bytes + section.sh_offset, section.sh_size};
}

/* Unpacks a compressed section into memory of its own; *to_free is NULL where that fails. */
static struct mr_bytes unpacked(struct mr_bytes section, uint8_t **to_free)
{
    enum { GREATEST_RATIO = 1032 }; /* of DEFLATE: 258 bytes by two bits */
    Elf64_Chdr header;
    if (section.size_bytes < sizeof header)
        return (struct mr_bytes){NULL, 0};
    memcpy(&header, section.bytes, sizeof header);
    const uint8_t *packed = section.bytes + sizeof header;
    size_t packed_bytes = section.size_bytes - sizeof header;
    if (header.ch_type != ELFCOMPRESS_ZLIB || header.ch_size / GREATEST_RATIO > packed_bytes)
        return (struct mr_bytes){NULL, 0};
    *to_free = malloc(header.ch_size + 1);
    if (*to_free == NULL || !mr_inflate(packed, packed_bytes, *to_free, header.ch_size)) {
        free(*to_free);
        *to_free = NULL;
        return (struct mr_bytes){NULL, 0};
    }
    return (struct mr_bytes){*to_free, header.ch_size};
}

struct mr_bytes mr_library_file_section(const struct mr_library_file *file, const char *name, uint8_t **to_free)
{
    struct mr_bytes names = section_contents(file, file->header.e_shstrndx);
    *to_free = NULL;
    for (unsigned i = 0; i < file->header.e_shnum; i++) {
        Elf64_Shdr section = section_header(file, i);
        if (strcmp(string_at(names, section.sh_name), name) != 0)
            continue;
        if (section.sh_type == SHT_NOBITS || (section.sh_flags & SHF_COMPRESSED) == 0)
            return section_contents(file, i);
        return unpacked((struct mr_bytes){file->bytes + section.sh_offset, section.sh_size}, to_free);
    }
    return (struct mr_bytes){NULL, 0};
}

static struct mr_bytes contents_at_address(const struct mr_library_file *file, uint64_t address, uint64_t size_bytes)
{
    for (unsigned i = 0; i < file->header.e_phnum; i++) {
        Elf64_Phdr segment = mr_library_file_segment(file, i);
        uint64_t into = address - segment.p_vaddr;
        if (segment.p_type != PT_LOAD || address < segment.p_vaddr || into >= segment.p_filesz)
            continue;
        uint64_t rest = segment.p_filesz - into;
        return (struct mr_bytes){file->bytes + segment.p_offset + into, size_bytes < rest ? size_bytes : rest};
    }
    return (struct mr_bytes){NULL, 0};
}

struct mr_bytes mr_library_file_symbol(const struct mr_library_file *file, const char *name, uint64_t *address)
{
    Elf64_Sym symbol;
    for (unsigned i = 0; i < file->header.e_shnum; i++) {
        Elf64_Shdr section = section_header(file, i);
        if (section.sh_type != SHT_DYNSYM)
            continue;
        struct mr_bytes symbols = section_contents(file, i);
        struct mr_bytes names = section_contents(file, section.sh_link);
        for (size_t at = 0; at + sizeof symbol <= symbols.size_bytes; at += sizeof symbol) {
            memcpy(&symbol, symbols.bytes + at, sizeof symbol);
            if (symbol.st_shndx == SHN_UNDEF || strcmp(string_at(names, symbol.st_name), name) != 0)
                continue;
            *address = symbol.st_value;
            return contents_at_address(file, symbol.st_value, symbol.st_size);
        }
    }
    return (struct mr_bytes){NULL, 0};
}
