/* A small parser, for measurements of fuzzers (docs/measurements/fuzzing.md): lists of `key = value`, where a value is a number,
 * a string or a list in braces. With afl-clang-fast -DNATIVE_PERSISTENT it is one of AFL++'s persistent programs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <stdint.h>
#include <ctype.h>
#include <unistd.h>
struct node { struct node *next, *child; char *key; long value; };
static const char *p, *end;
static struct node *list(int depth);
static void space(void) { while (p < end && isspace((unsigned char)*p)) p++; }
static struct node *item(int depth)
{
    space();
    if (p >= end) return NULL;
    struct node *n = calloc(1, sizeof *n);
    const char *s = p;
    while (p < end && (isalnum((unsigned char)*p) || *p == '_')) p++;
    n->key = malloc(p - s + 1);
    memcpy(n->key, s, p - s); n->key[p - s] = 0;
    space();
    if (p < end && *p == '=') {
        p++; space();
        if (p < end && *p == '{') { p++; n->child = list(depth + 1); }
        else if (p < end && *p == '"') { p++; s = p; while (p < end && *p != '"') p++; n->value = p - s; if (p < end) p++; }
        else { char t[32]; size_t l = 0; while (p < end && l < 31 && (isxdigit((unsigned char)*p) || *p == 'x' || *p == '-')) t[l++] = *p++; t[l] = 0; n->value = strtol(t, NULL, 0); }
    } else if (p == s) { free(n->key); free(n); if (p < end) p++; return NULL; }
    return n;
}
static struct node *list(int depth)
{
    struct node *first = NULL, **at = &first;
    while (p < end && depth < 20) {
        space();
        if (p < end && *p == '}') { p++; break; }
        struct node *n = item(depth);
        if (n) { *at = n; at = &n->next; }
        if (p < end && (*p == ';' || *p == ',')) p++;
    }
    return first;
}
static long sum(struct node *n) { long s = 0; for (; n; n = n->next) { if (strcmp(n->key, "secret") == 0 && n->value == 77) abort(); s += n->value + sum(n->child); } return s; }
static void release(struct node *n) { while (n) { struct node *x = n->next; release(n->child); free(n->key); free(n); n = x; } }
__attribute__((noinline)) long parse(const unsigned char *text, unsigned size)
{
    p = (const char *)text; end = p + size;
    struct node *n = list(0);
    long s = sum(n);
    release(n);
    return s;
}
#ifdef NATIVE_PERSISTENT
__AFL_FUZZ_INIT();
int main(void)
{
    __AFL_INIT();
    unsigned char *buf = __AFL_FUZZ_TESTCASE_BUF;
    while (__AFL_LOOP(1000)) { parse(buf, __AFL_FUZZ_TESTCASE_LEN); }
    return 0;
}
#else
int main(int argc, char **argv)
{
    static unsigned char text[65536];
    FILE *f = argc > 1 ? fopen(argv[1], "rb") : stdin;
    if (!f) return 1;
    size_t n = fread(text, 1, sizeof text, f);
    printf("%ld\n", parse(text, n));
    return 0;
}
#endif
