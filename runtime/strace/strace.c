/* --strace: one line per system call on standard error, like strace(1). What a call writes is printed after it. */
#include "strace/strace.h"

#include "base/messages.h"
#include "base/observe.h"
#include "linux/abi.h"
#include "linux/signals.h"
#include "linux/threads.h"
#include "memory/values.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define SHOWN_BYTES 32u
#define SHOWN_TEXT 200u
#define MOST_OF_ARGUMENT 511u /* of a socket's call */
#define AT_FDCWD_GUEST (-100)
#define WRITTEN_BY_CALL "BRWG" /* kinds that are shown only after it */

/* One line under way. A line is written at once, so that lines of several threads and processes do not mix. */
static _Thread_local struct line {
    char text[1024];
    size_t length;
    int printed; /* how many arguments */
} line;

void mr_trace_add(const char *format, ...)
{
    va_list values;
    va_start(values, format);
    size_t room = sizeof line.text - line.length;
    int length = vsnprintf(line.text + line.length, room, format, values);
    va_end(values);
    if (length > 0)
        line.length += (size_t)length < room ? (size_t)length : room - 1;
}

static void flush(void)
{
    size_t length = line.length;
    line.length = 0;
    if (write(mr_messages_fd, line.text, length) < 0)
        return; /* a trace nobody can see is no reason to stop */
}

/* ---- values ---- */

static void add_bytes(const uint8_t *bytes, size_t size_bytes, size_t shown)
{
    mr_trace_add("\"");
    for (size_t i = 0; i < size_bytes && i < shown; i++) {
        uint8_t byte = bytes[i];
        const char *plain = "\n\t\r\"\\", *escaped = "ntr\"\\", *at = byte ? strchr(plain, byte) : NULL;
        if (at)
            mr_trace_add("\\%c", escaped[at - plain]);
        else if (isprint(byte))
            mr_trace_add("%c", byte);
        else
            mr_trace_add("\\%o", byte);
    }
    mr_trace_add(size_bytes > shown ? "\"..." : "\"");
}

static void add_text(uint32_t guest)
{
    const char *text = guest ? mr_guest_string(guest) : NULL;
    if (text)
        add_bytes((const uint8_t *)text, strlen(text), SHOWN_TEXT);
    else
        mr_trace_add(guest ? "0x%x" : "NULL", guest);
}

static void add_buffer(uint32_t guest, uint64_t size_bytes)
{
    uint32_t size = size_bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)size_bytes;
    uint32_t shown = size > SHOWN_BYTES ? SHOWN_BYTES : size;
    const uint8_t *bytes = mr_guest_bytes(guest, shown, MR_READ);
    if (bytes && guest)
        add_bytes(bytes, size, shown);
    else
        mr_trace_add("0x%x", guest);
}

static void add_open_flags(uint32_t flags)
{
    static const char *const access[] = {"O_RDONLY", "O_WRONLY", "O_RDWR", "O_ACCMODE"};
    mr_trace_add("%s", access[flags & O_ACCMODE]);
    flags &= ~(uint32_t)O_ACCMODE;
    for (const struct mr_bit *bit = mr_open_bits; bit->name; bit++)
        if ((flags & bit->mips) == bit->mips) {
            mr_trace_add("|%s", bit->name);
            flags &= ~bit->mips;
        }
    if (flags)
        mr_trace_add("|0x%x", flags);
}

static void add_signal(int mips_signal)
{
    const char *name = mr_signal_name(mips_signal);
    if (name)
        mr_trace_add("%s", name);
    else
        mr_trace_add("%d", mips_signal);
}

/* `result` is the call's, for the size of what it wrote. */
static void add_argument(const struct mr_call *c, char kind, int n, int64_t result)
{
    uint64_t value = c->arg[n];
    mr_trace_add(n ? ", " : "");
    size_t begin = line.length;
    if (mr_trace_socket(c, kind, n, result)) {
        if (line.length > begin + MOST_OF_ARGUMENT)
            line.length = begin + MOST_OF_ARGUMENT;
        return;
    }
    switch (kind) {
    case 'd':
    case 'D': mr_trace_add("%d", (int32_t)value); break;
    case 'u': mr_trace_add("%u", (uint32_t)value); break;
    case 'o': mr_trace_add("0%o", (uint32_t)value); break;
    case 'q': mr_trace_add("%lld", (long long)value); break;
    case 's': add_text((uint32_t)value); break;
    case 'f': add_open_flags((uint32_t)value); break;
    case 'i': add_signal((int32_t)value); break;
    case 'a': mr_trace_add((int32_t)value == AT_FDCWD_GUEST ? "AT_FDCWD" : "%d", (int32_t)value); break;
    case 'b': add_buffer((uint32_t)value, c->arg[n + 1]); break;
    case 'B':
        if (result >= 0)
            add_buffer((uint32_t)value, (uint64_t)result);
        else
            mr_trace_add("0x%x", (uint32_t)value);
        break;
    default: mr_trace_add(value ? "0x%x" : kind == 'p' ? "NULL" : "%u", (uint32_t)value); break;
    }
}

/* ---- lines ---- */

static void trace_enter(const struct mr_call *c)
{
    const char *kinds = mr_call_kinds(c->row);
    line.length = 0;
    line.printed = 0;
    if (mr_threads_several())
        mr_trace_add("[%d] ", (int)gettid());
    mr_trace_add("%s(", c->row->name);
    for (; kinds[line.printed] && !strchr(WRITTEN_BY_CALL, kinds[line.printed]); line.printed++)
        add_argument(c, kinds[line.printed], line.printed, 0);
    if (mr_call_marked(c->row, '!')) {
        mr_trace_add(") ...\n");
        flush();
        mr_trace_add("%s(", c->row->name);
        line.printed = (int)strlen(kinds);
    }
}

static void trace_leave(const struct mr_call *c, int64_t result)
{
    const char *kinds = mr_call_kinds(c->row);
    for (; kinds[line.printed]; line.printed++)
        add_argument(c, kinds[line.printed], line.printed, result);
    if (c->moved)
        mr_trace_add(") = ?\n");
    else if (result < 0)
        mr_trace_add(") = -1 %s (%s)\n", mr_errno_name((int)-result), strerror((int)-result));
    else
        mr_trace_add((uint32_t)result < 0x10000 ? ") = %u\n" : ") = 0x%x\n", (uint32_t)result);
    flush();
}

static void trace_signal(const struct mr_signal_info *info, uint32_t pc)
{
    line.length = 0;
    mr_trace_add("--- ");
    add_signal(info->signal);
    mr_trace_add(" {code=%d, 0x%x} at pc 0x%x ---\n", info->code, info->words[0], pc);
    flush();
}

void mr_strace_start(void)
{
    mr_observe.trace_enter = trace_enter;
    mr_observe.trace_leave = trace_leave;
    mr_observe.trace_signal = trace_signal;
}
