/* The server: reads packets, and answers each by one of the requests in the table at the end.
 *
 * Enters: packets, which may hold anything. Leaves: replies. What no request takes is answered by an empty packet, as the
 * protocol wants it, and what is malformed by E16 in hexadecimal (EINVAL). While the guest runs, only an interrupt counts.
 */
#include "gdb/parts.h"
#include "linux/signals.h"
#include "memory/values.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>

struct mr_debug_thread *mr_debug_general_thread(void)
{
    struct mr_debug_thread *thread = mr_debug_find_thread(mr_debug_session.general);
    if (thread == NULL)
        thread = mr_debug_find_thread(mr_debug_last_thread);
    return thread != NULL ? thread : mr_debug_first_thread();
}

/* ---- signals ---- */

bool mr_debug_passes(int mips_signal)
{
    unsigned number = (unsigned)mr_debug_signal_from_mips(mips_signal);
    return number < 64 * 3 && (mr_debug_session.passed[number / 64] >> number % 64 & 1) != 0;
}

static int pass_signals(const char *rest, struct mr_debug_reply *reply)
{
    uint64_t passed[3] = {0}, number;
    (void)reply;
    while (mr_debug_take_number(&rest, &number)) {
        if (number < 64 * 3)
            passed[number / 64] |= (uint64_t)1 << number % 64;
        mr_debug_take(&rest, ';');
    }
    memcpy(mr_debug_session.passed, passed, sizeof passed);
    if (!mr_debug_session.post_mortem)
        mr_signals_mirror_all();
    return *rest != 0 ? MR_DEBUG_INVALID : MR_DEBUG_OK;
}

/* ---- the session ---- */

static int tell_stop(const char *rest, struct mr_debug_reply *reply)
{
    (void)rest;
    mr_debug_make_stop_reply(reply);
    return MR_DEBUG_ADDED;
}

static int agree_on_features(const char *rest, struct mr_debug_reply *reply)
{
    mr_debug_session.features = (strstr(rest, "multiprocess+") != NULL ? MR_DEBUG_KNOWS_PROCESSES : 0) |
                                (strstr(rest, "exec-events+") != NULL ? MR_DEBUG_KNOWS_EXEC : 0) |
                                (strstr(rest, "swbreak+") != NULL ? MR_DEBUG_KNOWS_SWBREAK : 0) |
                                (strstr(rest, "no-resumed+") != NULL ? MR_DEBUG_KNOWS_NO_RESUMED : 0);
    mr_debug_add(reply,
                 "PacketSize=%x;QStartNoAckMode+;QPassSignals+;vContSupported+;qXfer:features:read+;qXfer:auxv:read+;"
                 "qXfer:exec-file:read+;qXfer:siginfo:read+;swbreak+;exec-events+;no-resumed+;multiprocess+",
                 MR_DEBUG_PACKET_BYTES);
    return MR_DEBUG_ADDED;
}

static int stop_acknowledging(const char *rest, struct mr_debug_reply *reply)
{
    (void)rest;
    mr_debug_add(reply, "OK");
    mr_debug_send(reply);
    mr_debug_stop_acknowledging();
    return MR_DEBUG_SILENT;
}

/* A debugger that is done kills what it has started, and leaves alone what it has found. */
static int tell_origin(const char *rest, struct mr_debug_reply *reply)
{
    (void)rest;
    mr_debug_add(reply, "%d", mr_debug_session.post_mortem);
    return MR_DEBUG_ADDED;
}

static int tell_orders(const char *rest, struct mr_debug_reply *reply)
{
    (void)rest;
    mr_debug_add(reply, "vCont;c;C;s;S;t");
    return MR_DEBUG_ADDED;
}

static int leave(const char *rest, struct mr_debug_reply *reply)
{
    (void)rest, (void)reply;
    mr_debug_session.over = true;
    return MR_DEBUG_OK;
}

static int kill_guest(const char *rest, struct mr_debug_reply *reply)
{
    if (*rest != 0) { /* vKill wants an answer */
        mr_debug_add(reply, "OK");
        mr_debug_send(reply);
    }
    kill(getpid(), SIGKILL);
    return MR_DEBUG_SILENT;
}

/* lldb's names of the machine. */
static int describe_machine(const char *rest, struct mr_debug_reply *reply)
{
    const char *triple = mr_big_endian ? "mips-unknown-linux-gnu" : "mipsel-unknown-linux-gnu";
    (void)rest;
    mr_debug_add(reply, "pid:%x;ostype:linux;watchpoint_exceptions_received:before;endian:%s;ptrsize:4;triple:",
                 (unsigned)getpid(), mr_big_endian ? "big" : "little");
    mr_debug_add_hex(reply, triple, strlen(triple));
    mr_debug_add(reply, ";");
    return MR_DEBUG_ADDED;
}

/* ---- all requests ---- */

/* By the first that the packet begins with; `whole` ones are nothing but that. */
static const struct request {
    const char *begin;
    bool whole;
    mr_debug_request *answer;
} requests[] = {
    {"?", true, tell_stop},
    {"qSupported", false, agree_on_features},
    {"QStartNoAckMode", true, stop_acknowledging},
    {"QPassSignals:", false, pass_signals},
    {"qXfer:", false, mr_debug_transfer},
    {"vFile:", false, mr_debug_file_request},
    {"qAttached", false, tell_origin},
    {"qHostInfo", true, describe_machine},
    {"qProcessInfo", true, describe_machine},
    {"qMemoryRegionInfo:", false, mr_debug_describe_region},
    {"qfThreadInfo", true, mr_debug_list_threads},
    {"qsThreadInfo", true, mr_debug_list_more_threads},
    {"qThreadExtraInfo,", false, mr_debug_describe_thread},
    {"qC", true, mr_debug_tell_current},
    {"H", false, mr_debug_choose_thread},
    {"T", false, mr_debug_tell_alive},
    {"vCont?", true, tell_orders},
    {"vCont", false, mr_debug_vcont},
    {"vKill;", false, kill_guest},
    {"k", true, kill_guest},
    {"D", true, leave},
    {"D;", false, leave},
    {"g", true, mr_debug_read_registers},
    {"G", false, mr_debug_write_registers},
    {"p", false, mr_debug_read_register},
    {"P", false, mr_debug_write_register},
    {"m", false, mr_debug_send_memory},
    {"M", false, mr_debug_take_memory},
    {"X", false, mr_debug_take_memory},
    {"qWatchpointSupportInfo:", true, mr_debug_count_watchpoints},
    {"_M", false, mr_debug_allocate},
    {"_m", false, mr_debug_release},
    {"Z", false, mr_debug_change_point},
    {"z", false, mr_debug_change_point},
    {"c", false, mr_debug_plain_resume},
    {"C", false, mr_debug_plain_resume},
    {"s", false, mr_debug_plain_resume},
    {"S", false, mr_debug_plain_resume},
};

static const struct request *request_of(const char *packet)
{
    for (const struct request *request = requests; request < requests + sizeof requests / sizeof *requests; request++) {
        size_t length = strlen(request->begin);
        if (strncmp(packet, request->begin, length) == 0 && (!request->whole || packet[length] == 0))
            return request;
    }
    return NULL;
}

static void answer(const char *packet)
{
    static struct mr_debug_reply reply;
    const struct request *request = request_of(packet);
    int result = MR_DEBUG_ADDED;
    reply.length = 0;
    if (request != NULL && !mr_debug_has_control() && request->answer != kill_guest)
        result = MR_DEBUG_BUSY;
    else if (request != NULL)
        result = request->answer(packet + strlen(request->begin), &reply);
    if (result > 0) {
        reply.length = 0;
        mr_debug_add(&reply, "E%02x", (unsigned)result);
    } else if (result == MR_DEBUG_OK) {
        mr_debug_add(&reply, "OK");
    }
    if (result != MR_DEBUG_SILENT)
        mr_debug_send(&reply);
}

void mr_debug_serve(void)
{
    const char *packet;
    while (!mr_debug_session.over) {
        enum mr_debug_input input = mr_debug_read(&packet);
        if (input == MR_DEBUG_CLOSED)
            return;
        if (input == MR_DEBUG_INTERRUPT)
            mr_debug_interrupt();
        else
            answer(packet);
    }
}
