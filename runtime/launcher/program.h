/* What the launcher has to know of a program before it can start it, and what it tells the host. */
#ifndef MR_LAUNCHER_PROGRAM_H
#define MR_LAUNCHER_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>

enum mr_program_kind {
    MR_UNKNOWN, /* it cannot be read, or is no MIPS program */
    MR_DYNAMIC,
    MR_STATIC,       /* nobody knows of a library of it */
    MR_STATIC_BUILT, /* its library is in the cache or in a layer, and known to be whole */
};

/* The sysroot may be NULL or empty; the cache is one that is there. */
enum mr_program_kind mr_program_kind_of(const char *name, const char *sysroot, const char *cache);

/* Returns the host's argument for its compile server, which is `python` with the cache; NULL where there can be none. */
const char *mr_server_words(const char *python, const char *cache);

#endif
