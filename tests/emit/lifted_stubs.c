/* The host as lifted code needs it, made small, to run lifted functions in a test's process: interp_stubs.c, and accesses,
 * calls and page tables. Compile everything with -Dmr_interpret=interpret_inside, so that the calls of the interpreter by
 * lifted code can be counted. */
#include "../support/interp_stubs.c"
#include "cpu/fpu.h"
#undef mr_interpret

uint32_t stub_interpreted; /* how often lifted code handed over */
uint32_t mr_interpret(struct mr_state *s, uint32_t pc, uint32_t stop_pc, uint32_t stop_sp);

static uint32_t stop;
static uint8_t **pages;

#define LOW 0x10000u
#define HIGH 0x40000u

/* Maps the guest's memory at host address 0, as model flat wants it; returns false when something else is there. */
bool stub_identity(void)
{
    void *low = mmap((void *)(uintptr_t)LOW, HIGH - LOW, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (low != (void *)(uintptr_t)LOW)
        return false;
    mr_dispatch = reserve(((size_t)1 << 30) * sizeof *mr_dispatch);
    mr_dispatch16 = reserve(((size_t)1 << 30) * sizeof *mr_dispatch16);
    pages = reserve(((size_t)1 << 20) * sizeof *pages);
    for (uintptr_t guest = LOW; guest < HIGH; guest += 4096)
        pages[guest >> 12] = (uint8_t *)guest;
    return true;
}

void stub_order(bool big_endian)
{
    mr_big_endian = big_endian;
}

void stub_enter_at(uint32_t pc, mr_function function)
{
    mr_dispatch[pc >> 2] = function ? (int32_t)((uintptr_t)function - (uintptr_t)mr_fallback) : 0;
}

uint32_t (*mr_enter)(struct mr_state *, mr_function);

static mr_function stopped; /* calls the host, as mr_fallback does */

void stub_convention(uint32_t (*enter)(struct mr_state *, mr_function), mr_function host, mr_function at_stop)
{
    mr_enter = enter;
    stopped = at_stop;
    mr_fallback = (uint8_t *)(uintptr_t)host;
}

uint32_t mr_interpret(struct mr_state *s, uint32_t pc, uint32_t stop_pc, uint32_t stop_sp)
{
    if (pc == stop)
        return pc;
    stub_interpreted++;
    return interpret_inside(s, pc, stop_pc, stop_sp);
}

uint32_t mr_call(struct mr_state *s, uint32_t pc)
{
    if (pc == stop)
        return pc;
    mr_function function = mr_fpu_may_trap(s) ? NULL : mr_lookup(pc);
    s->pc = pc;
    return function ? mr_enter(s, function) : mr_interpret(s, pc, stop, UINT32_MAX);
}

uint32_t mr_run_nested(struct mr_state *s, uint32_t pc, uint32_t sp)
{
    (void)s, (void)sp;
    return pc;
}

/* Runs from pc until control is at stop_pc; returns how many times the interpreter had to help. */
uint32_t stub_run(struct mr_state *s, uint32_t pc, uint32_t stop_pc)
{
    stop = stop_pc;
    stub_interpreted = 0;
    stub_enter_at(stop, stopped); /* the interpreter, too, ends where something lifted is */
    s->dispatch = mr_dispatch;
    s->dispatch16 = mr_dispatch16;
    s->fallback = mr_fallback;
    s->read_pages = s->write_pages = pages;
    mr_fpu_enter(s);
    while (pc != stop)
        pc = mr_call(s, pc);
    mr_fpu_collect(s);
    return stub_interpreted;
}

#define ACCESS(bits, type) \
    type mr_load##bits(struct mr_state *s, uint32_t guest) \
    { \
        (void)s; \
        return mr_peek##bits(guest); \
    } \
    void mr_store##bits(struct mr_state *s, uint32_t guest, type value) \
    { \
        (void)s; \
        mr_poke##bits(guest, (uint##bits##_t)value); \
    }
ACCESS(8, uint32_t)
ACCESS(16, uint32_t)
ACCESS(32, uint32_t)
ACCESS(64, uint64_t)

uint32_t mr_compare_exchange(struct mr_state *s, uint32_t guest, uint32_t expected, uint32_t value)
{
    (void)s;
    bool same = mr_peek32(guest) == expected;
    if (same)
        mr_poke32(guest, value);
    return same;
}
