/* Messages of the host on standard error, each by one write: a guest may end while the host is anywhere.
 *
 * The makers of files chose their names. Their control characters are written out, so that none makes a line of its own or
 * moves the terminal's cursor.
 */
#include "base/messages.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int mr_messages_fd = STDERR_FILENO;
int mr_failure_status = 1;

static unsigned lines_of(const char *text)
{
    unsigned count = 0;
    for (; *text; text++)
        count += *text == '\n';
    return count;
}

/* Returns the length of the UTF-8 character that begins there, and which it is; 0 where none does: halves of a pair
 * (surrogates), what is longer than need be, and what is beyond the last character are none (RFC 3629). */
static unsigned character_at(const unsigned char *at, uint32_t *code)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    unsigned length = *at < 0x80 ? 1 : *at < 0xc2 ? 0 : *at < 0xe0 ? 2 : *at < 0xf0 ? 3 : *at < 0xf5 ? 4 : 0;
    *code = length <= 1 ? *at : *at & (0x7fu >> length);
    for (unsigned i = 1; i < length; i++) {
        if ((at[i] & 0xc0) != 0x80)
            return 0;
        *code = *code << 6 | (at[i] & 0x3f);
    }
    bool is_half = *code >= 0xd800 && *code < 0xe000;
    return is_half || *code > 0x10ffff || *code < least[length] ? 0 : length;
}

/* Whether a character moves a terminal's cursor or turns the direction of text: controls of ASCII and C1, separators of lines,
 * marks of direction. */
static bool is_control(uint32_t code)
{
    return (code < ' ' && code != '\t') || (code >= 0x7f && code < 0xa0) || code == 0x061c || code == 0x200e ||
           code == 0x200f || (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

/* Returns the length of the text with what is no text written out, of which as much is kept as there is room for. `breaks`:
 * the text has more line breaks than its format, so all but the format's last one are of names. */
static size_t write_controls(const char *text, bool breaks, bool ends, char *to, size_t room)
{
    size_t length = 0;
    while (*text && length + 17 < room) {
        uint32_t code;
        unsigned size = character_at((const unsigned char *)text, &code);
        bool is_text = code == '\n' ? !breaks || (ends && text[1] == 0) : size != 0 && !is_control(code);
        size = size != 0 ? size : 1;
        if (code == '\n' && !is_text)
            length += (size_t)sprintf(to + length, "\\n");
        else
            for (unsigned i = 0; i < size; i++)
                length += (size_t)sprintf(to + length, is_text ? "%c" : "\\x%02x", (unsigned char)text[i]);
        text += size;
    }
    to[length] = 0;
    return length;
}

enum { LONGEST = 1024, WRITTEN = 4 * LONGEST + 32 }; /* each byte may become four characters */

/* Puts a message into `to` in one line for each of its format, though it be cut off; returns the length. */
static size_t write_message(char to[WRITTEN], const char *format, va_list arguments)
{
    char text[LONGEST];
    int length = vsnprintf(text, sizeof text, format, arguments);
    bool cut = length >= (int)sizeof text, ends = *format && format[strlen(format) - 1] == '\n';
    if (length < 0)
        return 0;
    if (cut && ends)
        text[sizeof text - 2] = '\n';
    return write_controls(text, cut || lines_of(text) != lines_of(format), ends, to, WRITTEN);
}

size_t mr_write_out(const char *text, char *to, size_t room)
{
    return write_controls(text, true, false, to, room);
}

void mr_fail(const char *format, ...)
{
    char shown[WRITTEN];
    va_list arguments;
    va_start(arguments, format);
    write_message(shown, format, arguments);
    va_end(arguments);
    fprintf(stderr, "mipsrec-host: %s\n", shown);
    _exit(mr_failure_status);
}

void mr_print_error(const char *format, ...)
{
    char shown[WRITTEN];
    va_list arguments;
    va_start(arguments, format);
    size_t size_bytes = write_message(shown, format, arguments);
    va_end(arguments);
    if (size_bytes > 0 && write(mr_messages_fd, shown, size_bytes) < 0)
        return; /* nobody to tell */
}
