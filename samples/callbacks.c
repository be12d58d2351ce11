/* Indirect calls: a quicksort of our own with a compare callback, tables of functions, and objects with methods. */
#include "freestanding/out.h"

typedef int32_t compare_function(const void *left, const void *right);
typedef uint32_t operator_function(uint32_t left, uint32_t right);

struct record {
    uint32_t key;
    int16_t weight;
    uint8_t name[6];
};

static void exchange(uint8_t *left, uint8_t *right, uint32_t size)
{
    while (size--) {
        uint8_t byte = *left;
        *left++ = *right;
        *right++ = byte;
    }
}

/* Sorts count elements of size bytes; Hoare's partition around the middle element, smaller part by recursion. */
static void quicksort(uint8_t *base, uint32_t count, uint32_t size, compare_function *compare)
{
    while (count > 1) {
        uint8_t pivot[16];
        uint32_t low = 0, high = count - 1;
        memcpy(pivot, base + (count - 1) / 2 * size, size);
        for (;;) {
            while (compare(base + low * size, pivot) < 0)
                low++;
            while (compare(base + high * size, pivot) > 0)
                high--;
            if (low >= high)
                break;
            exchange(base + low++ * size, base + high-- * size, size);
        }
        uint32_t left = high + 1;
        if (left < count - left) {
            quicksort(base, left, size, compare);
            base += left * size;
            count -= left;
        } else {
            quicksort(base + left * size, count - left, size, compare);
            count = left;
        }
    }
}

static int32_t compare_unsigned(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

static int32_t compare_descending(const void *left, const void *right)
{
    return compare_unsigned(right, left);
}

static int32_t compare_weight(const void *left, const void *right)
{
    const struct record *a = left, *b = right;
    return a->weight != b->weight ? a->weight - b->weight : compare_unsigned(&a->key, &b->key);
}

static int32_t compare_name(const void *left, const void *right)
{
    const struct record *a = left, *b = right;
    int32_t order = memcmp(a->name, b->name, sizeof a->name);
    return order ? order : compare_unsigned(&a->key, &b->key);
}

static uint32_t add(uint32_t left, uint32_t right) { return left + right; }
static uint32_t subtract(uint32_t left, uint32_t right) { return left - right; }
static uint32_t exclusive_or(uint32_t left, uint32_t right) { return left ^ right; }
static uint32_t rotate(uint32_t left, uint32_t right) { return left << (right & 31) | left >> (-right & 31); }
static uint32_t multiply(uint32_t left, uint32_t right) { return left * (right | 1); }

static operator_function *const operators[] = {add, subtract, exclusive_or, rotate, multiply, add, rotate, exclusive_or};

enum { COUNT = 1000 };
static uint32_t words[COUNT];
static struct record records[COUNT];

static uint32_t sort_round(uint32_t *random, compare_function *word_order, compare_function *record_order)
{
    uint32_t hash = 0;
    for (uint32_t i = 0; i < COUNT; i++) {
        words[i] = random32(random);
        records[i].key = words[i] >> 20;
        records[i].weight = (int16_t)(words[i] & 0x1ff) - 256;
        for (uint32_t j = 0; j < sizeof records[i].name; j++)
            records[i].name[j] = (uint8_t)('a' + (words[i] >> (4 * j)) % 3);
    }
    quicksort((uint8_t *)words, COUNT, sizeof *words, word_order);
    quicksort((uint8_t *)records, COUNT, sizeof *records, record_order);
    for (uint32_t i = 0; i < COUNT; i++)
        hash = mix32(mix32(hash, words[i]), records[i].key + (uint32_t)records[i].weight + records[i].name[0]);
    return hash;
}

int main(int argc, char **argv)
{
    static compare_function *const word_orders[] = {compare_unsigned, compare_descending};
    static compare_function *const record_orders[] = {compare_weight, compare_name};
    uint32_t rounds = sample_begin(argc, argv, 4), random = 2463534242u, sorted = 0, value = 1;
    for (uint32_t round = 0; round < rounds; round++)
        sorted = mix32(sorted, sort_round(&random, word_orders[round & 1], record_orders[round / 2 & 1]));
    for (uint32_t i = 0; i < rounds * 1000; i++) {
        uint32_t choice = random32(&random);
        value = operators[choice & 7](value, choice >> 3);
    }
    out_line("sorted", sorted);
    out_line("operators", value);
    return sample_end(mix32(sorted, value));
}
