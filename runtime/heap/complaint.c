/* What is said of an access that is wrong: the instruction, the block next to it, and who made and freed that. */
#include "base/messages.h"
#include "heap/heap.h"
#include "lifted/code_files.h"
#include "linux/descriptors.h"
#include "linux/signals.h"
#include "linux/upcalls.h"
#include "memory/shadow.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

/* To the descriptor of --complaint, where one is given: mipsrec run adds source lines. */
__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    char text[4600];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    int fd = mr_own_descriptor(MR_OWN_COMPLAINT);
    if (fd < 0 || write(fd, text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1) < 0)
        mr_print_error("%s", text);
}

static void print_place(const char *what, uint32_t pc)
{
    char place[4400];
    if (mr_code_file_describe(pc, true, place, sizeof place))
        say("mipsrec-host:   %s %s\n", what, place);
    else
        say("mipsrec-host:   %s 0x%08x\n", what, pc);
}

static void print_trace(const struct mr_trace *trace)
{
    for (uint32_t i = 0; i < trace->count; i++)
        print_place(i == 0 ? "at" : "called from", trace->pcs[i]);
}

static void print_kept(const char *what, uint32_t number)
{
    struct mr_trace trace;
    mr_trace_get(number, &trace);
    say("mipsrec-host: %s\n", what);
    print_trace(&trace);
}

static void print_position(const struct mr_block *block, uint32_t guest)
{
    const char *kind = block->state == MR_BLOCK_FREED ? "freed block" : "block";
    uint32_t inside = guest - block->at;
    if (guest < block->at)
        say("mipsrec-host: that is %u bytes before a %s of %u bytes at 0x%08x\n", block->at - guest, kind,
            block->size_bytes, block->at);
    else if (inside < block->size_bytes)
        say("mipsrec-host: that is %u bytes into a %s of %u bytes at 0x%08x\n", inside, kind, block->size_bytes,
                       block->at);
    else
        say("mipsrec-host: that is %u bytes behind a %s of %u bytes at 0x%08x\n", inside - block->size_bytes, kind,
            block->size_bytes, block->at);
}

static void print_block(uint32_t guest)
{
    const struct mr_block *block = mr_block_near(guest);
    if (block == NULL) {
        say("mipsrec-host: that is in no block of the heap\n");
        return;
    }
    print_position(block, guest);
    print_kept("the block was made", block->made);
    if (block->state == MR_BLOCK_FREED)
        print_kept("and freed", block->freed);
}

static _Noreturn void die(struct mr_state *s, uint32_t guest)
{
    mr_die_by_signal(s, MIPS_SIGABRT, s->pc, guest);
}

void mr_heap_bad_access(struct mr_state *s, uint32_t guest, uint32_t size_bytes, bool stores, const char *caller)
{
    struct mr_trace trace;
    uint32_t wrong = mr_shadow_find(guest, size_bytes);
    mr_heap_unwind(s, s->pc, false, &trace);
    if (caller != NULL)
        say("mipsrec-host: heap error: %s %s %u bytes at 0x%08x, of which 0x%08x is wrong\n", caller,
            stores ? "has written" : "reads", size_bytes, guest, wrong);
    else
        say("mipsrec-host: heap error: %s at 0x%08x\n", stores ? "store" : "load", wrong);
    print_trace(&trace);
    print_block(wrong);
    die(s, wrong);
}

void mr_heap_bad_pointer(struct mr_state *s, uint32_t guest, const char *function)
{
    struct mr_trace trace;
    const struct mr_block *block = mr_block_at(guest);
    mr_heap_unwind(s, s->pc, true, &trace);
    say("mipsrec-host: heap error: %s of 0x%08x, which is %s\n", function, guest,
            block != NULL && block->state == MR_BLOCK_FREED ? "freed already" : "not the beginning of a block");
    print_trace(&trace);
    print_block(guest);
    die(s, guest);
}
