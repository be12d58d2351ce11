/* Why the guest has stopped, as the debugger is told: T05, the thread, and the kind of stop. */
#include "base/options.h"
#include "gdb/parts.h"

#include <string.h>
#include <unistd.h>

static void add_kind(struct mr_debug_reply *reply)
{
    static const char *const watches[] = {
        [MR_DEBUG_WATCH] = "watch", [MR_DEBUG_READ_WATCH] = "rwatch", [MR_DEBUG_ACCESS_WATCH] = "awatch",
        [MR_DEBUG_NO_THREADS] = NULL,
    };
    const struct mr_debug_event *event = &mr_debug_last_event;
    if (watches[event->kind] != NULL)
        mr_debug_add(reply, "%s:%x;", watches[event->kind], event->address);
    if (event->kind == MR_DEBUG_BREAK && (mr_debug_session.features & MR_DEBUG_KNOWS_SWBREAK))
        mr_debug_add(reply, "swbreak:;");
    if (event->kind == MR_DEBUG_EXEC && (mr_debug_session.features & MR_DEBUG_KNOWS_EXEC)) {
        mr_debug_add(reply, "exec:");
        mr_debug_add_hex(reply, mr_options.program_name, strlen(mr_options.program_name));
        mr_debug_add(reply, ";");
    }
}

void mr_debug_add_thread(struct mr_debug_reply *reply, pid_t number)
{
    if (mr_debug_session.features & MR_DEBUG_KNOWS_PROCESSES)
        mr_debug_add(reply, "p%x.", (unsigned)getpid());
    mr_debug_add(reply, "%x", (unsigned)number);
}

/* pc comes along, so that the debugger need not ask for it. */
void mr_debug_make_stop_reply(struct mr_debug_reply *reply)
{
    const struct mr_debug_thread *thread = mr_debug_find_thread(mr_debug_last_thread);
    uint8_t pc[8] = {0};
    if (thread == NULL)
        thread = mr_debug_first_thread();
    if (mr_debug_last_event.kind == MR_DEBUG_NO_THREADS && (mr_debug_session.features & MR_DEBUG_KNOWS_NO_RESUMED)) {
        mr_debug_add(reply, "N");
        return;
    }
    mr_debug_add(reply, "T%02x", (unsigned)mr_debug_signal_from_mips(mr_debug_last_event.signal));
    if (thread != NULL) {
        mr_debug_get_register(thread, MR_DEBUG_PC, pc);
        mr_debug_add(reply, "%x:", (unsigned)MR_DEBUG_PC);
        mr_debug_add_hex(reply, pc, 4);
        mr_debug_add(reply, ";thread:");
        mr_debug_add_thread(reply, thread->number);
        mr_debug_add(reply, ";");
    }
    add_kind(reply);
}

void mr_debug_send_stop_reply(void)
{
    struct mr_debug_reply reply = {.length = 0};
    mr_debug_make_stop_reply(&reply);
    mr_debug_send(&reply);
}
