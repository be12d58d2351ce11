/* Runs a program of looks_maker.py in the interpreter, instruction by instruction, and records the registers before each.
 *
 * Enters: the library of tests/support/interpreter.py, whose memory has the program. System calls give what no code may depend
 * on; the handler of traps is imitated here. A branch and its delay slot are one step. */
#include "cpu/fpu.h"
#include "cpu/interp.h"

#include <string.h>

struct stub_event {
    uint32_t count, cause, pc, word, after;
};
extern struct stub_event stub_event;

enum { SYSCALL = 100, GETPID = 4020, EXIT_GROUP = 4246 };

struct tracing {
    uint32_t pc, below, throws_word, throws_pc, flipped, flip, pid; /* pcs below are those of functions */
};
struct step {
    uint32_t pc, registers[34]; /* lo and hi last */
};

static void record(struct step *step, const struct mr_state *s, uint32_t pc)
{
    step->pc = pc;
    for (int i = 0; i < 32; i++)
        step->registers[i] = GPR(s, i);
    step->registers[32] = (uint32_t)s->hilo[0];
    step->registers[33] = (uint32_t)(s->hilo[0] >> 32);
}

static uint32_t after_exception(struct mr_state *s, const struct tracing *how, bool *ends)
{
    uint32_t pc = stub_event.pc;
    if (stub_event.cause == SYSCALL) {
        *ends = GPR(s, 2) == EXIT_GROUP;
        set_gpr(s, 2, GPR(s, 2) == GETPID ? how->pid : 0);
        set_gpr(s, 7, 0);
        return pc + 4;
    }
    if (mr_fetch(pc) == how->throws_word) {
        set_gpr(s, 31, pc + 4);
        return how->throws_pc;
    }
    set_gpr(s, how->flipped, GPR(s, how->flipped) ^ how->flip);
    return pc + 4;
}

/* Returns how many steps were recorded; `most` where the program is longer. */
uint32_t looks_trace(struct mr_state *s, const struct tracing *how, struct step *steps, uint32_t most)
{
    uint32_t pc = how->pc, count = 0;
    bool ends = false, records = false;
    mr_fpu_set_modes(s);
    while (!ends && count < most) {
        if (pc < how->below || records) /* the step where a function comes back, too */
            record(&steps[count++], s, pc);
        records = pc < how->below;
        stub_event.count = stub_event.after = 0;
        s->pc = pc;
        pc = mr_interpret_step(s, pc);
        if (stub_event.count != 0)
            pc = after_exception(s, how, &ends);
    }
    return count;
}
