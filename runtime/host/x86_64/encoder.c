/* What the baseline tier knows of x86-64: jumps, the way in and out, and where signal contexts keep pinned registers. */
#include "host/encoder.h"
#include "mr_abi.h"
#include "mr_stencil_numbers.h"

#include <string.h>

static uint8_t *put(uint8_t *to, const void *bytes, size_t count)
{
    memcpy(to, bytes, count);
    return to + count;
}

static uint8_t *put32(uint8_t *to, uint32_t value)
{
    return put(to, &value, sizeof value);
}

void mr_write_displacement(uint8_t *at, const uint8_t *target)
{
    uint32_t displacement = (uint32_t)(target - (at + 4));
    __atomic_store_n((uint32_t *)(void *)at, displacement, __ATOMIC_RELEASE); /* x86 stores it at once within a cache line */
}

bool mr_can_redirect(const uint8_t *at)
{
    enum { CACHE_LINE_BYTES = 64 };
    return (uintptr_t)at % CACHE_LINE_BYTES <= CACHE_LINE_BYTES - 4;
}

uint8_t *mr_write_jump(uint8_t *to, const uint8_t *target)
{
    *to = 0xe9;
    mr_write_displacement(to + 1, target);
    return to + MR_JUMP_BYTES;
}

uint8_t *mr_write_stub(uint8_t *to, const uint8_t *target, uint32_t pc)
{
    *to = 0xe8;
    mr_write_displacement(to + 1, target);
    return put32(to + 5, pc);
}

/* rbx and rcx hold nothing between stencils. */
uint8_t *mr_write_check(uint8_t *to, uintptr_t window, uint32_t pc, const uint32_t *words, unsigned count, bool first,
                        uint8_t **differs)
{
    if (first)
        to = put(put(to, "\x48\xbb", 2), &window, sizeof window); /* mov rbx, ... */
    if (count == 2) {
        to = put(put(to, "\x48\xb9", 2), words, 8); /* mov rcx, ... */
        to = put32(put(to, "\x48\x39\x8b", 3), pc); /* cmp [rbx + ...], rcx */
    } else {
        to = put32(put(to, "\x81\xbb", 2), pc); /* cmp dword [rbx + ...], ... */
        to = put32(to, *words);
    }
    to = put(to, "\x0f\x85", 2); /* jne */
    *differs = to;
    return to + 4;
}

/* rcx is free, and no stencil takes flags from the one before. */
uint8_t *mr_write_count(uint8_t *to, uint32_t counter)
{
    to = put32(put(to, "\x65\x8a\x0c\x25", 4), counter);   /* mov cl, gs:[...] */
    to = put(to, "\x80\xc1\x01\x80\xd1\x00", 6);           /* add cl, 1; adc cl, 0 */
    return put32(put(to, "\x65\x88\x0c\x25", 4), counter); /* mov gs:[...], cl */
}

uint8_t *mr_write_count_of_jump(uint8_t *to, uint32_t first)
{
    const uint8_t shift = 32 - MR_COUNTER_BITS;
    _Static_assert(MR_COUNTER_BITS == 16, "movzx");
    to = put32(put(to, "\x69\xc9", 2), MR_COUNTER_MULTIPLIER); /* imul ecx, ecx, ... */
    to = put(put(to, "\xc1\xe9", 2), &shift, 1);               /* shr ecx, ... */
    to = put32(put(to, "\x81\xc1", 2), first);                 /* add ecx, ... */
    to = put(to, "\x0f\xb7\xc9", 3);                           /* movzx ecx, cx */
    return put(to, "\x65\x80\x01\x01\x65\x80\x11\x00", 8);      /* add byte gs:[rcx], 1; adc byte gs:[rcx], 0 */
}

/* rbx is free, too. */
uint8_t *mr_write_look(uint8_t *to, uint32_t displacement, uint8_t last, uint32_t shadow_offset, uint8_t **forbidden)
{
    to = put32(put(to, "\x8d\x89", 2), displacement);              /* lea ecx, [rcx + ...] */
    to = put(to, "\x89\xcb\xc1\xeb\x03", 5);                      /* mov ebx, ecx; shr ebx, 3 */
    to = put32(put(to, "\x65\x0f\xbe\x9b", 4), shadow_offset);    /* movsx ebx, byte gs:[rbx + ...] */
    to = put(to, "\x85\xdb\x74\x0e", 4);                          /* test ebx, ebx; je behind all this */
    to = put(put(to, "\x83\xe1\x07\x83\xc1", 5), &last, 1);       /* and ecx, 7; add ecx, ... */
    to = put(to, "\x39\xd9\x0f\x8d", 4);                          /* cmp ecx, ebx; jge */
    *forbidden = to;
    return to + 4;
}

uint8_t *mr_write_keep(uint8_t *to)
{
    return put(to, "\x89\xcb", 2); /* mov ebx, ecx */
}

uint8_t *mr_write_add_kept(uint8_t *to)
{
    return put(to, "\x01\xd9", 2); /* add ecx, ebx */
}

/* A displacement is signed, and guest addresses are below 0x80000000. */
uint8_t *mr_write_mark(uint8_t *to, uint32_t guest, uint8_t value)
{
    return put(put32(put(to, "\x65\xc6\x04\x25", 4), guest), &value, 1); /* mov byte gs:[...], ... */
}

/* rcx holds what is returned (convention.TEMPORARY), r12 the pointer to the state. */
static uint8_t *put_leave(uint8_t *to, bool pops_pc, uint32_t result, const uint8_t *leave)
{
    if (pops_pc) {
        to = put(to, "\x59\x8b\x09\x41\x89\x8c\x24", 7); /* pop rcx; mov ecx, [rcx]; mov [r12 + ...], ecx */
        to = put32(to, (uint32_t)MR_PC_OFFSET);
    }
    *to++ = 0xb9; /* mov ecx, ... */
    return mr_write_jump(put32(to, result), leave);
}

void mr_write_entrance(uint8_t *to, const struct mr_glue *glue, struct mr_entrance *entrance)
{
    enum { PARTS_BYTES = 128 };
    uint8_t *leave = to + PARTS_BYTES, *enter = leave + glue->leave_bytes;
    entrance->there = to;
    entrance->link = put_leave(entrance->there, false, MR_GO_ON, leave);
    entrance->perform = put_leave(entrance->link, true, MR_GO_ON, leave);
    entrance->stale = put_leave(entrance->perform, true, MR_PERFORM, leave);
    put_leave(entrance->stale, true, MR_STALE, leave);
    put(leave, glue->leave, glue->leave_bytes);
    put(enter, glue->enter, glue->enter_bytes);
    entrance->enter = (uint32_t (*)(struct mr_state *, const uint8_t *))(uintptr_t)enter;
}

void mr_store_pins(struct mr_state *s, const ucontext_t *context)
{
    static const uint8_t words[] = MR_PIN_REGISTERS;
    static const uint8_t pins[] = MR_PINS, float_pins[] = MR_FLOAT_PINS;
    const mcontext_t *registers = &context->uc_mcontext;
    for (unsigned i = 0; i < MR_PIN_COUNT; i++)
        s->gpr[pins[i]].value = (uint32_t)registers->gregs[words[i]];
    for (unsigned i = 0; i < MR_FLOAT_PIN_COUNT; i++)
        memcpy(&s->fpr[float_pins[i]].bits, &registers->fpregs->_xmm[i], sizeof s->fpr[0].bits);
}
