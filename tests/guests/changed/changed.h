/* For guests that change code: functions made of words, calls of them, and what is expected of these. */
#ifndef CHANGED_H
#define CHANGED_H

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/cachectl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define JR_RA 0x03e00008u
#define RETURNS(n) (0x24020000u | (n)) /* addiu $v0, $zero, n */

enum {
    PAGE = 4096,
    WORDS = PAGE / 4,
    OFTEN = 20, /* calls, after which every tier has made code of what is called */
    ROUNDS = 12,
    RW = PROT_READ | PROT_WRITE,
    RX = PROT_READ | PROT_EXEC,
    RWX = PROT_READ | PROT_WRITE | PROT_EXEC,
};

/* Offsets at which swl and swr store all of a word, and those of its halves. */
#ifdef __MIPSEL__
#define SWL_AT "3"
#define SWR_AT "0"
#define LOW_AT "0"
#define HIGH_AT "2"
#else
#define SWL_AT "0"
#define SWR_AT "3"
#define LOW_AT "2"
#define HIGH_AT "0"
#endif

struct way {
    const char *name;
    void (*run)(void);
};
extern const struct way mapping_ways[], call_ways[], own_ways[], process_ways[], fault_ways[],
    text_ways[];

extern int failures; /* of this process */
void expect(const char *file, int line, long found, long expected);
#define EXPECT(found, expected) expect(__FILE__, __LINE__, (long)(found), (long)(expected))

static inline int call(const volatile void *code)
{
    return ((int (*)(void))code)();
}

/* Calls it often; returns what it returned, or -1 when that was not the same each time. */
int called(const volatile void *code);

/* A function that returns n: two words. */
static inline void put(volatile unsigned *at, int n)
{
    at[0] = JR_RA;
    at[1] = RETURNS(n);
}

static inline void flush(volatile void *at, int size_bytes)
{
    cacheflush((char *)at, size_bytes, BCACHE);
}

/* The word of `put` that holds n. */
static inline void change(volatile unsigned *at, int n)
{
    at[1] = RETURNS(n);
    flush(at, 8);
}

/* Pages with functions that return 0, all over. */
static inline unsigned *pages(int count, int protection)
{
    unsigned *made = mmap(NULL, count * PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < count * WORDS; i += 2)
        put(made + i, 0);
    mprotect(made, count * PAGE, protection);
    return made;
}

#endif
