/* --gdb-on-crash: a guest that is about to die of a signal that would make it dump core waits for a debugger.
 *
 * The thread that dies is the server, so that nothing new is needed in a process whose state nobody knows. All others stop
 * where they are, also in the midst of recompiled code: their registers are as exact as the tier has them. They go on only
 * for the process to end, so the debugger may look, but not let the guest live.
 */
#include "base/observe.h"
#include "base/options.h"
#include "cpu/fpu.h"
#include "gdb/gdb.h"
#include "gdb/parts.h"
#include "linux/descriptors.h"
#include "linux/fault.h"
#include "linux/signals.h"
#include "linux/threads.h"
#include "memory/memory.h"

#include <unistd.h>

#define MOST_THREADS 1024

static int expected;

bool mr_debug_dumps_core(int mips_signal)
{
    enum { SIGQUIT_ = 3, SIGABRT_ = 6, SIGSYS_ = 12, SIGXCPU_ = 30, SIGXFSZ_ = 31 };
    switch (mips_signal) {
    case SIGQUIT_: case MIPS_SIGILL: case MIPS_SIGTRAP: case SIGABRT_: case MIPS_SIGFPE: case MIPS_SIGBUS:
    case MIPS_SIGSEGV: case SIGSYS_: case SIGXCPU_: case SIGXFSZ_:
        return true;
    default:
        return false;
    }
}

static bool all_here(void)
{
    int count = 0;
    for (const struct mr_debug_thread *thread = mr_debug_first_thread(); thread != NULL; thread = thread->next)
        count++;
    return count >= expected;
}

/* Under the lock. */
static void wait_here(struct mr_state *s)
{
    mr_debug_enlist(s);
    mr_debug_this_thread.parked = true;
    mr_debug_wait_for_end();
}

/* In a handler of the host, anywhere. All who take the lock at such a time block signals, or are here. */
void mr_debug_stop_here(const void *context)
{
    struct mr_state *s = mr_current;
    if (s == NULL || mr_debug_this_thread.number != 0 || !mr_debug_stop)
        return;
    s->pc = mr_interrupted_pc(s, context);
    mr_debug_lock();
    wait_here(s);
    mr_debug_unlock();
}

/* What is known of the signal of a fault: why the page may not be accessed. */
static void note_signal(struct mr_debug_event event)
{
    bool fault = event.signal == MIPS_SIGSEGV || event.signal == MIPS_SIGBUS;
    bool mapped = (mr_pages[event.address / MR_PAGE_BYTES] & MR_MAPPED) != 0;
    int code = event.signal == MIPS_SIGSEGV ? (mapped ? SEGV_ACCERR : SEGV_MAPERR) : BUS_ADRERR;
    const struct mr_signal_info info = {.signal = event.signal, .code = fault ? code : 0, .words = {event.address}};
    if (fault)
        mr_debug_note_signal(&mr_debug_this_thread, &info);
}

/* Returns false in a thread that dies while another one does; that takes it along. */
static bool stop_all(struct mr_state *s, struct mr_debug_event event)
{
    pid_t numbers[MOST_THREADS];
    int count = mr_threads_numbers(numbers, MOST_THREADS);
    mr_debug_lock();
    bool first = !mr_debug_session.post_mortem;
    if (!first) {
        wait_here(s);
    } else {
        mr_debug_session.post_mortem = true;
        mr_debug_set_stop(true);
        mr_debug_enlist(s);
        mr_debug_this_thread.parked = true;
        note_signal(event);
        for (int i = 0; i < count; i++)
            if (numbers[i] != gettid())
                mr_debug_kick(numbers[i]);
        expected = count;
        mr_debug_await(all_here);
        mr_debug_take_control(gettid(), event);
    }
    mr_debug_unlock();
    return first;
}

void mr_debug_crash(struct mr_state *s, int mips_signal, uint32_t pc, uint32_t address)
{
    if (mr_options.gdb_on_crash == NULL || mr_debugging || !mr_debug_dumps_core(mips_signal))
        return;
    uint64_t mask = mr_signals_set_host_mask(~(uint64_t)0);
    mr_fpu_collect(s);
    s->pc = pc;
    if (stop_all(s, (struct mr_debug_event){MR_DEBUG_SIGNAL, mips_signal, address})) {
        mr_signals_set_host_mask(mask); /* a user who waits too long may interrupt it */
        int fd = mr_debug_accept(mr_options.gdb_on_crash);
        if (fd >= 0) {
            mr_own_keep(MR_OWN_DEBUGGER, fd);
            mr_debug_connection(false);
            mr_debug_serve();
        }
        mr_debug_lock();
        mr_debug_set_stop(false); /* others may hold what the end of this one needs */
        mr_debug_unlock();
    }
    mr_signals_set_host_mask(mask);
}
