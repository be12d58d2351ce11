/* From the guest's paths to the host's: the one door for every call that takes a path.
 *
 * Without --sysroot a path is passed on as it is, but for /proc/PID/exe, which means the guest's program.
 *
 * With --sysroot DIR:
 * - An absolute path that exists below DIR is taken from there, else it is the host's. What Linux itself provides, /proc,
 *   /sys and /dev, is always the host's.
 * - Symbolic links below DIR, absolute ones and "..", are resolved inside DIR. A link that leads to something that is not
 *   below DIR leads to the host's file of that name; if there is none, the path as the guest gave it is the host's.
 * - A name that is to be created, and does not exist below DIR, is created in the host's folder of that name. Where the host
 *   has no such folder, but DIR does, it is created below DIR. What is renamed or linked stays on its side, if it can.
 * - A relative path starts at the folder that the process is in, or that the descriptor stands for, wherever this is. Below
 *   DIR, the rules for links hold.
 */
#ifndef MR_PATHS_H
#define MR_PATHS_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where a file is for the host's calls. */
struct mr_path {
    int directory;        /* what a relative name starts at: the first argument of the *at calls */
    const char *name;     /* in guest memory, or in text */
    int empty_flag;       /* AT_EMPTY_PATH when the name is empty and the directory the file itself; else 0 */
    int opened;           /* the descriptor that mr_path_done closes, or -1 */
    char text[PATH_MAX];
};

enum mr_path_how {
    MR_FOLLOW = 0,
    MR_NO_FOLLOW = 1,     /* a symbolic link at the end is meant itself */
    MR_CREATE = 2,        /* the call makes the name, if it is not there */
    MR_BY_DESCRIPTOR = 4, /* the call understands AT_EMPTY_PATH: saves host calls */
    MR_MISSED = 8,        /* a direct look has already not found it below DIR */
    MR_BELOW = 16,        /* with MR_CREATE: below DIR, where that has the folder */
    MR_NAME = 32 | MR_NO_FOLLOW, /* the call makes, removes or renames the last name: slashes after it follow no link, either */
};

/* Both return 0 or -errno; then mr_path_done is to be called. The path must stay as it is until then. */
int mr_path_find(struct mr_path *path, int directory, uint32_t guest, unsigned how);
int mr_path_find_text(struct mr_path *path, int directory, const char *text, unsigned how);
void mr_path_done(struct mr_path *path);
bool mr_path_is_below(const struct mr_path *path); /* of the sysroot; costs a host call for relative ones */
/* openat of a guest path, with the host's flags. Returns a descriptor or -errno; -ERESTART as mr_wait_call. */
int64_t mr_path_open(int directory, uint32_t guest, int host_flags, uint32_t mode);

/* ---- path_ends.c ---- */
/* mr_path_find_text of MR_NAME below a sysroot: the folder is looked up, and what follows it stays as the guest wrote it. */
int mr_path_find_name(struct mr_path *path, int directory, const char *text, unsigned how);
/* For calls that know no directory descriptor, and for these alone. The result is in memory of the calling thread until it
 * asks for the second next one. Both return 0 or -errno. */
int mr_host_path(uint32_t guest, unsigned how, const char **path);
int mr_host_path_of(const char *text, unsigned how, const char **path);

void mr_sysroot_start(const char *folder); /* fails with mr_fail when it is none; NULL: no sysroot */
const char *mr_sysroot(void);              /* absolute, without links, or NULL */
void mr_sysroot_leave(void);               /* the guest's root is another one from now on */
/* Before the process's root, mounts or user namespace change: what the host has settled at its start may name other files
 * then. So it neither starts nor asks a compile server any more, writes no notes, and makes no socket for a debugger; nor has
 * what it executes a library by its name. */
void mr_root_changes(void);
void mr_cwd_changed(void);
/* Takes the sysroot's part off a host path: what the guest calls it. Returns the new length. */
size_t mr_guest_name(char *path, size_t length);

/* ---- proc_paths.c: names below /proc ---- */
/* Makes a name absolute and simple, if it is one below /proc; false: it is none. A relative name costs a host call or two,
 * and only when it ends with "exe". */
bool mr_proc_name(int directory, const char *text, char to[PATH_MAX]);
/* If the name is PID/exe or the like of this or another guest, a descriptor of its program, which the caller closes; else -1.
 * It is a regular file, and no other than the one that was found to be a MIPS program. */
int mr_proc_program(const char *proc_name);
/* The same of any guest path, which leads there by the descriptor then. The name is absolute, for calls that know no folder,
 * but where the guest's root has another /proc. */
bool mr_proc_find_program(struct mr_path *path, int directory, const char *text, unsigned how);
/* The name below /proc of an open file of it, whatever name it was opened by; false: it is none, or unknown. */
bool mr_proc_name_of(int fd, char to[PATH_MAX]);
/* What follows /proc/PID/, if that is this process, and also what follows task/TID/; NULL: another name. */
const char *mr_proc_own_file(const char *proc_name);
bool mr_proc_is_memory(const char *proc_name); /* whether it is mem or pagemap of a guest */

#endif
