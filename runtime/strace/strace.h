/* --strace: one line per system call on standard error. */
#ifndef MR_STRACE_STRACE_H
#define MR_STRACE_STRACE_H

#include "linux/calls/syscall.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void mr_strace_start(void);

/* ---- socket.c ---- */

/* The text of an argument of one of the kinds F T A R L O M V W H G (syscall.h); false: another kind. */
bool mr_trace_socket(const struct mr_call *c, char kind, int n, int64_t result, char *text, size_t room);

#endif
