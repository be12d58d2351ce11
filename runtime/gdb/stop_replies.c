/* Why the guest has stopped, as the debugger is told: T05, the thread, and the kind of stop. And the protocol's
 * numbers of signals. */
#include "base/options.h"
#include "cpu/registers.h"
#include "gdb/parts.h"

#include <string.h>
#include <unistd.h>

/* Signals as the protocol numbers them, the same for all machines (gdb's manual, appendix "Remote Serial Protocol", and
 * include/gdb/signals.def); and as Linux numbers them on MIPS. */
enum {
    TO_31 = 32,            /* signals that have names */
    REALTIME_32 = 77, REALTIME_33 = 45, REALTIME_63 = 75, REALTIME_64 = 78, REALTIME_127 = 141, UNKNOWN = 143,
};

static const uint8_t of_mips[TO_31] = {
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, /* HUP to TERM: the same */
    30, 31, 20, 32, 28, 16, 23, 17, 18, 19, 21, 22, 26, 27, 24, 25, /* USR1 USR2 CHLD PWR WINCH URG IO STOP ... XFSZ */
};

int mr_debug_signal_from_mips(int mips_signal)
{
    if (mips_signal < 0 || mips_signal > 127)
        return UNKNOWN;
    if (mips_signal < TO_31)
        return of_mips[mips_signal];
    if (mips_signal == 32)
        return REALTIME_32;
    return mips_signal < 64 ? REALTIME_33 + mips_signal - 33 : REALTIME_64 + mips_signal - 64;
}

int mr_debug_signal_to_mips(int signal)
{
    if (signal == REALTIME_32)
        return 32;
    if (signal >= REALTIME_33 && signal <= REALTIME_63)
        return signal - REALTIME_33 + 33;
    if (signal >= REALTIME_64 && signal <= REALTIME_127)
        return signal - REALTIME_64 + 64;
    for (int mips = 1; mips < TO_31; mips++)
        if (of_mips[mips] == signal)
            return mips;
    return 0;
}

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
        mr_debug_get_register(thread, mr_registers[MR_REG_PC].gdb_number, pc);
        mr_debug_add(reply, "%x:", (unsigned)mr_registers[MR_REG_PC].gdb_number);
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
