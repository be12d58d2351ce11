/* struct sigevent of o32 (asm-generic/siginfo.h): how a timer or a message queue tells that something has happened. */
#include "linux/abi.h"
#include "linux/signals.h"
#include "memory/values.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

enum { EVENT_VALUE = 0, EVENT_SIGNAL = 4, EVENT_NOTIFY = 8, EVENT_THREAD = 12, EVENT_BYTES = 64 };

int mr_get_signal_event(uint32_t guest, struct sigevent *event)
{
    const uint8_t *from = mr_guest_bytes(guest, EVENT_BYTES, MR_READ);
    if (!from)
        return -EFAULT;
    uint32_t value = mr_get32(from + EVENT_VALUE);
    int number = (int)mr_get32(from + EVENT_SIGNAL);
    memset(event, 0, sizeof *event);
    event->sigev_notify = (int)mr_get32(from + EVENT_NOTIFY);
    event->_sigev_un._tid = (pid_t)mr_get32(from + EVENT_THREAD);
    event->sigev_value.sival_ptr = mr_carried_value(0, value);
    event->sigev_signo = number;
    if (event->sigev_notify == SIGEV_NONE)
        return 0;
    if (mr_signal_is_carried(number) && number <= MR_SIGNAL_COUNT) {
        event->sigev_value.sival_ptr = mr_carried_value(number, value);
        event->sigev_signo = MR_CARRIER_SIGNAL;
    } else {
        event->sigev_signo = mr_signal_to_host(number);
    }
    return 0;
}

uint32_t mr_signal_event_word(uint32_t guest, bool of_value)
{
    uint32_t word = 0;
    mr_read32(guest + (of_value ? EVENT_VALUE : EVENT_SIGNAL), &word);
    return word;
}
