/* Recompiled code in this process.
 *
 *     library   a file that mipsrec made of one ELF file of the guest (library.h); checked once, in library.c
 *     module    a library in memory, bound to one place where the guest has mapped that ELF file (module.c)
 *     store     the folders where libraries are found by the contents of the guest's file (store.c, caches.h)
 *
 * All modules lie in one arena of the host's address space, so that an entry of the dispatch table is a displacement of
 * 32 bits from its start. A module is never removed from memory: frames of any thread may return into it. It is taken
 * out of the dispatch table, and bound again when the guest maps the same file at the same place.
 */
#ifndef MR_CODE_H
#define MR_CODE_H

#include "caches.h"
#include "host.h"
#include "libfile.h"
#include "library.h"

/* ---- lines.c ---- */
struct mr_open_library;
uint32_t mr_lines_find(struct mr_open_library *library, uint64_t file_address); /* guest pc of code; 0 when unknown */
/* The same for code that cannot fault: of host code that stands for no one instruction, that of what follows. */
uint32_t mr_lines_near(struct mr_open_library *library, uint64_t file_address);
struct mr_line_row {
    uint32_t address, line;
};
struct mr_line_table {
    _Atomic int state; /* 0: not decoded yet */
    struct mr_line_row *rows;
    size_t row_count, row_room;
    uint32_t *starts; /* of the functions in the file, sorted */
    size_t start_count;
};

/* ---- library.c ---- */
struct mr_open_library {
    struct mr_library_file file;
    const struct mr_library *table; /* `mr_library` in the mapped file; its functions are not to be called */
    size_t table_bytes;
    struct mr_line_table lines;
    bool grown; /* by the compile server, which may make it larger */
};
/* Checks of a file all that needs no guest; whole: also its checksum and entries. Returns NULL, or why it is unfit. */
const char *mr_library_check_file(struct mr_open_library *library, const char *path, bool whole);
/* Checks whether the library can be bound in this process at all. Returns NULL, or why not. */
const char *mr_library_check_process(const struct mr_library *table);
/* Of the library that --library names: as mr_library_check_file, fails with mr_fail. */
struct mr_open_library *mr_library_examine(const char *path);
void mr_library_describe(const char *path); /* prints what mr_library_examine has found right */
/* Binds the library that --library names to the program; fails with mr_fail. */
void mr_library_open(const char *path, const struct mr_image *image);

/* ---- object.c: maps a shared object, as the dynamic linker would ---- */
struct mr_object {
    uintptr_t bias;                /* host address minus address in the file */
    uintptr_t code_low, code_high; /* its executable bytes */
};
/* The place is in the arena, of mr_object_size bytes. Returns NULL, or why it cannot be mapped. */
size_t mr_object_size(const struct mr_library_file *file);
const char *mr_object_map(const struct mr_library_file *file, int fd, uintptr_t place, struct mr_object *object);

/* ---- module.c ---- */
struct mr_module {
    struct mr_open_library *library;
    struct mr_object object;
    const struct mr_library *table; /* `mr_library` in the arena */
    uint32_t delta;                 /* actual guest pcs minus those in the library */
    uint32_t low_pc, high_pc;       /* of its entries, as the guest has them now */
    uint32_t page_count;            /* guest pages that have its code; 0: it is bound nowhere any more */
    bool replaced;                  /* by a library that has grown */
    bool aside;                     /* bound nowhere for now: mr_module_set_aside */
    unsigned code_file;             /* number of the ELF file (code_files.c) */
    char *guest_path;               /* of the ELF file, as the guest named it; for reports */
};
void mr_modules_reserve(void); /* the arena */
/* Returns NULL, or why the library cannot be bound at that delta. */
const char *mr_module_bind(struct mr_open_library *library, uint32_t delta, const char *guest_path);
/* Binds a library over the pages of an ELF file (code_files.c), in the place of the one that is bound there. Returns false
 * where the guest has changed the file's pages, or there is no room. */
bool mr_module_grow(unsigned code_file, struct mr_open_library *library, const char *identity);
/* Binds what has grown of a file nowhere, as long as it is not taken back. Returns false where there is nothing. */
bool mr_module_set_aside(unsigned code_file);
void mr_module_take_back(unsigned code_file);
uint32_t mr_times_set_aside(void); /* how often that has been done, for any file */
/* The guest has mapped size_bytes of a file from an offset to an executable place. */
void mr_module_file_mapped(uint32_t guest, uint32_t size_bytes, int fd, uint64_t offset);
const struct mr_module *mr_module(unsigned index); /* NULL: there are not so many */
const struct mr_module *mr_module_of(uintptr_t host_pc); /* NULL: not in lifted code; for handlers of signals, too */
struct mr_place {
    unsigned code_file; /* 0: unknown */
    uint32_t pc;        /* as `mipsrec disasm` shows it; 0: unknown */
};
/* The instruction that host code at or near host_pc is of, by mr_lines_near; for handlers of signals, too. */
struct mr_place mr_library_place(uintptr_t host_pc);
bool mr_library_tells_of_calls(void); /* every call of a lifted function so far loaded is seen by the host */
void mr_modules_report(void); /* for --stats */

/* ---- debugger.c ---- */
void mr_debugger_tell(const struct mr_module *module); /* under mr_lock */

/* ---- code_files.c: which file the guest's code is of, recompiled or not ---- */
#define MR_MOST_CODE_FILES 4096u
struct mr_code_file {
    _Atomic int ready; /* all below is written */
    uint32_t delta;    /* guest pcs minus those that `mipsrec disasm` shows of the file */
    uint32_t bias;     /* of the latter, over the addresses in the file */
    uint32_t code_low, code_high; /* addresses in the file between which all is that may be executed */
    char identity[65]; /* BLAKE2b-256 of its contents; empty unless --profile or --verify asks */
    dev_t device;
    ino_t inode;
    int64_t changed_seconds, changed_fraction;
    char path[4096]; /* on this machine, as it was when it was mapped */
};
void mr_code_files_reserve(void);
void mr_code_file_mapped(uint32_t guest, uint32_t size_bytes, int fd, uint64_t offset);
void mr_code_file_unmapped(uint32_t guest, uint32_t size_bytes); /* under mr_lock */
void mr_code_file_changed(uint32_t guest, uint32_t size_bytes);  /* under mr_lock: what is there may not be the file's any more */
bool mr_code_file_is_changed(unsigned number);                    /* in any of its pages since it was mapped */
struct stat;
bool mr_code_file_is(const struct mr_code_file *file, const struct stat *status); /* as it was when it was mapped */
void mr_code_files_report(void);                                   /* for --stats: which files were interpreted */
/* The number of the file whose code is at a guest pc, from 1 on; 0: none. For handlers of signals, too. */
unsigned mr_code_file_number(uint32_t pc);
struct mr_code_file *mr_code_file(unsigned number); /* NULL: there is none of that number */
unsigned mr_code_file_count(void);
struct mr_code_range {
    uint32_t low, high;
    unsigned number;
};
/* The next guest addresses from *at on that have code of one file; moves *at behind them. Returns false after the last. */
bool mr_code_file_next(uint64_t *at, struct mr_code_range *range);
/* Puts "0x004006f0 <function+0x10> of FILE" into text, the address as in the file. Returns false where it is in none. */
bool mr_code_file_describe(uint32_t pc, bool with_function, char *text, size_t size_bytes);

/* ---- store.c ---- */
/* Looks for the store in a cache folder (NULL: where mipsrec keeps its own) and in layers (NULL: those of the environment),
 * in a variant of the code (NULL: the default). */
void mr_store_open(const char *cache, const char *layers, const char *variant);
/* The library for the guest's file behind fd, which stays the caller's; NULL where there is none. Never fails loudly. */
struct mr_open_library *mr_store_find(int fd, const char *guest_path);
/* Puts the hash of the contents of a file of the guest into identity, as 64 digits. Returns false where it cannot be read. */
bool mr_store_identify(int fd, char identity[65]);
bool mr_store_identify_soon(int fd, char identity[65]); /* the same, but false where that takes long */
/* The library in a file of the store, if it is fit for the guest's file of that identity; else NULL. */
struct mr_open_library *mr_store_open_library(const char *path, const char *identity, const char *guest_path);
bool mr_store_has(const char *identity, dev_t device, ino_t inode); /* files with that identity have this library */
/* From now on the files with that identity have this library. Under mr_lock. */
void mr_store_replace(const char *identity, struct mr_open_library *library);
void mr_store_refused(const char *guest_path, const char *reason); /* counted, and said with --stats */
void mr_store_report(void);                                        /* for --stats */
bool mr_store_has_code(void); /* there is a folder of libraries, or a library that has grown */

/* ---- grown.c ---- */
struct mr_grown_stamp {
    dev_t device;
    ino_t inode;
    int64_t seconds, fraction;
};
/* The library that the compile server has made of a file, where it is another than the one that was seen; else NULL. */
struct mr_open_library *mr_grown_find(const char *identity, struct mr_grown_stamp *seen, const char *guest_path);
bool mr_grown_is_pointless(const char *identity); /* there is a library of all its functions */

#endif
