/* mipsrec verify: lifted code and the interpreter run the same program side by side, in one process.
 *
 * The guest has two memories: the lifted code's, which system calls work on, and the interpreter's. Lifted code goes first.
 * Wherever it comes into the host with a complete state, at calls, returns, system calls and exceptions, the interpreter
 * follows until it is at the same place, and registers and memory must be the same there. System calls, signals and faults
 * happen once, to the lifted code; the interpreter is then given the registers and the memory they left.
 */
#ifndef MR_VERIFY_H
#define MR_VERIFY_H

#include "base/observe.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- verify.c ---- */
void mr_verify_start(struct mr_state *s); /* before the first guest instruction; mr_options.verify_fd takes the records */
/* The lifted code's memory is not the interpreter's where the host is about to read or write. */
struct mr_verify_difference;
_Noreturn void mr_verify_memory_disagrees(const struct mr_verify_difference *difference);
void mr_verify_exit(int status, int mips_signal); /* the guest ends: the last comparison and the last record */

/* ---- verify/memory.c ---- */
extern uint8_t *mr_verify_window; /* host address of guest address 0 in the interpreter's memory, NULL: no verification */

struct mr_verify_difference {
    uint32_t address;  /* of the first byte that differs */
    bool stored;       /* the interpreter stored near there since the last point */
    bool shared;       /* other processes may write there */
    uint8_t lifted[8], interpreted[8];
    uint32_t size_bytes; /* of both; what is left of the line */
};

void mr_verify_memory_start(void);
void mr_verify_watch_stores(bool on);  /* of mr_poke*: the interpreter's, while it follows */
void mr_verify_watch_ranges(bool on);  /* what the host is about to write on behalf of the guest */
/* Compares what the interpreter stored since the last call that found nothing. */
bool mr_verify_stores_differ(struct mr_verify_difference *difference);
bool mr_verify_memory_differs(struct mr_verify_difference *difference); /* compares all that is writable */
void mr_verify_take_back_stores(void); /* the interpreter's memory is as at the last agreement */
void mr_verify_copy_ranges(void);      /* gives the interpreter what the host has written */
bool mr_verify_read_interpreted(uint32_t guest, void *bytes, uint32_t size_bytes); /* false: not readable */
void mr_verify_comparing_faulted(void); /* called on a fault; does not return when it was a comparison's */

void *mr_verify_grown(void *elements, size_t count, size_t *room, size_t element_bytes); /* room for one more element */

/* ---- verify/files.c ---- */
int mr_verify_file(int fd); /* the interpreter's copy of a regular file, up to date, or -1 for what is none */
void mr_verify_resize_files(void);

/* ---- verify/registers.c ---- */
bool mr_verify_ignore(const char *name); /* does not compare this one; false: there is none of that name */
bool mr_verify_same_registers(const struct mr_state *a, const struct mr_state *b);
bool mr_verify_register_differs(const struct mr_state *a, const struct mr_state *b, unsigned number);
unsigned mr_verify_count_differences(const struct mr_state *a, const struct mr_state *b);

/* ---- verify/report.c ---- */
/* What has been found when lifted code and the interpreter disagree. */
struct mr_verify_finding {
    const struct mr_point *agreed, *lifted, *interpreted; /* the last agreement, and where both are now */
    struct mr_state *at_agreement;      /* the interpreter's registers then */
    const struct mr_state *lifted_state, *interpreted_state;
    uint64_t steps;                     /* instructions of the interpreter since the agreement */
    const struct mr_verify_difference *memory; /* or NULL */
    const struct mr_point *trail; /* the last points, oldest first */
    uint32_t trail_length;
};

struct mr_verify_counts {
    uint64_t points, steps, calls_made, scans;
    uint32_t entries; /* lifted ones that were called or jumped to from elsewhere */
    uint64_t faults_skipped; /* faults of lifted code, whose registers were not compared */
};

/* Runs the interpreter from the agreement on once more, with its memory taken back, to say what wrote what differs. */
_Noreturn void mr_verify_diverge(const struct mr_verify_finding *finding, const struct mr_verify_counts *counts);
void mr_verify_stop_walking(void); /* at what happens once and at faults; does not return when that run came there */
void mr_verify_record(const char *kind, const struct mr_verify_counts *counts, const char *more);
void mr_verify_record_start(int fd);

#endif
