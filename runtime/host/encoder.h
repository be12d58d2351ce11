/* What the baseline tier asks of the host: host code besides stencils, which mipsrec/stencils makes for the same host.
 *
 * A displacement has 32 bits everywhere, and ends what jumps by it. encoder.c of the host's folder answers this; inline.h has
 * MR_JUMP_BYTES and MR_ENTRANCE_BYTES.
 */
#ifndef MR_HOST_ENCODER_H
#define MR_HOST_ENCODER_H

#include "host/host.h"
#include "mr_state.h"

struct mr_glue { /* a C function that enters code, and what code returns through; relocatable */
    const uint8_t *enter, *leave;
    size_t enter_bytes, leave_bytes;
};
enum mr_outcome { MR_GO_ON, MR_PERFORM, MR_STALE }; /* what is to happen at s->pc when code has been left */
/* Puts at `to` what every stencil leaves through, in MR_ENTRANCE_BYTES, and where the parts are into *entrance. */
struct mr_entrance {
    uint8_t *there;   /* leaves: the state has the pc. At the start. */
    uint8_t *link;    /* called by a stub: the word behind the call is the pc to go on at */
    uint8_t *perform; /* the same; the interpreter performs the instruction there */
    uint8_t *stale;   /* the same; and the code of the pc is of other words than the guest has there */
    uint32_t (*enter)(struct mr_state *s, const uint8_t *code); /* returns an mr_outcome */
};
void mr_write_entrance(uint8_t *to, const struct mr_glue *glue, struct mr_entrance *entrance);
uint8_t *mr_write_jump(uint8_t *to, const uint8_t *target);                /* returns its end, as the next one */
uint8_t *mr_write_stub(uint8_t *to, const uint8_t *target, uint32_t pc);   /* calls it with the pc */
void mr_write_displacement(uint8_t *at, const uint8_t *target);            /* of a jump, which ends behind its 4 bytes */
/* Compares the guest's words at pc with those given, at most two of them, as they lie in memory; the jump that is taken where
 * they differ ends where *differs says. Returns the end of it. `window`: the host address of guest address 0, which stays.
 * `first`: no other comparison stands right before it. */
uint8_t *mr_write_check(uint8_t *to, uintptr_t window, uint32_t pc, const uint32_t *words, unsigned count, bool first,
                        uint8_t **differs);
/* Counts up one of the counters (mr_set_counters, host.h), from 255 to 1; or the one of a jump (base/counters.h) to the pc
 * that TEMPORARY has. TEMPORARY is lost. */
uint8_t *mr_write_count(uint8_t *to, uint32_t counter);
uint8_t *mr_write_count_of_jump(uint8_t *to, uint32_t first);
/* Looks into the shadow of guest memory (memory/shadow.h), which is at an offset from the counters: TEMPORARY and the displacement
 * are the address, `last` is the offset of the last byte that counts. The jump that is taken where that may not be touched ends
 * where *forbidden says. TEMPORARY is lost. */
uint8_t *mr_write_look(uint8_t *to, uint32_t displacement, uint8_t last, uint32_t shadow_offset, uint8_t **forbidden);
/* The address is of two registers: the first is kept, and added to the second. No other code stands between but what fetches. */
uint8_t *mr_write_keep(uint8_t *to);
uint8_t *mr_write_add_kept(uint8_t *to);
/* Sets the byte of a guest address, which `mr_set_counters` of mr_marks (base/marks.h) has given a place. Nothing is lost. */
uint8_t *mr_write_mark(uint8_t *to, uint32_t guest, uint8_t value);
bool mr_can_redirect(const uint8_t *at); /* whether a displacement may be written while other threads execute the jump */
/* Stores what a thread has in pinned registers into the state. */
void mr_store_pins(struct mr_state *s, const ucontext_t *context);

#endif
