/* Samples by where they were taken: what profile.c fills and profile/file.c writes. */
#ifndef MR_PROFILE_TABLE_H
#define MR_PROFILE_TABLE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MR_PROFILE_SLOT_BITS 16
#define MR_PROFILE_SLOT_COUNT ((size_t)1 << MR_PROFILE_SLOT_BITS)

/* A key: the engine, the number of the file (lifted/code_files.c), and the pc as `mipsrec disasm` shows it of that file. */
enum mr_profile_engine { MR_PROFILE_LIFTED = 1, MR_PROFILE_INTERPRETED, MR_PROFILE_HOST };
#define MR_PROFILE_ENGINE_SHIFT 56
#define MR_PROFILE_FILE_SHIFT 32

struct mr_profile_slot {
    _Atomic uint64_t key; /* 0: free */
    _Atomic uint64_t count;
};

struct mr_profile_table {
    pid_t first_process;
    _Atomic uint32_t processes; /* that are alive and count here */
    _Atomic uint64_t lost;      /* samples the table had no room for */
    struct mr_profile_slot slots[MR_PROFILE_SLOT_COUNT];
};

/* Opens a file beside path, to be renamed when it is whole, and puts its name into partial; -1 and errno if it cannot. */
int mr_profile_open_partial(const char *path, char *partial, size_t size_bytes);

/* Writes the table to path; returns 0 or an error number. Allocates nothing, for handlers of signals. */
int mr_profile_write(struct mr_profile_table *table, const char *path, const uint8_t identity[32]);

#endif
