/* futex: waiting on words of guest memory. The host's kernel compares and waits on the same word; only values have to be
 * given to it in guest byte order. */
#include "linux/abi.h"
#include "linux/calls/syscall.h"
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

/* ---- priority inheritance for a big-endian guest ----
 *
 * The kernel writes thread numbers into the word of such a futex, in its own byte order. So for a guest of the other
 * one the word is changed here (kernel/futex/pi.c says how), and waiting is that of a plain futex. Simplification:
 * nobody inherits a priority, and a woken thread may find that another one was faster.
 */

static bool exists(uint32_t thread)
{
    return syscall(SYS_tkill, thread, 0) == 0 || errno != ESRCH;
}

/* Gives the word another value, in guest byte order, if it has the one expected. */
static bool exchange(uint32_t *word, uint32_t expected, uint32_t value)
{
    uint32_t old = mr_swap32(expected);
    return __atomic_compare_exchange_n(word, &old, mr_swap32(value), false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}

/* Waits until the word has another value; returns 0 when it is worth a look, or -errno. */
static int64_t wait_for_owner(const struct mr_call *c, uint32_t value, const struct timespec *timeout)
{
    uint32_t command = COMMAND(U32(1)), flags = U32(1) & (uint32_t)FUTEX_PRIVATE_FLAG;
    if (command == FUTEX_LOCK_PI || U32(1) & FUTEX_CLOCK_REALTIME)
        flags |= FUTEX_CLOCK_REALTIME;
    int64_t result = mr_wait_call(SYS_futex, MR_HOST(mr_user(U32(0), 4)), FUTEX_WAIT_BITSET | flags, mr_swap32(value),
                                  MR_HOST(timeout), 0, FUTEX_BITSET_MATCH_ANY);
    if (result == -EINTR)
        return -ERESTART; /* made again after any handler: ERESTARTNOINTR */
    return result == -EAGAIN ? 0 : result;
}

static int64_t lock(const struct mr_call *c, uint32_t *word, const struct timespec *timeout)
{
    bool tries = COMMAND(U32(1)) == FUTEX_TRYLOCK_PI;
    uint32_t own = (uint32_t)gettid(), others_wait = 0;
    for (;;) {
        uint32_t value = mr_swap32(__atomic_load_n(word, __ATOMIC_SEQ_CST)), owner = value & FUTEX_TID_MASK;
        if (owner == own)
            return -EDEADLK;
        if (owner == 0) {
            if (exchange(word, value, own | others_wait | (value & (FUTEX_OWNER_DIED | FUTEX_WAITERS))))
                return 0;
            continue;
        }
        if (!exists(owner))
            return -ESRCH;
        if (tries)
            return -EAGAIN;
        if (!(value & FUTEX_WAITERS) && !exchange(word, value, value | FUTEX_WAITERS))
            continue;
        others_wait = FUTEX_WAITERS; /* as far as this thread knows, when it has the lock */
        int64_t result = wait_for_owner(c, value | FUTEX_WAITERS, timeout);
        if (result < 0)
            return result;
    }
}

static int64_t unlock(const struct mr_call *c, uint32_t *word)
{
    uint32_t value;
    do {
        value = mr_swap32(__atomic_load_n(word, __ATOMIC_SEQ_CST));
        if ((value & FUTEX_TID_MASK) != (uint32_t)gettid())
            return -EPERM;
    } while (!exchange(word, value, 0));
    syscall(SYS_futex, mr_user(U32(0), 4), FUTEX_WAKE | (U32(1) & FUTEX_PRIVATE_FLAG), 1, NULL, NULL, 0);
    return 0;
}

/* FUTEX_LOCK_PI and its relatives; the timeout, an absolute one, may be NULL. */
static int64_t inherit_here(const struct mr_call *c, const struct timespec *timeout)
{
    uint32_t *word = mr_guest_bytes(U32(0), 4, MR_READ | MR_WRITE);
    if (U32(0) & 3)
        return -EINVAL;
    if (!word)
        return -EFAULT;
    if (COMMAND(U32(1)) == FUTEX_UNLOCK_PI)
        return unlock(c, word);
    return lock(c, word, timeout);
}

/* With priority inheritance, of either guest. */
static int64_t inherit(struct mr_call *c, enum mr_time_width width)
{
    struct timespec timeout;
    bool waits = COMMAND(U32(1)) == FUTEX_LOCK_PI || COMMAND(U32(1)) == FUTEX_LOCK_PI2;
    if (!mr_big_endian)
        return waits ? wait_on_word(c, width) : host_futex(c, U32(2), 0, U32(5));
    if (waits && U32(3) && mr_get_timespec(U32(3), width, &timeout))
        return -EFAULT;
    return inherit_here(c, waits && U32(3) ? &timeout : NULL);
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

/* ---- several at once: struct futex_waitv of linux/futex.h ---- */

#define WAITV_BYTES 24u

static int get_waiters(uint32_t guest, uint32_t count, struct futex_waitv *waiters)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *from = mr_guest_bytes(guest + WAITV_BYTES * i, WAITV_BYTES, MR_READ);
        if (!from)
            return -EFAULT;
        uint64_t value = mr_get64(from), address = mr_get64(from + 8);
        waiters[i].val = value >> 32 ? value : mr_swap32((uint32_t)value);
        waiters[i].uaddr = address >> 32 ? UINT64_MAX << 12 : MR_HOST(mr_user((uint32_t)address, 4));
        waiters[i].flags = mr_get32(from + 16);
        waiters[i].__reserved = mr_get32(from + 20);
        if (address & 3)
            return -EINVAL;
    }
    return 0;
}

SYSCALL(4449, futex_waitv, "puxpd")
{
    struct futex_waitv waiters[FUTEX_WAITV_MAX];
    struct timespec timeout;
    if (U32(2) != 0 || U32(1) == 0 || U32(1) > FUTEX_WAITV_MAX || U32(0) == 0)
        return -EINVAL;
    if (U32(3) && mr_get_timespec(U32(3), MR_TIME64, &timeout))
        return -EFAULT;
    int error = get_waiters(U32(0), U32(1), waiters);
    if (error)
        return error;
    return mr_wait_call(SYS_futex_waitv, MR_HOST(waiters), U32(1), 0, U32(3) ? MR_HOST(&timeout) : 0, U32(4), 0);
}
