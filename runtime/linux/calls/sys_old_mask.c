/* The oldest calls on the signal mask, which know the first 32 signals. */
#include "linux/calls/syscall.h"
#include "linux/signals.h"

SYSCALL(4068, sgetmask, "") { return (uint32_t)mr_thread_signals.blocked.bits[0]; }

SYSCALL(4069, ssetmask, "x")
{
    uint32_t old = (uint32_t)mr_thread_signals.blocked.bits[0];
    mr_signal_block((struct mr_signal_set){{U32(0), 0}});
    return old;
}
