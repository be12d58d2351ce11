/* Files of /proc that are made here, each by a writer of its own (sys_proc.c has the table). */
#ifndef MR_PROC_MADE_H
#define MR_PROC_MADE_H

#include <stdbool.h>
#include <stdio.h>

/* host_name is the file of the host's kernel, which most of them are made from. */
void mr_write_maps(FILE *to, const char *host_name);    /* maps and smaps */
void mr_write_cpuinfo(FILE *to, const char *host_name);
void mr_write_stat(FILE *to, const char *host_name);
void mr_write_statm(FILE *to, const char *host_name);
void mr_write_status(FILE *to, const char *host_name);
void mr_write_net_table(FILE *to, const char *host_name);

bool mr_is_net_table(const char *name); /* whether a file of /proc/net is another one for this guest */

#endif
