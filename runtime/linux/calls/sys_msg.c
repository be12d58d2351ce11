/* System V message queues. */
#include "linux/calls/ipc.h"
#include "linux/calls/layout.h"
#include "linux/calls/syscall.h"
#include "linux/host_call.h"
#include "memory/values.h"

#include <errno.h>
#include <linux/msg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- control: struct msqid64_ds, whose times are 64 bits in memory order, and msginfo ---- */

enum {
    STIME = 36, RTIME = 44, CTIME = 52, CBYTES = 60, QNUM = 64, QBYTES = 68, LSPID = 72, LRPID = 76, STATUS_BYTES = 88,
};

static int64_t control(int id, int command, const void *argument)
{
    return mr_result(syscall(SYS_msgctl, id, command, argument));
}

static int64_t get_status(int id, int command, uint32_t guest)
{
    struct msqid64_ds status = {0};
    int64_t result = control(id, command, &status);
    if (result < 0)
        return result;
    uint8_t *to = mr_put_ipc_perm(guest, STATUS_BYTES, &status.msg_perm);
    if (!to)
        return -EFAULT;
    mr_put64(to + STIME, (uint64_t)status.msg_stime);
    mr_put64(to + RTIME, (uint64_t)status.msg_rtime);
    mr_put64(to + CTIME, (uint64_t)status.msg_ctime);
    mr_put32(to + CBYTES, (uint32_t)status.msg_cbytes);
    mr_put32(to + QNUM, (uint32_t)status.msg_qnum);
    mr_put32(to + QBYTES, (uint32_t)status.msg_qbytes);
    mr_put32(to + LSPID, (uint32_t)status.msg_lspid);
    mr_put32(to + LRPID, (uint32_t)status.msg_lrpid);
    return result;
}

static int64_t set_status(int id, uint32_t guest)
{
    struct msqid64_ds status = {0};
    uint32_t most_bytes;
    if (mr_get_ipc_perm(guest, STATUS_BYTES, &status.msg_perm) || mr_read32(guest + QBYTES, &most_bytes))
        return -EFAULT;
    status.msg_qbytes = most_bytes;
    return control(id, IPC_SET, &status);
}

static int64_t get_info(int command, uint32_t guest)
{
    struct msginfo info = {0};
    int64_t result = control(0, command, &info);
    const uint32_t words[] = {
        (uint32_t)info.msgpool, (uint32_t)info.msgmap, (uint32_t)info.msgmax, (uint32_t)info.msgmnb,
        (uint32_t)info.msgmni,  (uint32_t)info.msgssz, (uint32_t)info.msgtql,
    };
    const uint32_t count = sizeof words / sizeof *words;
    if (result < 0)
        return result;
    uint8_t *last = mr_guest_bytes(guest + 4 * count, 4, MR_WRITE);
    if (!last || mr_put_words(guest, words, count))
        return -EFAULT;
    mr_put16(last, info.msgseg);
    mr_put16(last + 2, 0);
    return result;
}

int64_t mr_msgctl(int id, int command, uint32_t argument)
{
    switch (command) {
    case IPC_STAT:
    case MSG_STAT:
    case MSG_STAT_ANY: return get_status(id, command, argument);
    case IPC_SET: return set_status(id, argument);
    case IPC_INFO:
    case MSG_INFO: return get_info(command, argument);
    case IPC_RMID: return control(id, IPC_RMID, NULL);
    default: return -EINVAL;
    }
}

/* ---- messages: a long and bytes, copied since the host's long is wider ---- */

struct message {
    int64_t type;
    uint8_t bytes[];
};

/* The kernel looks at the size before it looks at the bytes. */
static int64_t why_not(uint32_t size_bytes)
{
    struct msginfo info = {0};
    control(0, IPC_INFO, &info);
    return size_bytes > (uint32_t)info.msgmax ? -EINVAL : -EFAULT;
}

int64_t mr_msgsnd(int id, uint32_t message, uint32_t size_bytes, int flags)
{
    uint32_t type;
    if (mr_read32(message, &type))
        return -EFAULT;
    if ((int32_t)size_bytes < 0)
        return -EINVAL;
    const uint8_t *from = mr_guest_bytes(message + 4, size_bytes, MR_READ);
    struct message *host = malloc(sizeof *host + size_bytes);
    int64_t result = from ? -ENOMEM : why_not(size_bytes);
    if (host && from) {
        host->type = (int32_t)type;
        memcpy(host->bytes, from, size_bytes);
        result = mr_wait_call(SYS_msgsnd, (uint64_t)(int64_t)id, MR_HOST(host), size_bytes, (uint64_t)flags, 0, 0);
    }
    free(host);
    return result;
}

int64_t mr_msgrcv(int id, uint32_t message, uint32_t size_bytes, int32_t type, int flags)
{
    if ((int32_t)size_bytes < 0)
        return -EINVAL;
    struct message *host = malloc(sizeof *host + size_bytes);
    if (!host)
        return -ENOMEM;
    int64_t result = mr_wait_call(SYS_msgrcv, (uint64_t)(int64_t)id, MR_HOST(host), size_bytes, (uint64_t)(int64_t)type,
                                  (uint64_t)flags, 0);
    if (result >= 0) {
        uint8_t *to = mr_guest_bytes(message, 4 + (uint32_t)result, MR_WRITE);
        if (to) {
            mr_put32(to, (uint32_t)host->type);
            memcpy(to + 4, host->bytes, (size_t)result);
        } else {
            result = -EFAULT;
        }
    }
    free(host);
    return result;
}

SYSCALL(4399, msgget, "do") { return mr_result(syscall(SYS_msgget, INT(0), INT(1))); }
SYSCALL(4400, msgsnd, "~dpux") { return mr_msgsnd(INT(0), U32(1), U32(2), INT(3)); }
SYSCALL(4401, msgrcv, "~dpudx") { return mr_msgrcv(INT(0), U32(1), U32(2), INT(3), INT(4)); }
SYSCALL(4402, msgctl, "ddp") { return mr_msgctl(INT(0), INT(1), U32(2)); }
