/* The options as they are without a command line. */
#include "base/options.h"

struct mr_options mr_options = {.verify_fd = -1, .profile_rate = 1000, .host_fd = -1, .program_fd = -1,
                                .marks_fd = -1, .complaint_fd = -1};
