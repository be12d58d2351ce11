/* Recompiled code in this process.
 *
 *     library   a file that mipsrec made of one ELF file of the guest (mr_library.h); checked once, in library.c
 *     module    a library in memory, bound to one place where the guest has mapped that ELF file (module.c)
 *     store     the folders where libraries are found by the contents of the guest's file (store.c, caches.h)
 *
 * All modules lie in one arena of the host's address space, so that an entry of the dispatch table is a displacement of
 * 32 bits from its start. A module is never removed from memory: frames of any thread may return into it. It is taken
 * out of the dispatch table, and bound again when the guest maps the same file at the same place.
 */
#ifndef MR_LIFTED_MODULE_H
#define MR_LIFTED_MODULE_H

#include "lifted/library.h"
#include "lifted/places.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- module.c ---- */
struct mr_module {
    struct mr_open_library *library;
    struct mr_object object;
    const struct mr_library *table; /* `mr_library` in the arena */
    uint32_t delta;                 /* actual guest pcs minus those in the library */
    uint32_t low_pc, high_pc;       /* of its entries, as the guest has them now */
    uint32_t page_count;            /* guest pages that have its code; 0: it is bound nowhere any more */
    bool has_mips16;                /* some of its entries are of MIPS16e code */
    bool replaced;                  /* by a library that has grown */
    bool aside;                     /* bound nowhere for now: mr_module_set_aside */
    unsigned number;                /* from 1 on */
    unsigned code_file;             /* number of the ELF file (code_files.c) */
    bool was_asked;                 /* whether it is unchanged; then the bytes of the ELF file, or NULL (unchanged.c) */
    uint8_t *guest_bytes;
    size_t guest_size_bytes;
    char *guest_path;               /* of the ELF file, as the guest named it; for reports */
};
void mr_modules_reserve(void); /* the arena */
/* Returns NULL, or why the library cannot be bound at that delta. */
const char *mr_module_bind(struct mr_open_library *library, uint32_t delta, const char *guest_path);
/* The guest has mapped size_bytes of a file from an offset to an executable place. */
void mr_module_file_mapped(uint32_t guest, uint32_t size_bytes, int fd, uint64_t offset);
/* Does for all modules that there are what processes that are made later would each do again: page tables, and entries of the
 * dispatch table. For a process with one thread, which executes no recompiled code now. */
void mr_modules_prepare(void);
struct mr_module *mr_module(unsigned number); /* from 1 on; NULL: there are not so many */
const struct mr_module *mr_module_of(uintptr_t host_pc); /* NULL: not in lifted code; for handlers of signals, too */
struct mr_place {
    unsigned code_file; /* 0: unknown */
    uint32_t pc;        /* as `mipsrec disasm` shows it; 0: unknown */
};
/* The instruction that host code at or near host_pc is of, by mr_lines_near; for handlers of signals, too. */
struct mr_place mr_library_place(uintptr_t host_pc);
bool mr_library_tells_of_calls(void); /* every call of a lifted function so far loaded is seen by the host */
void mr_modules_report(void); /* for --stats */
bool mr_library_contains(uintptr_t host_pc);
uint32_t mr_library_guest_pc(uintptr_t host_pc); /* by the line table (lines.c); 0 when unknown */
/* The guest's registers that the code at host_pc has, by mr_places_find. */
uint32_t mr_library_registers(uintptr_t host_pc, const struct mr_host_frame *frame, uint32_t values[MR_PLACE_REGISTERS]);

/* ---- growing.c ---- */
/* Binds a library over the pages of an ELF file (code_files.c), in the place of the one that is bound there. Returns false
 * where the guest has changed the file's pages, or there is no room. */
bool mr_module_grow(unsigned code_file, struct mr_open_library *library, const char *identity);
/* Binds what has grown of a file nowhere, as long as it is not taken back. Returns false where there is nothing. */
bool mr_module_set_aside(unsigned code_file);
void mr_module_take_back(unsigned code_file);
extern _Atomic uint32_t mr_times_set_aside; /* how often that has been done, for any file */

/* ---- forget.c ---- */
/* Under mr_lock, so that what another thread maps and binds there next stays. What lifted code was made of is no longer what
 * the guest has in [guest, guest + size_bytes): interpret from now on. */
void mr_code_forget(uint32_t guest, uint32_t size_bytes);
void mr_code_gone(uint32_t guest, uint32_t size_bytes); /* the same, where the mapping is gone or is another one */
void mr_code_flushed(uint32_t guest, uint32_t size_bytes); /* the guest says that it may have written code there */

/* ---- debugger.c ---- */
void mr_debugger_tell(const struct mr_module *module); /* under mr_lock */

#endif
