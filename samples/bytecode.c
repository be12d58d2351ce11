/*
 * An interpreter that calls: each operation of a small stack machine is a function, and some call the interpreter.
 *
 * Calls, maps, filters, folds and sorts of the interpreted program do so, and nest. One program is run by two
 * interpreters: one calls operations through a table, as jq's functions are called, one through a switch, as Lua does.
 */
#include "freestanding/out.h"

enum operation {
    CONSTANT, LOCAL, SET_LOCAL, DROP, ADD, SUBTRACT, MULTIPLY, REMAINDER, LESS, EQUAL, JUMP, JUMP_UNLESS,
    CALL, RETURN, NEW_ARRAY, APPEND, EACH, KEEP, FOLD, SORT, OPERATIONS
};
enum kind { NOTHING, NUMBER, ARRAY };
enum status { RUNNING, KIND_FAULT, STACK_FAULT, DIVISION_FAULT, MEMORY_FAULT };
enum { STACK_SIZE = 400, MOST_DEPTH = 40, ARRAYS = 8, ARRAY_SIZE = 40 };

struct value {
    uint32_t kind;
    int32_t number; /* of an array its place among the arrays */
};

struct array {
    uint32_t size;
    struct value items[ARRAY_SIZE];
};

struct instruction {
    int16_t operation, operand;
};

struct function {
    uint32_t arguments, locals; /* arguments are the first locals */
    const struct instruction *code;
};

struct frame {
    const struct instruction *next; /* NULL after a return */
    uint32_t base;
};

struct machine {
    void (*run)(struct machine *m, uint32_t function);
    uint32_t top, depth, array_count, calls;
    enum status status;
    struct value stack[STACK_SIZE];
    struct array arrays[ARRAYS];
};

static struct machine machine;

/* ---- the stack ---- */

static void fault(struct machine *m, enum status status)
{
    if (m->status == RUNNING)
        m->status = status;
}

static void push(struct machine *m, enum kind kind, int32_t number)
{
    if (m->top == STACK_SIZE)
        fault(m, STACK_FAULT);
    else
        m->stack[m->top++] = (struct value){kind, number};
}

static struct value pop(struct machine *m)
{
    if (m->top)
        return m->stack[--m->top];
    fault(m, STACK_FAULT);
    return (struct value){NOTHING, 0};
}

static int32_t pop_number(struct machine *m)
{
    struct value value = pop(m);
    if (value.kind != NUMBER)
        fault(m, KIND_FAULT);
    return value.number;
}

static struct array *array_of(struct machine *m, struct value value)
{
    if (value.kind != ARRAY)
        fault(m, KIND_FAULT);
    return &m->arrays[value.kind == ARRAY ? value.number : 0];
}

static struct array *top_array(struct machine *m) { return array_of(m, m->stack[m->top ? m->top - 1 : 0]); }

/* Runs a function of the program on one or two values, and returns its result: the interpreter is called again. */
static struct value called(struct machine *m, int32_t function, struct value first, const struct value *second)
{
    push(m, first.kind, first.number);
    if (second)
        push(m, second->kind, second->number);
    m->run(m, (uint32_t)function);
    return pop(m);
}

/* ---- operations ---- */

#define OPERATION static __attribute__((noinline)) void
#define UNUSED(name) name __attribute__((unused))

OPERATION op_constant(struct machine *m, struct frame *UNUSED(frame), int32_t operand) { push(m, NUMBER, operand); }

OPERATION op_local(struct machine *m, struct frame *frame, int32_t operand)
{
    struct value value = m->stack[frame->base + (uint32_t)operand];
    push(m, value.kind, value.number);
}

OPERATION op_set_local(struct machine *m, struct frame *frame, int32_t operand)
{
    m->stack[frame->base + (uint32_t)operand] = pop(m);
}

OPERATION op_drop(struct machine *m, struct frame *UNUSED(frame), int32_t UNUSED(operand)) { pop(m); }

OPERATION op_add(struct machine *m, struct frame *UNUSED(frame), int32_t UNUSED(operand))
{
    uint32_t right = (uint32_t)pop_number(m), left = (uint32_t)pop_number(m);
    push(m, NUMBER, (int32_t)(left + right));
}

OPERATION op_subtract(struct machine *m, struct frame *UNUSED(frame), int32_t UNUSED(operand))
{
    uint32_t right = (uint32_t)pop_number(m), left = (uint32_t)pop_number(m);
    push(m, NUMBER, (int32_t)(left - right));
}

OPERATION op_multiply(struct machine *m, struct frame *UNUSED(frame), int32_t UNUSED(operand))
{
    uint32_t right = (uint32_t)pop_number(m), left = (uint32_t)pop_number(m);
    push(m, NUMBER, (int32_t)(left * right & 0x7fffffff));
}

OPERATION op_remainder(struct machine *m, struct frame *UNUSED(frame), int32_t UNUSED(operand))
{
    int32_t right = pop_number(m), left = pop_number(m);
    if (right <= 0)
        fault(m, DIVISION_FAULT);
    push(m, NUMBER, right > 0 ? left % right : 0);
}

OPERATION op_less(struct machine *m, struct frame *UNUSED(frame), int32_t UNUSED(operand))
{
    int32_t right = pop_number(m), left = pop_number(m);
    push(m, NUMBER, left < right);
}

OPERATION op_equal(struct machine *m, struct frame *UNUSED(frame), int32_t UNUSED(operand))
{
    struct value right = pop(m), left = pop(m);
    push(m, NUMBER, left.kind == right.kind && left.number == right.number);
}

OPERATION op_jump(struct machine *UNUSED(m), struct frame *frame, int32_t operand) { frame->next += operand; }

OPERATION op_jump_unless(struct machine *m, struct frame *frame, int32_t operand)
{
    if (!pop_number(m))
        frame->next += operand;
}

OPERATION op_call(struct machine *m, struct frame *UNUSED(frame), int32_t operand)
{
    m->calls++;
    m->run(m, (uint32_t)operand);
}

/* The result takes the place of the arguments. */
OPERATION op_return(struct machine *m, struct frame *frame, int32_t UNUSED(operand))
{
    struct value result = pop(m);
    m->top = frame->base;
    push(m, result.kind, result.number);
    frame->next = NULL;
}

OPERATION op_new_array(struct machine *m, struct frame *UNUSED(frame), int32_t UNUSED(operand))
{
    if (m->array_count == ARRAYS) {
        fault(m, MEMORY_FAULT);
    } else {
        m->arrays[m->array_count].size = 0;
        push(m, ARRAY, (int32_t)m->array_count++);
    }
}

OPERATION op_append(struct machine *m, struct frame *UNUSED(frame), int32_t UNUSED(operand))
{
    struct value item = pop(m);
    struct array *array = top_array(m);
    if (array->size == ARRAY_SIZE)
        fault(m, MEMORY_FAULT);
    else
        array->items[array->size++] = item;
}

OPERATION op_each(struct machine *m, struct frame *UNUSED(frame), int32_t operand)
{
    struct array *array = top_array(m);
    for (uint32_t i = 0; i < array->size && m->status == RUNNING; i++)
        array->items[i] = called(m, operand, array->items[i], NULL);
}

OPERATION op_keep(struct machine *m, struct frame *UNUSED(frame), int32_t operand)
{
    struct array *array = top_array(m);
    uint32_t kept = 0;
    for (uint32_t i = 0; i < array->size && m->status == RUNNING; i++)
        if (called(m, operand, array->items[i], NULL).number)
            array->items[kept++] = array->items[i];
    array->size = kept;
}

OPERATION op_fold(struct machine *m, struct frame *UNUSED(frame), int32_t operand)
{
    struct value result = pop(m);
    struct array *array = array_of(m, pop(m));
    for (uint32_t i = 0; i < array->size && m->status == RUNNING; i++)
        result = called(m, operand, result, &array->items[i]);
    push(m, result.kind, result.number);
}

/* By insertion; where to is found by halving. */
OPERATION op_sort(struct machine *m, struct frame *UNUSED(frame), int32_t operand)
{
    struct array *array = top_array(m);
    for (uint32_t i = 1; i < array->size && m->status == RUNNING; i++) {
        struct value item = array->items[i];
        uint32_t low = 0, high = i;
        while (low < high) {
            uint32_t middle = (low + high) / 2;
            if (called(m, operand, item, &array->items[middle]).number)
                high = middle;
            else
                low = middle + 1;
        }
        for (uint32_t at = i; at > low; at--)
            array->items[at] = array->items[at - 1];
        array->items[low] = item;
    }
}

/* ---- the interpreted program ---- */

enum program { MAIN, FILLED, SQUARE, IS_ODD, COMES_FIRST, JOINED, DIVISOR, BINOMIAL, HAILSTONE };

/* From a seed: an array filled, mapped, filtered, sorted and folded; then divisors, a binomial, and a length. */
static const struct instruction main_code[] = {
    {LOCAL, 0}, {CALL, FILLED}, {EACH, SQUARE}, {KEEP, IS_ODD}, {SORT, COMES_FIRST}, {SET_LOCAL, 1},
    {LOCAL, 1}, {CONSTANT, 7}, {FOLD, JOINED}, {SET_LOCAL, 2},
    {LOCAL, 1}, {EACH, HAILSTONE}, {LOCAL, 2}, {FOLD, DIVISOR}, {LOCAL, 2}, {ADD, 0},
    {CONSTANT, 9}, {LOCAL, 0}, {CONSTANT, 6}, {REMAINDER, 0}, {CALL, BINOMIAL}, {ADD, 0}, {RETURN, 0},
};
static const struct instruction filled_code[] = {
    {NEW_ARRAY, 0}, {SET_LOCAL, 1}, {CONSTANT, 0}, {SET_LOCAL, 2},
    {LOCAL, 2}, {CONSTANT, 32}, {LESS, 0}, {JUMP_UNLESS, 15}, /* a loop from here to the jump back */
    {LOCAL, 0}, {CONSTANT, 1103}, {MULTIPLY, 0}, {CONSTANT, 12345}, {ADD, 0}, {SET_LOCAL, 0},
    {LOCAL, 1}, {LOCAL, 0}, {APPEND, 0}, {DROP, 0},
    {LOCAL, 2}, {CONSTANT, 1}, {ADD, 0}, {SET_LOCAL, 2}, {JUMP, -19},
    {LOCAL, 1}, {RETURN, 0},
};
static const struct instruction square_code[] = {
    {LOCAL, 0}, {CONSTANT, 4099}, {REMAINDER, 0}, {SET_LOCAL, 0},
    {LOCAL, 0}, {LOCAL, 0}, {MULTIPLY, 0}, {CONSTANT, 2039}, {REMAINDER, 0}, {CONSTANT, 1}, {ADD, 0}, {RETURN, 0},
};
static const struct instruction is_odd_code[] = {{LOCAL, 0}, {CONSTANT, 2}, {REMAINDER, 0}, {RETURN, 0}};
static const struct instruction comes_first_code[] = {
    {LOCAL, 0}, {CONSTANT, 50}, {REMAINDER, 0}, {LOCAL, 1}, {CONSTANT, 50}, {REMAINDER, 0}, {LESS, 0}, {RETURN, 0},
};
static const struct instruction joined_code[] = {
    {LOCAL, 0}, {CONSTANT, 31}, {MULTIPLY, 0}, {LOCAL, 1}, {ADD, 0}, {CONSTANT, 32749}, {REMAINDER, 0}, {RETURN, 0},
};
static const struct instruction divisor_code[] = {
    {LOCAL, 1}, {JUMP_UNLESS, 6},
    {LOCAL, 1}, {LOCAL, 0}, {LOCAL, 1}, {REMAINDER, 0}, {CALL, DIVISOR}, {RETURN, 0},
    {LOCAL, 0}, {RETURN, 0},
};
static const struct instruction binomial_code[] = {
    {LOCAL, 1}, {JUMP_UNLESS, 20}, {LOCAL, 0}, {LOCAL, 1}, {EQUAL, 0}, {JUMP_UNLESS, 2}, {CONSTANT, 1}, {RETURN, 0},
    {LOCAL, 0}, {CONSTANT, 1}, {SUBTRACT, 0}, {SET_LOCAL, 2},
    {LOCAL, 2}, {LOCAL, 1}, {CALL, BINOMIAL}, {LOCAL, 2}, {LOCAL, 1}, {CONSTANT, 1}, {SUBTRACT, 0},
    {CALL, BINOMIAL}, {ADD, 0}, {RETURN, 0},
    {CONSTANT, 1}, {RETURN, 0},
};
static const struct instruction hailstone_code[] = {
    {CONSTANT, 0}, {SET_LOCAL, 1},
    {LOCAL, 0}, {CONSTANT, 2}, {LESS, 0}, {JUMP_UNLESS, 2}, {LOCAL, 1}, {RETURN, 0},
    {LOCAL, 1}, {CONSTANT, 1}, {ADD, 0}, {SET_LOCAL, 1},
    {LOCAL, 0}, {CONSTANT, 3}, {MULTIPLY, 0}, {CONSTANT, 1}, {ADD, 0}, {CONSTANT, 1024}, {REMAINDER, 0}, {SET_LOCAL, 0},
    {LOCAL, 1}, {CONSTANT, 12}, {EQUAL, 0}, {JUMP_UNLESS, -22}, {LOCAL, 0}, {RETURN, 0},
};

static const struct function functions[] = {
    {1, 3, main_code}, {1, 3, filled_code}, {1, 1, square_code}, {1, 1, is_odd_code}, {2, 2, comes_first_code},
    {2, 2, joined_code}, {2, 2, divisor_code}, {2, 3, binomial_code}, {1, 2, hailstone_code},
};

/* ---- two interpreters ---- */

typedef void operation_function(struct machine *m, struct frame *frame, int32_t operand);

static operation_function *const operations[OPERATIONS] = {
    op_constant, op_local, op_set_local, op_drop, op_add, op_subtract, op_multiply, op_remainder, op_less, op_equal,
    op_jump, op_jump_unless, op_call, op_return, op_new_array, op_append, op_each, op_keep, op_fold, op_sort,
};

/* The frame of a function whose arguments are on the stack. */
static struct frame entered(struct machine *m, uint32_t function)
{
    const struct function *f = &functions[function];
    struct frame frame = {f->code, m->top - f->arguments};
    if (m->top < f->arguments || m->depth == MOST_DEPTH) {
        fault(m, STACK_FAULT);
        frame.next = NULL;
    }
    for (uint32_t i = f->arguments; i < f->locals; i++)
        push(m, NOTHING, 0);
    return frame;
}

static void run_by_table(struct machine *m, uint32_t function)
{
    struct frame frame = entered(m, function);
    m->depth++;
    while (frame.next && m->status == RUNNING) {
        const struct instruction *instruction = frame.next++;
        operations[instruction->operation](m, &frame, instruction->operand);
    }
    m->depth--;
}

static void run_by_switch(struct machine *m, uint32_t function)
{
    struct frame frame = entered(m, function);
    m->depth++;
    while (frame.next && m->status == RUNNING) {
        int32_t operation = frame.next->operation, operand = frame.next->operand;
        frame.next++;
        switch (operation) {
        case CONSTANT: op_constant(m, &frame, operand); break;
        case LOCAL: op_local(m, &frame, operand); break;
        case SET_LOCAL: op_set_local(m, &frame, operand); break;
        case DROP: op_drop(m, &frame, operand); break;
        case ADD: op_add(m, &frame, operand); break;
        case SUBTRACT: op_subtract(m, &frame, operand); break;
        case MULTIPLY: op_multiply(m, &frame, operand); break;
        case REMAINDER: op_remainder(m, &frame, operand); break;
        case LESS: op_less(m, &frame, operand); break;
        case EQUAL: op_equal(m, &frame, operand); break;
        case JUMP: op_jump(m, &frame, operand); break;
        case JUMP_UNLESS: op_jump_unless(m, &frame, operand); break;
        case CALL: op_call(m, &frame, operand); break;
        case RETURN: op_return(m, &frame, operand); break;
        case NEW_ARRAY: op_new_array(m, &frame, operand); break;
        case APPEND: op_append(m, &frame, operand); break;
        case EACH: op_each(m, &frame, operand); break;
        case KEEP: op_keep(m, &frame, operand); break;
        case FOLD: op_fold(m, &frame, operand); break;
        default: op_sort(m, &frame, operand);
        }
    }
    m->depth--;
}

static uint32_t run_main(struct machine *m, uint32_t seed, uint32_t hash)
{
    m->top = m->depth = m->array_count = 0;
    push(m, NUMBER, (int32_t)seed);
    m->run(m, MAIN);
    hash = mix32(hash, (uint32_t)pop(m).number);
    for (uint32_t i = 0; i < m->array_count; i++)
        for (uint32_t j = 0; j < m->arrays[i].size; j++)
            hash = mix32(hash, (uint32_t)m->arrays[i].items[j].number);
    return hash;
}

int main(int argc, char **argv)
{
    uint32_t rounds = sample_begin(argc, argv, 6), random = 69069, by_table = 0, by_switch = 0;
    struct machine *m = &machine;
    for (uint32_t round = 0; round < rounds; round++) {
        uint32_t seed = random32(&random) >> 8;
        m->run = run_by_table;
        by_table = run_main(m, seed, by_table);
        m->run = run_by_switch;
        by_switch = run_main(m, seed, by_switch);
    }
    out_line_decimal("status", (int32_t)m->status);
    out_line_decimal("calls", (int32_t)m->calls);
    out_line("by table", by_table);
    out_line("by switch", by_switch);
    return sample_end(mix32(mix32(m->calls, by_table), by_switch));
}
