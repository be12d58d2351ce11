/* The store: libraries found by the contents of the guest's file. */
#ifndef MR_LIFTED_STORE_H
#define MR_LIFTED_STORE_H

#include "lifted/code_files.h"
#include "lifted/library.h"

#include <stdbool.h>

/* Looks for the store in a cache folder (NULL: where mipsrec keeps its own) and in layers (NULL: those of the environment),
 * in a variant of the code (NULL: the default). */
void mr_store_open(const char *cache, const char *layers, const char *variant);
/* The library for the guest's file behind fd, which stays the caller's; NULL where there is none. counts: one with counters of
 * decisions. Never fails loudly. */
struct mr_open_library *mr_store_find(int fd, const char *guest_path, bool counts);
/* Puts the hash of the contents of a file of the guest into identity, as 64 digits. Returns false where it cannot be read. */
bool mr_store_identify(int fd, char identity[65]);
/* The same, but false where that takes long: where nothing is noted of the file, unless `reads`; and it is a large one then. */
bool mr_store_identify_soon(int fd, char identity[65], bool reads);
/* From now on the files with that identity have this library. Under mr_lock. */
void mr_store_replace(const char *identity, struct mr_open_library *library);
void mr_store_refused(const char *guest_path, const char *reason); /* counted, and said with --stats */
void mr_store_report(void);                                        /* for --stats */
bool mr_store_has_code(void); /* there is a folder of libraries, or a library that has grown */
/* The library that the compile server has made of a file, where it is another than the one that was seen; else NULL. */
struct mr_open_library *mr_grown_find(const char *identity, struct mr_file_stamp *seen, const char *guest_path);
bool mr_grown_is_pointless(const char *identity); /* there is a library of all its functions */

/* The first bytes of a file; NULL where there are not so many. The caller frees. */
uint8_t *mr_file_read(int fd, size_t size_bytes);

#endif
