/* System V shared memory. mapping.c puts a segment into the guest's window; here is what it is made of, and where it was put. */
#include "base/lock.h"
#include "lifted/module.h"
#include "linux/calls/ipc.h"
#include "linux/calls/layout.h"
#include "linux/calls/syscall.h"
#include "linux/host_call.h"
#include "memory/values.h"

#include <errno.h>
#include <linux/shm.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- control: struct shmid64_ds, shminfo64, shm_info ---- */

enum {
    SEGSZ = 36, ATIME = 40, DTIME = 44, CTIME = 48, CPID = 52, LPID = 56, NATTCH = 60, HIGH_TIMES = 64, STATUS_BYTES = 72,
};

static int64_t control(int id, int command, const void *argument)
{
    return mr_result(syscall(SYS_shmctl, id, command, argument));
}

static int64_t get_status(int id, int command, uint32_t guest)
{
    struct shmid64_ds status = {0};
    int64_t result = control(id, command, &status);
    if (result < 0)
        return result;
    const long times[] = {status.shm_atime, status.shm_dtime, status.shm_ctime};
    uint8_t *to = mr_put_ipc_perm(guest, STATUS_BYTES, &status.shm_perm);
    if (!to)
        return -EFAULT;
    mr_put32(to + SEGSZ, status.shm_segsz >> 32 ? UINT32_MAX : (uint32_t)status.shm_segsz);
    for (int i = 0; i < 3; i++) {
        mr_put32(to + ATIME + 4 * i, (uint32_t)times[i]);
        mr_put16(to + HIGH_TIMES + 2 * i, (uint16_t)((uint64_t)times[i] >> 32));
    }
    mr_put32(to + CPID, (uint32_t)status.shm_cpid);
    mr_put32(to + LPID, (uint32_t)status.shm_lpid);
    mr_put32(to + NATTCH, (uint32_t)status.shm_nattch);
    return result;
}

static int64_t set_status(int id, uint32_t guest)
{
    struct shmid64_ds status = {0};
    return mr_get_ipc_perm(guest, STATUS_BYTES, &status.shm_perm) ? -EFAULT : control(id, IPC_SET, &status);
}

static uint32_t narrow(unsigned long value)
{
    return value > INT32_MAX ? INT32_MAX : (uint32_t)value;
}

static int64_t get_info(int command, uint32_t guest)
{
    if (command == IPC_INFO) {
        struct shminfo64 limits = {0};
        int64_t result = control(0, command, &limits);
        const uint32_t words[9] = {narrow(limits.shmmax), narrow(limits.shmmin), narrow(limits.shmmni),
                                   narrow(limits.shmseg), narrow(limits.shmall)};
        return result < 0 ? result : mr_put_words(guest, words, 9) ? -EFAULT : result;
    }
    struct shm_info now = {0};
    int64_t result = control(0, command, &now);
    const uint32_t words[6] = {(uint32_t)now.used_ids,  narrow(now.shm_tot),       narrow(now.shm_rss),
                               narrow(now.shm_swp), narrow(now.swap_attempts), narrow(now.swap_successes)};
    return result < 0 ? result : mr_put_words(guest, words, 6) ? -EFAULT : result;
}

int64_t mr_shmctl(int id, int command, uint32_t argument)
{
    switch (command) {
    case IPC_STAT:
    case SHM_STAT:
    case SHM_STAT_ANY: return get_status(id, command, argument);
    case IPC_SET: return set_status(id, argument);
    case IPC_INFO:
    case SHM_INFO: return get_info(command, argument);
    case IPC_RMID:
    case SHM_LOCK:
    case SHM_UNLOCK: return control(id, command, NULL);
    default: return -EINVAL;
    }
}

/* ---- attaching ---- */

#define ALIGNMENT 0x40000u /* SHMLBA of asm/shmparam.h, which this machine insists on */

/* Where segments are, or were: under mr_lock. */
struct attachment {
    uint32_t guest;
    uint32_t size_bytes;
    struct attachment *next;
};
static struct attachment *attachments;

static int64_t size_of(int id, uint32_t *size_bytes)
{
    struct shmid64_ds status = {0};
    int64_t result = control(id, IPC_STAT, &status);
    if (result < 0)
        return result;
    if (status.shm_segsz > MR_USER_END)
        return -ENOMEM;
    *size_bytes = (uint32_t)status.shm_segsz;
    return 0;
}

/* Returns the guest address it is to be put at, 0 for any, or -errno (do_shmat of ipc/shm.c). */
static int64_t wanted_address(uint32_t guest, int flags)
{
    if (guest == 0)
        return flags & SHM_REMAP ? -EINVAL : 0;
    if (guest % ALIGNMENT == 0)
        return guest;
    if (!(flags & SHM_RND))
        return -EINVAL;
    guest -= guest % ALIGNMENT;
    return guest == 0 && flags & SHM_REMAP ? -EINVAL : (int64_t)guest;
}

static int64_t attach(int id, uint32_t guest, uint32_t size_bytes, int flags, struct attachment *entry)
{
    if (!mr_may_add((int64_t)(mr_page_up(size_bytes) / MR_PAGE_BYTES), 0))
        return -ENOMEM;
    int64_t result = mr_attach(id, guest, ALIGNMENT, size_bytes, flags & SHM_RDONLY, flags & SHM_EXEC, flags & SHM_REMAP);
    if (result < 0)
        return result;
    for (struct attachment **link = &attachments; *link;) { /* one that this has replaced */
        struct attachment *old = *link;
        if (old->guest == (uint32_t)result) {
            *link = old->next;
            free(old);
        } else {
            link = &old->next;
        }
    }
    *entry = (struct attachment){(uint32_t)result, size_bytes, attachments};
    attachments = entry;
    return result;
}

int64_t mr_shmat(int id, uint32_t guest, int flags)
{
    uint32_t size_bytes = 0;
    int64_t wanted = wanted_address(guest, flags);
    int64_t result = wanted < 0 ? wanted : id < 0 ? -EINVAL : size_of(id, &size_bytes);
    if (result < 0)
        return result;
    struct attachment *entry = malloc(sizeof *entry);
    if (!entry)
        return -ENOMEM;
    mr_lock();
    result = attach(id, (uint32_t)wanted, size_bytes, flags, entry);
    if (result >= 0)
        mr_code_gone((uint32_t)result, size_bytes);
    mr_unlock();
    if (result < 0)
        free(entry);
    return result;
}

int64_t mr_shmdt(uint32_t guest)
{
    int64_t result = -EINVAL;
    uint32_t size_bytes = 0;
    mr_lock();
    for (struct attachment **link = &attachments; *link; link = &(*link)->next)
        if ((*link)->guest == guest) {
            struct attachment *entry = *link;
            size_bytes = entry->size_bytes;
            result = mr_detach(guest, size_bytes);
            *link = entry->next;
            free(entry);
            break;
        }
    if (result == 0)
        mr_code_gone(guest, size_bytes);
    mr_unlock();
    return result;
}

SYSCALL(4395, shmget, "dux") { return mr_result(syscall(SYS_shmget, INT(0), (size_t)U32(1), INT(2))); }
SYSCALL(4396, shmctl, "ddp") { return mr_shmctl(INT(0), INT(1), U32(2)); }
SYSCALL(4397, shmat, "dpx") { return mr_shmat(INT(0), U32(1), INT(2)); }
SYSCALL(4398, shmdt, "p") { return mr_shmdt(U32(0)); }
