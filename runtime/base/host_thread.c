/* What a host thread has that runs a guest thread. */
#include "base/host_thread.h"

struct mr_state *mr_main_state;
_Thread_local struct mr_state *mr_current;
_Thread_local struct mr_host_thread mr_host_thread;
_Thread_local struct mr_counters mr_counters;
_Thread_local volatile struct mr_doing mr_doing;
