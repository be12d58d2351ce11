/* Signals that the host's kernel does not have, sent to other processes and threads: packets (signal_carrier.c). */
#include "base/kernel_proc.h"
#include "base/same_inode.h"
#include "linux/signal_parts.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Whether a process runs this host, so that a packet tells it something. Others would die of one. */
static bool is_guest(pid_t process)
{
    char own_path[MR_PROC_ROOM], its_path[MR_PROC_ROOM];
    struct stat own, its;
    int proc = mr_proc_at(own_path, "self/exe"), other = mr_proc_at_process(its_path, "%d/exe", (int)process);
    return fstatat(proc, own_path, &own, 0) == 0 && fstatat(other, its_path, &its, 0) == 0 &&
           mr_is_same_inode(&own, &its);
}

static int64_t send_to_one(pid_t process, const struct mr_signal_info *info)
{
    siginfo_t packet;
    if (process == getpid()) {
        mr_signal_to_process(info);
        return 0;
    }
    if (kill(process, 0))
        return -errno;
    if (!is_guest(process))
        return -EINVAL;
    mr_packet_make(&packet, info, 0);
    return mr_packet_to_process(process, &packet);
}

/* Reads the number of a process from the name of a folder in /proc, and its group from stat. */
static bool is_in_group(const char *name, pid_t group, pid_t *process)
{
    char *end;
    *process = (pid_t)strtol(name, &end, 10);
    if (*process <= 1 || *end)
        return false;
    return group == -1 ? *process != getpid() : getpgid(*process) == group;
}

struct linux_dirent64 {
    uint64_t inode, offset;
    uint16_t size_bytes;
    uint8_t type;
    char name[];
};

/* As kill(2): 0 if it could be sent to one process. group: -1 for all processes but this one. Not by opendir, which
 * allocates: a child of clone may have been made while another thread held malloc's lock (sys_fork.c). */
static int64_t send_to_group(pid_t group, const struct mr_signal_info *info)
{
    _Alignas(uint64_t) char entries[4096];
    char path[MR_PROC_ROOM];
    int64_t result = -ESRCH;
    int proc = mr_proc_at_process(path, "."), folder = openat(proc, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (long size; folder >= 0 && (size = syscall(SYS_getdents64, folder, entries, sizeof entries)) > 0;)
        for (long at = 0; at < size; at += ((struct linux_dirent64 *)(entries + at))->size_bytes) {
            pid_t process;
            if (!is_in_group(((struct linux_dirent64 *)(entries + at))->name, group, &process))
                continue;
            int64_t sent = send_to_one(process, info);
            result = result == 0 ? 0 : sent;
        }
    if (folder >= 0)
        close(folder);
    return result;
}

int64_t mr_send_carried(int32_t process, const struct mr_signal_info *info)
{
    if (process > 0)
        return send_to_one(process, info);
    if (process == INT32_MIN)
        return -ESRCH;
    return send_to_group(process == 0 ? getpgrp() : process == -1 ? -1 : -process, info);
}

int64_t mr_send_carried_to_thread(int32_t group, int32_t thread, const struct mr_signal_info *info)
{
    siginfo_t packet;
    pid_t process = group != -1 ? group : syscall(SYS_tgkill, getpid(), thread, 0) == 0 ? getpid() : thread;
    if (syscall(SYS_tgkill, process, thread, 0))
        return -errno;
    if (process != getpid() && !is_guest(process))
        return -EINVAL;
    if (thread == gettid()) {
        mr_signal_queue(info);
        return 0;
    }
    mr_packet_make(&packet, info, MR_PACKET_OF_THREAD);
    return mr_packet_to_thread(process, thread, &packet);
}
