/* System calls on extended attributes, and on the capabilities of processes. */
#include "syscall.h"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- extended attributes: a path, following links or not, or a descriptor ---- */

/* What names the file: a host path for the first two, a descriptor for the third. False: the path is not readable. */
static bool file_of(struct mr_call *c, bool by_descriptor, uintptr_t *file)
{
    *file = by_descriptor ? (uintptr_t)(intptr_t)FD(0) : (uintptr_t)mr_host_path(U32(0));
    return by_descriptor || *file;
}

/* A buffer of size 0 only asks for the size. */
static void *buffer(uint32_t guest, uint32_t size_bytes)
{
    return size_bytes ? mr_user(guest, size_bytes) : NULL;
}

static int64_t get_attribute(struct mr_call *c, long host_number, bool by_descriptor)
{
    uintptr_t file;
    const char *name = mr_guest_string(U32(1));
    if (!name || !file_of(c, by_descriptor, &file))
        return -EFAULT;
    return mr_result(syscall(host_number, file, name, buffer(U32(2), U32(3)), (size_t)U32(3)));
}

static int64_t set_attribute(struct mr_call *c, long host_number, bool by_descriptor)
{
    uintptr_t file;
    const char *name = mr_guest_string(U32(1));
    if (!name || !file_of(c, by_descriptor, &file))
        return -EFAULT;
    return mr_result(syscall(host_number, file, name, buffer(U32(2), U32(3)), (size_t)U32(3), INT(4)));
}

static int64_t list_attributes(struct mr_call *c, long host_number, bool by_descriptor)
{
    uintptr_t file;
    if (!file_of(c, by_descriptor, &file))
        return -EFAULT;
    return mr_result(syscall(host_number, file, buffer(U32(1), U32(2)), (size_t)U32(2)));
}

static int64_t remove_attribute(struct mr_call *c, long host_number, bool by_descriptor)
{
    uintptr_t file;
    const char *name = mr_guest_string(U32(1));
    return name && file_of(c, by_descriptor, &file) ? mr_result(syscall(host_number, file, name)) : -EFAULT;
}

SYSCALL(4227, getxattr, "ssBu") { return get_attribute(c, SYS_getxattr, false); }
SYSCALL(4228, lgetxattr, "ssBu") { return get_attribute(c, SYS_lgetxattr, false); }
SYSCALL(4229, fgetxattr, "dsBu") { return get_attribute(c, SYS_fgetxattr, true); }
SYSCALL(4224, setxattr, "ssbux") { return set_attribute(c, SYS_setxattr, false); }
SYSCALL(4225, lsetxattr, "ssbux") { return set_attribute(c, SYS_lsetxattr, false); }
SYSCALL(4226, fsetxattr, "dsbux") { return set_attribute(c, SYS_fsetxattr, true); }
SYSCALL(4230, listxattr, "sBu") { return list_attributes(c, SYS_listxattr, false); }
SYSCALL(4231, llistxattr, "sBu") { return list_attributes(c, SYS_llistxattr, false); }
SYSCALL(4232, flistxattr, "dBu") { return list_attributes(c, SYS_flistxattr, true); }
SYSCALL(4233, removexattr, "ss") { return remove_attribute(c, SYS_removexattr, false); }
SYSCALL(4234, lremovexattr, "ss") { return remove_attribute(c, SYS_lremovexattr, false); }
SYSCALL(4235, fremovexattr, "ds") { return remove_attribute(c, SYS_fremovexattr, true); }

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
    uint32_t data[2 * 3] = {0}, version, process;
    if (mr_read32(U32(0), &version) || mr_read32(U32(0) + 4, &process))
        return -EFAULT;
    uint32_t words = 3 * capability_structs(version);
    if (words == 0) { /* the kernel answers with the version it prefers */
        if (mr_write32(U32(0), _LINUX_CAPABILITY_VERSION_3))
            return -EFAULT;
        return U32(1) || set ? -EINVAL : 0;
    }
    header = (struct __user_cap_header_struct){version, (int)process};
    for (uint32_t i = 0; set && i < words; i++)
        if (mr_read32(U32(1) + 4 * i, &data[i]))
            return -EFAULT;
    if (syscall(set ? SYS_capset : SYS_capget, &header, data))
        return -errno;
    for (uint32_t i = 0; !set && U32(1) && i < words; i++)
        if (mr_write32(U32(1) + 4 * i, data[i]))
            return -EFAULT;
    return 0;
}

SYSCALL(4204, capget, "pp") { return capabilities(c, false); }
SYSCALL(4205, capset, "pp") { return capabilities(c, true); }
