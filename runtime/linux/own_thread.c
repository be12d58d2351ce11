/* Threads of the host's own: they run no guest code, and get none of its signals. */
#include "base/lock.h"
#include "linux/signals.h"
#include "linux/threads.h"

#include <pthread.h>

int mr_own_thread_make(void *(*body)(void *), size_t stack_bytes)
{
    pthread_attr_t attributes;
    pthread_t thread;
    mr_signals_own_reserved();
    uint64_t mask = mr_signals_set_host_mask(~(uint64_t)0);
    pthread_attr_init(&attributes);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, stack_bytes);
    mr_lock();
    int error = pthread_create(&thread, &attributes, body, NULL);
    mr_signals_keep_reserved();
    mr_unlock();
    pthread_attr_destroy(&attributes);
    mr_signals_set_host_mask(mask);
    return error;
}
