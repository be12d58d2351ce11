/* System calls on extended attributes, and on the capabilities of processes. */
#include "base/observe.h"
#include "linux/calls/layout.h"
#include "linux/calls/syscall.h"
#include "linux/host_call.h"
#include "linux/paths.h"
#include "memory/values.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- extended attributes: a path, following links or not, or a descriptor ---- */

enum way { FOLLOW, NO_FOLLOW, DESCRIPTOR };

/* What names the file: a host path, or a descriptor. */
struct file {
    struct mr_path path;
    uintptr_t argument;
};

static int64_t find_file(struct file *file, struct mr_call *c, enum way way)
{
    file->argument = (uintptr_t)(intptr_t)FD(0);
    if (way == DESCRIPTOR)
        return 0;
    int64_t error = mr_path_find(&file->path, AT_FDCWD, U32(0), way == FOLLOW ? MR_FOLLOW : MR_NO_FOLLOW);
    file->argument = (uintptr_t)file->path.name;
    return error;
}

/* A buffer of size 0 only asks for the size. */
static void *buffer(uint32_t guest, uint32_t size_bytes)
{
    return size_bytes ? mr_user(guest, size_bytes) : NULL;
}

/* get, set and remove: all have the name of the attribute second. The host's call takes no notice of arguments too many. */
static int64_t on_attribute(struct mr_call *c, long host_number, enum way way, void *bytes, uint32_t size_bytes, int flags)
{
    struct file file;
    const char *name = mr_guest_string(U32(1));
    int64_t error = name ? find_file(&file, c, way) : -EFAULT;
    return error ? error : mr_result(syscall(host_number, file.argument, name, bytes, (size_t)size_bytes, flags));
}

static int64_t get_or_set(struct mr_call *c, long host_number, enum way way, int flags)
{
    return on_attribute(c, host_number, way, buffer(U32(2), U32(3)), U32(3), flags);
}

static int64_t list_attributes(struct mr_call *c, long host_number, enum way way)
{
    struct file file;
    int64_t error = find_file(&file, c, way);
    return error ? error : mr_result(syscall(host_number, file.argument, buffer(U32(1), U32(2)), (size_t)U32(2)));
}

SYSCALL(4227, getxattr, "ssBu") { return get_or_set(c, SYS_getxattr, FOLLOW, 0); }
SYSCALL(4228, lgetxattr, "ssBu") { return get_or_set(c, SYS_lgetxattr, NO_FOLLOW, 0); }
SYSCALL(4229, fgetxattr, "DsBu") { return get_or_set(c, SYS_fgetxattr, DESCRIPTOR, 0); }
SYSCALL(4224, setxattr, "ssbux") { return get_or_set(c, SYS_setxattr, FOLLOW, INT(4)); }
SYSCALL(4225, lsetxattr, "ssbux") { return get_or_set(c, SYS_lsetxattr, NO_FOLLOW, INT(4)); }
SYSCALL(4226, fsetxattr, "Dsbux") { return get_or_set(c, SYS_fsetxattr, DESCRIPTOR, INT(4)); }
SYSCALL(4230, listxattr, "sBu") { return list_attributes(c, SYS_listxattr, FOLLOW); }
SYSCALL(4231, llistxattr, "sBu") { return list_attributes(c, SYS_llistxattr, NO_FOLLOW); }
SYSCALL(4232, flistxattr, "DBu") { return list_attributes(c, SYS_flistxattr, DESCRIPTOR); }
SYSCALL(4233, removexattr, "ss") { return on_attribute(c, SYS_removexattr, FOLLOW, NULL, 0, 0); }
SYSCALL(4234, lremovexattr, "ss") { return on_attribute(c, SYS_lremovexattr, NO_FOLLOW, NULL, 0, 0); }
SYSCALL(4235, fremovexattr, "Ds") { return on_attribute(c, SYS_fremovexattr, DESCRIPTOR, NULL, 0, 0); }

/* ---- capabilities: words, in both structures ---- */

/* How many struct __user_cap_data_struct go with a version, or 0. */
static uint32_t capability_structs(uint32_t version)
{
    return version == _LINUX_CAPABILITY_VERSION_1                                                  ? 1
           : version == _LINUX_CAPABILITY_VERSION_2 || version == _LINUX_CAPABILITY_VERSION_3 ? 2
                                                                                                   : 0;
}

static int64_t capabilities(struct mr_call *c, bool set)
{
    struct __user_cap_header_struct header;
    uint32_t data[2 * 3] = {0};
    if (mr_get_struct("2w", U32(0), &header))
        return -EFAULT;
    uint32_t words = 3 * capability_structs(header.version);
    if (words == 0) { /* the kernel answers with the version it prefers */
        if (mr_write32(U32(0), _LINUX_CAPABILITY_VERSION_3))
            return -EFAULT;
        return U32(1) || set ? -EINVAL : 0;
    }
    if (set && mr_get_words(U32(1), data, words))
        return -EFAULT;
    if (syscall(set ? SYS_capset : SYS_capget, &header, data))
        return -errno;
    return !set && U32(1) ? mr_put_words(U32(1), data, words) : 0;
}

SYSCALL(4204, capget, "pp") { return capabilities(c, false); }
SYSCALL(4205, capset, "pp") { return mr_rights_changed(capabilities(c, true)); }
