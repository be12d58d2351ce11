/* What recompiled code asks of folders above: the functions that it imports (imports.c), and where it counts decisions; and
 * which code there is to be marked. */
#ifndef MR_LIFTED_UPCALLS_H
#define MR_LIFTED_UPCALLS_H

#include "lifted/code_files.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct mr_import {
    const char *name;
    uintptr_t address;
};
extern const struct mr_import mr_imports[];
extern const size_t mr_import_count;

/* Which recompiled code of a file may run: such without counters of decisions, such with them, or none.
 * (coverage/coverage.c) */
enum mr_code_kind { MR_PLAIN_CODE, MR_COUNTING_CODE, MR_NO_CODE };
enum mr_code_kind mr_code_kind_of(unsigned file_number);
/* Where mr_checking (memory/shadow.h): a file was mapped to be executed. (heap/names.c) */
void mr_heap_file_mapped(uint32_t guest, uint32_t size_bytes, int fd);
void mr_coverage_unread(void); /* there will be code with counters, whether or not decisions are counted */

/* What follows is called under mr_lock, where mr_marks (base/marks.h). Bytes of a file from an offset on are mapped there to be
 * executed; file: NULL where there is no room to describe it. Or something else comes to be there. (coverage/marks.c) */
void mr_marks_mapped(uint32_t guest, uint32_t size_bytes, int fd, uint64_t offset, const struct mr_code_file *file,
                     const struct stat *status);
void mr_marks_unmapped(uint32_t guest, uint32_t size_bytes);

#endif
