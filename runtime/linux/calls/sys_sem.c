/* System V semaphores. */
#include "linux/abi.h"
#include "linux/calls/ipc.h"
#include "linux/calls/layout.h"
#include "linux/calls/syscall.h"
#include "linux/host_call.h"
#include "memory/values.h"

#include <errno.h>
#include <linux/sem.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- control: struct semid64_ds and seminfo ---- */

enum { OTIME = 36, CTIME = 40, NSEMS = 44, OTIME_HIGH = 48, CTIME_HIGH = 52, STATUS_BYTES = 56 };
#define MOST_SEMAPHORES 65536u /* the kernel has sixteen bits for a semaphore's number */

static int64_t control(int id, int number, int command, const void *argument)
{
    return mr_result(syscall(SYS_semctl, id, number, command, argument));
}

static int64_t get_status(int id, int command, uint32_t guest)
{
    struct semid64_ds status = {0};
    int64_t result = control(id, 0, command, &status);
    if (result < 0)
        return result;
    uint8_t *to = mr_put_ipc_perm(guest, STATUS_BYTES, &status.sem_perm);
    if (!to)
        return -EFAULT;
    mr_put32(to + OTIME, (uint32_t)status.sem_otime);
    mr_put32(to + OTIME_HIGH, (uint32_t)((uint64_t)status.sem_otime >> 32));
    mr_put32(to + CTIME, (uint32_t)status.sem_ctime);
    mr_put32(to + CTIME_HIGH, (uint32_t)((uint64_t)status.sem_ctime >> 32));
    mr_put32(to + NSEMS, (uint32_t)status.sem_nsems);
    return result;
}

static int64_t set_status(int id, uint32_t guest)
{
    struct semid64_ds status = {0};
    return mr_get_ipc_perm(guest, STATUS_BYTES, &status.sem_perm) ? -EFAULT : control(id, 0, IPC_SET, &status);
}

/* Asked without IPC_STAT's permission to read, since SETALL needs that to write. */
static int64_t count_semaphores(int id, uint32_t *count)
{
    struct semid64_ds status = {0};
    int64_t result = control(id, 0, SEM_STAT_ANY, &status);
    if (result == -EINVAL)
        result = control(id, 0, IPC_STAT, &status);
    *count = result < 0 ? 0 : (uint32_t)status.sem_nsems;
    return result < 0 ? result : 0;
}

static int64_t all_values(int id, int command, uint32_t guest)
{
    uint16_t values[MOST_SEMAPHORES];
    uint32_t count;
    int64_t result = count_semaphores(id, &count);
    if (result < 0)
        return result;
    if (count > MOST_SEMAPHORES)
        return -ENOMEM;
    uint8_t *bytes = mr_guest_bytes(guest, 2 * count, command == SETALL ? MR_READ : MR_WRITE);
    if (!bytes)
        return -EFAULT;
    for (uint32_t i = 0; command == SETALL && i < count; i++)
        values[i] = mr_get16(bytes + 2 * i);
    result = control(id, 0, command, values);
    for (uint32_t i = 0; command == GETALL && result >= 0 && i < count; i++)
        mr_put16(bytes + 2 * i, values[i]);
    return result;
}

static int64_t get_info(int command, uint32_t guest)
{
    struct seminfo info = {0};
    int64_t result = control(0, 0, command, &info);
    const uint32_t words[] = {
        (uint32_t)info.semmap, (uint32_t)info.semmni, (uint32_t)info.semmns, (uint32_t)info.semmnu, (uint32_t)info.semmsl,
        (uint32_t)info.semopm, (uint32_t)info.semume, (uint32_t)info.semusz, (uint32_t)info.semvmx, (uint32_t)info.semaem,
    };
    if (result < 0)
        return result;
    return mr_put_words(guest, words, sizeof words / sizeof *words) ? -EFAULT : result;
}

int64_t mr_semctl(int id, int number, int command, uint32_t argument)
{
    switch (command) {
    case IPC_STAT:
    case SEM_STAT:
    case SEM_STAT_ANY: return get_status(id, command, argument);
    case IPC_SET: return set_status(id, argument);
    case GETALL:
    case SETALL: return all_values(id, command, argument);
    case IPC_INFO:
    case SEM_INFO: return get_info(command, argument);
    case IPC_RMID:
    case SETVAL:
    case GETVAL:
    case GETPID:
    case GETNCNT:
    case GETZCNT: return control(id, number, command, (void *)(uintptr_t)argument);
    default: return -EINVAL;
    }
}

/* ---- operations: struct sembuf ---- */

#define SEMBUF_BYTES 6u
#define MOST_OPERATIONS 32768u /* sysctl kernel.sem allows 500, if nobody changes it */

int64_t mr_semtimedop(int id, uint32_t operations, uint32_t count, uint32_t timeout, enum mr_time_width width)
{
    struct sembuf few[64], *host = few;
    struct timespec time;
    if (timeout && mr_get_timespec(timeout, width, &time))
        return -EFAULT;
    if (count > MOST_OPERATIONS)
        return -E2BIG;
    const uint8_t *from = mr_guest_bytes(operations, SEMBUF_BYTES * count, MR_READ);
    if (!from)
        return -EFAULT;
    if (count > sizeof few / sizeof *few && (host = calloc(count, sizeof *host)) == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++, from += SEMBUF_BYTES)
        host[i] = (struct sembuf){mr_get16(from), (short)mr_get16(from + 2), (short)mr_get16(from + 4)};
    int64_t result = mr_wait_call(SYS_semtimedop, (uint64_t)(int64_t)id, MR_HOST(host), count,
                                  timeout ? MR_HOST(&time) : 0, 0, 0);
    if (host != few)
        free(host);
    return result;
}

SYSCALL(4393, semget, "ddo") { return mr_result(syscall(SYS_semget, INT(0), INT(1), INT(2))); }
SYSCALL(4394, semctl, "dddx") { return mr_semctl(INT(0), INT(1), INT(2), U32(3)); }
SYSCALL(4420, semtimedop_time64, "~dpup") { return mr_semtimedop(INT(0), U32(1), U32(2), U32(3), MR_TIME64); }
