/* All guest threads stop together, and go on together: the debugger's all-stop mode.
 *
 * A thread stops of its own at a breakpoint, at a signal, and where another one has stopped (mr_debug_stop). It then waits in
 * this file with complete registers: it is parked. A thread that waits in a system call gets a signal of the host, whose
 * handler parks it; the call goes on afterwards. A thread that does neither in time is in the midst of a host call that
 * cannot be interrupted; the debugger sees its registers, but cannot change them.
 * The thread that stops first tells the debugger, and the server waits for what the debugger wants then.
 */
#include "base/observe.h"
#include "cpu/fpu.h"
#include "gdb/parts.h"
#include "host/host.h"
#include "linux/descriptors.h"
#include "linux/host_call.h"
#include "linux/signals.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MOST_WAIT_SECONDS 1 /* for threads to park */

bool mr_debug_stop;
struct mr_debug_event mr_debug_last_event;
pid_t mr_debug_last_thread;
_Thread_local struct mr_debug_thread mr_debug_this_thread;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static struct mr_debug_thread *threads;
static bool has_control;

void mr_debug_lock(void)
{
    pthread_mutex_lock(&lock);
}

void mr_debug_unlock(void)
{
    pthread_mutex_unlock(&lock);
}

void mr_debug_set_stop(bool stop)
{
    __atomic_store_n(&mr_debug_stop, stop, __ATOMIC_SEQ_CST);
    if (!stop)
        pthread_cond_broadcast(&changed);
}

/* ---- the list ---- */

void mr_debug_enlist(struct mr_state *s)
{
    struct mr_debug_thread *self = &mr_debug_this_thread;
    *self = (struct mr_debug_thread){.number = gettid(), .state = s, .order = MR_DEBUG_RUN};
    struct mr_debug_thread **link = &threads;
    while (*link != NULL)
        link = &(*link)->next;
    *link = self;
}

struct mr_debug_thread *mr_debug_first_thread(void)
{
    return threads;
}

struct mr_debug_thread *mr_debug_find_thread(pid_t number)
{
    struct mr_debug_thread *thread = threads;
    while (thread != NULL && thread->number != number)
        thread = thread->next;
    return thread;
}

bool mr_debug_any_goes_on(void)
{
    for (const struct mr_debug_thread *thread = threads; thread != NULL; thread = thread->next)
        if (thread->order != MR_DEBUG_STAY)
            return true;
    return false;
}

/* ---- parking; under the lock ---- */

static void wait_for_order(void)
{
    struct mr_debug_thread *self = &mr_debug_this_thread;
    if (!mr_debug_stop && self->order != MR_DEBUG_STAY)
        return;
    self->parked = true;
    pthread_cond_broadcast(&changed);
    while (mr_debugging && self->parked)
        pthread_cond_wait(&changed, &lock);
    self->parked = false;
}

/* A thread that may go on counts as one that runs from here on: the next stop waits until it has taken its order. */
static void release_threads(void)
{
    for (struct mr_debug_thread *thread = threads; thread != NULL; thread = thread->next)
        if (thread->order != MR_DEBUG_STAY)
            thread->parked = false;
    mr_debug_set_stop(false);
}

void mr_debug_kick(pid_t number)
{
    siginfo_t info = {0};
    info.si_signo = MR_CARRIER_SIGNAL;
    info.si_code = MR_DEBUG_KICK_CODE;
    info.si_pid = getpid();
    syscall(SYS_rt_tgsigqueueinfo, getpid(), number, MR_CARRIER_SIGNAL, &info);
}

static bool all_parked(void)
{
    for (const struct mr_debug_thread *thread = threads; thread != NULL; thread = thread->next)
        if (thread != &mr_debug_this_thread && !thread->parked)
            return false;
    return true;
}

void mr_debug_await(bool (*reached)(void))
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += MOST_WAIT_SECONDS;
    while (!reached() && pthread_cond_timedwait(&changed, &lock, &until) == 0)
        ;
}

static void stop_others(void)
{
    mr_debug_set_stop(true);
    for (struct mr_debug_thread *thread = threads; thread != NULL; thread = thread->next)
        if (thread != &mr_debug_this_thread && !thread->parked)
            mr_debug_kick(thread->number);
    mr_debug_await(all_parked);
}

void mr_debug_take_control(pid_t number, struct mr_debug_event event)
{
    mr_debug_last_thread = number;
    mr_debug_last_event = event;
    has_control = true;
}

/* ---- threads ---- */

bool mr_debug_report(const struct mr_debug_event *event)
{
    struct mr_debug_thread *self = &mr_debug_this_thread;
    if (!self->in_call)
        mr_fpu_collect(self->state);
    mr_debug_lock();
    bool first = mr_debugging && !mr_debug_stop;
    if (first) {
        stop_others();
        self->reported = true;
        self->reported_pc = self->state->pc;
        mr_debug_take_control(self->number, *event);
        mr_debug_send_stop_reply();
    }
    wait_for_order();
    mr_debug_unlock();
    if (!self->in_call)
        mr_fpu_enter(self->state);
    return first;
}

void mr_debug_park(bool in_call)
{
    struct mr_debug_thread *self = &mr_debug_this_thread;
    if (!in_call)
        mr_fpu_collect(self->state);
    mr_debug_lock();
    self->in_call = in_call;
    wait_for_order();
    self->in_call = false;
    mr_debug_unlock();
    if (!in_call)
        mr_fpu_enter(self->state);
}

void mr_debug_thread_begins(struct mr_state *s)
{
    mr_debug_lock();
    mr_debug_enlist(s);
    mr_debug_unlock();
}

static void delist(void)
{
    struct mr_debug_thread **link = &threads;
    while (*link != NULL && *link != &mr_debug_this_thread)
        link = &(*link)->next;
    if (*link != NULL)
        *link = mr_debug_this_thread.next;
    mr_debug_this_thread.number = 0;
}

/* When the debugger lets some threads go on, and the last of these ends, it has to choose anew. */
void mr_debug_thread_ends(void)
{
    mr_debug_lock();
    if (mr_debug_this_thread.number != 0) {
        delist();
        pthread_cond_broadcast(&changed);
        if (mr_debugging && !mr_debug_stop && threads != NULL && !mr_debug_any_goes_on()) {
            stop_others();
            mr_debug_take_control(threads->number, (struct mr_debug_event){.kind = MR_DEBUG_NO_THREADS});
            mr_debug_send_stop_reply();
        }
    }
    mr_debug_unlock();
}

void mr_debug_forked(void)
{
    if (!mr_debugging)
        return;
    lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    changed = (pthread_cond_t)PTHREAD_COND_INITIALIZER;
    mr_debugging = false;
    mr_debug_set_stop(false);
    threads = NULL;
    mr_debug_this_thread = (struct mr_debug_thread){0};
    mr_own_drop(MR_OWN_DEBUGGER);
    mr_own_drop(MR_OWN_DEBUGGER_WAKE);
    mr_signals_mirror_all();
}

/* At the end of a process: waits while others are stopped. Then no thread stops any more, but for good. */
void mr_debug_freeze(void)
{
    mr_debug_lock();
    while (mr_debugging && mr_debug_stop)
        wait_for_order();
    if (mr_debugging)
        mr_debug_set_stop(true);
    mr_debug_unlock();
}

void mr_debug_unfreeze(void)
{
    mr_debug_lock();
    release_threads();
    mr_debug_unlock();
}

/* Of a guest that dies, under the lock. */
void mr_debug_wait_for_end(void)
{
    pthread_cond_broadcast(&changed);
    while (mr_debug_stop)
        pthread_cond_wait(&changed, &lock);
}

bool mr_debug_kicked(const siginfo_t *info, void *context)
{
    struct mr_debug_thread *self = &mr_debug_this_thread;
    if (info->si_code != MR_DEBUG_KICK_CODE || info->si_pid != getpid())
        return false;
    if (mr_debug_session.post_mortem) {
        mr_debug_stop_here(context);
    } else if (self->number == 0 || !mr_debug_stop) {
        mr_wait_call_go_on(context);
    } else if (mr_kernel_call_waits(context)) {
        mr_debug_park(true);
        mr_debug_end_in_call(context);
    } else {
        mr_wait_call_interrupt(context); /* a call that is about to wait must not */
    }
    return true;
}

/* ---- the server ---- */

bool mr_debug_has_control(void)
{
    mr_debug_lock();
    bool result = has_control;
    mr_debug_unlock();
    return result;
}

/* Returns the thread that is said to be interrupted. */
static pid_t choose_thread(void)
{
    const struct mr_debug_thread *last = mr_debug_find_thread(mr_debug_last_thread), *thread = threads;
    if (last != NULL && last->order != MR_DEBUG_STAY)
        return last->number;
    while (thread != NULL && thread->order == MR_DEBUG_STAY)
        thread = thread->next;
    return thread != NULL ? thread->number : 0;
}

void mr_debug_interrupt(void)
{
    enum { SIGINT_OF_MIPS = 2 };
    mr_debug_lock();
    pid_t number = mr_debugging && !mr_debug_stop ? choose_thread() : 0;
    if (number != 0) {
        stop_others();
        mr_debug_take_control(number, (struct mr_debug_event){.kind = MR_DEBUG_SIGNAL, .signal = SIGINT_OF_MIPS});
        mr_debug_send_stop_reply();
    }
    mr_debug_unlock();
}

void mr_debug_resume(void)
{
    mr_debug_lock();
    has_control = false;
    for (struct mr_debug_thread *thread = threads; thread != NULL; thread = thread->next)
        thread->stepped = false;
    release_threads();
    mr_debug_unlock();
}

void mr_debug_leave(void)
{
    mr_own_drop(MR_OWN_DEBUGGER);
    mr_own_drop(MR_OWN_DEBUGGER_WAKE);
    mr_debug_lock();
    mr_debugging = false;
    has_control = false;
    mr_debug_clear_points();
    mr_debug_set_stop(false);
    mr_debug_unlock();
    mr_signals_mirror_all();
}

void mr_debug_stopped_at_start(bool exec)
{
    mr_debug_lock();
    mr_debug_set_stop(true);
    mr_debug_take_control(mr_debug_this_thread.number,
                          (struct mr_debug_event){exec ? MR_DEBUG_EXEC : MR_DEBUG_SIGNAL, MIPS_SIGTRAP, 0});
    mr_debug_unlock();
}

void mr_debug_await_start(void)
{
    mr_debug_lock();
    while (!all_parked())
        pthread_cond_wait(&changed, &lock);
    mr_debug_unlock();
}
