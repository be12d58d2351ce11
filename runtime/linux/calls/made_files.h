/* Files of /proc that are made here (sys_proc.c). */
#ifndef MR_LINUX_CALLS_MADE_FILES_H
#define MR_LINUX_CALLS_MADE_FILES_H

#include <stdint.h>

/* Given what an open has returned: where that is the host's file of one that is made here, the descriptor has that from now
 * on. Returns the descriptor or -errno. */
int64_t mr_made_file_for(int64_t fd, int host_flags);
int64_t mr_guest_opened(int64_t fd, int host_flags); /* the same for the guest's own: and notes what kind it is */

#endif
