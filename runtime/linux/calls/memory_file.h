/* Reads and writes of /proc/PID/mem and pagemap of a guest (memory_file.c). */
#ifndef MR_LINUX_CALLS_MEMORY_FILE_H
#define MR_LINUX_CALLS_MEMORY_FILE_H

#include "linux/descriptors.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

static inline bool mr_is_memory_file(int fd)
{
    return mr_descriptor_kind_of(fd) == MR_FD_MEMORY;
}

/* The vector holds host pointers made by mr_user. Position NULL: that of the descriptor. A size in bytes or -errno. */
int64_t mr_memory_file_call(int fd, bool writes, const struct iovec *vector, uint32_t count, const uint64_t *position);

#endif
