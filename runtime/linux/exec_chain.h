/* What an exec of a file ends in: a MIPS program, perhaps by way of `#!` lines, or something for the host's kernel. */
#ifndef MR_EXEC_CHAIN_H
#define MR_EXEC_CHAIN_H

#include <stdint.h>

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
/* Whether a file that is open may be executed; -errno. */
int mr_may_execute(int fd);

#endif
