/* Dense and sparse switch statements, a computed goto, and tail calls between the states of a small lexer. */
#include "freestanding/out.h"

/* Dense: compilers make a table of code addresses of it. */
static uint32_t dense(uint32_t code, uint32_t a, uint32_t b)
{
    switch (code) {
    case 0: return a + b;
    case 1: return a - b;
    case 2: return a * b;
    case 3: return a ^ (b << 3);
    case 4: return a & (b | 0xff);
    case 5: return a | (b >> 7);
    case 6: return ~a + (b << 1);
    case 7: return a << (b & 15);
    case 8: return a >> (b & 15);
    case 9: /* falls through */
    case 10: a += 77; /* falls through */
    case 11: return a + 3 * b;
    case 12: return a > b ? a : b;
    case 13: return a % (b | 1);
    case 15: return b / (a | 1);
    default: return a + code;
    }
}

/* Sparse: compilers make a tree of comparisons of it, perhaps with small tables at the leaves. */
static int32_t sparse(int32_t code)
{
    switch (code) {
    case -2147483647: return 1;
    case -100000: return 2;
    case -7: return 3;
    case 0: return 4;
    case 17: return 5;
    case 1000: return 6;
    case 1001: return 7;
    case 1002: return 8;
    case 1003: return 9;
    case 1004: return 10;
    case 1005: return 11;
    case 65535: return 12;
    case 65536: return 13;
    case 0x12345678: return 14;
    case 2147483647: return 15;
    default: return -code;
    }
}

/* A byte-code loop through a table of label addresses, as fast interpreters have. */
static uint32_t computed_goto(const uint8_t *code, uint32_t accumulator)
{
    static const void *const labels[] = {&&halt, &&increment, &&twice, &&square, &&flip, &&skip};
    uint32_t steps = 0;
#define NEXT goto *labels[steps++, *code++]
    NEXT;
increment:
    accumulator += 11;
    NEXT;
twice:
    accumulator += accumulator;
    NEXT;
square:
    accumulator *= accumulator;
    NEXT;
flip:
    accumulator = ~accumulator;
    NEXT;
skip:
    code += accumulator & 1;
    NEXT;
halt:
    return accumulator + steps;
#undef NEXT
}

struct lexer {
    const char *at;
    uint32_t words, numbers, others, hash;
};

static uint32_t lex_start(struct lexer *l);

static uint32_t lex_word(struct lexer *l)
{
    while (*l->at >= 'a' && *l->at <= 'z')
        l->hash = mix32(l->hash, (uint8_t)*l->at++);
    l->words++;
    return lex_start(l);
}

static uint32_t lex_number(struct lexer *l)
{
    uint32_t value = 0;
    while (*l->at >= '0' && *l->at <= '9')
        value = value * 10 + (uint32_t)(*l->at++ - '0');
    l->numbers++;
    l->hash = mix32(l->hash, value);
    return lex_start(l);
}

static uint32_t lex_other(struct lexer *l)
{
    l->at++;
    l->others++;
    return lex_start(l);
}

static uint32_t lex_start(struct lexer *l)
{
    if (!*l->at)
        return mix32(l->hash, l->words << 16 | l->numbers << 8 | l->others);
    if (*l->at >= 'a' && *l->at <= 'z')
        return lex_word(l);
    if (*l->at >= '0' && *l->at <= '9')
        return lex_number(l);
    return lex_other(l);
}

int main(int argc, char **argv)
{
    static const int32_t sparse_codes[] = {-2147483647, -100000, -8, -7, 0, 16, 17, 999, 1000, 1003, 1005,
                                           1006, 65535, 65536, 0x12345678, 0x12345679, 2147483647};
    static const uint8_t program[] = {1, 2, 3, 4, 1, 5, 2, 3, 5, 4, 1, 2, 2, 4, 0, 0};
    uint32_t rounds = sample_begin(argc, argv, 500), random = 99, by_table = 1, by_tree = 0, by_label = 0, lexed = 0;
    for (uint32_t round = 0; round < rounds; round++) {
        for (uint32_t i = 0; i < 20; i++) {
            uint32_t choice = random32(&random);
            by_table = dense(choice % 18, by_table, choice);
            by_tree = mix32(by_tree, (uint32_t)sparse(sparse_codes[choice % (sizeof sparse_codes / sizeof *sparse_codes)]));
        }
        by_label = computed_goto(program, by_label ^ round);
        struct lexer lexer = {"if x1 + 234 = abc then 42: goto 7 else (stop) 18446", 0, 0, 0, round};
        lexed = mix32(lexed, lex_start(&lexer));
    }
    out_line("dense", by_table);
    out_line("sparse", by_tree);
    out_line("labels", by_label);
    out_line("tail calls", lexed);
    return sample_end(mix32(mix32(by_table, by_tree), mix32(by_label, lexed)));
}
