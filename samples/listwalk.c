/* Pointer chasing: a shuffled linked list, its reversal and merge sort, and a binary search tree. */
#include "freestanding/out.h"

enum { COUNT = 4096 };

struct node {
    struct node *next, *left, *right;
    uint32_t key, visits;
};

static struct node nodes[COUNT];

/* Links the nodes in a random order, so that each step goes somewhere else in memory. */
static struct node *shuffle(uint32_t *random)
{
    static uint16_t order[COUNT];
    for (uint32_t i = 0; i < COUNT; i++)
        order[i] = (uint16_t)i;
    for (uint32_t i = COUNT - 1; i > 0; i--) {
        uint32_t j = random32(random) % (i + 1);
        uint16_t swapped = order[i];
        order[i] = order[j];
        order[j] = swapped;
    }
    for (uint32_t i = 0; i < COUNT; i++) {
        nodes[order[i]].next = i + 1 < COUNT ? &nodes[order[i + 1]] : NULL;
        nodes[order[i]].key = random32(random) >> 8;
    }
    return &nodes[order[0]];
}

static struct node *reverse(struct node *list)
{
    struct node *reversed = NULL;
    while (list) {
        struct node *next = list->next;
        list->next = reversed;
        reversed = list;
        list = next;
    }
    return reversed;
}

static struct node *merge(struct node *a, struct node *b)
{
    struct node *merged = NULL, **end = &merged;
    while (a && b) {
        struct node **smaller = b->key < a->key ? &b : &a;
        *end = *smaller;
        end = &(*end)->next;
        *smaller = *end;
    }
    *end = a ? a : b;
    return merged;
}

/* Bottom-up merge sort: bin i holds a sorted list of 2^i nodes or nothing. */
static struct node *merge_sort(struct node *list)
{
    struct node *bins[16] = {NULL}, *sorted = NULL;
    while (list) {
        struct node *carried = list;
        uint32_t i = 0;
        list = list->next;
        carried->next = NULL;
        for (; bins[i]; i++) {
            carried = merge(bins[i], carried);
            bins[i] = NULL;
        }
        bins[i] = carried;
    }
    for (uint32_t i = 0; i < 16; i++)
        if (bins[i])
            sorted = merge(bins[i], sorted);
    return sorted;
}

static struct node *insert(struct node *root, struct node *added)
{
    struct node **place = &root;
    added->left = added->right = NULL;
    while (*place) {
        (*place)->visits++;
        place = added->key < (*place)->key ? &(*place)->left : &(*place)->right;
    }
    *place = added;
    return root;
}

static uint32_t depth(const struct node *root)
{
    if (!root)
        return 0;
    uint32_t left = depth(root->left), right = depth(root->right);
    return 1 + (left > right ? left : right);
}

static uint32_t walk(const struct node *list, uint32_t hash)
{
    for (; list; list = list->next)
        hash = mix32(hash, list->key + list->visits);
    return hash;
}

int main(int argc, char **argv)
{
    uint32_t rounds = sample_begin(argc, argv, 2), random = 31, hash = 0, deepest = 0, unsorted = 0;
    for (uint32_t round = 0; round < rounds; round++) {
        struct node *list = shuffle(&random), *root = NULL;
        for (struct node *n = list; n; n = n->next)
            root = insert(root, n);
        hash = walk(list, mix32(hash, depth(root)));
        deepest = depth(root) > deepest ? depth(root) : deepest;
        list = merge_sort(reverse(list));
        hash = walk(list, hash);
        for (; list->next; list = list->next)
            unsorted += list->next->key < list->key;
    }
    out_line_decimal("deepest tree", (int32_t)deepest);
    out_line_decimal("out of order", (int32_t)unsorted);
    return sample_end(hash);
}
