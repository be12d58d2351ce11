/* Keys of the kernel: add_key, request_key, keyctl. */
#include "linux/abi.h"
#include "linux/calls/layout.h"
#include "linux/calls/syscall.h"
#include "linux/host_call.h"
#include "memory/values.h"

#include <errno.h>
#include <linux/keyctl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void *optional_bytes(uint32_t guest, uint32_t size_bytes)
{
    return guest ? mr_user(guest, size_bytes) : NULL;
}

SYSCALL(4280, add_key, "sspud")
{
    return mr_result(syscall(SYS_add_key, mr_user(U32(0), 0), optional_bytes(U32(1), 0), optional_bytes(U32(2), U32(3)),
                             (size_t)U32(3), INT(4)));
}

SYSCALL(4281, request_key, "sssd")
{
    return mr_wait_call(SYS_request_key, MR_HOST(mr_user(U32(0), 0)), MR_HOST(mr_user(U32(1), 0)),
                        MR_HOST(optional_bytes(U32(2), 0)), (uint64_t)(int64_t)INT(3), 0, 0);
}

/* ---- keyctl: what the arguments after the operation are: d number, p pointer, e an errno ---- */

static const char *const operations[] = {
    [KEYCTL_GET_KEYRING_ID] = "dd",     [KEYCTL_JOIN_SESSION_KEYRING] = "p", [KEYCTL_UPDATE] = "dpd",
    [KEYCTL_REVOKE] = "d",              [KEYCTL_CHOWN] = "ddd",              [KEYCTL_SETPERM] = "dd",
    [KEYCTL_DESCRIBE] = "dpd",          [KEYCTL_CLEAR] = "d",                [KEYCTL_LINK] = "dd",
    [KEYCTL_UNLINK] = "dd",             [KEYCTL_SEARCH] = "dppd",            [KEYCTL_READ] = "dpd",
    [KEYCTL_INSTANTIATE] = "dpdd",      [KEYCTL_NEGATE] = "ddd",             [KEYCTL_SET_REQKEY_KEYRING] = "d",
    [KEYCTL_SET_TIMEOUT] = "dd",        [KEYCTL_ASSUME_AUTHORITY] = "d",     [KEYCTL_GET_SECURITY] = "dpd",
    [KEYCTL_SESSION_TO_PARENT] = "",    [KEYCTL_REJECT] = "dded",            [KEYCTL_INSTANTIATE_IOV] = "dvdd",
    [KEYCTL_INVALIDATE] = "d",          [KEYCTL_GET_PERSISTENT] = "dd",      [KEYCTL_RESTRICT_KEYRING] = "dpp",
    [KEYCTL_MOVE] = "dddd",             [KEYCTL_CAPABILITIES] = "pd",
};
#define OPERATION_COUNT (sizeof operations / sizeof *operations)

static int host_errno_of(int mips)
{
    for (int host = 1; host < 4096; host++)
        if (mr_errno_to_mips(host) == mips)
            return host;
    return mips;
}

/* What is read of a keyring are the numbers of keys, as words. A description that has no room is not written at all. */
static bool is_keyring(int32_t key)
{
    char text[4096] = {0};
    return syscall(SYS_keyctl, KEYCTL_DESCRIBE, key, text, sizeof text) > 0 && strncmp(text, "keyring;", 8) == 0;
}

SYSCALL(4282, keyctl, "dxxxx")
{
    struct iovec vector[MR_MOST_PIECES];
    uint64_t arguments[4] = {0};
    const char *kinds = U32(0) < OPERATION_COUNT ? operations[U32(0)] : NULL;
    if (!kinds)
        return -EOPNOTSUPP;
    for (int n = 0; kinds[n]; n++) {
        uint32_t value = U32(n + 1);
        int error = kinds[n] == 'v' && value ? mr_get_vector(value, U32(n + 2), vector) : 0;
        if (error)
            return error;
        arguments[n] = kinds[n] == 'd'   ? (uint64_t)(int64_t)(int32_t)value
                       : kinds[n] == 'e' ? (uint64_t)host_errno_of((int32_t)value)
                       : kinds[n] == 'v' ? (value ? MR_HOST(vector) : 0)
                                         : MR_HOST(optional_bytes(value, 0));
    }
    int64_t result = mr_result(syscall(SYS_keyctl, INT(0), arguments[0], arguments[1], arguments[2], arguments[3]));
    if (mr_big_endian && result > 0 && U32(0) == KEYCTL_READ && U32(2) && is_keyring(INT(1))) {
        uint32_t size_bytes = ((uint32_t)result < U32(3) ? (uint32_t)result : U32(3)) & ~3u;
        uint8_t *at = mr_guest_bytes(U32(2), size_bytes, MR_WRITE);
        if (at)
            mr_layout_to_guest("*w", at, size_bytes, at, size_bytes);
    }
    return result;
}
