/* A shared object as a file: what can be known of it before it is loaded. */
#ifndef MR_LIBFILE_H
#define MR_LIBFILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct mr_library_file {
    const uint8_t *bytes; /* the file, mapped read-only, or NULL */
    size_t size_bytes;
    char *path;
    dev_t device; /* and the file's number there: whether the path still names it */
    ino_t inode;
    Elf64_Ehdr header;
};

/* Maps the file and checks that everything its headers name lies within it; returns NULL, or why it is unfit.
 * A file that is none, or too large, is not mapped. */
const char *mr_library_file_open(struct mr_library_file *file, const char *path);
void mr_library_file_read_all(const struct mr_library_file *file); /* says that all of it will be read */
void mr_library_file_close(struct mr_library_file *file);
/* Opens the same file once more; -1 where the path names another one now. */
int mr_library_file_descriptor(const struct mr_library_file *file);

Elf64_Phdr mr_library_file_segment(const struct mr_library_file *file, unsigned index); /* below header.e_phnum */

struct mr_bytes {
    const uint8_t *bytes; /* NULL when there is none */
    size_t size_bytes;
};
/* The contents of the first section of that name; empty when there is none, or it cannot be unpacked. *to_free is what the
 * caller frees when it has done with them, or NULL. */
struct mr_bytes mr_library_file_section(const struct mr_library_file *file, const char *name, uint8_t **to_free);
/* The contents of the dynamic symbol of that name, as far as its st_size and the file go, and its address there. */
struct mr_bytes mr_library_file_symbol(const struct mr_library_file *file, const char *name, uint64_t *address);

#endif
