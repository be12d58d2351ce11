/* Where a program spends its processor time, as samples. */
#ifndef MR_PROFILE_PROFILE_H
#define MR_PROFILE_PROFILE_H

#include "lifted/image.h"

#include <stdbool.h>

extern bool mr_profiling; /* samples go to a file */
void mr_profile_start(const struct mr_image *image); /* after the library is open; fails where the file cannot be made */
void mr_profile_end(void); /* this process ends; for handlers of signals, too */

#endif
