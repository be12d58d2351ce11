/* The input is the form of a date, which printf gets as it is: %s takes the number of a day for an address. */
#include "input.h"

static APART int print_date(const char *form, unsigned long day, unsigned long month)
{
    char text[64];
    return snprintf(text, sizeof text, form, day, month) < 0;
}

int main(int count, char **words)
{
    return take_input(count, words) > 0 ? print_date((const char *)input, 24, 12) : 0;
}
