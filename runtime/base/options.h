/* What the command line asks for: filled in before anything else, read by all folders (command_line.c). */
#ifndef MR_BASE_OPTIONS_H
#define MR_BASE_OPTIONS_H

#include "mr_library.h"

#include <stdbool.h>
#include <stdint.h>

struct mr_options {
    bool engine_interp;       /* no recompiled code */
    bool strace;              /* one line per system call on standard error */
    bool stats;               /* counters on standard error at the end */
    bool report;              /* registers and a disassembled line when a signal ends the guest */
    const char *library_path; /* the recompiled library, or NULL */
    bool trust_library;       /* also where another user can write it */
    const char *cache_path;   /* folder of mipsrec's cache, or NULL: wherever it is */
    const char *layers;       /* more folders like it, with colons between them, or NULL: as the environment says */
    const char *variant;      /* of the code in it, or NULL: the default */
    enum mr_memory_model memory_model; /* of that code */
    const char *compile_server; /* command that starts it (growth/aside.c), or NULL: none is asked */
    bool shares_root;         /* with another process, which can change it: no notes are written */
    bool executed;            /* by a guest: no variable of the environment is for the host */
    const char *program_path; /* what was executed, as its caller calls it: a guest path, perhaps of a script */
    const char *program_name; /* what the guest sees as /proc/self/exe (program.c) */
    const char *limits;       /* the guest's, of which the process has others (linux/guest_limits.c), or NULL */
    int program_fd, host_fd;  /* both opened by who executes this one, or -1 */
    const char *host_name;    /* how this host was called */
    char *host_words, *host_words_end; /* its whole command line, as the kernel laid it out */
    int guest_argc;
    char **guest_argv;
    char **guest_envp;        /* NULL-terminated */
    const char *call_function; /* run only this address (mipsrec call), or NULL */
    const char *log_path;     /* where --strace, --stats and --report write, or NULL: standard error */
    const char *kernel_release; /* what uname tells, or NULL: that of the machine's kernel */
    const char *profile_path; /* where samples go (profile.c), or NULL */
    const char *counters_path; /* file of the map of counters (coverage/coverage.c), or NULL */
    const char *desock;       /* the port of the service that gets standard input (calls/desock.c), `any`, or NULL */
    bool check_memory;        /* a heap that knows its blocks, and a look at each access (heap/) */
    int complaint_fd;         /* where that says what is wrong, or -1: standard error */
    const char *allocator;    /* which functions are malloc and its like, or NULL: those of that name */
    const char *cover;        /* which files count decisions, or NULL: the program */
    uint32_t profile_rate;    /* of them in a second */
    int marks_fd;             /* file of marks of executed code (coverage/marks.c), or -1 */
    bool dump_core;           /* when the host dies of a signal */
    bool registered;          /* the kernel starts this host for MIPS programs (binfmt_misc) */
    int verify_fd;            /* mipsrec verify: where its records go, or -1 */
    const char *gdb;          /* port or path at which the guest waits for a debugger, or NULL */
    const char *gdb_on_crash; /* the same for a guest that is about to die, or NULL */
    const char *gdb_handed_on; /* what the host before this one says of its debugger, or NULL */
    uint32_t verify_scan;     /* compare all memory every so many points; 0: now and then */
};
extern struct mr_options mr_options;

#endif
