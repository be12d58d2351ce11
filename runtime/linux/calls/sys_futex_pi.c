/* Futexes with priority inheritance of a big-endian guest, and waiting on several futexes.
 *
 * The kernel writes thread numbers into the word of such a futex, in its own byte order; so for a guest of the other one the
 * word is changed here (kernel/futex/pi.c says how), and waiting is that of a plain futex. Simplification: nobody inherits a
 * priority, and whoever is woken may find that another thread was faster.
 */
#include "linux/abi.h"
#include "linux/calls/clone.h"
#include "linux/host_call.h"
#include "memory/values.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- priority inheritance ---- */

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
    uint32_t command = U32(1) & (uint32_t)FUTEX_CMD_MASK, flags = U32(1) & (uint32_t)FUTEX_PRIVATE_FLAG;
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
    bool tries = (U32(1) & (uint32_t)FUTEX_CMD_MASK) == FUTEX_TRYLOCK_PI;
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

int64_t mr_futex_pi(const struct mr_call *c, const struct timespec *timeout)
{
    uint32_t *word = mr_guest_bytes(U32(0), 4, MR_READ | MR_WRITE);
    if (U32(0) & 3)
        return -EINVAL;
    if (word == NULL)
        return -EFAULT;
    if ((U32(1) & (uint32_t)FUTEX_CMD_MASK) == FUTEX_UNLOCK_PI)
        return unlock(c, word);
    return lock(c, word, timeout);
}

/* ---- several at once: struct futex_waitv of linux/futex.h ---- */

#define WAITV_BYTES 24u

static int get_waiters(uint32_t guest, uint32_t count, struct futex_waitv *waiters)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *from = mr_guest_bytes(guest + WAITV_BYTES * i, WAITV_BYTES, MR_READ);
        if (from == NULL)
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
