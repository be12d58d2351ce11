/* What the host knows of the guest's descriptors: whether what is read from one is to be converted, and how.
 *
 * One byte for each descriptor makes that cheap: calls that make descriptors of special kinds say so, and the first read of
 * one that nobody has said anything about asks the host's kernel. Reads and writes of plain files look at the byte only.
 * A descriptor that comes from elsewhere (a message with SCM_RIGHTS, pidfd_getfd) must be said to be unknown.
 */
#ifndef MR_DESCRIPTORS_H
#define MR_DESCRIPTORS_H

#include "memory/values.h"

#include <stdbool.h>
#include <stdint.h>

enum mr_descriptor_kind {
    MR_FD_UNKNOWN, /* not looked at yet */
    MR_FD_PLAIN,   /* bytes, as far as the host is concerned */
    MR_FD_NUMBER,  /* eventfd, timerfd: a 64-bit number */
    MR_FD_SIGNALS, /* signalfd: struct signalfd_siginfo */
    MR_FD_INOTIFY, /* struct inotify_event */
    MR_FD_FANOTIFY, /* struct fanotify_event_metadata; struct fanotify_response is written */
    MR_FD_WIDE_DIRECTORY, /* a directory with positions of more than 31 bits (sys_directory.c) */
    MR_FD_MEMORY,         /* /proc/PID/mem or pagemap of a guest (memory_file.c) */
    MR_FD_HOST,           /* the host's own: the guest cannot close it */
};

#define MR_FD_TABLE 65536u
extern uint8_t mr_descriptor_kinds[MR_FD_TABLE];

/* All of these do nothing with a negative descriptor, and return it. */
int64_t mr_descriptor_made(int64_t fd, enum mr_descriptor_kind kind); /* a call has made it just now */
int64_t mr_descriptor_copied(int from, int64_t to);                   /* dup and its like */
void mr_descriptor_closed(int fd);
void mr_descriptors_closed(uint32_t first, uint32_t last);

/* Programs close all descriptors they do not know of before execve; those of the host must stay. */
void mr_descriptor_keep(int fd);    /* it is the host's own from now on; -1 is fine */
void mr_descriptor_give_up(int fd); /* the host has closed it */
static inline bool mr_descriptor_is_host(int64_t fd)
{
    return (uint64_t)fd < MR_FD_TABLE && mr_descriptor_kinds[fd] == MR_FD_HOST;
}

enum mr_descriptor_kind mr_descriptor_find(int fd); /* asks the host's kernel */

static inline enum mr_descriptor_kind mr_descriptor_kind_of(int fd)
{
    uint32_t index = (uint32_t)fd;
    enum mr_descriptor_kind kind =
        index < MR_FD_TABLE ? (enum mr_descriptor_kind)__atomic_load_n(&mr_descriptor_kinds[index], __ATOMIC_RELAXED)
                            : MR_FD_UNKNOWN;
    return kind == MR_FD_UNKNOWN ? mr_descriptor_find(fd) : kind;
}

/* Whether reads and writes go through mr_read_converted and mr_write_converted. */
static inline bool mr_descriptor_converts(int fd)
{
    enum mr_descriptor_kind kind = mr_descriptor_kind_of(fd);
    return kind == MR_FD_SIGNALS || (mr_big_endian && kind >= MR_FD_NUMBER && kind <= MR_FD_FANOTIFY);
}

/* ---- what is kept with a descriptor and its copies; all with mr_lock held ---- */
struct mr_descriptor_data {
    uint32_t references;
    void (*free)(struct mr_descriptor_data *);
};
struct mr_descriptor_data *mr_descriptor_data(int fd);
void mr_descriptor_set_data(int fd, struct mr_descriptor_data *data); /* with one reference; takes the old one away */

/* ---- own.c: those that the host keeps open for itself. The guest can neither close nor replace them. ---- */

/* In the order in which they are taken: other hosts find a guest's program right behind the host (proc_paths.c). */
enum mr_own {
    MR_OWN_HOST,    /* this executable, for the next exec */
    MR_OWN_PROGRAM, /* the guest's program, readable: what /proc/PID/exe of a guest is found by */
    MR_OWN_SYSROOT, /* the folder of --sysroot */
    MR_OWN_PROC,    /* the kernel's /proc (base/kernel_proc.h) */
    MR_OWN_TRACE,   /* where --strace writes to */
    MR_OWN_DEBUGGER, /* the connection to the debugger */
    MR_OWN_PROFILE, /* the folder of the file of --profile */
    MR_OWN_DEBUGGER_WAKE, /* an eventfd that the debugger's thread looks at (gdb/rights.c) */
    MR_OWN_INPUT, MR_OWN_OUTPUT, /* what standard input and output were at first (calls/desock.c) */
    MR_OWN_COMPLAINT, /* where --check-memory writes what is wrong (heap/complaint.c) */
    MR_OWN_MARKS,   /* the file of marks of executed code (coverage/marks.c) */
    MR_OWN_COUNT,
};

void mr_own_begin(void); /* from here to mr_own_ready the host may have more than the guest's limit */
void mr_own_ready(void);
void mr_own_keep(enum mr_own which, int fd); /* takes fd over, under another number */
int mr_own_moved(int fd);                    /* the same for what no entry above is: the new number, or fd itself */
int mr_own_descriptor(enum mr_own which);    /* or -1; opens again what has made way */
bool mr_own_is(enum mr_own which, int fd);   /* whether it is the same file */
const char *mr_own_lost_name(enum mr_own which); /* while it is lost, its name, if that still is the same file */
/* Before names may come to mean other files: opens what has made way. From then on the host's executable makes none, and the
 * guest has one number less where the host may not raise the limit. */
void mr_own_come_back(void);
void mr_own_drop(enum mr_own which);
void mr_own_make_way(int fd);    /* the guest wants this number for itself */
bool mr_own_make_room(void);     /* it finds none free: whether the host had some of its numbers */
void mr_own_guest_may_get(void);  /* it may get many, and is not told of those that find no number */
void mr_own_guest_has(int fd);   /* a number that it got from the kernel */
void mr_own_limit_changed(void); /* with mr_lock held */
/* All of them to numbers from here on, while the guest runs nothing: the kernel copies a process's table up to the highest. */
void mr_own_move_down(int to);
/* Also where the guest has all that it may have; as openat with O_CLOEXEC and pipe2, this with mr_lock held. */
int mr_own_openat(int directory, const char *name, int flags);
/* The same of a file: of a device only the name is opened, as with O_PATH, since to open one may have effects. */
int mr_own_open_file(int directory, const char *name, int flags);
int mr_own_pipe(int ends[2]);

#endif
