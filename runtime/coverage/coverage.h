/* Counts decisions (base/counters.h), starts processes for a fuzzer, and keeps marks of executed code (base/marks.h).
 *
 *     coverage.c     where the map is, and which code counts
 *     comparisons.c  what the program compares, for AFL++'s CMPLOG
 *     marks.c        which files the marks are of
 *     fork_server.c  AFL++: the map in its shared memory, and a process for each of its inputs
 *     persistent.c   its persistent mode: a process for many inputs
 *     snapshot.c     memory as it was before an input
 */
#ifndef MR_COVERAGE_H
#define MR_COVERAGE_H

#include "mr_state.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- coverage.c ---- */

/* After the options are read: opens the map that they or a fuzzer name; fails where it cannot be had. */
void mr_coverage_start(void);

/* ---- marks.c ---- */

void mr_marks_start(void); /* before the program is loaded; fails where the descriptor of --marks is of no file of marks */
const char *mr_marks_hand_on(void); /* the argument of --marks for an executed program, or NULL */

/* ---- fork_server.c ---- */

extern bool mr_fuzzed; /* by AFL++, which hands over its map by a variable of the environment */
/* The shared memory that AFL++ names by a variable, a map of `what`; NULL where it names none. Fails where it cannot be had.
 * size_bytes may be NULL. */
void *mr_fuzzer_memory(const char *variable, const char *what, size_t *size_bytes);
const char *mr_fuzzer_cover(void); /* whose decisions it wants counted, as --cover says it */
#define MR_FUZZER_COVER_NOT "AFL_QEMU_EXCLUDE_RANGES"
const char *mr_fuzzer_cover_not(void); /* the same of what is not to count, or NULL */
/* Whether it wants to know what is compared; finds the map for that. (comparisons.c) */
bool mr_fuzzer_compares(void);
enum { MR_FUZZER_WORDS = 198 }; /* the descriptor of the fuzzer's words; answers go to the next one */
bool mr_fuzzer_tell(uint32_t word); /* false: there is no fuzzer any more */
bool mr_fuzzer_hear(uint32_t *word);
void mr_fork_server_start(void); /* before the guest's first instruction: its descriptors are the host's own */
/* Runs the guest from pc to where the fuzzer wants a process for each input, `entry` by default; bias: of a program that may lie
 * anywhere. From there on this is
 * called in each of those processes: returns the pc to go on at. Without a fuzzer returns pc at once. */
uint32_t mr_fork_server(struct mr_state *s, uint32_t pc, uint32_t entry, uint32_t bias);

/* ---- persistent.c ---- */

bool mr_persistent_start(uint32_t bias); /* reads what is asked for; false: each process is for one input */
uint32_t mr_persistent_function(void);   /* where the fork server begins then */
bool mr_inputs_are_shared(void);         /* by memory, not by a file */
/* In a new process: runs the function for many inputs, and ends the process. Returns at once where it is for one. */
void mr_persistent_loop(struct mr_state *s);
/* A process that was to run it has ended: tells the fuzzer, unless that knows. Returns false where there is no fuzzer. */
bool mr_persistent_ended(int64_t process, int status);

/* ---- snapshot.c ---- */

void mr_snapshot_take(uint32_t without, uint32_t size_bytes); /* a range of whole pages is left out */
bool mr_snapshot_restore(void); /* false where mappings have changed */

#endif
