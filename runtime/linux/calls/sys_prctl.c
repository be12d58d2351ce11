/* prctl. What an option needs is in a table; options that only other machines have, or that would bind the host, are not
 * there: EINVAL, as a kernel without them answers.
 */
#include "linux/abi.h"
#include "linux/calls/syscall.h"
#include "linux/host_call.h"
#include "linux/threads.h"
#include "memory/values.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>

/* Those that older headers of the host lack; linux/prctl.h. */
enum {
    OPTION_GET_SECCOMP = 21, OPTION_SET_SECCOMP = 22, OPTION_SET_MM = 35, OPTION_GET_TID_ADDRESS = 40,
    OPTION_SET_FP_MODE = 45, OPTION_GET_FP_MODE = 46, OPTION_SET_VMA = 0x53564d41, OPTION_SET_PTRACER = 0x59616d61,
};
#define TASK_NAME_BYTES 16

static int64_t pass(struct mr_call *c)
{
    unsigned long arguments[4];
    for (int i = 0; i < 4; i++)
        arguments[i] = (unsigned long)(long)INT(1 + i); /* -1 is a value of some */
    return mr_result(prctl(INT(0), arguments[0], arguments[1], arguments[2], arguments[3]));
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

/* None is in force, and none can be: a filter would see the host's calls. */
static int64_t get_seccomp(struct mr_call *c __attribute__((unused)))
{
    return 0;
}

static int64_t invalid(struct mr_call *c __attribute__((unused)))
{
    return -EINVAL;
}

/* Where code, heap and stack are is the host's. */
static int64_t not_permitted(struct mr_call *c __attribute__((unused)))
{
    return -EPERM;
}

static int64_t get_tid_address(struct mr_call *c)
{
    return mr_write32(U32(1), mr_thread_clear_tid());
}

static int64_t get_fp_mode(struct mr_call *c)
{
    return c->s->fr;
}

/* Code is made for one width of registers. */
static int64_t set_fp_mode(struct mr_call *c)
{
    return U32(1) == c->s->fr ? 0 : -EOPNOTSUPP;
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

static const struct {
    uint32_t option;
    int64_t (*perform)(struct mr_call *);
} options[] = {
    {PR_SET_PDEATHSIG, set_death_signal},
    {PR_GET_PDEATHSIG, get_int},
    {PR_GET_DUMPABLE, pass},
    {PR_SET_DUMPABLE, pass},
    {PR_GET_KEEPCAPS, pass},
    {PR_SET_KEEPCAPS, pass},
    {PR_GET_TIMING, pass},
    {PR_SET_TIMING, pass},
    {PR_SET_NAME, set_name},
    {PR_GET_NAME, get_name},
    {OPTION_GET_SECCOMP, get_seccomp},
    {OPTION_SET_SECCOMP, invalid},
    {PR_CAPBSET_READ, pass},
    {PR_CAPBSET_DROP, pass},
    {PR_GET_SECUREBITS, pass},
    {PR_SET_SECUREBITS, pass},
    {PR_SET_TIMERSLACK, pass},
    {PR_GET_TIMERSLACK, pass},
    {PR_TASK_PERF_EVENTS_DISABLE, pass},
    {PR_TASK_PERF_EVENTS_ENABLE, pass},
    {PR_MCE_KILL, pass},
    {PR_MCE_KILL_GET, pass},
    {OPTION_SET_MM, not_permitted},
    {PR_SET_CHILD_SUBREAPER, pass},
    {PR_GET_CHILD_SUBREAPER, get_int},
    {PR_SET_NO_NEW_PRIVS, pass},
    {PR_GET_NO_NEW_PRIVS, pass},
    {OPTION_GET_TID_ADDRESS, get_tid_address},
    {PR_SET_THP_DISABLE, pass},
    {PR_GET_THP_DISABLE, pass},
    {OPTION_SET_FP_MODE, set_fp_mode},
    {OPTION_GET_FP_MODE, get_fp_mode},
    {47, pass}, /* PR_CAP_AMBIENT */
    {52, pass}, /* PR_GET_SPECULATION_CTRL */
    {53, pass}, /* PR_SET_SPECULATION_CTRL */
    {57, pass}, /* PR_SET_IO_FLUSHER */
    {58, pass}, /* PR_GET_IO_FLUSHER */
    {67, pass}, /* PR_SET_MEMORY_MERGE */
    {68, pass}, /* PR_GET_MEMORY_MERGE */
    {OPTION_SET_VMA, set_vma},
    {OPTION_SET_PTRACER, pass},
};

SYSCALL(4192, prctl, "dxxxx")
{
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        if (options[i].option == U32(0))
            return options[i].perform(c);
    return -EINVAL;
}
