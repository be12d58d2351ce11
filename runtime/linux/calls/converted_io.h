/* Reads and writes of descriptors whose contents the host's kernel makes. */
#ifndef MR_LINUX_CALLS_CONVERTED_IO_H
#define MR_LINUX_CALLS_CONVERTED_IO_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/* The vectors hold host pointers made by mr_user. Both return a size in bytes or -errno. */
int64_t mr_read_converted(int fd, const struct iovec *vector, uint32_t count);
int64_t mr_write_converted(int fd, const struct iovec *vector, uint32_t count);

/* ---- sys_signalfd.c, sys_notify.c: the conversions ---- */
int64_t mr_read_signals(int fd, uint8_t *to, size_t size_bytes); /* reads, into guest layout */
void mr_convert_inotify(uint8_t *events, size_t size_bytes);
void mr_convert_fanotify(uint8_t *events, size_t size_bytes);
void mr_convert_fanotify_response(uint8_t *response, size_t size_bytes);

#endif
