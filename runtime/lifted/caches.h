/* Cache folders, and notes on files. The launcher (runtime/launcher) has these, too, and nothing else of the host. */
#ifndef MR_CACHES_H
#define MR_CACHES_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#define MR_IDENTITY_DIGITS 64

#ifndef MR_CODE_KEY /* of the mipsrec that this is built by: part of the path of its code (mipsrec/cache/folders.py) */
#define MR_CODE_KEY "none"
#endif

/* ---- caches.c ---- */
/* Finds the cache (NULL: where mipsrec keeps the user's; empty: none is wanted, and layers only of a list) and the layers:
 * those of a colon-separated list, then the system's. trusting: the environment may name them. */
void mr_caches_find(const char *cache, const char *layers, bool trusting);
const char *mr_cache_own(void);    /* the cache that was found; empty: none is wanted; or NULL */
const char *mr_cache_refused(void); /* why the one that is there is not used, or NULL */
const char *mr_cache_layers(void); /* the layers of the list, for --layers, or NULL */
/* The folders that hold libraries by identity, in the order in which they are asked; NULL after the last. A variant that is
 * NULL stands for all that this processor has by default, the best first. */
void mr_code_folders_find(const char *variant);
const char *mr_code_folder(unsigned index);
bool mr_code_folder_counts(unsigned index); /* whether its libraries count decisions */
/* Where the compile server puts libraries of the variant that suits this process, also while it is not there; NULL without
 * a cache. */
const char *mr_grown_folder(void);
const char *mr_grown_variant(void); /* its last part */
/* Puts the path of the library for an identity into path. Returns false where there is none. */
bool mr_code_path(const char *folder, const char *identity, char *path, size_t size_bytes);
/* Puts the path without symbolic links into real. Returns NULL where only root and the user of this process can change what
 * that names, or who else can. */
const char *mr_distrust(const char *path, char real[PATH_MAX]);
const char *mr_distrust_made(const char *path, char real[PATH_MAX]); /* makes it and folders above it, if they are missing */

/* Whether a real path that was found right still is. In a sticky folder, others can make what its owner has removed. */
bool mr_is_still_trusted(const char *real);

/* ---- notes.c ---- */
void mr_notes_open(const char *cache); /* where they are, a trusted folder; NULL or empty: nowhere. No thread writes one then */
void mr_notes_forked(void);            /* in the child, which has none of the other threads */
bool mr_is_same_file(const struct stat *a, const struct stat *b);
bool mr_is_older(const struct stat *status, time_t seconds); /* by what its times say */
bool mr_is_settled(const struct stat *status); /* what dates the file from now on gives it other times */
bool mr_has_kernels_dates(int fd, const struct stat *status); /* of this machine; else its identity is not noted */
/* The identity that is noted of this state of a file. */
bool mr_note_identity(int fd, const struct stat *status, char identity[MR_IDENTITY_DIGITS + 1]);
bool mr_note_is_whole(const struct stat *status); /* of a library: it is known to be as it was made */
/* For a caller that has read the file while its times told of changes (writers.h). */
void mr_note_write(const struct stat *status, const char *identity);
void mr_note_whole(const struct stat *status);

#endif
