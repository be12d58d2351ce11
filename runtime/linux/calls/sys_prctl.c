/* prctl. Options that only other machines have, or that would bind the host, are not there: EINVAL, as a kernel without
 * them answers. So is PR_SET_SECCOMP: a filter would see the host's calls.
 */
#include "linux/abi.h"
#include "linux/calls/syscall.h"
#include "linux/host_call.h"
#include "linux/threads.h"
#include "memory/values.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>

/* Those that older headers of the host lack; linux/prctl.h. */
enum {
    OPTION_GET_SECCOMP = 21, OPTION_SET_MM = 35, OPTION_GET_TID_ADDRESS = 40, OPTION_SET_FP_MODE = 45,
    OPTION_GET_FP_MODE = 46, OPTION_CAP_AMBIENT = 47, OPTION_GET_SPECULATION_CTRL = 52,
    OPTION_SET_SPECULATION_CTRL = 53, OPTION_SET_IO_FLUSHER = 57, OPTION_GET_IO_FLUSHER = 58,
    OPTION_SET_MEMORY_MERGE = 67, OPTION_GET_MEMORY_MERGE = 68, OPTION_SET_VMA = 0x53564d41,
    OPTION_SET_PTRACER = 0x59616d61,
};

/* Those that the host does as they are. */
static const uint32_t passed[] = {
    PR_GET_DUMPABLE, PR_SET_DUMPABLE, PR_GET_KEEPCAPS, PR_SET_KEEPCAPS, PR_GET_TIMING, PR_SET_TIMING, PR_CAPBSET_READ,
    PR_CAPBSET_DROP, PR_GET_SECUREBITS, PR_SET_SECUREBITS, PR_SET_TIMERSLACK, PR_GET_TIMERSLACK,
    PR_TASK_PERF_EVENTS_DISABLE, PR_TASK_PERF_EVENTS_ENABLE, PR_MCE_KILL, PR_MCE_KILL_GET, PR_SET_CHILD_SUBREAPER,
    PR_SET_NO_NEW_PRIVS, PR_GET_NO_NEW_PRIVS, PR_SET_THP_DISABLE, PR_GET_THP_DISABLE, OPTION_CAP_AMBIENT,
    OPTION_GET_SPECULATION_CTRL, OPTION_SET_SPECULATION_CTRL, OPTION_SET_IO_FLUSHER, OPTION_GET_IO_FLUSHER,
    OPTION_SET_MEMORY_MERGE, OPTION_GET_MEMORY_MERGE, OPTION_SET_PTRACER,
};
#define TASK_NAME_BYTES 16

static int64_t pass(struct mr_call *c)
{
    unsigned long arguments[4];
    for (int i = 0; i < 4; i++)
        arguments[i] = (unsigned long)(long)INT(1 + i); /* -1 is a value of some */
    for (size_t i = 0; i < sizeof passed / sizeof *passed; i++)
        if (passed[i] == U32(0))
            return mr_result(prctl(INT(0), arguments[0], arguments[1], arguments[2], arguments[3]));
    return -EINVAL;
}

/* Answers that go to an int in guest memory. */
static int64_t get_int(struct mr_call *c)
{
    int value = 0;
    if (prctl(INT(0), &value))
        return -errno;
    return mr_write32(U32(1), (uint32_t)(U32(0) == PR_GET_PDEATHSIG ? mr_signal_to_mips(value) : value));
}

static int64_t set_death_signal(struct mr_call *c)
{
    int host_signal = mr_signal_to_host(INT(1));
    if (INT(1) != 0 && host_signal == 0)
        return -EINVAL;
    return mr_result(prctl(PR_SET_PDEATHSIG, (unsigned long)host_signal));
}

static int64_t get_name(struct mr_call *c)
{
    char name[TASK_NAME_BYTES] = {0};
    uint8_t *to = mr_guest_bytes(U32(1), TASK_NAME_BYTES, MR_WRITE);
    prctl(PR_GET_NAME, name);
    if (to)
        memcpy(to, name, TASK_NAME_BYTES);
    return to ? 0 : -EFAULT;
}

/* As strncpy_from_user: what follows the name need not be there. */
static int64_t set_name(struct mr_call *c)
{
    char name[TASK_NAME_BYTES] = {0};
    for (uint32_t i = 0; i < TASK_NAME_BYTES - 1; i++) {
        const char *from = mr_guest_bytes(U32(1) + i, 1, MR_READ);
        if (!from)
            return -EFAULT;
        if ((name[i] = *from) == 0)
            break;
    }
    return mr_result(prctl(PR_SET_NAME, name));
}

/* Of a range of anonymous memory. */
static int64_t set_vma(struct mr_call *c)
{
    const char *name = U32(4) ? mr_guest_string(U32(4)) : NULL;
    if (U32(1) != 0 || U32(2) % MR_PAGE_BYTES)
        return -EINVAL;
    if (U32(4) && !name)
        return -EFAULT;
    if (!mr_accessible(U32(2), U32(3), MR_MAPPED))
        return -ENOMEM;
    return mr_result(prctl(OPTION_SET_VMA, 0ul, mr_user(U32(2), U32(3)), (unsigned long)U32(3), name));
}

SYSCALL(4192, prctl, "dxxxx")
{
    switch (U32(0)) {
    case PR_SET_PDEATHSIG: return set_death_signal(c);
    case PR_GET_PDEATHSIG:
    case PR_GET_CHILD_SUBREAPER: return get_int(c);
    case PR_SET_NAME: return set_name(c);
    case PR_GET_NAME: return get_name(c);
    case OPTION_GET_SECCOMP: return 0;   /* none is in force, and none can be */
    case OPTION_SET_MM: return -EPERM;   /* where code, heap and stack are is the host's */
    case OPTION_GET_TID_ADDRESS: return mr_write32(U32(1), mr_thread_clear_tid());
    case OPTION_SET_FP_MODE: return U32(1) == c->s->fr ? 0 : -EOPNOTSUPP; /* code is made for one width of registers */
    case OPTION_GET_FP_MODE: return c->s->fr;
    case OPTION_SET_VMA: return set_vma(c);
    default: return pass(c);
    }
}
