/* Requests about the guest's threads: which there are, what they do, which one the others are about; and those that
 * let them go on: vCont with orders for single threads, and the older c, C, s and S. */
#include "base/kernel_proc.h"
#include "gdb/parts.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#define THREADS_IN_REPLY 500u

/* A number as it stands, or with the process before it: pPROCESS.THREAD, pPROCESS for all its threads. */
static bool take_thread(const char **at, pid_t *number)
{
    uint64_t value;
    if (mr_debug_take(at, 'p')) {
        if (!take_thread(at, number) || (*number > 0 && *number != getpid()))
            return false;
        if (!mr_debug_take(at, '.')) {
            *number = -1;
            return true;
        }
    }
    if (mr_debug_take(at, '-')) {
        *number = -1;
        return mr_debug_take(at, '1');
    }
    if (!mr_debug_take_number(at, &value) || value > INT32_MAX)
        return false;
    *number = (pid_t)value;
    return true;
}

int mr_debug_choose_thread(const char *rest, struct mr_debug_reply *reply)
{
    pid_t number;
    bool general = mr_debug_take(&rest, 'g');
    (void)reply;
    if ((!general && !mr_debug_take(&rest, 'c')) || !take_thread(&rest, &number) ||
        (number > 0 && mr_debug_find_thread(number) == NULL))
        return MR_DEBUG_INVALID;
    *(general ? &mr_debug_session.general : &mr_debug_session.resumed) = number;
    return MR_DEBUG_OK;
}

int mr_debug_tell_alive(const char *rest, struct mr_debug_reply *reply)
{
    pid_t number;
    (void)reply;
    return take_thread(&rest, &number) && mr_debug_find_thread(number) != NULL ? MR_DEBUG_OK : MR_DEBUG_INVALID;
}

int mr_debug_tell_current(const char *rest, struct mr_debug_reply *reply)
{
    const struct mr_debug_thread *thread = mr_debug_general_thread();
    (void)rest;
    if (thread != NULL) {
        mr_debug_add(reply, "QC");
        mr_debug_add_thread(reply, thread->number);
    }
    return MR_DEBUG_ADDED;
}

static int list_threads_from(uint32_t first, struct mr_debug_reply *reply)
{
    uint32_t at = 0;
    for (const struct mr_debug_thread *thread = mr_debug_first_thread(); thread != NULL; thread = thread->next, at++)
        if (at >= first && at < first + THREADS_IN_REPLY) {
            mr_debug_add(reply, "%s", at == first ? "m" : ",");
            mr_debug_add_thread(reply, thread->number);
        }
    if (reply->length == 0)
        mr_debug_add(reply, "l");
    return MR_DEBUG_ADDED;
}

static uint32_t threads_listed;

int mr_debug_list_threads(const char *rest, struct mr_debug_reply *reply)
{
    (void)rest;
    threads_listed = 0;
    return list_threads_from(0, reply);
}

int mr_debug_list_more_threads(const char *rest, struct mr_debug_reply *reply)
{
    (void)rest;
    threads_listed += THREADS_IN_REPLY;
    return list_threads_from(threads_listed, reply);
}

/* The thread's name, and what it does. */
int mr_debug_describe_thread(const char *rest, struct mr_debug_reply *reply)
{
    pid_t number;
    char path[MR_PROC_ROOM], text[80];
    const struct mr_debug_thread *thread = take_thread(&rest, &number) ? mr_debug_find_thread(number) : NULL;
    if (thread == NULL)
        return MR_DEBUG_INVALID;
    int proc = mr_proc_at(path, "self/task/%d/comm", (int)number), fd = openat(proc, path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, text, 32);
    if (fd >= 0)
        close(fd);
    size_t count = got > 0 && text[got - 1] == '\n' ? (size_t)got - 1 : got > 0 ? (size_t)got : 0;
    int more = snprintf(text + count, sizeof text - count, "%s",
                        thread->in_call ? " (in a system call)" : thread->parked ? "" : " (busy in a system call)");
    mr_debug_add_hex(reply, text, count + (size_t)more);
    return MR_DEBUG_ADDED;
}

/* ---- orders ---- */

struct order {
    enum mr_debug_order order;
    int signal; /* MIPS number, or 0 */
};

/* Reads c, Cxx, s, Sxx or t. */
static bool take_order(const char **at, struct order *order)
{
    char letter = **at;
    uint64_t signal = 0;
    *order = (struct order){letter == 's' || letter == 'S' ? MR_DEBUG_STEP : MR_DEBUG_RUN, 0};
    if (letter == 't')
        order->order = MR_DEBUG_STAY;
    else if (letter != 'c' && letter != 'C' && letter != 's' && letter != 'S')
        return false;
    ++*at;
    if ((letter == 'C' || letter == 'S') && !mr_debug_take_number(at, &signal))
        return false;
    order->signal = signal > 255 ? 0 : mr_debug_signal_to_mips((int)signal);
    return true;
}

static void forget_orders(void)
{
    for (struct mr_debug_thread *thread = mr_debug_first_thread(); thread != NULL; thread = thread->next) {
        thread->ordered = false;
        thread->order = MR_DEBUG_STAY;
        thread->signal = 0;
    }
}

/* The first order for a thread counts. */
static void give_order(pid_t number, const struct order *order)
{
    for (struct mr_debug_thread *thread = mr_debug_first_thread(); thread != NULL; thread = thread->next)
        if (!thread->ordered && (number == -1 || thread->number == number)) {
            thread->ordered = true;
            thread->order = order->order;
            thread->signal = order->signal;
        }
}

/* A guest that is dying dies. */
static int go_on(void)
{
    if (!mr_debug_any_goes_on())
        return MR_DEBUG_INVALID;
    if (mr_debug_session.post_mortem)
        mr_debug_session.over = true;
    else
        mr_debug_resume();
    return MR_DEBUG_SILENT;
}

/* rest: ";ORDER[:THREAD]"... Without a thread it is for all that have none yet. */
int mr_debug_vcont(const char *rest, struct mr_debug_reply *reply)
{
    (void)reply;
    forget_orders();
    while (mr_debug_take(&rest, ';')) {
        struct order order;
        pid_t number = -1;
        if (!take_order(&rest, &order) || (mr_debug_take(&rest, ':') && !take_thread(&rest, &number)))
            break;
        give_order(number, &order);
    }
    if (*rest != 0)
        forget_orders();
    return go_on();
}

/* c[ADDRESS], CSIGNAL[;ADDRESS] and the same with s, for the thread that Hc has chosen; the others go on as well. */
int mr_debug_plain_resume(const char *rest, struct mr_debug_reply *reply)
{
    const char *packet = rest - 1;
    struct mr_debug_thread *thread = mr_debug_find_thread(mr_debug_session.resumed);
    uint64_t address;
    struct order order;
    const struct order run = {MR_DEBUG_RUN, 0};
    (void)reply;
    if (thread == NULL)
        thread = mr_debug_general_thread();
    forget_orders();
    if (thread != NULL && take_order(&packet, &order)) {
        mr_debug_take(&packet, ';');
        if (mr_debug_take_number(&packet, &address)) {
            thread->state->pc = (uint32_t)address;
            thread->changed = true;
        }
        give_order(thread->number, &order);
        if (mr_debug_session.resumed <= 0)
            give_order(-1, &run);
    }
    return go_on();
}
