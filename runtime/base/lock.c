/* The lock of what all guest threads share. */
#include "base/lock.h"

#include <pthread.h>

static pthread_mutex_t shared_lock = PTHREAD_MUTEX_INITIALIZER;

void mr_lock(void)
{
    pthread_mutex_lock(&shared_lock);
}

void mr_unlock(void)
{
    pthread_mutex_unlock(&shared_lock);
}
