/* The kernel's /proc, whatever has that name in the root of this process. */
#ifndef MR_BASE_KERNEL_PROC_H
#define MR_BASE_KERNEL_PROC_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define MR_PROC_ROOM 80

extern int mr_kernel_proc; /* an O_PATH descriptor of it (own.c), or -1 */

int mr_kernel_proc_open(void); /* the one of this root; -1: what is at /proc is not the kernel's */
bool mr_proc_is_kernels(void); /* whether a path that begins with /proc leads there now */

/* A folder and, in `path`, the name below it, for openat and its like, of a file below /proc. Both are none, and openat says
 * EBADF, where the kernel's /proc cannot be reached. */
int mr_proc_at(char path[MR_PROC_ROOM], const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The same for names that begin with the number of another process, as this one counts them. */
int mr_proc_at_process(char path[MR_PROC_ROOM], const char *format, ...) __attribute__((format(printf, 2, 3)));

/* A readable descriptor of a regular file, close-on-exec; -1 and errno: EINVAL, where something else is. That is not opened: to
 * open a device or a pipe has effects of its own. */
int mr_open_regular(const char *path);

/* As readlink of /proc/thread-self/fd/N, with a null byte behind it; -1 leaves an empty text. */
ssize_t mr_descriptor_link(int fd, char *to, size_t room);

#endif
