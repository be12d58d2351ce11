/* POSIX message queues. Messages are bytes; what is converted are attributes (struct mq_attr has longs), open flags and how
 * the arrival of a message is told.
 */
#include "linux/abi.h"
#include "linux/calls/layout.h"
#include "linux/calls/syscall.h"
#include "linux/host_call.h"
#include "linux/signals.h"
#include "memory/values.h"

#include <errno.h>
#include <mqueue.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ATTRIBUTES "8l" /* struct mq_attr: flags, most messages, their size, messages now; and four that mean nothing */
#define COOKIE_BYTES 32u /* NOTIFY_COOKIE_LEN of linux/mqueue.h */

static int get_attributes(uint32_t guest, struct mq_attr *attributes)
{
    if (mr_get_struct(ATTRIBUTES, guest, attributes))
        return -EFAULT;
    uint32_t flags = (uint32_t)attributes->mq_flags, known = mr_open_flags_to_mips(O_NONBLOCK);
    attributes->mq_flags = flags & ~known ? -1 : flags & known ? O_NONBLOCK : 0; /* -1: bits that nobody knows */
    return 0;
}

SYSCALL(4271, mq_open, "sfop")
{
    struct mq_attr attributes;
    const char *name = mr_guest_string(U32(0));
    if (!name || (U32(3) && get_attributes(U32(3), &attributes)))
        return -EFAULT;
    return mr_result(syscall(SYS_mq_open, name, mr_open_flags_to_host(U32(1)), U32(2), U32(3) ? &attributes : NULL));
}

SYSCALL(4272, mq_unlink, "s")
{
    const char *name = mr_guest_string(U32(0));
    return name ? mr_result(syscall(SYS_mq_unlink, name)) : -EFAULT;
}

static int64_t send(const struct mr_call *c, enum mr_time_width width)
{
    struct timespec until;
    if (U32(4) && mr_get_timespec(U32(4), width, &until))
        return -EFAULT;
    return mr_wait_call(SYS_mq_timedsend, (uint64_t)FD(0), MR_HOST(mr_user(U32(1), U32(2))), U32(2), U32(3),
                        U32(4) ? MR_HOST(&until) : 0, 0);
}

SYSCALL(4273, mq_timedsend, "Dbuup") { return send(c, MR_TIME32); }
SYSCALL(4418, mq_timedsend_time64, "Dbuup") { return send(c, MR_TIME64); }

static int64_t receive(const struct mr_call *c, enum mr_time_width width)
{
    struct timespec until;
    unsigned priority = 0;
    if (U32(4) && mr_get_timespec(U32(4), width, &until))
        return -EFAULT;
    int64_t size = mr_wait_call(SYS_mq_timedreceive, (uint64_t)FD(0), MR_HOST(mr_user(U32(1), U32(2))), U32(2),
                                MR_HOST(&priority), U32(4) ? MR_HOST(&until) : 0, 0);
    return size >= 0 && U32(3) && mr_write32(U32(3), priority) ? -EFAULT : size;
}

SYSCALL(4274, mq_timedreceive, "DBupp") { return receive(c, MR_TIME32); }
SYSCALL(4419, mq_timedreceive_time64, "DBupp") { return receive(c, MR_TIME64); }

/* SIGEV_THREAD is what libcs make threads from: a socket to tell, and bytes to tell it. */
SYSCALL(4275, mq_notify, "Dp")
{
    struct sigevent event;
    if (U32(1) && mr_get_signal_event(U32(1), &event))
        return -EFAULT;
    if (U32(1) && event.sigev_notify == SIGEV_THREAD) {
        event.sigev_signo = mr_guest_descriptor((int)mr_signal_event_word(U32(1), false));
        event.sigev_value.sival_ptr = mr_user(mr_signal_event_word(U32(1), true), COOKIE_BYTES);
    }
    return mr_result(syscall(SYS_mq_notify, FD(0), U32(1) ? &event : NULL));
}

SYSCALL(4276, mq_getsetattr, "Dpp")
{
    struct mq_attr new, old = {0};
    if (U32(1) && get_attributes(U32(1), &new))
        return -EFAULT;
    if (syscall(SYS_mq_getsetattr, FD(0), U32(1) ? &new : NULL, &old))
        return -errno;
    old.mq_flags = mr_open_flags_to_mips((int)old.mq_flags);
    return U32(2) ? mr_put_struct(ATTRIBUTES, U32(2), &old) : 0;
}
