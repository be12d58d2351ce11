/* Evaluates location expressions of DWARF, which say where code has a variable: those of one word, as LLVM writes them.
 *
 * Enters: an expression, the one for the base of the frame, and the frame. Leaves: the word. Memory is read on the host's
 * stack alone. What needs more than this frame is not known: values at the entry of the function, and the frame of its caller.
 * The rules are those of DWARF 5, sections 2.5 and 2.6.
 *
 * LLVM writes operations on words of 32 bits as if these were those of DWARF's stack, of 64. What a register of the host or a
 * place on the stack has above such a word is anything, and a shift to the right would bring it in. So it is with the sign.
 */
#include "lifted/dwarf.h"
#include "lifted/places.h"

#include "host/host.h"

#include <string.h>

enum { STACK_WORDS = 16 };

enum operation { /* DW_OP_... */
    DEREF = 0x06, CONST1U = 0x08, CONST8S = 0x0f, CONSTU = 0x10, CONSTS = 0x11, DUP = 0x12, DROP = 0x13, OVER = 0x14,
    SWAP = 0x16, AND = 0x1a, MINUS = 0x1c, MUL = 0x1e, NEG = 0x1f, NOT = 0x20, OR = 0x21, PLUS = 0x22, PLUS_UCONST = 0x23,
    SHL = 0x24, SHR = 0x25, SHRA = 0x26, XOR = 0x27, LIT0 = 0x30, REG0 = 0x50, BREG0 = 0x70, REGX = 0x90, FBREG = 0x91,
    BREGX = 0x92, DEREF_SIZE = 0x94, NOP = 0x96, IMPLICIT_VALUE = 0x9e, STACK_VALUE = 0x9f,
};

struct evaluation {
    struct mr_cursor code;
    struct mr_bytes frame_base;
    const struct mr_host_frame *frame;
    uint64_t words[STACK_WORDS];
    unsigned depth;
    bool failed;
    bool is_narrow; /* shifts to the right are those of 32 bits */
    bool shifts_right, shifts_far; /* some shift to the right was performed; one by 32 bits or more */
};

static void push(struct evaluation *e, uint64_t word)
{
    e->failed |= e->depth == STACK_WORDS;
    if (!e->failed)
        e->words[e->depth++] = word;
}

static uint64_t pop(struct evaluation *e)
{
    e->failed |= e->depth == 0;
    return e->failed ? 0 : e->words[--e->depth];
}

static uint64_t read_stack(struct evaluation *e, uint64_t address, uint64_t size_bytes)
{
    uint64_t word = 0;
    uintptr_t low = e->frame->stack_low, high = e->frame->stack_high;
    e->failed |= size_bytes - 1 >= sizeof word || address < low || address > high || size_bytes > high - address;
    if (!e->failed)
        memcpy(&word, (const void *)(uintptr_t)address, size_bytes);
    return word;
}

static uint64_t read_register(struct evaluation *e, uint64_t number)
{
    uint64_t word = 0;
    e->failed |= number > UINT32_MAX || !mr_context_register(e->frame->context, (unsigned)number, &word);
    return word;
}

/* The base of the frame: a register, or what an expression without a base of its own computes. */
static uint64_t frame_base(struct evaluation *e)
{
    struct mr_bytes base = e->frame_base;
    if (base.size_bytes == 1 && base.bytes[0] >= REG0 && base.bytes[0] < BREG0)
        return read_register(e, base.bytes[0] - REG0);
    e->failed = true;
    return 0;
}

static uint64_t constant(struct evaluation *e, unsigned operation)
{
    unsigned kind = operation - CONST1U, size_bytes = 1u << kind / 2;
    uint64_t word = mr_read_fixed(&e->code, size_bytes);
    unsigned unused_bits = 64 - 8 * size_bytes;
    return kind % 2 == 0 ? word : (uint64_t)((int64_t)(word << unused_bits) >> unused_bits);
}

static uint64_t shifted_right(struct evaluation *e, uint64_t word, uint64_t bits, bool is_signed)
{
    e->shifts_right = true;
    e->shifts_far |= bits >= 32;
    if (e->is_narrow)
        word = is_signed ? (uint64_t)(int64_t)(int32_t)word : (uint32_t)word;
    if (is_signed)
        return (uint64_t)((int64_t)word >> (bits < 64 ? bits : 63));
    return bits < 64 ? word >> bits : 0;
}

static uint64_t of_two(struct evaluation *e, unsigned operation)
{
    uint64_t right = pop(e), left = pop(e);
    switch (operation) {
    case AND: return left & right;
    case MINUS: return left - right;
    case MUL: return left * right;
    case OR: return left | right;
    case PLUS: return left + right;
    case SHL: return right < 64 ? left << right : 0;
    case SHR:
    case SHRA: return shifted_right(e, left, right, operation == SHRA);
    case XOR: return left ^ right;
    default: e->failed = true; return 0;
    }
}

static void copy_word(struct evaluation *e, unsigned below)
{
    e->failed |= below >= e->depth;
    if (!e->failed)
        push(e, e->words[e->depth - 1 - below]);
}

static void swap(struct evaluation *e)
{
    uint64_t upper = pop(e), lower = pop(e);
    push(e, upper);
    push(e, lower);
}

/* An operation that leaves a word, or changes the words. */
static void perform(struct evaluation *e, unsigned operation)
{
    uint64_t number;
    if (operation >= CONST1U && operation <= CONST8S)
        push(e, constant(e, operation));
    else if (operation >= LIT0 && operation < REG0)
        push(e, operation - LIT0);
    else if (operation >= BREG0 && operation < REGX)
        push(e, read_register(e, operation - BREG0) + mr_read_leb128(&e->code, true));
    else
        switch (operation) {
        case NOP: break;
        case DEREF: push(e, read_stack(e, pop(e), sizeof number)); break;
        case DEREF_SIZE: push(e, read_stack(e, pop(e), mr_read_fixed(&e->code, 1))); break;
        case CONSTU: push(e, mr_read_leb128(&e->code, false)); break;
        case CONSTS: push(e, mr_read_leb128(&e->code, true)); break;
        case DUP: copy_word(e, 0); break;
        case OVER: copy_word(e, 1); break;
        case DROP: pop(e); break;
        case SWAP: swap(e); break;
        case NEG: push(e, 0 - pop(e)); break;
        case NOT: push(e, ~pop(e)); break;
        case PLUS_UCONST: push(e, pop(e) + mr_read_leb128(&e->code, false)); break;
        case FBREG: push(e, frame_base(e) + mr_read_leb128(&e->code, true)); break;
        case BREGX:
            number = mr_read_leb128(&e->code, false);
            push(e, read_register(e, number) + mr_read_leb128(&e->code, true));
            break;
        default: push(e, of_two(e, operation)); break;
        }
}

/* What ends an expression: the word is in a register, or it is nowhere and the expression has it. Else it is in memory. */
static bool ends(struct evaluation *e, unsigned operation, uint64_t *word)
{
    if (operation >= REG0 && operation < BREG0)
        *word = read_register(e, operation - REG0);
    else if (operation == REGX)
        *word = read_register(e, mr_read_leb128(&e->code, false));
    else if (operation == STACK_VALUE)
        *word = pop(e);
    else if (operation == IMPLICIT_VALUE) {
        uint64_t size_bytes = mr_read_leb128(&e->code, false);
        e->failed |= size_bytes > sizeof *word;
        *word = e->failed ? 0 : mr_read_fixed(&e->code, (unsigned)size_bytes);
    } else
        return false;
    return true;
}

static bool evaluate(struct evaluation *e, struct mr_bytes expression, uint32_t *value)
{
    uint64_t word = 0;
    bool ended = false;
    e->code = (struct mr_cursor){expression.bytes, expression.bytes + expression.size_bytes, false};
    e->failed = expression.size_bytes == 0;
    while (!e->failed && !ended && e->code.at < e->code.end) {
        unsigned operation = (unsigned)mr_read_fixed(&e->code, 1);
        ended = ends(e, operation, &word);
        if (!ended)
            perform(e, operation);
    }
    if (!e->failed && !ended)
        word = read_stack(e, pop(e), sizeof *value);
    if (e->failed || e->code.overrun || e->code.at != e->code.end) /* behind the end: pieces of a word */
        return false;
    *value = (uint32_t)word;
    return true;
}

/* A shift by 32 bits or more is one of 64 bits. Others may be of either size: the word is known where both give the same. */
bool mr_location_value(struct mr_bytes expression, struct mr_bytes frame_base, const struct mr_host_frame *frame,
                       uint32_t *value)
{
    struct evaluation wide = {.frame_base = frame_base, .frame = frame};
    struct evaluation narrow = {.frame_base = frame_base, .frame = frame, .is_narrow = true};
    uint32_t word = 0, other = 0;
    if (!evaluate(&wide, expression, &word))
        return false;
    if (wide.shifts_right && !wide.shifts_far && !(evaluate(&narrow, expression, &other) && word == other))
        return false;
    *value = word;
    return true;
}
