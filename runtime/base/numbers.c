/* Numbers on a command line. */
#include "base/numbers.h"

#include <errno.h>
#include <stdlib.h>

bool mr_parse_number(const char *text, int base, uint32_t *value)
{
    char *end;
    errno = 0;
    long long parsed = strtoll(text, &end, base);
    if (errno != 0 || end == text || *end != 0 || parsed < INT32_MIN || parsed > UINT32_MAX)
        return false;
    *value = (uint32_t)parsed;
    return true;
}

bool mr_parse_integer(const char *text, uint32_t *value)
{
    const char *digits = text + (*text == '-');
    bool hexadecimal = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
    return *digits >= '0' && *digits <= '9' && mr_parse_number(text, hexadecimal ? 16 : 10, value);
}

bool mr_parse_address(const char *text, uint32_t *value)
{
    return *text != '-' && mr_parse_number(text, 16, value);
}
