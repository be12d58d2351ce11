/* Descriptors that the host keeps open for itself in the guest's table. The guest can neither close nor replace them. */
#ifndef MR_OWN_H
#define MR_OWN_H

/* In the order in which they are taken: other hosts find a guest's program right behind the host (proc_paths.c). */
enum mr_own {
    MR_OWN_HOST,    /* this executable, for the next exec */
    MR_OWN_PROGRAM, /* the guest's program, readable: what /proc/PID/exe of a guest is found by */
    MR_OWN_SYSROOT, /* the folder of --sysroot */
    MR_OWN_TRACE,   /* where --strace writes to */
    MR_OWN_DEBUGGER, /* the connection to the debugger */
    MR_OWN_COUNT,
};
#define MR_OWN_FIRST 900 /* out of the way of the guest's own */

void mr_own_keep(enum mr_own which, int fd); /* takes fd over, under another number */
int mr_own_descriptor(enum mr_own which);    /* or -1 */
void mr_own_drop(enum mr_own which);
void mr_own_make_way(int fd); /* the guest wants this number for itself */

#endif
