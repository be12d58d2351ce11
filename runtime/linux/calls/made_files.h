/* Files of /proc that are made here (sys_proc.c). */
#ifndef MR_LINUX_CALLS_MADE_FILES_H
#define MR_LINUX_CALLS_MADE_FILES_H

#include <stdint.h>

/* Opens a file of /proc that is made here; a descriptor, -errno, or -ENOENT: not one of those. */
int64_t mr_open_made_file(int directory, const char *path, int host_flags);

#endif
