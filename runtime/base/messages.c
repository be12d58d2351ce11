/* Messages of the host on standard error, each by one write: a guest may end while the host is anywhere.
 *
 * Names of files are of whoever made them. Their control characters are written out, so that none makes a line of its own or
 * moves the terminal's cursor.
 */
#include "base/messages.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int mr_messages_fd = STDERR_FILENO;

static unsigned lines_of(const char *text)
{
    unsigned count = 0;
    for (; *text; text++)
        count += *text == '\n';
    return count;
}

/* Whether a character that is no text begins there: of ASCII, or of the C1 controls in UTF-8. `breaks`: the text has more
 * line breaks than its format, so all but the format's last one are of names. */
static bool is_control(const char *at, bool breaks, bool ends)
{
    unsigned char byte = (unsigned char)at[0], next = (unsigned char)at[1];
    if (byte == '\n')
        return breaks && !(ends && next == 0);
    return (byte < ' ' && byte != '\t') || byte == 0x7f || (byte == 0xc2 && next >= 0x80 && next < 0xa0);
}

/* Returns the length of the text with its control characters written out, of which as much is kept as there is room for. */
static size_t write_controls(const char *text, bool breaks, bool ends, char *to, size_t room)
{
    size_t length = 0;
    for (; *text && length + 5 < room; text++)
        if (!is_control(text, breaks, ends))
            to[length++] = *text;
        else if (*text == '\n')
            length += (size_t)sprintf(to + length, "\\n");
        else
            length += (size_t)sprintf(to + length, "\\x%02x", (unsigned char)*text);
    to[length] = 0;
    return length;
}

static size_t write_out(const char *format, const char *text, char *to, size_t room)
{
    bool breaks = lines_of(text) != lines_of(format), ends = *format && format[strlen(format) - 1] == '\n';
    return write_controls(text, breaks, ends, to, room);
}

size_t mr_write_out(const char *text, char *to, size_t room)
{
    return write_controls(text, true, false, to, room);
}

void mr_fail(const char *format, ...)
{
    char text[1024], shown[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    write_out(format, text, shown, sizeof shown);
    fprintf(stderr, "mipsrec-host: %s\n", shown);
    _exit(1);
}

void mr_print_error(const char *format, ...)
{
    char text[512], shown[1024];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    size_t size_bytes = length < 0 ? 0 : write_out(format, text, shown, sizeof shown);
    if (size_bytes > 0 && write(mr_messages_fd, shown, size_bytes) < 0)
        return; /* nobody to tell */
}
