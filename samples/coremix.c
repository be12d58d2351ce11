/*
 * A mix of small everyday tasks, as embedded code has them: lists that are searched, turned and sorted; products of
 * small matrices of 16-bit numbers; a state machine that reads numbers of many forms; and a CRC over everything found.
 */
#include "freestanding/out.h"

/* ---- CRC-16, bit by bit (polynomial 0x1021, reflected) ---- */

static uint16_t crc16_byte(uint16_t crc, uint8_t byte)
{
    crc ^= byte;
    for (uint32_t bit = 0; bit < 8; bit++)
        crc = (uint16_t)(crc & 1 ? crc >> 1 ^ 0x8408 : crc >> 1);
    return crc;
}

static uint16_t crc16(uint16_t crc, uint32_t value)
{
    for (uint32_t i = 0; i < 4; i++, value >>= 8)
        crc = crc16_byte(crc, (uint8_t)value);
    return crc;
}

/* ---- lists ---- */

struct item {
    struct item *next;
    int16_t key, place;
};

enum { ITEMS = 72 };
static struct item items[ITEMS];

typedef int32_t item_order(const struct item *left, const struct item *right);

static int32_t by_key(const struct item *left, const struct item *right)
{
    return left->key != right->key ? left->key - right->key : left->place - right->place;
}

static int32_t by_place(const struct item *left, const struct item *right) { return left->place - right->place; }

static struct item *make_list(uint32_t *random)
{
    for (uint32_t i = 0; i < ITEMS; i++) {
        items[i].next = i + 1 < ITEMS ? &items[i + 1] : NULL;
        items[i].key = (int16_t)(random32(random) >> 7 & 0x3ff);
        items[i].place = (int16_t)i;
    }
    return items;
}

static struct item *find_key(struct item *list, int16_t key)
{
    while (list && list->key != key)
        list = list->next;
    return list;
}

static struct item *turn(struct item *list)
{
    struct item *turned = NULL;
    while (list) {
        struct item *next = list->next;
        list->next = turned;
        turned = list;
        list = next;
    }
    return turned;
}

static struct item *merge(struct item *left, struct item *right, item_order *order)
{
    struct item *merged = NULL, **end = &merged;
    while (left && right) {
        struct item **smaller = order(left, right) <= 0 ? &left : &right;
        *end = *smaller;
        end = &(*smaller)->next;
        *smaller = *end;
    }
    *end = left ? left : right;
    return merged;
}

/* Merge sort from below: `runs[n]` is empty or a sorted list of 2^n items. */
static struct item *sort_list(struct item *list, item_order *order)
{
    struct item *runs[16] = {NULL}, *sorted = NULL;
    while (list) {
        struct item *run = list;
        uint32_t level = 0;
        list = list->next;
        run->next = NULL;
        for (; runs[level]; level++) {
            run = merge(runs[level], run, order);
            runs[level] = NULL;
        }
        runs[level] = run;
    }
    for (uint32_t level = 0; level < 16; level++)
        sorted = merge(runs[level], sorted, order);
    return sorted;
}

static uint16_t list_task(uint32_t *random, uint16_t crc)
{
    struct item *list = make_list(random);
    uint32_t found = 0;
    for (uint32_t i = 0; i < 24; i++) {
        struct item *item = find_key(list, (int16_t)(random32(random) >> 9 & 0x3ff));
        if (item) {
            found += (uint32_t)item->place;
            item->key ^= 0x155;
        }
        if (i % 6 == 5)
            list = turn(list);
    }
    list = sort_list(list, by_key);
    for (const struct item *item = list; item; item = item->next)
        crc = crc16_byte(crc, (uint8_t)item->key);
    list = sort_list(list, by_place);
    for (const struct item *item = list; item && item->next; item = item->next)
        found += (uint32_t)(item->next->place - item->place);
    return crc16(crc, found);
}

/* ---- matrices ---- */

enum { WIDTH = 10 };
static int16_t factor[WIDTH][WIDTH], other[WIDTH][WIDTH];
static int32_t product[WIDTH][WIDTH];

static void multiply_matrices(void)
{
    for (uint32_t i = 0; i < WIDTH; i++) {
        for (uint32_t j = 0; j < WIDTH; j++) {
            int32_t sum = 0;
            for (uint32_t k = 0; k < WIDTH; k++)
                sum += factor[i][k] * other[k][j];
            product[i][j] = sum;
        }
    }
}

/* Some bits from the middle of each product, multiplied: fields of packed words. */
static int32_t sum_of_fields(void)
{
    int32_t sum = 0;
    for (uint32_t i = 0; i < WIDTH; i++)
        for (uint32_t j = 0; j < WIDTH; j++)
            sum += (product[i][j] >> 2 & 0xf) * (product[i][j] >> 5 & 0x7f);
    return sum;
}

static uint16_t matrix_task(uint32_t *random, uint16_t crc)
{
    int32_t vector[WIDTH], before = 0, rises = 0;
    for (uint32_t i = 0; i < WIDTH; i++) {
        for (uint32_t j = 0; j < WIDTH; j++) {
            factor[i][j] = (int16_t)(random32(random) & 0xff);
            other[i][j] = (int16_t)(factor[i][j] - (int16_t)(i * j));
        }
    }
    multiply_matrices();
    for (uint32_t i = 0; i < WIDTH; i++) {
        vector[i] = 0;
        for (uint32_t j = 0; j < WIDTH; j++) {
            vector[i] += product[i][j] >> 4;
            rises += product[i][j] > before;
            before = product[i][j];
        }
        crc = crc16(crc, (uint32_t)vector[i]);
    }
    return crc16(crc16(crc, (uint32_t)sum_of_fields()), (uint32_t)rises);
}

/* ---- a state machine: which of the words in a text are numbers, and of what form ---- */

enum state { START, SIGN, INTEGER, HEX_START, HEX, POINT, FRACTION, EXPONENT, EXPONENT_SIGN, POWER, WRONG, STATES };

static uint8_t is_digit(char c) { return c >= '0' && c <= '9'; }

static enum state next_state(enum state state, char c, char before)
{
    switch (state) {
    case START: return is_digit(c) ? INTEGER : c == '+' || c == '-' ? SIGN : c == '.' ? POINT : WRONG;
    case SIGN: return is_digit(c) ? INTEGER : c == '.' ? POINT : WRONG;
    case INTEGER:
        return is_digit(c) ? INTEGER : c == '.' ? FRACTION : c == 'e' ? EXPONENT : c == 'x' && before == '0' ? HEX_START : WRONG;
    case HEX_START:
    case HEX: return is_digit(c) || (c >= 'a' && c <= 'f') ? HEX : WRONG;
    case POINT:
    case FRACTION: return is_digit(c) ? FRACTION : c == 'e' && state == FRACTION ? EXPONENT : WRONG;
    case EXPONENT: return is_digit(c) ? POWER : c == '+' || c == '-' ? EXPONENT_SIGN : WRONG;
    case EXPONENT_SIGN:
    case POWER: return is_digit(c) ? POWER : WRONG;
    default: return WRONG;
    }
}

static const char *const words[] = {
    "5012", "-17", "+3.25", "0x7fe1", ".5", "6.02e23", "1e-9", "7up", "--4", "0x", "3.e4", "+", "1e+", "0xcafe", "98765",
};
enum { WORDS = sizeof words / sizeof *words };

static uint16_t text_task(uint32_t *random, uint16_t crc)
{
    char text[400];
    uint32_t ends[STATES] = {0}, visits[STATES] = {0}, size = 0;
    while (size < sizeof text - 12) {
        for (const char *from = words[(random32(random) >> 8) % WORDS]; *from; from++)
            text[size++] = *from;
        text[size++] = ',';
    }
    text[random32(random) % size] ^= 3; /* some damage */
    enum state state = START;
    for (uint32_t i = 0; i < size; i++) {
        if (text[i] == ',') {
            ends[state]++;
            state = START;
        } else {
            state = next_state(state, text[i], i ? text[i - 1] : ',');
            visits[state]++;
        }
    }
    for (uint32_t i = 0; i < STATES; i++)
        crc = crc16(crc, ends[i] << 16 | visits[i]);
    return crc;
}

int main(int argc, char **argv)
{
    uint32_t rounds = sample_begin(argc, argv, 30), random = 362436069, hash = 0;
    uint16_t list_crc = 0xffff, matrix_crc = 0xffff, text_crc = 0xffff;
    for (uint32_t round = 0; round < rounds; round++) {
        list_crc = list_task(&random, list_crc);
        matrix_crc = matrix_task(&random, matrix_crc);
        text_crc = text_task(&random, text_crc);
        hash = mix32(mix32(mix32(hash, list_crc), matrix_crc), text_crc);
    }
    out_line("lists", list_crc);
    out_line("matrices", matrix_crc);
    out_line("texts", text_crc);
    return sample_end(hash);
}
