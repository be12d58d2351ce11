/* Libraries: files that mipsrec made, each of one ELF file of the guest. */
#ifndef MR_LIFTED_LIBRARY_H
#define MR_LIFTED_LIBRARY_H

#include "lifted/image.h"
#include "lifted/libfile.h"
#include "mr_library.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct mr_line_row {
    uint32_t address, line, column;
};
struct mr_line_table {
    _Atomic int state; /* 0: not decoded yet */
    struct mr_line_row *rows;
    size_t row_count, row_room;
};

struct mr_place_table;

/* ---- library.c ---- */
struct mr_open_library {
    struct mr_library_file file;
    const struct mr_library *table; /* `mr_library` in the mapped file; its functions are not to be called */
    size_t table_bytes;
    uint64_t table_address; /* in the file */
    struct mr_line_table lines;
    struct mr_place_table *_Atomic places; /* NULL: not decoded yet (places.c) */
    bool grown; /* by the compile server, which may make it larger */
    bool modules_known; /* processor.c; under mr_lock */
    uint32_t modules;   /* of enum mr_cpu_modules, that its code may need */
};
/* Checks of a file all that needs no guest; whole: also its checksum and entries. Returns NULL, or why it is unfit. */
const char *mr_library_check_file(struct mr_open_library *library, const char *path, bool whole);
/* Checks whether the library can be bound in this process at all. Returns NULL, or why not. */
const char *mr_library_check_process(const struct mr_library *table);
/* Of the library that --library names: as mr_library_check_file, fails with mr_fail. to_run: only if its code may run. */
struct mr_open_library *mr_library_examine(const char *path, bool to_run);
void mr_library_describe(const char *path); /* prints what mr_library_examine has found right */
/* Binds the library that --library names to the program; fails with mr_fail. */
void mr_library_open(const char *path, const struct mr_image *image);

/* ---- lines.c ---- */
uint32_t mr_lines_find(struct mr_open_library *library, uint64_t file_address); /* guest pc of code; 0 when unknown */
/* Whether the code has stored to the state all that the handler of a fault there may need. */
bool mr_lines_stored(struct mr_open_library *library, uint64_t file_address);
/* By how many bytes sp is below where it was at the entry of a function of which that is known. */
uint32_t mr_lines_depth(struct mr_open_library *library, uint64_t file_address);
/* As mr_lines_find, for code that cannot fault: of host code that stands for no one instruction, the pc of what follows. */
uint32_t mr_lines_near(struct mr_open_library *library, uint64_t file_address);

/* ---- object.c: maps a shared object, as the dynamic linker would ---- */
struct mr_object {
    uintptr_t bias;                /* host address minus address in the file */
    uintptr_t code_low, code_high; /* its executable bytes */
    Elf64_Dyn *dynamic;            /* its dynamic section, or NULL */
    size_t dynamic_count;
};
/* The place is in the arena, of mr_object_size bytes. Returns NULL, or why it cannot be mapped. */
size_t mr_object_size(const struct mr_library_file *file);
/* Has processes that are made from now on find code of a file in their page tables. The kernel copies those of a file's
 * mapping only where some page of it was written (vma_needs_copy of mm/memory.c); else each process has a fault for each few
 * pages. Where code may not be written, nothing is done. */
void mr_keep_code_pages(uintptr_t code_low, uintptr_t code_high);
const char *mr_object_map(const struct mr_library_file *file, int fd, uintptr_t place, struct mr_object *object);

#endif
