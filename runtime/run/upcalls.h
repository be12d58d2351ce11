/* What running guest code asks of the system that the guest sees. Folders above define these functions. */
#ifndef MR_RUN_UPCALLS_H
#define MR_RUN_UPCALLS_H

#include "run/run.h"

#include <stdbool.h>
#include <stdint.h>

/* Delivers what waits and is not blocked; returns the pc to go on at, with the state as it then must be.
 * (linux/signal_delivery.c) */
uint32_t mr_signals_take(struct mr_state *s, uint32_t pc);
extern _Thread_local volatile uint32_t mr_signals_queued; /* how many wait, blocked ones too */
static inline bool mr_signals_waiting(void)
{
    return mr_signals_queued != 0;
}

/* Raises the signal of an access that cannot be made: returns the pc of the guest's handler; without one the guest dies.
 * (linux/exception.c) */
uint32_t mr_raise_access(struct mr_state *s, struct mr_access_fault fault);
/* Whether the guest has a handler for that signal, and lets it in. (linux/exception.c) */
bool mr_access_is_caught(const struct mr_state *s, struct mr_access_fault fault);

#endif
