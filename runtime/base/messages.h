/* Messages of the host on standard error. */
#ifndef MR_BASE_MESSAGES_H
#define MR_BASE_MESSAGES_H

#include <stddef.h>

_Noreturn void mr_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints "mipsrec-host: ..." and exits with mr_failure_status. For errors of ours, never for guest behaviour. */
extern int mr_failure_status; /* 1, or as qemu-user has it where this host is called so (qemu_names.c) */

void mr_print_error(const char *format, ...) __attribute__((format(printf, 1, 2))); /* one write, no stdio buffers */
/* What --stats, --strace and --report say goes there: standard error, or a copy that the guest cannot close (own.c). */
extern int mr_messages_fd;

size_t mr_write_out(const char *text, char *to, size_t room); /* a name in one line, as in messages; returns its length */

#endif
