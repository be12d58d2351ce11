/* Packets of the remote serial protocol: $payload#checksum, acknowledged by + or - until both sides agree to do without.
 *
 * Enters: bytes from the debugger, which may be anything. Leaves: payloads, and bytes to the debugger. A payload that is too
 * long is cut off, which makes it one that no request looks like.
 */
#include "gdb/parts.h"
#include "linux/descriptors.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#define INTERRUPT 0x03
#define ESCAPE '}'
#define ESCAPE_BIT 0x20

static struct {
    bool no_acknowledgements;
    unsigned char received[4096];
    size_t at, end; /* of what was received and not yet looked at */
    char payload[MR_DEBUG_PACKET_BYTES + 1];
    size_t length; /* of the payload */
} connection;

static struct {
    pthread_mutex_t lock; /* guest threads send stop replies, the server sends all others */
    char bytes[MR_DEBUG_PACKET_BYTES + 8];
    size_t length;
} sent = {.lock = PTHREAD_MUTEX_INITIALIZER};

void mr_debug_connection(bool no_acknowledgements)
{
    connection.no_acknowledgements = no_acknowledgements;
    connection.at = connection.end = 0;
}

void mr_debug_stop_acknowledging(void)
{
    connection.no_acknowledgements = true;
}

bool mr_debug_acknowledges(void)
{
    return !connection.no_acknowledgements;
}

/* ---- bytes ---- */

/* Whether recv returns at once. */
static bool can_receive(void)
{
    char byte;
    return recv(mr_own_descriptor(MR_OWN_DEBUGGER), &byte, 1, MSG_PEEK | MSG_DONTWAIT) >= 0 || (errno != EAGAIN && errno != EINTR);
}

/* Waits for bytes; meanwhile the guest may change its rights. A guest with a limit of one open file, or none, lets nobody poll
 * two (poll(2), EINVAL). */
static void await_bytes(void)
{
    const struct timespec moment = {.tv_nsec = 10000000};
    for (;;) {
        struct pollfd both[] = {{.fd = mr_own_descriptor(MR_OWN_DEBUGGER), .events = POLLIN},
                                {.fd = mr_own_descriptor(MR_OWN_DEBUGGER_WAKE), .events = POLLIN}};
        int found = poll(both, 2, -1);
        if (found > 0 && both[1].revents)
            mr_debug_take_rights(false);
        if (both[0].fd < 0 || (found > 0 && both[0].revents))
            return;
        if (found < 0 && errno == EINVAL) {
            mr_debug_take_rights(false);
            if (can_receive())
                return;
            nanosleep(&moment, NULL);
        }
    }
}

/* Returns a byte, or -1 at the end of the connection. */
static int next_byte(void)
{
    while (connection.at == connection.end) {
        await_bytes();
        ssize_t count = recv(mr_own_descriptor(MR_OWN_DEBUGGER), connection.received, sizeof connection.received, 0);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return -1;
        connection.at = 0;
        connection.end = (size_t)count;
    }
    return connection.received[connection.at++];
}

static void send_bytes(const char *bytes, size_t length)
{
    while (length > 0) {
        ssize_t count = send(mr_own_descriptor(MR_OWN_DEBUGGER), bytes, length, MSG_NOSIGNAL);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            return; /* the server finds the connection closed */
        bytes += count;
        length -= (size_t)count;
    }
}

static int digit_value(int c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* ---- packets in ---- */

/* Reads behind the $. Returns the length of the payload, -1 at the end of the connection, -2 when the checksum is wrong. */
static ssize_t read_payload(void)
{
    unsigned sum = 0;
    size_t length = 0;
    for (;;) {
        int c = next_byte();
        if (c < 0)
            return -1;
        if (c == '#')
            break;
        if (c == '$') { /* the rest of the last one was lost */
            sum = 0;
            length = 0;
            continue;
        }
        sum += (unsigned)c;
        if (length < MR_DEBUG_PACKET_BYTES)
            connection.payload[length++] = (char)c;
    }
    connection.payload[length] = 0;
    int high = next_byte(), low = high < 0 ? -1 : next_byte();
    if (low < 0)
        return -1;
    bool right = digit_value(high) >= 0 && digit_value(low) >= 0 && (sum & 0xff) == (unsigned)(digit_value(high) * 16 + digit_value(low));
    return right || connection.no_acknowledgements ? (ssize_t)length : -2;
}

static void send_again(void)
{
    pthread_mutex_lock(&sent.lock);
    if (!connection.no_acknowledgements)
        send_bytes(sent.bytes, sent.length);
    pthread_mutex_unlock(&sent.lock);
}

enum mr_debug_input mr_debug_read(const char **packet)
{
    for (;;) {
        int c = next_byte();
        if (c < 0)
            return MR_DEBUG_CLOSED;
        if (c == INTERRUPT)
            return MR_DEBUG_INTERRUPT;
        if (c == '-')
            send_again();
        if (c != '$')
            continue;
        ssize_t got = read_payload();
        if (got == -1)
            return MR_DEBUG_CLOSED;
        if (!connection.no_acknowledgements)
            send_bytes(got < 0 ? "-" : "+", 1);
        if (got < 0)
            continue;
        *packet = connection.payload;
        connection.length = (size_t)got;
        return MR_DEBUG_PACKET;
    }
}

/* ---- packets out ---- */

void mr_debug_send(const struct mr_debug_reply *reply)
{
    unsigned sum = 0;
    for (size_t i = 0; i < reply->length; i++)
        sum += (unsigned char)reply->bytes[i];
    pthread_mutex_lock(&sent.lock);
    sent.bytes[0] = '$';
    memcpy(sent.bytes + 1, reply->bytes, reply->length);
    snprintf(sent.bytes + 1 + reply->length, 4, "#%02x", sum & 0xff);
    sent.length = reply->length + 4;
    send_bytes(sent.bytes, sent.length);
    pthread_mutex_unlock(&sent.lock);
}

void mr_debug_add(struct mr_debug_reply *reply, const char *format, ...)
{
    va_list arguments;
    size_t room = MR_DEBUG_PACKET_BYTES - reply->length;
    va_start(arguments, format);
    int length = vsnprintf(reply->bytes + reply->length, room + 1, format, arguments);
    va_end(arguments);
    if (length > 0)
        reply->length += (size_t)length < room ? (size_t)length : room;
}

void mr_debug_add_hex(struct mr_debug_reply *reply, const void *bytes, size_t size_bytes)
{
    static const char digits[] = "0123456789abcdef";
    const uint8_t *from = bytes;
    for (size_t i = 0; i < size_bytes && reply->length + 2 <= MR_DEBUG_PACKET_BYTES; i++) {
        reply->bytes[reply->length++] = digits[from[i] >> 4];
        reply->bytes[reply->length++] = digits[from[i] & 15];
    }
}

/* A * would begin a run of equal bytes. */
static bool is_special(uint8_t byte)
{
    return byte == '$' || byte == '#' || byte == ESCAPE || byte == '*';
}

size_t mr_debug_add_binary(struct mr_debug_reply *reply, const void *bytes, size_t size_bytes)
{
    const uint8_t *from = bytes;
    size_t done = 0;
    for (; done < size_bytes && reply->length + 2 <= MR_DEBUG_PACKET_BYTES; done++) {
        if (is_special(from[done]))
            reply->bytes[reply->length++] = ESCAPE;
        reply->bytes[reply->length++] = (char)(is_special(from[done]) ? from[done] ^ ESCAPE_BIT : from[done]);
    }
    return done;
}

/* ---- parts of a payload ---- */

bool mr_debug_take_number(const char **at, uint64_t *value)
{
    unsigned digits = 0;
    for (*value = 0; digit_value(**at) >= 0; ++*at) {
        if (++digits > 16)
            return false;
        *value = *value << 4 | (unsigned)digit_value(**at);
    }
    return digits > 0;
}

bool mr_debug_take(const char **at, char wanted)
{
    if (**at != wanted)
        return false;
    ++*at;
    return true;
}

size_t mr_debug_take_hex(const char **at, void *bytes, size_t room_bytes)
{
    size_t done = 0;
    for (; done < room_bytes && digit_value((*at)[0]) >= 0 && digit_value((*at)[1]) >= 0; *at += 2)
        ((uint8_t *)bytes)[done++] = (uint8_t)(digit_value((*at)[0]) << 4 | digit_value((*at)[1]));
    return done;
}

size_t mr_debug_unescape(const char *from, void *bytes, size_t room_bytes)
{
    const char *end = connection.payload + connection.length;
    size_t done = 0;
    for (; from < end && done < room_bytes; from++) {
        bool escaped = *from == ESCAPE && from + 1 < end;
        if (escaped)
            from++;
        ((uint8_t *)bytes)[done++] = (uint8_t)(escaped ? *from ^ ESCAPE_BIT : *from);
    }
    return done;
}
