/* futex: waiting on words of guest memory. The host's kernel compares and waits on the same word; only values have to be
 * given to it in guest byte order. */
#include "linux/abi.h"
#include "linux/calls/clone.h"
#include "linux/host_call.h"
#include "memory/values.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COMMAND(operation) ((operation) & ~(uint32_t)(FUTEX_PRIVATE_FLAG | FUTEX_CLOCK_REALTIME))

static int64_t host_futex(struct mr_call *c, uint32_t value, uintptr_t timeout, uint32_t value3)
{
    return mr_wait_call(SYS_futex, MR_HOST(mr_user(U32(0), 4)), U32(1), value, timeout, MR_HOST(mr_user(U32(4), 4)),
                        value3);
}

/* A wait with a timeout is not made again after a handler (futex_wait of kernel/futex/waitwake.c: ERESTART_RESTARTBLOCK). */
static int64_t wait_on_word(struct mr_call *c, enum mr_time_width width)
{
    struct timespec timeout;
    if (U32(3) && mr_get_timespec(U32(3), width, &timeout))
        return -EFAULT;
    c->for_good = U32(3) && (COMMAND(U32(1)) == FUTEX_WAIT || COMMAND(U32(1)) == FUTEX_WAIT_BITSET);
    return host_futex(c, mr_swap32(U32(2)), U32(3) ? (uintptr_t)&timeout : 0, U32(5));
}

/* The new value of the second word of FUTEX_WAKE_OP. */
static uint32_t wake_op_result(uint32_t operation, uint32_t old, uint32_t argument)
{
    switch (operation) {
    case FUTEX_OP_SET: return argument;
    case FUTEX_OP_ADD: return old + argument;
    case FUTEX_OP_OR: return old | argument;
    case FUTEX_OP_ANDN: return old & ~argument;
    default: return old ^ argument;
    }
}

static bool wake_op_compares(uint32_t comparison, int32_t old, int32_t argument)
{
    switch (comparison) {
    case FUTEX_OP_CMP_EQ: return old == argument;
    case FUTEX_OP_CMP_NE: return old != argument;
    case FUTEX_OP_CMP_LT: return old < argument;
    case FUTEX_OP_CMP_LE: return old <= argument;
    case FUTEX_OP_CMP_GT: return old > argument;
    default: return old >= argument;
    }
}

/* The kernel would do arithmetic on the word in its own byte order, so a big-endian guest's is done here. */
static int64_t wake_with_operation(struct mr_call *c)
{
    uint32_t encoded = U32(5), operation = encoded >> 28 & 7, comparison = encoded >> 24 & 15;
    uint32_t argument = (uint32_t)((int32_t)(encoded << 8) >> 20);
    uint32_t *word = mr_guest_bytes(U32(4), 4, MR_WRITE);
    if (U32(4) & 3)
        return -EINVAL;
    if (!word)
        return -EFAULT;
    if (encoded >> 31)
        argument = (uint32_t)1 << (argument & 31);
    uint32_t old = __atomic_load_n(word, __ATOMIC_SEQ_CST);
    while (!__atomic_compare_exchange_n(word, &old, mr_swap32(wake_op_result(operation, mr_swap32(old), argument)), false,
                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
        ;
    uint32_t private_flag = U32(1) & FUTEX_PRIVATE_FLAG;
    int64_t woken = mr_result(syscall(SYS_futex, mr_user(U32(0), 4), FUTEX_WAKE | private_flag, U32(2), NULL, NULL, 0));
    if (woken >= 0 && wake_op_compares(comparison, (int32_t)mr_swap32(old), (int32_t)(encoded << 20) >> 20))
        woken += syscall(SYS_futex, mr_user(U32(4), 4), FUTEX_WAKE | private_flag, U32(3), NULL, NULL, 0);
    return woken;
}

/* With priority inheritance: the kernel writes thread numbers into the word, in its own byte order. */
static int64_t inherit(struct mr_call *c, enum mr_time_width width)
{
    struct timespec timeout;
    bool waits = COMMAND(U32(1)) == FUTEX_LOCK_PI || COMMAND(U32(1)) == FUTEX_LOCK_PI2;
    if (!mr_big_endian)
        return waits ? wait_on_word(c, width) : host_futex(c, U32(2), 0, U32(5));
    if (waits && U32(3) && mr_get_timespec(U32(3), width, &timeout))
        return -EFAULT;
    return mr_futex_pi(c, waits && U32(3) ? &timeout : NULL);
}

static int64_t futex(struct mr_call *c, enum mr_time_width width)
{
    switch (COMMAND(U32(1))) {
    case FUTEX_WAIT:
    case FUTEX_WAIT_BITSET: return wait_on_word(c, width);
    case FUTEX_WAKE:
    case FUTEX_WAKE_BITSET:
    case FUTEX_REQUEUE: return host_futex(c, U32(2), U32(3), U32(5));
    case FUTEX_CMP_REQUEUE: return host_futex(c, U32(2), U32(3), mr_swap32(U32(5)));
    case FUTEX_WAKE_OP: return mr_big_endian ? wake_with_operation(c) : host_futex(c, U32(2), U32(3), U32(5));
    case FUTEX_LOCK_PI:
    case FUTEX_LOCK_PI2:
    case FUTEX_UNLOCK_PI:
    case FUTEX_TRYLOCK_PI: return inherit(c, width);
    case FUTEX_WAIT_REQUEUE_PI: return mr_big_endian ? -ENOSYS : wait_on_word(c, width);
    case FUTEX_CMP_REQUEUE_PI: return mr_big_endian ? -ENOSYS : host_futex(c, U32(2), U32(3), U32(5));
    default: return -ENOSYS;
    }
}

SYSCALL(4238, futex, "pdxppx") { return futex(c, MR_TIME32); }
SYSCALL(4422, futex_time64, "pdxppx") { return futex(c, MR_TIME64); }
