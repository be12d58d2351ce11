/* The guest's program as a file, and how the process shows it to others (program.c, process_view.c). */
#ifndef MR_PROGRAM_H
#define MR_PROGRAM_H

#include <stdint.h>

/* Opens the host's own executable and the guest's program, which mr_options names, through the sysroot; follows `#!` lines
 * to a MIPS program. What cannot be opened is left to the loader to complain about. */
void mr_program_start(void);
int mr_program_open(const char *path); /* a descriptor of the program for the loader, or -1 and errno */

/* Once the stack of a program is made: ps, pidof and /proc/PID/cmdline show the guest's names, not the host's. */
void mr_process_show(uint32_t sp);
struct mr_guest_strings {
    uint32_t arguments, arguments_end, environment, environment_end; /* guest addresses: where the program's strings lie */
    uint32_t stack; /* sp at the start */
};
extern struct mr_guest_strings mr_guest_strings;

#endif
