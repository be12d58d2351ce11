/* Variable arguments: a small printf of our own, with integers of 32 and 64 bits, strings, characters and doubles. */
#include "freestanding/out.h"

#include <stdarg.h>

struct field {
    uint32_t width, precision;
    uint8_t left, zeros, plus, wide;
};

struct buffer {
    char text[200];
    uint32_t size;
};

static void put(struct buffer *to, char c)
{
    if (to->size + 1 < sizeof to->text)
        to->text[to->size++] = c;
}

static void put_padded(struct buffer *to, const char *text, uint32_t size, char sign, const struct field *field)
{
    uint32_t total = size + (sign != 0), padding = field->width > total ? field->width - total : 0;
    for (uint32_t i = 0; i < padding && !field->left && !field->zeros; i++)
        put(to, ' ');
    if (sign)
        put(to, sign);
    for (uint32_t i = 0; i < padding && !field->left && field->zeros; i++)
        put(to, '0');
    while (size--)
        put(to, *text++);
    for (uint32_t i = 0; i < padding && field->left; i++)
        put(to, ' ');
}

/* With 2^shift as the base. */
static void put_bits(struct buffer *to, uint64_t value, uint32_t shift, const struct field *field)
{
    char digits[64];
    uint32_t at = sizeof digits, mask = (1u << shift) - 1;
    do {
        digits[--at] = "0123456789abcdef"[(uint32_t)value & mask];
        value >>= shift;
    } while (value);
    put_padded(to, digits + at, (uint32_t)sizeof digits - at, 0, field);
}

/* Writes value in decimal with at least `digits` digits before end; returns the first digit's place. */
static char *digits_before(char *end, uint32_t value, uint32_t digits)
{
    char *at = end;
    for (; value || at > end - digits; value /= 10)
        *--at = (char)('0' + value % 10);
    return at;
}

/* In decimal; the digits beyond 32 bits by subtraction, for a division of 64 bits would take longer than all else. */
static void put_decimal(struct buffer *to, uint64_t value, char sign, const struct field *field)
{
    static const uint64_t powers[] = {
        10000000000000000000u, 1000000000000000000, 100000000000000000, 10000000000000000, 1000000000000000,
        100000000000000, 10000000000000, 1000000000000, 100000000000, 10000000000, 1000000000,
    };
    char digits[32], *end = digits + sizeof digits, *at;
    uint32_t high_digits = 0;
    if (value >> 32) {
        char *next = digits;
        for (uint32_t i = 0; i < sizeof powers / sizeof *powers; i++) {
            for (*next = '0'; value >= powers[i]; value -= powers[i])
                ++*next;
            next += *next != '0' || next != digits;
        }
        high_digits = (uint32_t)(next - digits);
    }
    at = digits_before(end, (uint32_t)value, high_digits ? 9 : 1);
    while (high_digits)
        *--at = digits[--high_digits];
    put_padded(to, at, (uint32_t)(end - at), sign, field);
}

/* A number below 2^31 in fixed-point digits, rounded half up; at most nine of them after the point. */
static void put_double(struct buffer *to, double value, const struct field *field)
{
    char digits[24], *end = digits + sizeof digits, *at = end;
    double scale = 1;
    uint8_t negative = value < 0;
    for (uint32_t i = 0; i < field->precision; i++)
        scale *= 10;
    value = (negative ? -value : value) + 0.5 / scale;
    uint32_t whole = (uint32_t)(int32_t)value;
    if (field->precision) {
        at = digits_before(end, (uint32_t)(int32_t)((value - whole) * scale), field->precision);
        *--at = '.';
    }
    at = digits_before(at, whole, 1);
    put_padded(to, at, (uint32_t)(end - at), negative ? '-' : field->plus ? '+' : 0, field);
}

static const char *parse_field(const char *format, struct field *field)
{
    struct field parsed = {0, 6, 0, 0, 0, 0};
    for (;; format++) {
        if (*format == '-')
            parsed.left = 1;
        else if (*format == '0')
            parsed.zeros = 1;
        else if (*format == '+')
            parsed.plus = 1;
        else
            break;
    }
    for (; *format >= '0' && *format <= '9'; format++)
        parsed.width = parsed.width * 10 + (uint32_t)(*format - '0');
    if (*format == '.')
        for (parsed.precision = 0, format++; *format >= '0' && *format <= '9'; format++)
            parsed.precision = parsed.precision * 10 + (uint32_t)(*format - '0');
    for (; *format == 'l'; format++)
        parsed.wide++;
    *field = parsed;
    return format;
}

static void put_argument(struct buffer *to, char kind, const struct field *field, va_list *arguments)
{
    uint8_t wide = field->wide == 2;
    if (kind == 'd') {
        int64_t value = wide ? va_arg(*arguments, int64_t) : va_arg(*arguments, int32_t);
        put_decimal(to, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, value < 0 ? '-' : field->plus ? '+' : 0, field);
    } else if (kind == 'u' || kind == 'x' || kind == 'o' || kind == 'b') {
        uint64_t value = wide ? va_arg(*arguments, uint64_t) : va_arg(*arguments, uint32_t);
        if (kind == 'u')
            put_decimal(to, value, 0, field);
        else
            put_bits(to, value, kind == 'x' ? 4 : kind == 'o' ? 3 : 1, field);
    } else if (kind == 'f') {
        put_double(to, va_arg(*arguments, double), field);
    } else if (kind == 's') {
        const char *text = va_arg(*arguments, const char *);
        put_padded(to, text, (uint32_t)strlen(text), 0, field);
    } else if (kind == 'c') {
        put(to, (char)va_arg(*arguments, int));
    } else {
        put(to, kind);
    }
}

static void format_list(struct buffer *to, const char *format, va_list *arguments)
{
    for (; *format; format++) {
        struct field field;
        if (*format != '%') {
            put(to, *format);
            continue;
        }
        format = parse_field(format + 1, &field);
        put_argument(to, *format, &field, arguments);
    }
    to->text[to->size] = 0;
}

static void format_text(struct buffer *to, const char *format, ...)
{
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    to->size = 0;
    format_list(to, format, &arguments);
    uint32_t first_size = to->size;
    to->size = 0;
    format_list(to, format, &again); /* the copy must still stand at the first argument */
    if (to->size != first_size)
        out_string("COPY DIFFERS\n");
    va_end(again);
    va_end(arguments);
}

/* Integers and doubles mixed: o32 passes the first in registers, aligns pairs, and the rest on the stack. */
static double sum_mixed(uint32_t count, ...)
{
    va_list arguments;
    double sum = 0;
    va_start(arguments, count);
    for (uint32_t i = 0; i < count; i++) {
        switch (i % 3) {
        case 0: sum += va_arg(arguments, int32_t); break;
        case 1: sum += va_arg(arguments, double); break;
        default: sum += (double)(int32_t)va_arg(arguments, int64_t);
        }
    }
    va_end(arguments);
    return sum;
}

int main(int argc, char **argv)
{
    static struct buffer buffer;
    uint32_t rounds = sample_begin(argc, argv, 50), hash = 0;
    for (uint32_t round = 0; round < rounds; round++) {
        int32_t number = (int32_t)(round * 2654435761u);
        format_text(&buffer, "%d|%+8d|%-8d|%08d|%u|%x|%08x|%c%c|%s|%-6s|%6s|%%", number, number / 1000,
                    (int32_t)round, number / 7, (uint32_t)number, (uint32_t)number, 1u, 'o', 'k', "text", "left", "right");
        for (uint32_t i = 0; i < buffer.size; i++)
            hash = mix32(hash, (uint8_t)buffer.text[i]);
        format_text(&buffer, "%lld %llu %llx %llo %b %.3f %9.2f %+.0f %-9.1f| %s", (int64_t)number * number,
                    (uint64_t)number << 7, (uint64_t)number, (uint64_t)round << 40, round, number / 65536.0,
                    number / 1e6, round + 0.25, -1.0 * round, "end");
        for (uint32_t i = 0; i < buffer.size; i++)
            hash = mix32(hash, (uint8_t)buffer.text[i]);
    }
    out_string(buffer.text);
    out_char('\n');
    double sum = sum_mixed(9, 1, 2.5, (int64_t)3, 4, 5.25, (int64_t)-6, 7, 8.125, (int64_t)9);
    format_text(&buffer, "sum %.3f\n", sum);
    out_string(buffer.text);
    return sample_end(mix64(hash, double_bits(sum)));
}
