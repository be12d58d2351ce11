/*
 * Structures by value: a stack of tagged values with reference counts, forks and backtracking, as JSON tools have it.
 *
 * A value has sixteen bytes and goes into and out of each function as it is. So small functions move, save and restore
 * much for the little they do. They stand for functions of other files, which no compiler inlines or calls in another
 * way than the ABI's, and are not static.
 */
#include "freestanding/out.h"

#define OUT_OF_LINE __attribute__((noinline))

enum kind { INVALID, NOTHING, TRUTH, NUMBER, STRING, LIST };
enum { CELLS = 400, LIST_SIZE = 6, STRING_SIZE = 24, MOST_LEVELS = 3 };

struct value {
    uint8_t kind, levels; /* of lists in lists */
    uint16_t start;       /* of a string in its cell */
    int32_t size;
    union {
        double number;
        struct cell *cell;
    } as;
};

struct cell { /* what strings and lists are made of */
    int32_t references;
    struct cell *next_free;
    struct value values[LIST_SIZE];
    uint8_t text[STRING_SIZE];
};

static struct cell cells[CELLS], *free_cells;
static int32_t cells_used;

/* ---- values: each function takes over the values it is given, but for kind_of, is_shared and copied ---- */

OUT_OF_LINE enum kind kind_of(struct value value) { return value.kind; }

OUT_OF_LINE uint32_t is_shared(struct value value) { return value.kind >= STRING; }

OUT_OF_LINE struct value plain(enum kind kind, int32_t size)
{
    return (struct value){.kind = (uint8_t)kind, .size = size};
}

OUT_OF_LINE struct value number(double from) { return (struct value){.kind = NUMBER, .as.number = from}; }

OUT_OF_LINE struct value copied(struct value value)
{
    if (is_shared(value))
        value.as.cell->references++;
    return value;
}

OUT_OF_LINE void drop(struct value value)
{
    if (!is_shared(value) || --value.as.cell->references)
        return;
    if (kind_of(value) == LIST)
        for (int32_t i = 0; i < value.size; i++)
            drop(value.as.cell->values[i]);
    value.as.cell->next_free = free_cells;
    free_cells = value.as.cell;
    cells_used--;
}

/* A string or a list without anything in it; an invalid value where no cell is free. */
OUT_OF_LINE struct value with_cell(enum kind kind)
{
    struct value value = plain(kind, 0);
    struct cell *cell = free_cells;
    if (!cell)
        return plain(INVALID, 0);
    free_cells = cell->next_free;
    cell->references = 1;
    cells_used++;
    value.as.cell = cell;
    return value;
}

OUT_OF_LINE struct value string(uint32_t letters, int32_t size)
{
    struct value value = with_cell(STRING);
    for (; kind_of(value) == STRING && value.size < size; letters = letters >> 2 | letters << 30)
        value.as.cell->text[value.size++] = (uint8_t)('a' + (letters & 3));
    return value;
}

OUT_OF_LINE double number_of(struct value value)
{
    double found = kind_of(value) == NUMBER ? value.as.number : (double)value.size;
    drop(value);
    return found;
}

OUT_OF_LINE uint32_t is_true(struct value value)
{
    return kind_of(value) >= TRUTH && number_of(value) > 0;
}

OUT_OF_LINE struct value item(struct value list, int32_t place)
{
    struct value found = plain(NOTHING, 0);
    if (kind_of(list) == LIST && place < list.size)
        found = copied(list.as.cell->values[place]);
    drop(list);
    return found;
}

/* A list of its own for one that others hold, too. */
OUT_OF_LINE struct value unshared(struct value list)
{
    if (list.as.cell->references == 1)
        return list;
    struct value own = with_cell(LIST);
    own.levels = list.levels;
    for (int32_t i = 0; kind_of(own) == LIST && i < list.size; i++)
        own.as.cell->values[own.size++] = item(copied(list), i);
    drop(list);
    return own;
}

/* The list with the value at its end; the list as it was where the value does not fit. */
OUT_OF_LINE struct value appended(struct value list, struct value value)
{
    uint32_t fits = list.size < LIST_SIZE && (kind_of(value) != LIST || value.levels < MOST_LEVELS - 1);
    if (fits && kind_of(list) == LIST)
        list = unshared(list);
    if (!fits || kind_of(list) != LIST) {
        drop(value);
        return list;
    }
    if (kind_of(value) == LIST && value.levels >= list.levels)
        list.levels = (uint8_t)(value.levels + 1);
    list.as.cell->values[list.size++] = value;
    return list;
}

/* The string without its first letter, in the same cell; a list without its last item. */
OUT_OF_LINE struct value rest(struct value value)
{
    if (kind_of(value) == STRING && value.size) {
        value.start++;
        value.size--;
    } else if (kind_of(value) == LIST && value.size) {
        value = unshared(value);
        if (kind_of(value) == LIST)
            drop(value.as.cell->values[--value.size]);
    }
    return value;
}

OUT_OF_LINE struct value added(struct value left, struct value right)
{
    if (kind_of(left) == LIST)
        return appended(left, right);
    double sum = number_of(left) + number_of(right);
    return number(sum > 1e6 ? sum - 1e6 : sum);
}

OUT_OF_LINE int32_t order(struct value left, struct value right)
{
    int32_t found = (int32_t)kind_of(left) - (int32_t)kind_of(right);
    int32_t size = left.size < right.size ? left.size : right.size;
    if (!found && kind_of(left) == STRING) {
        found = memcmp(left.as.cell->text + left.start, right.as.cell->text + right.start, (size_t)size);
        found = found ? found : left.size - right.size;
    } else if (!found && kind_of(left) == LIST) {
        for (int32_t i = 0; !found && i < size; i++)
            found = order(item(copied(left), i), item(copied(right), i));
        found = found ? found : left.size - right.size;
    } else if (!found) {
        double first = number_of(copied(left)), second = number_of(copied(right));
        found = (first > second) - (first < second);
    }
    drop(left);
    drop(right);
    return (found > 0) - (found < 0);
}

OUT_OF_LINE uint32_t hash_of(struct value value)
{
    uint32_t hash = kind_of(value);
    if (kind_of(value) == STRING) {
        for (int32_t i = 0; i < value.size; i++)
            hash = mix32(hash, value.as.cell->text[value.start + i]);
    } else if (kind_of(value) == LIST) {
        for (int32_t i = 0; i < value.size; i++)
            hash = mix32(hash, hash_of(item(copied(value), i)));
    } else {
        return mix32(hash, (uint32_t)(int32_t)number_of(value));
    }
    drop(value);
    return hash;
}

/* ---- the stack: values and forks from its end downward, each with the place of the one before it ---- */

enum { SLOTS = 600 };

struct block { int32_t before; struct value value; };
struct fork { int32_t before, top, step; };

struct stack {
    int32_t limit, top, fork; /* places: the last that is taken, of the last value, of the last fork; SLOTS: of none */
    union slot { struct block block; struct fork fork; } slots[SLOTS];
};

static struct stack stack;

OUT_OF_LINE int32_t push_slot(struct stack *s) { return s->limit ? --s->limit : SLOTS; }

OUT_OF_LINE void pop_slot(struct stack *s, int32_t place)
{
    if (place == s->limit)
        s->limit++;
}

OUT_OF_LINE void push(struct stack *s, struct value value)
{
    int32_t place = kind_of(value) == INVALID ? SLOTS : push_slot(s);
    if (place == SLOTS) {
        drop(value);
    } else {
        s->slots[place].block = (struct block){s->top, value};
        s->top = place;
    }
}

/* A value that was there before the last fork stays for it, and is copied. */
OUT_OF_LINE struct value pop(struct stack *s)
{
    if (s->top == SLOTS)
        return plain(NOTHING, 0);
    struct block *block = &s->slots[s->top].block;
    struct value value = block->value;
    if (s->top > s->fork)
        value = copied(value);
    else
        pop_slot(s, s->top);
    s->top = block->before;
    return value;
}

OUT_OF_LINE void push_fork(struct stack *s, int32_t step)
{
    int32_t place = push_slot(s);
    if (place == SLOTS)
        return;
    s->slots[place].fork = (struct fork){s->fork, s->top, step};
    s->fork = place;
}

/* Drops what came after the last fork and takes it away; returns the step to go on with, -1 where there was no fork. */
OUT_OF_LINE int32_t backtrack(struct stack *s)
{
    while (s->top < s->fork)
        drop(pop(s));
    if (s->fork == SLOTS)
        return -1;
    struct fork fork = s->slots[s->fork].fork;
    pop_slot(s, s->fork);
    s->fork = fork.before;
    s->top = fork.top;
    return fork.step;
}

/* ---- programs of random steps ---- */

enum { STEPS = 60, BUDGET = 1000, TRIALS = 8 };
enum step_kind { LITERAL, TEXT, NEW_LIST, ADD, SIZE, ITEM, REST, LESS, SELECT, TWICE, FORK, DISCARD };

struct step {
    uint32_t kind, operand;
};

/* Does the step at that place, and returns the place of the next one. */
static int32_t do_step(struct stack *s, const struct step *step, int32_t at)
{
    struct value value;
    uint32_t operand = step[at++].operand;
    switch (step[at - 1].kind) {
    case LITERAL: push(s, number((double)(int32_t)(operand & 1023) / 4)); break;
    case TEXT: push(s, string(operand, 1 + (int32_t)(operand & 15))); break;
    case NEW_LIST:
        value = pop(s);
        push(s, appended(with_cell(LIST), value));
        break;
    case ADD:
        value = pop(s);
        push(s, added(pop(s), value));
        break;
    case SIZE: push(s, number(number_of(pop(s)))); break;
    case ITEM: push(s, item(pop(s), (int32_t)operand & 3)); break;
    case REST: push(s, rest(pop(s))); break;
    case LESS:
        value = pop(s);
        push(s, plain(TRUTH, order(pop(s), value) < 0));
        break;
    case SELECT: return is_true(pop(s)) ? at : backtrack(s);
    case TWICE:
        value = pop(s);
        push(s, copied(value));
        push(s, value);
        break;
    case FORK: push_fork(s, at + (int32_t)operand % 8); break;
    default: drop(pop(s));
    }
    return at;
}

/* Each end of the program gives a result; then the last fork is tried, until there is none or the budget is spent. */
static uint32_t run(struct stack *s, const struct step *steps, uint32_t hash)
{
    int32_t at = 0;
    for (uint32_t budget = BUDGET; budget && at >= 0; budget--) {
        if (at < STEPS) {
            at = do_step(s, steps, at);
        } else {
            hash = mix32(hash, hash_of(pop(s)));
            at = backtrack(s);
        }
    }
    while (backtrack(s) >= 0)
        ;
    return hash;
}

static void make_steps(struct step *steps, uint32_t *random)
{
    static const uint8_t kinds[] = {
        LITERAL, LITERAL, LITERAL, TEXT, TEXT, NEW_LIST, NEW_LIST, ADD, ADD, ADD, ADD, SIZE,
        ITEM, ITEM, REST, REST, LESS, LESS, SELECT, TWICE, TWICE, TWICE, FORK, FORK, FORK, DISCARD,
    };
    for (uint32_t i = 0; i < STEPS; i++) {
        uint32_t choice = random32(random);
        steps[i].kind = i < 8 ? kinds[choice % 8] : kinds[choice % sizeof kinds];
        steps[i].operand = choice >> 5;
    }
}

int main(int argc, char **argv)
{
    uint32_t rounds = sample_begin(argc, argv, 4), random = 1013904223, hash = 0;
    struct step steps[STEPS];
    for (uint32_t i = 0; i < CELLS; i++) {
        cells[i].next_free = free_cells;
        free_cells = &cells[i];
    }
    stack.limit = stack.top = stack.fork = SLOTS;
    for (uint32_t round = 0; round < rounds; round++) {
        make_steps(steps, &random);
        for (int32_t trial = 0; trial < TRIALS; trial++) {
            push(&stack, number(trial));
            hash = run(&stack, steps, hash);
        }
    }
    out_line_decimal("cells in use", cells_used);
    out_line_decimal("slots in use", SLOTS - stack.limit);
    return sample_end(hash);
}
