/* What the launcher has to know of a program before it can start it. */
#ifndef MR_LAUNCHER_PROGRAM_H
#define MR_LAUNCHER_PROGRAM_H

enum mr_program_kind {
    MR_UNKNOWN, /* it cannot be read, or is no MIPS program, or nothing is known of it yet */
    MR_DYNAMIC,
    MR_STATIC_BUILT, /* its library is in the cache or in a layer, and known to be whole */
};

/* The sysroot may be NULL or empty; the cache is one that is there. */
enum mr_program_kind mr_program_kind_of(const char *name, const char *sysroot, const char *cache);

#endif
