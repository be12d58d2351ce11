/* Which ELF file the guest's code is of, recompiled or not. */
#ifndef MR_LIFTED_CODE_FILES_H
#define MR_LIFTED_CODE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

struct mr_file_stamp { /* which file, in which state */
    dev_t device;
    ino_t inode;
    int64_t seconds, fraction;
};
bool mr_is_same_stamp(const struct mr_file_stamp *a, const struct mr_file_stamp *b);
#define MR_MOST_CODE_FILES 4096u
struct mr_code_file {
    _Atomic int ready; /* all below is written */
    uint32_t delta;    /* guest pcs minus those that `mipsrec disasm` shows of the file */
    uint32_t counter_seed; /* of its counters of decisions (base/counters.h) */
    uint32_t bias;     /* of the latter, over the addresses in the file */
    uint32_t code_low, code_high; /* addresses in the file between which all is that may be executed */
    char identity[65]; /* BLAKE2b-256 of its contents; empty unless --profile or --verify asks */
    struct mr_file_stamp stamp; /* with the time of its last change */
    char path[4096]; /* on this machine, as it was when it was mapped */
};
void mr_code_files_reserve(void);
void mr_code_file_mapped(uint32_t guest, uint32_t size_bytes, int fd, uint64_t offset);
void mr_code_file_unmapped(uint32_t guest, uint32_t size_bytes); /* under mr_lock */
void mr_code_file_changed(uint32_t guest, uint32_t size_bytes);  /* under mr_lock: what is there may not be the file's any more */
bool mr_code_file_is_changed(unsigned number);                    /* in any of its pages since it was mapped */
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

void mr_code_file_interpreted(uint32_t pc, uint64_t instructions); /* --stats: that end at pc */
void mr_code_files_forked(void); /* --stats, in a new process: nothing has been counted */

#endif
