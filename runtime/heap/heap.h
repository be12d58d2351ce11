/* --check-memory: a heap of the host's own in place of the guest's, with room between blocks that nobody may touch.
 *
 *     names.c      finds malloc and its like in files
 *     hooks.c      puts calls of the host in their place
 *     functions.c  what they do
 *     blocks.c     the heap: blocks, the room around them, and freed blocks that wait before their memory is used again
 *     traces.c     where blocks were made and freed: call chains, each kept once
 *     unwind.c     the guest's call chain
 *     known.c      functions that symbols name
 *     accesses.c   looks at each access, and at what system calls read and write
 *     complaint.c  what is said before the guest dies of SIGABRT
 */
#ifndef MR_HEAP_H
#define MR_HEAP_H

#include "mr_state.h"

#include <stdbool.h>
#include <stdint.h>

void mr_heap_start(void);        /* after the options are read, and the map of counters is there */
void mr_heap_program_loaded(bool is_static); /* fails where a static program has no allocator */

/* ---- functions.c, hooks.c ---- */

enum mr_function_kind {
    MR_MALLOC, MR_CALLOC, MR_REALLOC, MR_FREE, MR_MEMALIGN, MR_POSIX_MEMALIGN, MR_VALLOC, MR_PVALLOC, MR_USABLE_SIZE
};
enum { MR_HOOK_BYTES = 12 }; /* so many at the beginning of a function are replaced */
extern const char *const mr_function_names[]; /* by kind */
extern bool mr_has_malloc; /* some function of that kind was found */
uint32_t mr_function_perform(struct mr_state *s, enum mr_function_kind kind); /* returns what it returns */
void mr_function_hook(uint32_t function, enum mr_function_kind kind);

/* ---- blocks.c; all under mr_lock ---- */

enum mr_block_state { MR_BLOCK_UNUSED, MR_BLOCK_LIVE, MR_BLOCK_FREED };
struct mr_block {
    uint32_t at, size_bytes; /* as the guest sees it */
    uint32_t made, freed;    /* traces */
    enum mr_block_state state;
    struct mr_block *next;
};
/* alignment: a power of two. Returns NULL where there is no memory. */
struct mr_block *mr_block_make(uint32_t size_bytes, uint32_t alignment, uint32_t trace);
void mr_block_free(struct mr_block *block, uint32_t trace);
struct mr_block *mr_block_at(uint32_t guest);   /* that begins there, live or freed; NULL: none */
struct mr_block *mr_block_near(uint32_t guest); /* that an address is in, or else next to; NULL: none was there */

/* ---- traces.c, unwind.c ---- */

enum { MR_TRACE_FRAMES = 16 };
struct mr_trace {
    uint32_t count;
    uint32_t pcs[MR_TRACE_FRAMES];
};
/* The call chain from pc on: behind it the pcs of calls. `entered`: pc is the entry of a function. */
void mr_heap_unwind(const struct mr_state *s, uint32_t pc, bool entered, struct mr_trace *trace);
uint32_t mr_trace_keep(const struct mr_trace *trace); /* under mr_lock; returns its number, 0: there is no room */
void mr_trace_get(uint32_t number, struct mr_trace *trace);

/* ---- known.c ---- */

void mr_heap_note_function(const char *name, uint32_t low, uint32_t high); /* of a file that is mapped: guest pcs */
uint32_t mr_heap_function_of(uint32_t pc); /* where the function begins that has a pc; 0: not known */
/* Whether a load at a pc counts by the first byte of its word. */
bool mr_heap_in_string_function(uint32_t pc);

/* ---- complaint.c ---- */

/* An access by the instruction at s->pc, or by a system call, to a byte that may not be touched. */
_Noreturn void mr_heap_bad_access(struct mr_state *s, uint32_t guest, uint32_t size_bytes, bool stores, const char *caller);
/* A call of the allocator's function at s->pc with a pointer that is none of its blocks. */
_Noreturn void mr_heap_bad_pointer(struct mr_state *s, uint32_t guest, const char *function);

#endif
