/* A debugging session from its begin to its end: at the start of a program, over execve, and until the guest ends.
 *
 * Enters: the options. Leaves: the connection as a descriptor of the host's own, and the server's thread. The guest does not
 * see that thread but in /proc/self/task. It blocks all signals, so that the guest's come to the guest's threads.
 */
#include "base/messages.h"
#include "base/observe.h"
#include "base/options.h"
#include "gdb/gdb.h"
#include "gdb/parts.h"
#include "linux/descriptors.h"
#include "linux/signals.h"
#include "linux/threads.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SERVER_STACK_BYTES ((size_t)1 << 20)

struct mr_debug_session mr_debug_session;

/* ---- over execve: the argument of --gdb-fd is descriptor:flags:signals,signals,signals in hexadecimal ---- */

enum { WITHOUT_ACKNOWLEDGEMENTS = 1 }; /* beside the features */

static struct users {
    uid_t real, effective, saved;
} users; /* of this process when the debugger came */

static struct users users_now(void)
{
    struct users now;
    getresuid(&now.real, &now.effective, &now.saved);
    return now;
}

/* Processes of the executed program's user could take the connection, and ask the debugger to write files (the protocol's
 * File-I/O), which is another user's. */
static bool is_for_another_user(void)
{
    struct users now = users_now();
    return now.real != users.real || now.effective != users.effective || now.saved != users.saved;
}

const char *mr_debug_hand_on(void)
{
    static char text[80];
    const struct mr_debug_session *session = &mr_debug_session;
    if (!mr_debugging)
        return NULL;
    if (is_for_another_user()) {
        mr_print_error("mipsrec-host: the program goes on without the debugger: it has another user now\n");
        return NULL;
    }
    fcntl(mr_own_descriptor(MR_OWN_DEBUGGER), F_SETFD, 0);
    unsigned flags = session->features | (mr_debug_acknowledges() ? 0 : WITHOUT_ACKNOWLEDGEMENTS);
    snprintf(text, sizeof text, "%x:%x:%llx,%llx,%llx", (unsigned)mr_own_descriptor(MR_OWN_DEBUGGER), flags,
             (unsigned long long)session->passed[0], (unsigned long long)session->passed[1],
             (unsigned long long)session->passed[2]);
    return text;
}

static void take_over(const char *text)
{
    struct mr_debug_session *session = &mr_debug_session;
    uint64_t fd = 0, flags = 0;
    bool right = mr_debug_take_number(&text, &fd) && mr_debug_take(&text, ':') && mr_debug_take_number(&text, &flags);
    for (int i = 0; i < 3 && right; i++)
        right = mr_debug_take(&text, i == 0 ? ':' : ',') && mr_debug_take_number(&text, &session->passed[i]);
    if (!right || fd > INT32_MAX || fcntl((int)fd, F_GETFD) < 0)
        mr_fail("--gdb-fd is for executed programs only");
    session->features = (unsigned)flags & ~(unsigned)WITHOUT_ACKNOWLEDGEMENTS;
    mr_own_keep(MR_OWN_DEBUGGER, (int)fd);
    mr_debug_connection(flags & WITHOUT_ACKNOWLEDGEMENTS);
}

static void executes(void)
{
    if (!mr_debugging)
        return;
    mr_debug_freeze();
    mr_debug_session.executes = true;
    mr_signals_mirror_all();
}

static void executes_not(void)
{
    if (!mr_debugging)
        return;
    fcntl(mr_own_descriptor(MR_OWN_DEBUGGER), F_SETFD, FD_CLOEXEC);
    mr_debug_session.executes = false;
    mr_signals_mirror_all();
    mr_debug_unfreeze();
}

/* ---- the start ---- */

static void *serve(void *unused)
{
    mr_signals_set_host_mask(~(uint64_t)0); /* the libc lets signal 32 in */
    mr_debug_await_start();
    mr_debug_serve();
    mr_debug_take_rights(true);
    if (mr_debugging)
        mr_debug_leave();
    return unused;
}

static void make_server(void)
{
    users = users_now();
    int error = mr_own_thread_make(serve, SERVER_STACK_BYTES);
    if (error != 0)
        mr_fail("cannot make a thread for the debugger: %s", strerror(error));
}

static void observe(void)
{
    mr_observe.debug_thread_begins = mr_debug_thread_begins;
    mr_observe.debug_thread_ends = mr_debug_thread_ends;
    mr_observe.debug_forked = mr_debug_forked;
    mr_observe.debug_run = mr_debug_run;
    mr_observe.debug_holds_call = mr_debug_holds_call;
    mr_observe.debug_moved = mr_debug_moved;
    mr_observe.debug_ask_signal = mr_debug_ask_signal;
    mr_observe.debug_ask_in_call = mr_debug_ask_in_call;
    mr_observe.debug_rights_changed = mr_debug_rights_changed;
    mr_observe.debug_takes = mr_debug_wants_signal;
    mr_observe.debug_kicked = mr_debug_kicked;
    mr_observe.debug_executes = executes;
    mr_observe.debug_executes_not = executes_not;
}

void mr_debug_start(struct mr_state *s)
{
    bool executed = mr_options.gdb_handed_on != NULL;
    if (mr_options.gdb != NULL || mr_options.gdb_on_crash != NULL || executed)
        observe();
    if (mr_options.gdb_on_crash != NULL)
        mr_signals_mirror_all();
    if (mr_options.gdb == NULL && !executed)
        return;
    if (executed) {
        take_over(mr_options.gdb_handed_on);
    } else {
        int fd = mr_debug_accept(mr_options.gdb);
        if (fd < 0)
            _exit(1);
        mr_own_keep(MR_OWN_DEBUGGER, fd);
        mr_debug_connection(false);
    }
    mr_debug_rights_start();
    mr_debugging = true;
    mr_debug_thread_begins(s);
    mr_debug_stopped_at_start(executed);
    mr_signals_mirror_all();
    make_server();
    if (executed)
        mr_debug_send_stop_reply();
}

/* ---- the end ---- */

static void say_end(char kind, int number)
{
    struct mr_debug_reply reply = {.length = 0};
    mr_debug_add(&reply, "%c%02x", kind, (unsigned)number);
    if (mr_debug_session.features & MR_DEBUG_KNOWS_PROCESSES)
        mr_debug_add(&reply, ";process:%x", (unsigned)getpid());
    mr_debug_send(&reply);
}

void mr_debug_exits(int status)
{
    if (!mr_debugging)
        return;
    mr_debug_freeze();
    if (mr_debugging)
        say_end('W', status & 0xff);
}

void mr_debug_dies(int mips_signal)
{
    if (!mr_debugging && !mr_debug_session.post_mortem)
        return;
    if (mr_debugging)
        mr_debug_freeze();
    say_end('X', mr_debug_signal_from_mips(mips_signal));
}
