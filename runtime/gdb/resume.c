/* Packets that let the guest go on: vCont with orders for single threads, and the older c, C, s and S. */
#include "gdb/parts.h"

#include <unistd.h>

/* ---- parts of the packets ---- */

/* A number as it stands, or with the process before it: pPROCESS.THREAD, pPROCESS for all its threads. */
bool mr_debug_take_thread(const char **at, pid_t *number)
{
    uint64_t value;
    if (mr_debug_take(at, 'p')) {
        if (!mr_debug_take_thread(at, number) || (*number > 0 && *number != getpid()))
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

/* ---- orders ---- */

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
        if (!take_order(&rest, &order) || (mr_debug_take(&rest, ':') && !mr_debug_take_thread(&rest, &number)))
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
