/* Files of /proc that are made here, each by a writer of its own (sys_proc.c has the table). */
#ifndef MR_PROC_MADE_H
#define MR_PROC_MADE_H

#include <stdbool.h>
#include <stdio.h>

/* host_name is the file of the host's kernel, which most of them are made from. */
typedef void mr_file_writer(FILE *to, const char *host_name);
mr_file_writer mr_write_maps; /* maps and smaps */
mr_file_writer mr_write_numa_maps, mr_write_rollup;
mr_file_writer mr_write_limits; /* guest_limits.c */
mr_file_writer mr_write_cpuinfo, mr_write_stat, mr_write_statm, mr_write_status, mr_write_net_table;

bool mr_is_net_table(const char *name); /* whether a file of /proc/net is another one for this guest */

#endif
