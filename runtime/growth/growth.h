/* Hot code becomes native while the program runs.
 *
 * The host counts samples of code that nobody recompiled. When a file has many, the host asks the compile server of this user
 * (mipsrec/server) to recompile what is hot. The server makes one library for each file, which grows; the host finds it in the
 * store, and binds it over the file's pages (lifted/growing.c).
 *
 *     hot.c       counts samples, and decides when to ask and when to look
 *     request.c   the message to the server, and where its socket is
 *     command.c   whether the server's command still names the files of the start
 *     aside.c     runs host code that opens files, so that no thread of the guest sees their descriptors; starts the server
 *
 * All of it is off without --compile-server, and fails quietly: then the guest runs on in the tiers that it has.
 */
#ifndef MR_GROWTH_H
#define MR_GROWTH_H

#include "mr_request.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define MR_GROWTH_RATE 250u /* samples in a second of a thread's processor time */

/* ---- hot.c ---- */

struct mr_sample_slot { /* of an open hash table */
    _Atomic uint64_t key; /* 0: free */
    _Atomic uint64_t count;
};
/* Adds samples to the count of a key. Returns false where `most` slots from its place on have other keys. For handlers
 * of signals, too. */
bool mr_count_samples(struct mr_sample_slot *slots, size_t slot_count, unsigned most, uint64_t key, uint64_t samples);

extern bool mr_growth_on;
void mr_growth_start(void); /* after the store is open */
/* In the handler of a sample at host_pc, which stands for so many periods. */
void mr_growth_sample(uintptr_t host_pc, uint64_t periods);
void mr_growth_end(void); /* the process ends: what was hot in it may be so in the next */
void mr_growth_report(void); /* for --stats */

/* ---- request.c ---- */

enum { MR_MOST_HOT_PCS = 512 };
enum mr_sent { MR_SENT, MR_BUSY, MR_NOBODY };
/* Asks for a file, by its path on this machine. Returns whether the server has it, has no room now, or is not there. */
enum mr_sent mr_request_send(const char *path, int fd, const struct mr_hot_pc *pcs, size_t count);
/* Whether nobody has started one within seconds, and processes without one have had so many samples that it is worth while:
 * this process, or, where it ends, those that ended before it, too. From now on one counts as started. */
bool mr_server_is_to_start(uint64_t samples, bool ends);

/* ---- command.c ---- */

void mr_server_note(void); /* at the start: which files the command names */
const char *mr_server_command(void); /* mr_options.compile_server, while it names the same files; else NULL */

/* ---- aside.c ---- */

/* Calls body where descriptors that it opens are seen by no thread of the guest; they are closed afterwards. */
void mr_aside(void (*body)(void *), void *argument);
/* Starts a command as a process that belongs to nobody here. Its words are separated by newlines; leading words NAME=VALUE
 * are its whole environment. Returns false where that fails at once. */
bool mr_start_apart(const char *command);

#endif
