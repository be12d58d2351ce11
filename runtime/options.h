/* What the host of an executed program is told: see options.c. */
#ifndef MR_OPTIONS_H
#define MR_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>

#define MR_OPTION_WORDS 64

/* The options that a program executed by the guest runs with, as words of a command line. Returns how many. same_program: it
 * is the file that runs now, so that its library is right for it, too. */
uint32_t mr_options_hand_on(const char *words[MR_OPTION_WORDS], bool same_program);

#endif
