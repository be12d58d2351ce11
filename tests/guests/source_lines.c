/* Statements of all kinds, some of which run: gcov says which (tests/cli/test_coverage.py). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct node {
    int value;
    struct node *left, *right;
};

static struct node *add(struct node *tree, int value)
{
    if (tree == NULL) {
        tree = malloc(sizeof *tree);
        if (tree == NULL)
            abort();
        tree->value = value;
        tree->left = tree->right = NULL;
        return tree;
    }
    if (value < tree->value)
        tree->left = add(tree->left, value);
    else if (value > tree->value)
        tree->right = add(tree->right, value);
    return tree;
}

static int sum(const struct node *tree)
{
    return tree == NULL ? 0 : tree->value + sum(tree->left) + sum(tree->right);
}

static const char *name_of(int kind)
{
    switch (kind) {
    case 0:
        return "none";
    case 1:
        return "one";
    case 2:
        return "two";
    default:
        break;
    }
    return "many";
}

static int never(int value)
{
    int copy = value;
    while (copy > 10)
        copy /= 2;
    return copy;
}

static double mean(const int *values, int count)
{
    double total = 0;
    if (count == 0)
        return 0;
    for (int i = 0; i < count; i++)
        total += values[i];
    return total / count;
}

int main(int argc, char **argv)
{
    const int values[] = {5, 3, 8, 3, 9, 1};
    struct node *tree = NULL;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++)
        tree = add(tree, values[i]);
    if (argc > 5)
        return never(argc);
    do {
        printf("%s %d\n", name_of(argc), sum(tree));
        argc--;
    } while (argc > 0);
    if (strcmp(argv[0], "") == 0 || mean(values, 6) > 100)
        goto failed;
    printf("%.2f\n", mean(values, 6));
    return 0;
failed:
    printf("failed\n");
    return 1;
}
