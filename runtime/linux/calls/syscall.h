/* What the files of system calls share. One system call is one block:
 *
 *     SYSCALL(4004, write, "dbu")
 *     {
 *         return mr_result(write(FD(0), mr_user(U32(1), U32(2)), U32(2)));
 *     }
 *
 * The number is that of the o32 ABI. The kinds say how many arguments there are, how each is passed and how it is printed:
 *
 *     d signed    u unsigned   x hexadecimal   o octal     p pointer    q 64 bits, in an aligned pair of words
 *     D descriptor             a directory descriptor      s path or text   f open flags   i signal number
 *     b bytes read by the call, the next argument says how many         B bytes written by the call, as many as it returns
 *     F family of sockets   T type of a socket, and flags   M flags of messages   L level   O option, after its level
 *     A address of a socket, V option's value, the next argument is its size; R W the same, given by the call, the next
 *       argument says where the size is                     H struct msghdr of the guest    G one given by the call
 *
 * Where a D is a number of the host's own, the call is EBADF, and no body runs.
 *
 * A leading '!' marks a call that may not return; it is printed before it is made. A leading '~' marks one that a signal's
 * handler interrupts for good (EINTR), even with SA_RESTART. A body returns its result, or -errno in
 * the host's numbering. Fetching arguments, tracing, converting errno and setting v0 and a3 are done around it (syscall.c).
 */
#ifndef MR_LINUX_CALLS_SYSCALL_H
#define MR_LINUX_CALLS_SYSCALL_H

#include "mr_state.h"

#include "linux/descriptors.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

#define MR_CALL_WORDS 8

struct mr_call {
    struct mr_state *s;
    const struct mr_call_row *row;
    uint64_t arg[MR_CALL_WORDS]; /* by position in the kinds; 32-bit ones zero-extended */
    uint32_t pc;                 /* of the syscall instruction */
    bool for_good;               /* as the mark '~' of a row: the body found that this one is not made again */
    bool moved;                  /* the body replaced the whole state; execution goes on at next_pc */
    uint32_t next_pc;
};

typedef int64_t (*mr_call_body)(struct mr_call *);

struct mr_call_row {
    uint32_t number;
    const char *name, *marked_kinds;
    mr_call_body body;
};

static inline bool mr_call_marked(const struct mr_call_row *row, char mark)
{
    return row->marked_kinds[0] == mark;
}

static inline const char *mr_call_kinds(const struct mr_call_row *row)
{
    return row->marked_kinds + (mr_call_marked(row, '!') || mr_call_marked(row, '~'));
}

/* Rows are found through pointers that the linker gathers in section mr_calls. */
#define SYSCALL(NUMBER, NAME, KINDS)                                                                       \
    static int64_t sys_##NAME(struct mr_call *c);                                                          \
    static const struct mr_call_row row_##NAME = {NUMBER, #NAME, KINDS, sys_##NAME};                       \
    static const struct mr_call_row *const in_table_##NAME __attribute__((section("mr_calls"), used)) =    \
        &row_##NAME;                                                                                       \
    static int64_t sys_##NAME(struct mr_call *c __attribute__((unused)))

#define U32(n) ((uint32_t)c->arg[n])
#define INT(n) ((int32_t)(uint32_t)c->arg[n])
#define FD(n) mr_guest_descriptor(INT(n))

/* A number that is the host's own is none of the guest's: calls say EBADF of -1. For what no D stands for. */
static inline int mr_guest_descriptor(int fd)
{
    return mr_descriptor_is_host(fd) ? -1 : fd;
}

const struct mr_call_row *mr_call_row(uint32_t number);
int64_t mr_call_perform(struct mr_call *c); /* its result, or -errno in the host's numbering */

/* ---- sys_file.c ---- */
/* Flags of open for calls that refuse what they do not know: returns the host's, or -EINVAL for others than these. */
int mr_known_flags(uint32_t mips, int known);

/* ---- sys_io.c: pieces of guest memory, as readv, vmsplice and process_vm_readv take them ---- */
#define MR_MOST_PIECES 1024 /* UIO_MAXIOV */
/* Fills in a vector of host pointers made by mr_user; returns 0 or -errno. */
int mr_get_vector(uint32_t guest, uint32_t count, struct iovec *vector);

#endif
