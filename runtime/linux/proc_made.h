/* Files of /proc that are made here, each by a writer of its own (sys_proc.c has the table). */
#ifndef MR_PROC_MADE_H
#define MR_PROC_MADE_H

#include <stdbool.h>
#include <stdio.h>

/* from: the file of the host's kernel, which most of them are made from, or NULL; name: its name below /proc. */
typedef void mr_file_writer(FILE *to, FILE *from, const char *name);
FILE *mr_proc_stream(int fd); /* takes the descriptor over; NULL for -1, and without memory */
mr_file_writer mr_write_maps; /* maps and smaps */
mr_file_writer mr_write_numa_maps, mr_write_rollup;
mr_file_writer mr_write_limits; /* guest_limits.c */
mr_file_writer mr_write_cpuinfo, mr_write_stat, mr_write_statm, mr_write_status, mr_write_net_table;

bool mr_is_net_table(const char *name); /* whether a file of /proc/net is another one for this guest */

#endif
