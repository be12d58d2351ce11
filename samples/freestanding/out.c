/* Output, arguments and the clock of the samples; see out.h. */
#include "out.h"

#ifdef SAMPLE_FREESTANDING

enum { SYS_WRITE = 4004, SYS_CLOCK_GETTIME = 4263, CLOCK_MONOTONIC = 1 };

/* o32: number in v0, arguments in a0-a2; a3 is 0 when v0 is a result and 1 when it is an error number. */
static int32_t system_call(uint32_t number, uint32_t first, uint32_t second, uint32_t third)
{
    register uint32_t v0 __asm__("$2") = number;
    register uint32_t a0 __asm__("$4") = first;
    register uint32_t a1 __asm__("$5") = second;
    register uint32_t a2 __asm__("$6") = third;
    register uint32_t a3 __asm__("$7");
    __asm__ volatile("syscall"
                     : "+r"(v0), "=r"(a3)
                     : "r"(a0), "r"(a1), "r"(a2)
                     : "$1", "$3", "$8", "$9", "$10", "$11", "$12", "$13", "$14", "$15", "$24", "$25", "hi", "lo", "memory");
    return a3 ? -1 : (int32_t)v0;
}

static int32_t write_bytes(uint32_t file, const char *bytes, uint32_t size)
{
    return system_call(SYS_WRITE, file, (uint32_t)(uintptr_t)bytes, size);
}

static uint32_t tick_us(void)
{
    struct { uint32_t seconds, nanoseconds; } now = {0, 0};
    system_call(SYS_CLOCK_GETTIME, CLOCK_MONOTONIC, (uint32_t)(uintptr_t)&now, 0);
    return now.seconds * 1000000u + now.nanoseconds / 1000u;
}

#else

#include <time.h>
#include <unistd.h>

static int32_t write_bytes(uint32_t file, const char *bytes, uint32_t size)
{
    return (int32_t)write((int)file, bytes, size);
}

static uint32_t tick_us(void)
{
    struct timespec now = {0, 0};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint32_t)now.tv_sec * 1000000u + (uint32_t)now.tv_nsec / 1000u;
}

#endif

static char line[256];
static uint32_t line_size;
static uint32_t out_file = 1;
static uint32_t time_wanted, start_us;

void out_flush(void)
{
    uint32_t done = 0;
    while (done < line_size) {
        int32_t written = write_bytes(out_file, line + done, line_size - done);
        if (written <= 0)
            break; /* nowhere left to say so */
        done += (uint32_t)written;
    }
    line_size = 0;
}

void out_char(char c)
{
    line[line_size++] = c;
    if (c == '\n' || line_size == sizeof line)
        out_flush();
}

void out_string(const char *text)
{
    while (*text)
        out_char(*text++);
}

void out_unsigned(uint32_t value)
{
    char digits[10];
    uint32_t count = 0;
    do {
        digits[count++] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    while (count)
        out_char(digits[--count]);
}

void out_decimal(int32_t value)
{
    if (value < 0)
        out_char('-');
    out_unsigned(value < 0 ? 0u - (uint32_t)value : (uint32_t)value);
}

void out_hex(uint32_t value)
{
    for (int32_t shift = 28; shift >= 0; shift -= 4)
        out_char("0123456789abcdef"[(value >> shift) & 15]);
}

void out_hex64(uint64_t value)
{
    out_hex((uint32_t)(value >> 32));
    out_hex((uint32_t)value);
}

static void out_label(const char *label)
{
    out_string(label);
    out_char(' ');
}

void out_line(const char *label, uint32_t value)
{
    out_label(label);
    out_hex(value);
    out_char('\n');
}

void out_line64(const char *label, uint64_t value)
{
    out_label(label);
    out_hex64(value);
    out_char('\n');
}

void out_line_decimal(const char *label, int32_t value)
{
    out_label(label);
    out_decimal(value);
    out_char('\n');
}

uint32_t sample_begin(int argc, char **argv, uint32_t default_size)
{
    uint32_t size = 0, size_given = 0;
    for (int i = 1; i < argc; i++) {
        const char *c = argv[i];
        if (c[0] == '-' && c[1] == 't' && !c[2])
            time_wanted = 1;
        if (size_given)
            continue;
        for (; *c >= '0' && *c <= '9'; c++)
            size = size * 10 + (uint32_t)(*c - '0');
        size_given = c != argv[i];
    }
    start_us = tick_us();
    return size_given ? size : default_size;
}

int sample_end(uint32_t checksum)
{
    uint32_t elapsed_us = time_wanted ? tick_us() - start_us : 0;
    out_line("checksum", checksum);
    if (time_wanted) {
        out_file = 2;
        out_string("time_us ");
        out_unsigned(elapsed_us);
        out_char('\n');
        out_file = 1;
    }
    return 0;
}
