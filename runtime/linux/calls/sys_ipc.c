/* The old call that stands for all of System V IPC (ipc/syscall.c), and what all kinds of objects have. */
#include "linux/abi.h"
#include "linux/calls/ipc.h"
#include "linux/calls/layout.h"
#include "linux/calls/syscall.h"
#include "linux/host_call.h"
#include "memory/values.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- struct ipc64_perm ---- */

enum { PERM_KEY = 0, PERM_UID = 4, PERM_GID = 8, PERM_CUID = 12, PERM_CGID = 16, PERM_MODE = 20, PERM_SEQ = 24 };

uint8_t *mr_put_ipc_perm(uint32_t guest, uint32_t status_bytes, const struct ipc64_perm *perm)
{
    uint8_t *to = mr_guest_bytes(guest, status_bytes, MR_WRITE);
    if (!to)
        return NULL;
    memset(to, 0, status_bytes);
    mr_put32(to + PERM_KEY, (uint32_t)perm->key);
    mr_put32(to + PERM_UID, perm->uid);
    mr_put32(to + PERM_GID, perm->gid);
    mr_put32(to + PERM_CUID, perm->cuid);
    mr_put32(to + PERM_CGID, perm->cgid);
    mr_put32(to + PERM_MODE, perm->mode);
    mr_put16(to + PERM_SEQ, perm->seq);
    return to;
}

int mr_get_ipc_perm(uint32_t guest, uint32_t status_bytes, struct ipc64_perm *perm)
{
    const uint8_t *from = mr_guest_bytes(guest, status_bytes, MR_READ);
    if (!from)
        return -EFAULT;
    perm->uid = mr_get32(from + PERM_UID);
    perm->gid = mr_get32(from + PERM_GID);
    perm->mode = (__kernel_mode_t)mr_get32(from + PERM_MODE);
    return 0;
}

/* ---- the call ---- */

enum {
    CALL_SEMOP = 1, CALL_SEMGET = 2, CALL_SEMCTL = 3, CALL_SEMTIMEDOP = 4, CALL_MSGSND = 11, CALL_MSGRCV = 12,
    CALL_MSGGET = 13, CALL_MSGCTL = 14, CALL_SHMAT = 21, CALL_SHMDT = 22, CALL_SHMGET = 23, CALL_SHMCTL = 24,
};
#define NEW_STRUCTURES 0x100u /* IPC_64 */

/* Commands with a structure have it in the new form only: no libc since 1999 asks for the old one. */
static bool take_version(uint32_t *command)
{
    bool new = *command & NEW_STRUCTURES;
    *command &= ~NEW_STRUCTURES;
    return new || (*command != IPC_STAT && *command != IPC_SET);
}

static int64_t control_semaphore(const struct mr_call *c)
{
    uint32_t argument, command = U32(3);
    if (!U32(4))
        return -EINVAL;
    if (mr_read32(U32(4), &argument))
        return -EFAULT;
    return take_version(&command) ? mr_semctl(INT(1), INT(2), (int)command, argument) : -EINVAL;
}

/* Version 0 has pointer and type in memory. */
static int64_t receive(const struct mr_call *c, uint32_t version)
{
    uint32_t words[2];
    if (version != 0)
        return mr_msgrcv(INT(1), U32(4), U32(2), INT(5), INT(3));
    if (!U32(4))
        return -EINVAL;
    if (mr_get_words(U32(4), words, 2))
        return -EFAULT;
    return mr_msgrcv(INT(1), words[0], U32(2), (int32_t)words[1], INT(3));
}

static int64_t attach(const struct mr_call *c, uint32_t version)
{
    if (version == 1)
        return -EINVAL;
    int64_t result = mr_shmat(INT(1), U32(4), INT(2));
    return result < 0 ? result : mr_write32(U32(3), (uint32_t)result);
}

SYSCALL(4117, ipc, "~ddxxpx")
{
    uint32_t version = U32(0) >> 16, command = U32(2);
    switch (U32(0) & 0xffff) {
    case CALL_SEMOP: return mr_semtimedop(INT(1), U32(4), U32(2), 0, MR_TIME32);
    case CALL_SEMTIMEDOP: return mr_semtimedop(INT(1), U32(4), U32(2), U32(5), MR_TIME32);
    case CALL_SEMGET: return mr_result(syscall(SYS_semget, INT(1), INT(2), INT(3)));
    case CALL_SEMCTL: return control_semaphore(c);
    case CALL_MSGSND: return mr_msgsnd(INT(1), U32(4), U32(2), INT(3));
    case CALL_MSGRCV: return receive(c, version);
    case CALL_MSGGET: return mr_result(syscall(SYS_msgget, INT(1), INT(2)));
    case CALL_MSGCTL: return take_version(&command) ? mr_msgctl(INT(1), (int)command, U32(4)) : -EINVAL;
    case CALL_SHMAT: return attach(c, version);
    case CALL_SHMDT: return mr_shmdt(U32(4));
    case CALL_SHMGET: return mr_result(syscall(SYS_shmget, INT(1), (size_t)U32(2), INT(3)));
    case CALL_SHMCTL: return take_version(&command) ? mr_shmctl(INT(1), (int)command, U32(4)) : -EINVAL;
    default: return -ENOSYS;
    }
}
