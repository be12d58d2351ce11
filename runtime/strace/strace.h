/* --strace: one line per system call on standard error. */
#ifndef MR_STRACE_STRACE_H
#define MR_STRACE_STRACE_H

#include "linux/calls/syscall.h"

#include <stdbool.h>
#include <stdint.h>

void mr_strace_start(void);

/* To the line under way; what does not fit is left out. */
void mr_trace_add(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- socket.c ---- */

/* Adds an argument of one of the kinds F T A R L O M V W H G (syscall.h); false: another kind. */
bool mr_trace_socket(const struct mr_call *c, char kind, int n, int64_t result);

#endif
