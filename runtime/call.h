/* mipsrec call: runs one function of the guest. */
#ifndef MR_CALL_H
#define MR_CALL_H

#include "mr_state.h"

_Noreturn void mr_call_function(struct mr_state *s);

#endif
