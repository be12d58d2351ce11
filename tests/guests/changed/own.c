/* Code that changes itself, in a page that it may write, and code that works on data beside it.
 *
 * Each piece below is copied into a page. It gets a word in a0 and the place for it in a1, and returns what the place then
 * returns. Pieces flush by the system call, or by synci and a jump that clears hazards. Without either, what is executed next
 * may be the old word or the new one, until something flushes.
 */
#include "changed.h"

#define FLUSH " addiu $2, $0, 4147\n move $4, $5\n addiu $5, $0, 4\n addiu $6, $0, 3\n syscall\n" /* the word at a1 */
#define STORE " sw $4, 0($5)\n"
#define PLACE " addiu $2, $0, 0\n"
#define RETURN " jr $31\n nop\n"
#define LABEL(name) ".globl " #name "\n" #name ":\n"
#define PIECE(name, before, behind) /* around the place */                                                 \
    extern const unsigned name[], name##_place[], name##_end[];                                            \
    __asm__(".section .rodata\n.align 2\n.set push\n.set noreorder\n.set noat\n.set mips32r2\n" LABEL(name)  \
            before LABEL(name##_place) PLACE behind LABEL(name##_end) ".set pop\n.previous\n")

PIECE(next, STORE FLUSH, RETURN);
PIECE(own_block, STORE FLUSH " addiu $3, $0, 1\n addu $3, $3, $3\n", " addu $3, $3, $3\n" RETURN);
PIECE(by_synci, STORE " synci 0($5)\n sync\n jr.hb $5\n nop\n", RETURN);
PIECE(branch_slot, STORE FLUSH " beq $0, $0, 1f\n", " addiu $2, $0, 99\n 1:" RETURN);
PIECE(likely_slot, STORE FLUSH " beql $0, $0, 1f\n", " addiu $2, $0, 99\n 1:" RETURN);
PIECE(last_slot, STORE FLUSH " jr $31\n", "");
PIECE(backwards, " beq $0, $0, 1f\n nop\n", RETURN "1:" STORE FLUSH " beq $0, $0, backwards_place\n nop\n");
PIECE(by_swr, " swl $4, " SWL_AT "($5)\n swr $4, " SWR_AT "($5)\n" FLUSH, RETURN);
PIECE(by_halves, " sh $4, " LOW_AT "($5)\n srl $3, $4, 16\n sh $3, " HIGH_AT "($5)\n" FLUSH, RETURN);
PIECE(by_sc, " ll $3, 0($5)\n sc $4, 0($5)\n" FLUSH, RETURN);
PIECE(by_swc1, " mtc1 $4, $f0\n swc1 $f0, 0($5)\n" FLUSH, RETURN);
PIECE(unflushed, STORE, RETURN);
PIECE(unflushed_slot, STORE " jr $31\n", "");
PIECE(unflushed_target, STORE " beq $0, $0, 1f\n nop\n addiu $2, $0, 99\n 1:", RETURN);

typedef int piece(unsigned word, unsigned *place);

static void flushed(const unsigned *from, const unsigned *place, const unsigned *end)
{
    unsigned *page = pages(1, RWX);
    size_t size_bytes = (end - from) * 4;
    for (unsigned *at = page; at < page + WORDS - 64; at += 500) { /* at more than one place of the page */
        memcpy(at, from, size_bytes);
        flush(at, size_bytes);
        for (int round = 0; round < 3 * OFTEN; round++)
            EXPECT(((piece *)at)(RETURNS(round), at + (place - from)), round);
    }
}

/* Its result may be the old one; behind a flush it is the new one. */
static void late(const unsigned *from, const unsigned *place, const unsigned *end)
{
    unsigned *page = pages(1, RWX), *at = page + (place - from);
    memcpy(page, from, (end - from) * 4);
    flush(page, PAGE);
    for (int round = 1; round < 3 * OFTEN; round++) {
        int found = ((piece *)page)(RETURNS(round), at);
        EXPECT(found == round || found == round - 1, 1);
        flush(at, 4);
        EXPECT(*at, RETURNS(round));
        EXPECT(((piece *)page)(RETURNS(round), at), round);
    }
}

#define FLUSHED(name) static void run_##name(void) { flushed(name, name##_place, name##_end); }
#define LATE(name) static void run_##name(void) { late(name, name##_place, name##_end); }
FLUSHED(next) FLUSHED(own_block) FLUSHED(by_synci) FLUSHED(branch_slot) FLUSHED(likely_slot) FLUSHED(last_slot)
FLUSHED(backwards) FLUSHED(by_swr) FLUSHED(by_halves) FLUSHED(by_sc) FLUSHED(by_swc1)
LATE(unflushed) LATE(unflushed_slot) LATE(unflushed_target)

/* Two instructions at once. */
static void by_sdc1(void)
{
    unsigned *page = pages(1, RWX);
    for (int round = 0; round < ROUNDS; round++) {
        union {
            unsigned words[2];
            double both;
        } code;
        put(code.words, round);
        *(volatile double *)page = code.both;
        flush(page, 8);
        EXPECT(called(page), round);
    }
}

/* A store of four bytes that changes two pages: the end of one instruction, and the beginning of the next. */
static void across_pages(void)
{
    unsigned *two = pages(2, RWX), *function = two + WORDS - 1;
    struct __attribute__((packed)) {
        unsigned value;
    } *across = (void *)((char *)(two + WORDS) - 2);
    for (int round = 0; round < ROUNDS; round++) {
        unsigned words[3] = {RETURNS(round), JR_RA, 0x24630000u + (unsigned)round};
        function[0] = words[0] ^ 0x00ff00ffu;
        function[1] = words[1] ^ 0xff00ff00u;
        function[2] = words[2];
        memcpy((char *)function, words, 2);
        memcpy((char *)function + 6, (char *)words + 6, 2);
        across->value = ((typeof(*across) *)((char *)words + 2))->value;
        flush(function, 12);
        EXPECT(called(function), round);
    }
}

/* A unit of code that goes over the boundary; first one page changes, then the other. */
static void over_pages(void)
{
    unsigned *two = pages(2, RWX), *from = two + WORDS - 4;
    for (int i = 0; i < 8; i++)
        from[i] = 0x24420001u; /* addiu $v0, $v0, 1 */
    from[-1] = RETURNS(0);
    from[8] = JR_RA;
    from[9] = 0;
    flush(two, 2 * PAGE);
    EXPECT(called(from - 1), 8);
    for (int i = 0; i < 8; i++) {
        from[i] = 0x24420064u; /* 100 */
        flush(from + i, 4);
        EXPECT(called(from - 1), 8 + 99 * (i + 1));
    }
    mprotect(two, PAGE, RX); /* one of them may not be written any more */
    from[4] = 0;
    flush(from + 4, 4);
    EXPECT(called(from - 1), 700);
    mprotect(two, PAGE, RWX);
    from[0] = 0;
    flush(from, 4);
    EXPECT(called(from - 1), 600);
}

/* Entered at each of its instructions, one of which changes each time; nothing is flushed. */
static void in_the_middle(void)
{
    unsigned *page = pages(1, RWX), *code = page + 10;
    for (int i = 0; i < 20; i++)
        code[i] = 0x24420001u; /* addiu $v0, $v0, 1 */
    code[20] = JR_RA;
    code[21] = 0;
    flush(page, PAGE);
    for (int round = 0; round < 3; round++)
        for (int entry = 0; entry < 20; entry++) {
            page[0] = 0x08000000u | ((unsigned long)(code + entry) >> 2 & 0x03ffffffu); /* j */
            page[1] = RETURNS(0);
            flush(page, 8);
            EXPECT(called(page), 20 - entry);
            for (int changed = entry; changed < 20; changed += 3) {
                ((volatile unsigned *)code)[changed] = 0x24420064u; /* 100 */
                EXPECT(called(page), 20 - entry + 99);
                ((volatile unsigned *)code)[changed] = 0x24420001u;
                EXPECT(call(page), 20 - entry);
            }
        }
}

/* A loop that calls what changes the rest of the loop, and the function itself that is called; nothing is flushed. */
static void callee_changes(void)
{
    unsigned *page = pages(2, RWX), *callee = page + WORDS + 8, *loop = page + 4;
    const unsigned code[] = {
        0x03e06825u, /* move $t5, $ra */
        0x24020000u, /* addiu $v0, $zero, 0 */
        0x24080040u, /* addiu $t0, $zero, 64 */
        0x0c000000u | ((unsigned long)callee >> 2 & 0x03ffffffu), /* jal callee */
        0,
        0x24420001u, /* the place: addiu $v0, $v0, 1, to begin with */
        0x2508ffffu, /* addiu $t0, $t0, -1 */
        0x1d00fffbu, /* bgtz $t0, jal */
        0,
        0x01a00008u, /* jr $t5 */
        0,
    };
    const unsigned change[] = {
        0x01054821u, /* addu $t1, $t0, $a1: adds the counter */
        0xac890000u, /* sw $t1, 0($a0) */
        JR_RA, 0,
    };
    memcpy(loop, code, sizeof code);
    memcpy(callee, change, sizeof change);
    flush(page, 2 * PAGE);
    for (int round = 0; round < OFTEN; round++) /* 64 + 63 + ... + 1 */
        EXPECT(((int (*)(unsigned *, unsigned))loop)(loop + 5, 0x24420000u), 64 * 65 / 2);
}

/* A jump to other code, and calls between functions that change in turn. */
static void jumps(void)
{
    unsigned *page = pages(2, RWX), *far = page + WORDS + 16;
    for (int round = 0; round < 2 * ROUNDS; round++) {
        unsigned *target = round & 1 ? far : page + 512;
        put(target, round);
        page[0] = 0x08000000u | ((unsigned long)target >> 2 & 0x03ffffffu); /* j target */
        page[1] = 0;
        flush(target, 8);
        flush(page, 8);
        EXPECT(called(page), round);
        change(target, round + 100); /* what is jumped to, not the jump */
        EXPECT(called(page), round + 100);
    }
}

/* ---- data beside code: both are in use all the time ---- */

enum { MANY = 300000 };

/* A function that counts in its own page. */
static void data_beside_code(void)
{
    static const unsigned count[] = {
        0x8c820000u, /* lw $v0, 0($a0) */
        0x24420001u, /* addiu $v0, $v0, 1 */
        0xac820000u, /* sw $v0, 0($a0) */
        JR_RA, 0,
    };
    unsigned *page = pages(1, RWX), *data = page + 600;
    memcpy(page, count, sizeof count);
    *data = 0;
    flush(page, PAGE);
    for (int i = 0; i < MANY; i++)
        ((int (*)(unsigned *))page)(data);
    EXPECT(*data, MANY);
}

/* Its caller writes there between calls. */
static void caller_writes(void)
{
    unsigned *page = pages(1, RWX), sum = 0;
    put(page, 3);
    flush(page, PAGE);
    for (int i = 0; i < MANY; i++) {
        ((volatile unsigned *)page)[600 + i % 100] = (unsigned)i;
        sum += call(page);
    }
    EXPECT(sum, 3 * MANY);
    EXPECT(page[600 + (MANY - 1) % 100], MANY - 1);
}

/* And now and then a function is changed, too. */
static void changed_in_between(void)
{
    unsigned *page = pages(1, RWX);
    for (int i = 0; i < MANY / 10; i++) {
        ((volatile unsigned *)page)[600 + i % 100] = (unsigned)i;
        if (i % 16 == 0)
            change(page, i & 0x7fff);
        EXPECT(call(page), i / 16 * 16 & 0x7fff);
    }
}

/* Changed before each call. */
static void changed_each_time(void)
{
    unsigned *page = pages(1, RWX);
    for (int i = 0; i < MANY / 10; i++) {
        change(page, i & 0x7fff);
        EXPECT(call(page), i & 0x7fff);
    }
}

#define WAY(name) {#name, run_##name}
const struct way own_ways[] = {
    WAY(next), WAY(own_block), WAY(by_synci), WAY(branch_slot), WAY(likely_slot), WAY(last_slot), WAY(backwards),
    WAY(by_swr), WAY(by_halves), WAY(by_sc), WAY(by_swc1), WAY(unflushed), WAY(unflushed_slot), WAY(unflushed_target),
    {"by_sdc1", by_sdc1}, {"across_pages", across_pages}, {"over_pages", over_pages}, {"in_the_middle", in_the_middle},
    {"callee_changes", callee_changes}, {"jumps", jumps},
    {"data_beside_code", data_beside_code}, {"caller_writes", caller_writes},
    {"changed_in_between", changed_in_between}, {"changed_each_time", changed_each_time}, {NULL, NULL},
};
