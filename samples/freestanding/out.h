/*
 * What every sample has instead of libc: text output, memory functions, a pseudo-random source, a checksum and a clock.
 *
 * With SAMPLE_FREESTANDING (MIPS builds of kind "freestanding") the output goes straight to system calls; natively and
 * in builds with libc it goes to libc's write. Output is buffered by line and must not be mixed with stdio.
 */
#ifndef SAMPLES_OUT_H
#define SAMPLES_OUT_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

void *memcpy(void *to, const void *from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int byte, size_t size);
int memcmp(const void *left, const void *right, size_t size);
size_t strlen(const char *text);

void out_char(char c);
void out_string(const char *text);
void out_decimal(int32_t value);
void out_unsigned(uint32_t value);
void out_hex(uint32_t value);   /* always eight digits */
void out_hex64(uint64_t value); /* always sixteen digits */
void out_flush(void);
void out_line(const char *label, uint32_t value);          /* "label 0123abcd\n" */
void out_line64(const char *label, uint64_t value);        /* "label 0123456789abcdef\n" */
void out_line_decimal(const char *label, int32_t value);   /* "label -42\n" */

/* Returns the first number among the arguments, or default_size; remembers whether -t asks for the time. */
uint32_t sample_begin(int argc, char **argv, uint32_t default_size);
/* Prints "checksum 0123abcd"; with -t also the microseconds since sample_begin, on standard error. Returns 0, for main. */
int sample_end(uint32_t checksum);

/* Marsaglia's xorshift with 32 bits of state, which must not be 0. */
static inline uint32_t random32(uint32_t *state)
{
    uint32_t x = *state;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    return *state = x;
}

/* One step of an FNV-1a-like checksum over words instead of bytes. */
static inline uint32_t mix32(uint32_t hash, uint32_t value)
{
    hash = (hash ^ value) * 16777619u;
    return hash ^ (hash >> 15);
}

static inline uint32_t mix64(uint32_t hash, uint64_t value)
{
    return mix32(mix32(hash, (uint32_t)value), (uint32_t)(value >> 32));
}

/* The bit pattern of a floating-point number. Not for NaNs, which the two architectures encode differently. */
static inline uint64_t double_bits(double value)
{
    union { double value; uint64_t bits; } both;
    both.value = value;
    return both.bits;
}

static inline uint32_t float_bits(float value)
{
    union { float value; uint32_t bits; } both;
    both.value = value;
    return both.bits;
}

#ifdef __cplusplus
}
#endif

#endif
