/* Samples by where they were taken: what profile.c fills and profile_file.c writes. */
#ifndef MR_PROFILE_TABLE_H
#define MR_PROFILE_TABLE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define MR_PROFILE_SLOT_BITS 16
#define MR_PROFILE_SLOT_COUNT ((size_t)1 << MR_PROFILE_SLOT_BITS)

/* What a key's number is: of the first two an offset in the arena of lifted code, of the others a guest pc. */
enum { MR_PROFILE_LIFTED_CODE = 1, MR_PROFILE_LIFTED_CALL, MR_PROFILE_INTERPRETED_PC, MR_PROFILE_CALL_PC };
#define MR_PROFILE_KIND_SHIFT 56

struct mr_profile_slot {
    _Atomic uint64_t key; /* kind and number; 0: free */
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
