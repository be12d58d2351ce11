/* Mounts, namespaces, swap, accounting, quotas: calls for which the host's kernel checks rights and arguments itself. */
#include "linux/calls/layout.h"
#include "linux/calls/syscall.h"
#include "linux/host_call.h"
#include "linux/paths.h"
#include "memory/values.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A path that may be NULL; links are followed. Returns 0 or -errno. */
static int optional_path(uint32_t guest, const char **path)
{
    *path = NULL;
    return guest ? mr_host_path(guest, MR_FOLLOW, path) : 0;
}

static bool optional_string(uint32_t guest, const char **text)
{
    *text = guest ? mr_guest_string(guest) : NULL;
    return *text || !guest;
}

static void *optional_bytes(uint32_t guest)
{
    return guest ? mr_user(guest, 0) : NULL;
}

/* ---- mount and its like ---- */

/* As mr_result(syscall(...)) of a call that may change what the host's paths name. */
#define CHANGING_PATHS(...) (mr_root_changes(), mr_result(syscall(__VA_ARGS__)))

/* The kernel takes up to a page of data, text or whatever the file system reads, as far as there is memory. */
SYSCALL(4021, mount, "sssxp")
{
    const char *source, *target, *type;
    if (!optional_string(U32(2), &type))
        return -EFAULT;
    int error = optional_path(U32(0), &source);
    if (!error)
        error = optional_path(U32(1), &target);
    return error ? error : CHANGING_PATHS(SYS_mount, source, target, type, (unsigned long)U32(3), optional_bytes(U32(4)));
}

static int64_t with_path(long host_number, uint32_t guest_path, unsigned how, uint32_t flags)
{
    const char *path;
    int error = mr_host_path(guest_path, how, &path);
    return error ? error : mr_result(syscall(host_number, path, flags));
}

static int64_t unmount(uint32_t guest_path, uint32_t flags)
{
    mr_root_changes();
    return with_path(SYS_umount2, guest_path, flags & UMOUNT_NOFOLLOW ? MR_NO_FOLLOW : MR_FOLLOW, flags);
}

SYSCALL(4022, umount, "s") { return unmount(U32(0), 0); }
SYSCALL(4052, umount2, "sx") { return unmount(U32(0), U32(1)); }

SYSCALL(4216, pivot_root, "ss")
{
    const char *root, *old;
    int error = mr_host_path(U32(0), MR_FOLLOW, &root);
    if (!error)
        error = mr_host_path(U32(1), MR_FOLLOW, &old);
    return error ? error : CHANGING_PATHS(SYS_pivot_root, root, old);
}

SYSCALL(4430, fsopen, "sx")
{
    const char *name = mr_guest_string(U32(0));
    return name ? mr_result(syscall(SYS_fsopen, name, U32(1))) : -EFAULT;
}

enum { SET_PATH = 3, SET_PATH_EMPTY = 4, SET_FD = 5 }; /* of enum fsconfig_command */

/* The value is text, bytes or a path; the last argument its size or a directory. */
SYSCALL(4431, fsconfig, "Ddspd")
{
    const char *key;
    bool is_path = INT(1) == SET_PATH || INT(1) == SET_PATH_EMPTY;
    struct mr_path path = {.directory = INT(1) == SET_FD ? FD(4) : INT(4), .opened = -1};
    if (!optional_string(U32(2), &key))
        return -EFAULT;
    int64_t result = is_path && U32(3) ? mr_path_find(&path, FD(4), U32(3), MR_FOLLOW) : 0;
    const void *value = is_path ? path.name : optional_bytes(U32(3));
    if (!result)
        result = mr_result(syscall(SYS_fsconfig, FD(0), INT(1), key, value, path.directory));
    mr_path_done(&path);
    return result;
}

SYSCALL(4432, fsmount, "Dxx") { return mr_result(syscall(SYS_fsmount, FD(0), U32(1), U32(2))); }

static int64_t with_path_at(long host_number, int directory, uint32_t guest_path, unsigned how, uint32_t flags)
{
    struct mr_path path;
    int64_t result = mr_path_find(&path, directory, guest_path, how);
    if (!result)
        result = mr_result(syscall(host_number, path.directory, path.name, flags));
    mr_path_done(&path);
    return result;
}

#define PICK_NO_FOLLOW 2u                        /* FSPICK_SYMLINK_NOFOLLOW */
#define MOVE_FOLLOWS_FROM 1u                     /* MOVE_MOUNT_F_SYMLINKS */
#define MOVE_FOLLOWS_TO 0x10u                    /* MOVE_MOUNT_T_SYMLINKS */
#define HOW(no_follow) ((no_follow) ? MR_NO_FOLLOW : MR_FOLLOW)

SYSCALL(4433, fspick, "asx")
{
    return with_path_at(SYS_fspick, FD(0), U32(1), HOW(U32(2) & PICK_NO_FOLLOW), U32(2));
}

SYSCALL(4428, open_tree, "asx")
{
    return with_path_at(SYS_open_tree, FD(0), U32(1), HOW(U32(2) & AT_SYMLINK_NOFOLLOW), U32(2));
}

SYSCALL(4429, move_mount, "asasx")
{
    struct mr_path from, to = {.opened = -1};
    int64_t result = mr_path_find(&from, FD(0), U32(1), HOW(!(U32(4) & MOVE_FOLLOWS_FROM)));
    if (!result)
        result = mr_path_find(&to, FD(2), U32(3), HOW(!(U32(4) & MOVE_FOLLOWS_TO)));
    if (!result)
        result = CHANGING_PATHS(SYS_move_mount, from.directory, from.name, to.directory, to.name, U32(4));
    mr_path_done(&to);
    mr_path_done(&from);
    return result;
}

/* struct mount_attr: to set, to clear, propagation, user namespace. */
SYSCALL(4442, mount_setattr, "asxpu")
{
    uint64_t attributes[4];
    if (U32(4) < sizeof attributes)
        return -EINVAL;
    if (U32(4) > MR_PAGE_BYTES)
        return -E2BIG;
    const uint8_t *bytes = mr_guest_bytes(U32(3), U32(4), MR_READ);
    if (!bytes)
        return -EFAULT;
    for (uint32_t i = sizeof attributes; i < U32(4); i++)
        if (bytes[i])
            return -E2BIG;
    mr_layout_to_host("4q", bytes, sizeof attributes, attributes, sizeof attributes);
    struct mr_path path;
    int64_t result = mr_path_find(&path, FD(0), U32(1), HOW(U32(2) & AT_SYMLINK_NOFOLLOW));
    if (!result)
        result = CHANGING_PATHS(SYS_mount_setattr, path.directory, path.name, U32(2), attributes, sizeof attributes);
    mr_path_done(&path);
    return result;
}

SYSCALL(4303, unshare, "x")
{
    return INT(0) & (CLONE_NEWNS | CLONE_NEWUSER) ? CHANGING_PATHS(SYS_unshare, INT(0)) : mr_result(unshare(INT(0)));
}

SYSCALL(4344, setns, "Dx") { return CHANGING_PATHS(SYS_setns, FD(0), INT(1)); }

/* ---- swap, accounting ---- */

SYSCALL(4087, swapon, "sx") { return with_path(SYS_swapon, U32(0), MR_FOLLOW, U32(1)); }
SYSCALL(4115, swapoff, "s") { return with_path(SYS_swapoff, U32(0), MR_FOLLOW, 0); }

SYSCALL(4051, acct, "s")
{
    const char *path;
    int error = optional_path(U32(0), &path);
    return error ? error : mr_result(acct(path));
}

/* ---- quotas: what is at the address depends on the command ---- */

#define DISK_QUOTA "2bhw6q2w2h4b3qw2h8b" /* struct fs_disk_quota */
#define QUOTA_STATE "bhb2qw4b2qw4b4w2h" /* struct fs_quota_stat */
#define QUOTA_STATE_V "2bhw2q2w2q2w2q2w3w4hw7q" /* struct fs_quota_statv, of which the version is read */
#define XFS_COMMAND(n) ((uint32_t)'X' << 8 | (n))

static const struct quota_row {
    uint32_t command;
    enum { QUOTA_NOTHING, QUOTA_PATH, QUOTA_IN, QUOTA_OUT, QUOTA_INOUT } argument;
    const char *layout;
} quota_rows[] = {
    {0x800001, QUOTA_NOTHING, NULL},   {0x800002, QUOTA_PATH, NULL},      {0x800003, QUOTA_NOTHING, NULL},
    {0x800004, QUOTA_OUT, "w"},        {0x800005, QUOTA_OUT, "2q2w"},     {0x800006, QUOTA_IN, "2q2w"},
    {0x800007, QUOTA_OUT, "8qw"},      {0x800008, QUOTA_IN, "8qw"},       {0x800009, QUOTA_OUT, "8q2w"},
    {XFS_COMMAND(1), QUOTA_IN, "w"},   {XFS_COMMAND(2), QUOTA_IN, "w"},   {XFS_COMMAND(3), QUOTA_OUT, DISK_QUOTA},
    {XFS_COMMAND(4), QUOTA_IN, DISK_QUOTA}, {XFS_COMMAND(6), QUOTA_IN, "w"}, {XFS_COMMAND(7), QUOTA_NOTHING, NULL},
    {XFS_COMMAND(5), QUOTA_OUT, QUOTA_STATE}, {XFS_COMMAND(8), QUOTA_INOUT, QUOTA_STATE_V},
    {XFS_COMMAND(9), QUOTA_OUT, DISK_QUOTA},
};

static const struct quota_row *find_quota_row(uint32_t command)
{
    static const struct quota_row unknown = {0, QUOTA_NOTHING, NULL}; /* the kernel says what is wrong */
    for (size_t i = 0; i < sizeof quota_rows / sizeof *quota_rows; i++)
        if (quota_rows[i].command == command >> 8)
            return &quota_rows[i];
    return &unknown;
}

/* `target` is a host path or a descriptor. */
static int64_t control_quotas(long number, uint32_t command, uintptr_t target, uint32_t id, uint32_t guest)
{
    uint64_t structure[32] = {0};
    const struct quota_row *row = find_quota_row(command);
    const void *argument = structure;
    if ((row->argument == QUOTA_IN || row->argument == QUOTA_INOUT) && mr_get_struct(row->layout, guest, structure))
        return -EFAULT;
    const char *path;
    int error = row->argument == QUOTA_PATH ? mr_host_path(guest, MR_FOLLOW, &path) : 0;
    if (error)
        return error;
    if (row->argument == QUOTA_PATH)
        argument = path;
    uintptr_t first = number == SYS_quotactl ? command : target, second = number == SYS_quotactl ? target : command;
    if (syscall(number, first, second, id, argument))
        return -errno;
    return row->argument >= QUOTA_OUT ? mr_put_struct(row->layout, guest, structure) : 0;
}

SYSCALL(4131, quotactl, "xsdp")
{
    const char *special;
    int error = optional_path(U32(1), &special);
    return error ? error : control_quotas(SYS_quotactl, U32(0), (uintptr_t)special, U32(2), U32(3));
}

#ifndef SYS_quotactl_fd
#define SYS_quotactl_fd 443
#endif

SYSCALL(4443, quotactl_fd, "Dxdp")
{
    return control_quotas(SYS_quotactl_fd, U32(1), (uintptr_t)(intptr_t)FD(0), U32(2), U32(3));
}
