/*
 * Recursion that keeps much over its calls: trees of expressions, nearest points in a tree, a search that turns back.
 *
 * Each function has several values that live over the calls it makes. So saved registers go to the stack and come back
 * at every level. Expressions are ninety levels deep.
 */
#include "freestanding/out.h"

/* ---- expressions: grown, simplified, evaluated, bounded, written in postfix ---- */

enum operator { NUMBER, VARIABLE, NEGATE, ADD, SUBTRACT, MULTIPLY, LEAST, CHOOSE, OPERATORS };
enum { NODES = 1200, VARIABLES = 4 };

struct node {
    uint32_t operator, value; /* of a number; of a variable its place */
    struct node *parts[3];
};

struct range { int32_t low, high; };

static struct node nodes[NODES];
static uint32_t node_count;

static uint32_t arity(uint32_t operator)
{
    return operator < NEGATE ? 0 : operator == NEGATE ? 1 : operator == CHOOSE ? 3 : 2;
}

/* The first part grows to nearly the whole depth, the others to a third: a long spine with small trees beside it. */
static struct node *grow(uint32_t *random, uint32_t depth)
{
    uint32_t choice = random32(random);
    struct node *node = &nodes[node_count++];
    node->operator = choice >> 4 & 1;
    node->value = node->operator == VARIABLE ? (choice >> 8) % VARIABLES : choice >> 8 & 63;
    if (!depth || node_count > NODES - 200)
        return node;
    node->operator = NEGATE + (choice >> 8) % (OPERATORS - NEGATE);
    node->value = 0;
    for (uint32_t i = 0; i < arity(node->operator); i++)
        node->parts[i] = grow(random, i ? depth / 3 : depth - 1);
    return node;
}

static uint32_t apply(uint32_t operator, uint32_t left, uint32_t right)
{
    switch (operator) {
    case ADD: return left + right;
    case SUBTRACT: return left - right;
    case MULTIPLY: return left * right;
    default: return (int32_t)left < (int32_t)right ? left : right;
    }
}

/* What it is worth where the variables are these; `steps` counts nodes, `deepest` has the greatest depth. */
static uint32_t evaluate(
    const struct node *node, const uint32_t *variables, uint32_t depth, uint32_t *steps, uint32_t *deepest)
{
    uint32_t first, second;
    ++*steps;
    if (depth > *deepest)
        *deepest = depth;
    switch (node->operator) {
    case NUMBER: return node->value;
    case VARIABLE: return variables[node->value];
    case NEGATE: return 0u - evaluate(node->parts[0], variables, depth + 1, steps, deepest);
    case CHOOSE:
        first = evaluate(node->parts[0], variables, depth + 1, steps, deepest);
        return evaluate(node->parts[1 + (first & 1)], variables, depth + 1, steps, deepest);
    default:
        first = evaluate(node->parts[0], variables, depth + 1, steps, deepest);
        second = evaluate(node->parts[1], variables, depth + 1, steps, deepest);
        return apply(node->operator, first, second);
    }
}

static int32_t limited(int64_t value)
{
    return value > 1000000 ? 1000000 : value < -1000000 ? -1000000 : (int32_t)value;
}

static int32_t lesser(int32_t left, int32_t right) { return left < right ? left : right; }

static int32_t greater(int32_t left, int32_t right) { return left > right ? left : right; }

/* Between what bounds it is where each variable is between 0 and 9; numbers beyond a million count as a million. */
static struct range bounds(const struct node *node)
{
    struct range first, second, third;
    if (node->operator == NUMBER)
        return (struct range){(int32_t)node->value, (int32_t)node->value};
    if (node->operator == VARIABLE)
        return (struct range){0, 9};
    first = bounds(node->parts[0]);
    if (node->operator == NEGATE)
        return (struct range){-first.high, -first.low};
    second = bounds(node->parts[1]);
    switch (node->operator) {
    case ADD: return (struct range){limited(first.low + second.low), limited(first.high + second.high)};
    case SUBTRACT: return (struct range){limited(first.low - second.high), limited(first.high - second.low)};
    case MULTIPLY: {
        int32_t most = limited((int64_t)greater(-first.low, first.high) * greater(-second.low, second.high));
        return (struct range){first.low < 0 || second.low < 0 ? -most : 0, most};
    }
    case LEAST: return (struct range){lesser(first.low, second.low), lesser(first.high, second.high)};
    default:
        third = bounds(node->parts[2]);
        return (struct range){lesser(second.low, third.low), greater(second.high, third.high)};
    }
}

/* Folds what is of numbers only, and drops factors and terms that do nothing. */
static struct node *simplified(struct node *node)
{
    uint32_t parts = arity(node->operator), numbers = 0;
    for (uint32_t i = 0; i < parts; i++) {
        node->parts[i] = simplified(node->parts[i]);
        numbers += node->parts[i]->operator == NUMBER;
    }
    if (!parts || !numbers)
        return node;
    if (node->operator == CHOOSE)
        return node->parts[0]->operator == NUMBER ? node->parts[1 + (node->parts[0]->value & 1)] : node;
    if (numbers == parts) {
        node->value = node->operator == NEGATE ? 0u - node->parts[0]->value
                                               : apply(node->operator, node->parts[0]->value, node->parts[1]->value);
        node->operator = NUMBER;
        return node;
    }
    uint32_t place = node->parts[0]->operator != NUMBER, number = node->parts[place]->value;
    uint32_t is_idle = (node->operator == ADD && number == 0) || (node->operator == MULTIPLY && number == 1);
    return is_idle ? node->parts[1 - place] : node;
}

/* Writes the tree in postfix: a hash goes on from node to node. */
static uint32_t written(const struct node *node, uint32_t hash, uint32_t level)
{
    uint32_t parts = arity(node->operator);
    for (uint32_t i = 0; i < parts; i++)
        hash = written(node->parts[i], hash + i, level + parts);
    return mix32(hash, node->operator << 24 ^ node->value << 8 ^ level);
}

static uint32_t expression_round(uint32_t *random, uint32_t hash, uint32_t *deepest)
{
    uint32_t variables[VARIABLES], steps = 0;
    node_count = 0;
    struct node *root = grow(random, 90);
    struct range range = bounds(root);
    hash = mix32(mix32(written(root, hash, 0), (uint32_t)range.low), (uint32_t)range.high);
    root = simplified(root);
    for (uint32_t trial = 0; trial < 8; trial++) {
        for (uint32_t i = 0; i < VARIABLES; i++)
            variables[i] = random32(random) >> 16 & 15;
        hash = mix32(hash, evaluate(root, variables, 0, &steps, deepest));
    }
    return mix32(written(root, hash, 0), steps);
}

/* ---- a tree of points in space, halved by x, y and z in turn ---- */

enum { POINTS = 300, QUERIES = 60 };

struct point {
    int32_t place[3];
    struct point *less, *more;
};

struct nearest {
    const struct point *point;
    uint32_t distance, visits;
};

static struct point points[POINTS];

static struct point *added(struct point *tree, struct point *point, uint32_t axis)
{
    if (!tree)
        return point;
    uint32_t next_axis = axis == 2 ? 0 : axis + 1;
    if (point->place[axis] < tree->place[axis])
        tree->less = added(tree->less, point, next_axis);
    else
        tree->more = added(tree->more, point, next_axis);
    return tree;
}

/* The side of the plane where the place is comes first, the other only where it can have something nearer. */
static void find_nearest(const struct point *tree, const int32_t *place, uint32_t axis, struct nearest *found)
{
    if (!tree)
        return;
    uint32_t distance = 0, next_axis = axis == 2 ? 0 : axis + 1;
    int32_t beyond = place[axis] - tree->place[axis];
    for (uint32_t i = 0; i < 3; i++)
        distance += (uint32_t)((place[i] - tree->place[i]) * (place[i] - tree->place[i]));
    found->visits++;
    if (distance < found->distance) {
        found->distance = distance;
        found->point = tree;
    }
    find_nearest(beyond < 0 ? tree->less : tree->more, place, next_axis, found);
    if ((uint32_t)(beyond * beyond) < found->distance)
        find_nearest(beyond < 0 ? tree->more : tree->less, place, next_axis, found);
}

static uint32_t point_round(uint32_t *random, uint32_t hash)
{
    struct point *tree = NULL;
    for (uint32_t i = 0; i < POINTS; i++) {
        for (uint32_t axis = 0; axis < 3; axis++)
            points[i].place[axis] = (int32_t)(random32(random) >> 8 & 1023);
        points[i].less = points[i].more = NULL;
        tree = added(tree, &points[i], 0);
    }
    for (uint32_t i = 0; i < QUERIES; i++) {
        struct nearest found = {NULL, 0xffffffff, 0};
        int32_t choice = (int32_t)random32(random);
        const int32_t place[3] = {choice & 1023, choice >> 10 & 1023, choice >> 20 & 1023};
        find_nearest(tree, place, 0, &found);
        hash = mix32(hash, (uint32_t)(found.point - points) << 16 ^ found.visits ^ found.distance);
    }
    return hash;
}

/* ---- what to pack: a search that turns back where no better end can come ---- */

enum { THINGS = 22 };

struct search {
    uint32_t weights[THINGS], worths[THINGS], worth_left[THINGS + 1];
    uint32_t best, best_packed, room;
};

/* Tries all from `index` on, with and without each; returns how many choices it looked at. */
static uint32_t pack(struct search *search, uint32_t index, uint32_t weight, uint32_t worth, uint32_t packed)
{
    uint32_t looked = 1, heavier = weight + search->weights[index % THINGS];
    if (worth > search->best) {
        search->best = worth;
        search->best_packed = packed;
    }
    if (index == THINGS || worth + search->worth_left[index] <= search->best)
        return looked;
    if (heavier <= search->room)
        looked += pack(search, index + 1, heavier, worth + search->worths[index], packed | 1u << index);
    return looked + pack(search, index + 1, weight, worth, packed);
}

static uint32_t pack_round(uint32_t *random, uint32_t hash)
{
    struct search search;
    search.best = search.best_packed = search.worth_left[THINGS] = search.room = 0;
    for (uint32_t i = THINGS; i--;) {
        search.weights[i] = 20 + (random32(random) >> 8 & 63);
        search.worths[i] = search.weights[i] + (random32(random) >> 8 & 31);
        search.worth_left[i] = search.worth_left[i + 1] + search.worths[i];
        search.room += search.weights[i];
    }
    search.room = search.room * 5 / 6;
    uint32_t looked = pack(&search, 0, 0, 0, 0);
    return mix32(mix32(mix32(hash, search.best), search.best_packed), looked);
}

int main(int argc, char **argv)
{
    uint32_t rounds = sample_begin(argc, argv, 4), random = 521288629, deepest = 0;
    uint32_t written_hash = 1, points_hash = 2, packed = 3;
    for (uint32_t round = 0; round < rounds; round++) {
        written_hash = expression_round(&random, written_hash, &deepest);
        points_hash = point_round(&random, points_hash);
        packed = pack_round(&random, packed);
    }
    out_line("expressions", written_hash);
    out_line_decimal("deepest", (int32_t)deepest);
    out_line("points", points_hash);
    out_line("packed", packed);
    return sample_end(mix32(mix32(written_hash, points_hash), packed));
}
