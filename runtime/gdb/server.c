/* The server: reads packets, and answers each by one of the requests in the table at the end.
 *
 * Enters: packets, which may hold anything. Leaves: replies. What no request takes is answered by an empty packet, as the
 * protocol wants it, and what is malformed by E16 in hexadecimal (EINVAL). While the guest runs, only an interrupt counts.
 */
#include "parts.h"

#include "../signals.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define THREADS_IN_REPLY 500u

static void refuse(struct mr_debug_reply *reply, int code)
{
    reply->length = 0;
    mr_debug_add(reply, "E%02x", (unsigned)code);
}

static void agree(struct mr_debug_reply *reply, int code)
{
    if (code != 0)
        refuse(reply, code);
    else
        mr_debug_add(reply, "OK");
}

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

static bool pass_signals(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    uint64_t passed[3] = {0}, number;
    (void)length;
    while (mr_debug_take_number(&rest, &number)) {
        if (number < 64 * 3)
            passed[number / 64] |= (uint64_t)1 << number % 64;
        mr_debug_take(&rest, ';');
    }
    memcpy(mr_debug_session.passed, passed, sizeof passed);
    if (!mr_debug_session.post_mortem)
        mr_signals_mirror_all();
    agree(reply, *rest != 0 ? MR_DEBUG_INVALID : 0);
    return true;
}

/* ---- registers ---- */

static bool read_registers(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    const struct mr_debug_thread *thread = mr_debug_general_thread();
    uint8_t bytes[8];
    (void)rest, (void)length;
    for (uint32_t i = 0; thread != NULL && i < MR_DEBUG_REGISTER_COUNT; i++) {
        mr_debug_get_register(thread, i, bytes);
        mr_debug_add_hex(reply, bytes, mr_debug_register_bytes(thread->state, i));
    }
    if (thread == NULL)
        refuse(reply, MR_DEBUG_INVALID);
    return true;
}

/* A thread in the midst of a host call may change them itself. */
static int may_write(const struct mr_debug_thread *thread)
{
    return thread == NULL ? MR_DEBUG_INVALID : !thread->parked ? MR_DEBUG_BUSY : 0;
}

static bool write_registers(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    struct mr_debug_thread *thread = mr_debug_general_thread();
    int error = may_write(thread);
    (void)length;
    for (uint32_t i = 0; error == 0 && i < MR_DEBUG_REGISTER_COUNT && *rest != 0; i++) {
        uint8_t bytes[8] = {0};
        size_t size = mr_debug_register_bytes(thread->state, i);
        if (mr_debug_take_hex(&rest, bytes, size) == size)
            mr_debug_set_register(thread, i, bytes);
        else
            error = MR_DEBUG_INVALID;
    }
    agree(reply, error);
    return true;
}

static bool read_register(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    const struct mr_debug_thread *thread = mr_debug_general_thread();
    uint64_t number;
    uint8_t bytes[8];
    (void)length;
    if (thread == NULL || !mr_debug_take_number(&rest, &number) || number >= MR_DEBUG_REGISTER_COUNT) {
        refuse(reply, MR_DEBUG_INVALID);
        return true;
    }
    mr_debug_get_register(thread, (uint32_t)number, bytes);
    mr_debug_add_hex(reply, bytes, mr_debug_register_bytes(thread->state, (uint32_t)number));
    return true;
}

static bool write_register(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    struct mr_debug_thread *thread = mr_debug_general_thread();
    int error = may_write(thread);
    uint64_t number;
    uint8_t bytes[8] = {0};
    (void)length;
    if (error == 0 && (!mr_debug_take_number(&rest, &number) || number >= MR_DEBUG_REGISTER_COUNT ||
                       !mr_debug_take(&rest, '=')))
        error = MR_DEBUG_INVALID;
    if (error == 0 && mr_debug_take_hex(&rest, bytes, sizeof bytes) < mr_debug_register_bytes(thread->state, (uint32_t)number))
        error = MR_DEBUG_INVALID;
    if (error == 0)
        mr_debug_set_register(thread, (uint32_t)number, bytes);
    agree(reply, error);
    return true;
}

/* ---- memory ---- */

static bool take_range(const char **at, uint32_t *address, uint64_t *size_bytes)
{
    uint64_t start;
    if (!mr_debug_take_number(at, &start) || !mr_debug_take(at, ',') || !mr_debug_take_number(at, size_bytes))
        return false;
    *address = (uint32_t)start; /* a debugger may extend the sign of addresses */
    return start <= UINT32_MAX || start >= 0xffffffff80000000u;
}

static bool read_memory(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    uint8_t bytes[MR_DEBUG_PACKET_BYTES / 2];
    uint32_t address;
    uint64_t size;
    (void)length;
    if (!take_range(&rest, &address, &size)) {
        refuse(reply, MR_DEBUG_INVALID);
        return true;
    }
    uint32_t got = mr_debug_read_memory(address, bytes, size < sizeof bytes ? (uint32_t)size : (uint32_t)sizeof bytes);
    mr_debug_add_hex(reply, bytes, got);
    if (got == 0 && size != 0)
        refuse(reply, MR_DEBUG_FAULT);
    return true;
}

static bool write_bytes(const char *rest, size_t length, struct mr_debug_reply *reply, bool binary)
{
    uint8_t bytes[MR_DEBUG_PACKET_BYTES];
    const char *at = rest;
    uint32_t address;
    uint64_t size;
    if (!take_range(&at, &address, &size) || !mr_debug_take(&at, ':')) {
        refuse(reply, MR_DEBUG_INVALID);
        return true;
    }
    size_t got = binary ? mr_debug_unescape(at, length - (size_t)(at - rest), bytes, sizeof bytes)
                        : mr_debug_take_hex(&at, bytes, sizeof bytes);
    if (got != size)
        refuse(reply, MR_DEBUG_INVALID);
    else
        agree(reply, mr_debug_write_memory(address, bytes, (uint32_t)size) ? 0 : MR_DEBUG_FAULT);
    return true;
}

static bool write_memory(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    return write_bytes(rest, length, reply, false);
}

static bool write_binary(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    return write_bytes(rest, length, reply, true);
}

/* What lldb asks of an address: the range of pages that are like its own. */
static bool describe_region(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    uint64_t address;
    (void)length;
    if (!mr_debug_take_number(&rest, &address) || address > UINT32_MAX) {
        refuse(reply, MR_DEBUG_INVALID);
        return true;
    }
    uint32_t first = (uint32_t)address / MR_PAGE_BYTES, end = first + 1;
    uint8_t bits = mr_pages[first];
    while (first > 0 && mr_pages[first - 1] == bits)
        first--;
    while (end < sizeof mr_pages && mr_pages[end] == bits)
        end++;
    mr_debug_add(reply, "start:%llx;size:%llx;", (unsigned long long)first * MR_PAGE_BYTES,
                 (unsigned long long)(end - first) * MR_PAGE_BYTES);
    if (bits != 0)
        mr_debug_add(reply, "permissions:%s%s%s;", bits & MR_READ ? "r" : "", bits & MR_WRITE ? "w" : "",
                     bits & MR_EXEC ? "x" : "");
    return true;
}

/* ---- breakpoints ---- */

static bool change_point(const char *rest, struct mr_debug_reply *reply, bool set)
{
    char type = *rest;
    uint32_t address;
    uint64_t size;
    if (type < '0' || type > '4')
        return true; /* not supported */
    rest++;
    if (!mr_debug_take(&rest, ',') || !take_range(&rest, &address, &size) || size > UINT32_MAX)
        refuse(reply, MR_DEBUG_INVALID);
    else
        agree(reply, mr_debug_set_point(type, address, (uint32_t)size, set));
    return true;
}

static bool set_point(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    (void)length;
    return change_point(rest, reply, true);
}

static bool clear_point(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    (void)length;
    return change_point(rest, reply, false);
}

/* ---- threads ---- */

static bool choose_thread(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    pid_t number;
    bool general = mr_debug_take(&rest, 'g');
    (void)length;
    if ((!general && !mr_debug_take(&rest, 'c')) || !mr_debug_take_thread(&rest, &number) ||
        (number > 0 && mr_debug_find_thread(number) == NULL)) {
        refuse(reply, MR_DEBUG_INVALID);
        return true;
    }
    *(general ? &mr_debug_session.general : &mr_debug_session.resumed) = number;
    agree(reply, 0);
    return true;
}

static bool tell_alive(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    pid_t number;
    (void)length;
    agree(reply, mr_debug_take_thread(&rest, &number) && mr_debug_find_thread(number) != NULL ? 0 : MR_DEBUG_INVALID);
    return true;
}

static bool tell_current(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    const struct mr_debug_thread *thread = mr_debug_general_thread();
    (void)rest, (void)length;
    if (thread != NULL) {
        mr_debug_add(reply, "QC");
        mr_debug_add_thread(reply, thread->number);
    }
    return true;
}

static bool list_threads_from(uint32_t first, struct mr_debug_reply *reply)
{
    uint32_t at = 0;
    for (const struct mr_debug_thread *thread = mr_debug_first_thread(); thread != NULL; thread = thread->next, at++)
        if (at >= first && at < first + THREADS_IN_REPLY) {
            mr_debug_add(reply, "%s", at == first ? "m" : ",");
            mr_debug_add_thread(reply, thread->number);
        }
    if (reply->length == 0)
        mr_debug_add(reply, "l");
    return true;
}

static uint32_t threads_listed;

static bool list_threads(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    (void)rest, (void)length;
    threads_listed = 0;
    return list_threads_from(0, reply);
}

static bool list_more_threads(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    (void)rest, (void)length;
    threads_listed += THREADS_IN_REPLY;
    return list_threads_from(threads_listed, reply);
}

/* The thread's name, and what it does. */
static bool describe_thread(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    pid_t number;
    char path[60], text[80];
    (void)length;
    const struct mr_debug_thread *thread = mr_debug_take_thread(&rest, &number) ? mr_debug_find_thread(number) : NULL;
    if (thread == NULL) {
        refuse(reply, MR_DEBUG_INVALID);
        return true;
    }
    snprintf(path, sizeof path, "/proc/self/task/%d/comm", (int)number);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, text, 32);
    if (fd >= 0)
        close(fd);
    size_t count = got > 0 && text[got - 1] == '\n' ? (size_t)got - 1 : got > 0 ? (size_t)got : 0;
    int more = snprintf(text + count, sizeof text - count, "%s",
                        thread->in_call ? " (in a system call)" : thread->parked ? "" : " (busy in a system call)");
    mr_debug_add_hex(reply, text, count + (size_t)more);
    return true;
}

/* ---- the session ---- */

static bool tell_stop(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    (void)rest, (void)length;
    mr_debug_make_stop_reply(reply);
    return true;
}

static bool agree_on_features(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    struct mr_debug_session *session = &mr_debug_session;
    (void)length;
    session->knows_processes = strstr(rest, "multiprocess+") != NULL;
    session->knows_exec = strstr(rest, "exec-events+") != NULL;
    session->knows_swbreak = strstr(rest, "swbreak+") != NULL;
    session->knows_no_resumed = strstr(rest, "no-resumed+") != NULL;
    mr_debug_add(reply,
                 "PacketSize=%x;QStartNoAckMode+;QPassSignals+;vContSupported+;qXfer:features:read+;qXfer:auxv:read+;"
                 "qXfer:exec-file:read+;qXfer:siginfo:read+;swbreak+;exec-events+;no-resumed+;multiprocess+",
                 MR_DEBUG_PACKET_BYTES);
    return true;
}

static bool stop_acknowledging(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    (void)rest, (void)length, (void)reply;
    struct mr_debug_reply last = {.length = 0};
    agree(&last, 0);
    mr_debug_send(&last);
    mr_debug_stop_acknowledging();
    return false;
}

/* A debugger that is done kills what it has started, and leaves alone what it has found. */
static bool tell_origin(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    (void)rest, (void)length;
    mr_debug_add(reply, "%d", mr_debug_session.post_mortem);
    return true;
}

static bool tell_orders(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    (void)rest, (void)length;
    mr_debug_add(reply, "vCont;c;C;s;S;t");
    return true;
}

static bool resume(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    (void)length;
    return mr_debug_vcont(rest, reply);
}

static bool resume_plainly(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    (void)length;
    return mr_debug_plain_resume(rest - 1, reply);
}

static bool leave(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    (void)rest, (void)length;
    mr_debug_session.over = true;
    agree(reply, 0);
    return true;
}

static bool kill_guest(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    (void)length;
    if (*rest != 0) { /* vKill wants an answer */
        agree(reply, 0);
        mr_debug_send(reply);
    }
    kill(getpid(), SIGKILL);
    return false;
}

/* lldb's names of the machine. */
static bool describe_machine(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    const char *triple = mr_big_endian ? "mips-unknown-linux-gnu" : "mipsel-unknown-linux-gnu";
    (void)rest, (void)length;
    mr_debug_add(reply, "pid:%x;ostype:linux;watchpoint_exceptions_received:before;endian:%s;ptrsize:4;triple:",
                 (unsigned)getpid(), mr_big_endian ? "big" : "little");
    mr_debug_add_hex(reply, triple, strlen(triple));
    mr_debug_add(reply, ";");
    return true;
}

static bool transfer(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    (void)length;
    mr_debug_transfer(rest, reply);
    return true;
}

static bool access_file(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    (void)length;
    mr_debug_file_request(rest, reply);
    return true;
}

/* ---- all requests ---- */

/* By the first that the packet begins with; `whole` ones are nothing but that. A function is given the rest of the packet and
 * returns whether the reply is to be sent. */
static const struct request {
    const char *begin;
    bool whole;
    bool (*answer)(const char *rest, size_t length, struct mr_debug_reply *reply);
} requests[] = {
    {"?", true, tell_stop},
    {"qSupported", false, agree_on_features},
    {"QStartNoAckMode", true, stop_acknowledging},
    {"QPassSignals:", false, pass_signals},
    {"qXfer:", false, transfer},
    {"vFile:", false, access_file},
    {"qAttached", false, tell_origin},
    {"qHostInfo", true, describe_machine},
    {"qProcessInfo", true, describe_machine},
    {"qMemoryRegionInfo:", false, describe_region},
    {"qfThreadInfo", true, list_threads},
    {"qsThreadInfo", true, list_more_threads},
    {"qThreadExtraInfo,", false, describe_thread},
    {"qC", true, tell_current},
    {"H", false, choose_thread},
    {"T", false, tell_alive},
    {"vCont?", true, tell_orders},
    {"vCont", false, resume},
    {"vKill;", false, kill_guest},
    {"k", true, kill_guest},
    {"D", true, leave},
    {"D;", false, leave},
    {"g", true, read_registers},
    {"G", false, write_registers},
    {"p", false, read_register},
    {"P", false, write_register},
    {"m", false, read_memory},
    {"M", false, write_memory},
    {"X", false, write_binary},
    {"Z", false, set_point},
    {"z", false, clear_point},
    {"c", false, resume_plainly},
    {"C", false, resume_plainly},
    {"s", false, resume_plainly},
    {"S", false, resume_plainly},
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

static void answer(const char *packet, size_t length)
{
    static struct mr_debug_reply reply;
    const struct request *request = request_of(packet);
    bool sends = true;
    reply.length = 0;
    if (request != NULL && !mr_debug_has_control() && request->answer != kill_guest) {
        refuse(&reply, MR_DEBUG_BUSY);
    } else if (request != NULL) {
        size_t begun = strlen(request->begin);
        sends = request->answer(packet + begun, length - begun, &reply);
    }
    if (sends)
        mr_debug_send(&reply);
}

void mr_debug_serve(void)
{
    char *packet;
    size_t length;
    while (!mr_debug_session.over) {
        enum mr_debug_input input = mr_debug_read(&packet, &length);
        if (input == MR_DEBUG_CLOSED)
            return;
        if (input == MR_DEBUG_INTERRUPT)
            mr_debug_interrupt();
        else
            answer(packet, length);
    }
}
