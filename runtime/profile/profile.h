/* Where a program spends its processor time, as samples. */
#ifndef MR_PROFILE_PROFILE_H
#define MR_PROFILE_PROFILE_H

#include "growth/growth.h"
#include "lifted/image.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- profile.c ---- */

extern bool mr_profiling; /* samples go to a file */
void mr_profile_start(const struct mr_image *image); /* after the library is open; fails where the file cannot be made */
void mr_profile_end(void); /* this process ends; for handlers of signals, too */

/* ---- file.c: samples by where they were taken ---- */

/* A key: the engine, the number of the file (lifted/code_files.c), and the pc as `mipsrec disasm` shows it there. */
enum mr_profile_engine { MR_PROFILE_LIFTED = 1, MR_PROFILE_BASELINE, MR_PROFILE_INTERPRETED, MR_PROFILE_HOST };
#define MR_PROFILE_ENGINE_SHIFT 56
#define MR_PROFILE_FILE_SHIFT 32

#define MR_PROFILE_SLOT_COUNT ((size_t)1 << 16)
struct mr_profile_table {
    pid_t first_process;
    _Atomic uint32_t processes; /* that are alive and count here */
    _Atomic uint64_t lost;      /* samples the table had no room for */
    struct mr_sample_slot slots[MR_PROFILE_SLOT_COUNT];
};

/* Keeps the folder of an absolute path, and sees whether the file can be made there. Returns NULL, or why not. */
const char *mr_profile_place(const char *path);

/* Writes the table to the file of that path, in the folder that was kept, whatever its name is now; returns 0 or an error
 * number. Allocates nothing, for handlers of signals. */
int mr_profile_write(struct mr_profile_table *table, const char *path, const uint8_t identity[32]);

#endif
