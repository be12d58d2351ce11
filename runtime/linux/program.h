/* The guest's program: as a file, in memory, and as the process shows it to others. */
#ifndef MR_PROGRAM_H
#define MR_PROGRAM_H

#include "lifted/image.h"

#include <stdbool.h>
#include <stdint.h>

/* ---- program.c ---- */

/* Opens the host's own executable and the guest's program, which mr_options names, through the sysroot; follows `#!` lines
 * to a MIPS program. What cannot be opened is left to the loader to complain about. */
void mr_program_start(void);
int mr_program_open(const char *path); /* a descriptor of the program for the loader, or -1 and errno */

/* ---- load.c, stack.c: loading it, and its first stack ---- */

void mr_load(const char *path, struct mr_image *image); /* fails with mr_fail on anything unfit */
void mr_reserve_stack(void);                            /* before mr_load; sets mr_mmap_top */
uint32_t mr_build_stack(const struct mr_image *image);  /* returns the first sp */
extern uint32_t mr_brk_start;                           /* first page after the image */
extern uint32_t mr_auxiliary, mr_auxiliary_bytes; /* where the auxiliary vector is */
uint32_t mr_strings_most_bytes(void); /* that arguments and environment of a new program may have, as RLIMIT_STACK says */

/* ---- process_view.c ---- */

/* Once the stack of a program is made: ps, pidof and /proc/PID/cmdline show the guest's names, not the host's. */
void mr_process_show(uint32_t sp);
struct mr_guest_strings {
    uint32_t arguments, arguments_end, environment, environment_end; /* guest addresses: where the program's strings lie */
    uint32_t stack; /* sp at the start */
};
extern struct mr_guest_strings mr_guest_strings;

/* ---- exec_chain.c: what an exec ends in, perhaps by way of `#!` lines ---- */
#define MR_CHAIN_HEADER_BYTES 256 /* BINPRM_BUF_SIZE */
#define MR_CHAIN_SCRIPTS 5        /* as many may call each other (exec_binprm of fs/exec.c) */
#define MR_CHAIN_ROOM (2 * MR_CHAIN_SCRIPTS) /* strings that scripts put before the arguments, at most */

struct mr_chain {
    int fd; /* the program at the end, readable */
    char headers[MR_CHAIN_SCRIPTS + 1][MR_CHAIN_HEADER_BYTES + 1];
    uint32_t depth; /* how many scripts there were */
};

enum { MR_CHAIN_MIPS = 1, MR_CHAIN_OTHER = 2 }; /* OTHER: not ours; the strings must not be used */

/* Takes fd, the open file of this name, over. *strings is the first argument, with MR_CHAIN_ROOM free places before it; it
 * becomes the first argument of the program at the end. Returns one of these or -errno. */
int mr_chain_follow(struct mr_chain *chain, int fd, const char *name, const char ***strings);
bool mr_is_mips_program(int fd);
/* Whether a file that is open may be executed; -errno. */
int mr_may_execute(int fd);

/* ---- text_busy.c: ETXTBSY ---- */
struct mr_path;
void mr_text_mark(int fd); /* the guest's program: who opens it for writing is refused from now on; -1 is fine */
/* What a call has opened for writing, without O_TRUNC, which `truncates` says it was to have. Returns fd or -errno. */
int64_t mr_text_opened(int64_t fd, bool truncates);
bool mr_text_runs(const struct mr_path *path); /* a file that is about to be changed by its name */
/* Whether a file that is about to be executed is open for writing: 0 or -ETXTBSY. It must be a MIPS program or a script, and
 * fd be closed on exec. */
int mr_text_is_written(int fd);

#endif
