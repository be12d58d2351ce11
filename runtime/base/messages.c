/* Messages of the host on standard error, each by one write: a guest may end while the host is anywhere. */
#include "base/messages.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

int mr_messages_fd = STDERR_FILENO;

void mr_fail(const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "mipsrec-host: %s\n", text);
    _exit(1);
}

void mr_print_error(const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    size_t size_bytes = length < 0 ? 0 : (size_t)length < sizeof text ? (size_t)length : sizeof text - 1;
    if (size_bytes > 0 && write(mr_messages_fd, text, size_bytes) < 0)
        return; /* nobody to tell */
}
