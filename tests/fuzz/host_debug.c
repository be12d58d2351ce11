/* A libFuzzer target: the readers of a library's debug information on any sections, and what they find at any fault.
 *
 * Link with the sources that host.py names. An input begins with the sizes of its parts, 16 bits each: the sections, an
 * expression, and the questions, whose bytes choose addresses and registers. Each part is a copy on the heap, and so is the
 * host's stack, so that the sanitizer sees every byte read beyond their ends.
 */
#include "lifted/library.h"
#include "lifted/places.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[] = {".debug_places", ".debug_places_steps", ".debug_places_changes",
                                    ".debug_places_homes", ".debug_places_expressions", ".debug_line"};
enum { SECTIONS = sizeof names / sizeof *names, EXPRESSION = SECTIONS, QUESTIONS, PARTS };
enum { SIZES_BYTES = 2 * PARTS, STACK_BYTES = 64, MOST_ROWS = 32, CONTEXT_BYTES = 24 };
enum { TABLE_RATIO = 64 }; /* bytes of the tables, for one of the sections */

struct part {
    uint8_t *bytes; /* NULL: it is not there */
    size_t size_bytes;
};
static struct part parts[PARTS];

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes);
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size_bytes, size_t most_bytes, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *bytes, size_t size_bytes, size_t most_bytes);

/* ---- the parts of an input ---- */

static uint8_t *copy_of(const uint8_t *bytes, size_t size_bytes)
{
    uint8_t *copy = malloc(size_bytes);
    if (copy == NULL)
        abort();
    memcpy(copy, bytes, size_bytes);
    return copy;
}

/* What an input has no bytes for is empty. */
static void read_parts(const uint8_t *bytes, size_t size_bytes)
{
    size_t at = SIZES_BYTES;
    for (size_t i = 0; i < PARTS; i++) {
        size_t wanted = (size_t)(bytes[2 * i] | bytes[2 * i + 1] << 8), rest = size_bytes - at;
        parts[i].size_bytes = wanted < rest ? wanted : rest;
        parts[i].bytes = wanted == 0 ? NULL : copy_of(bytes + at, parts[i].size_bytes);
        at += parts[i].size_bytes;
    }
}

static void free_parts(void)
{
    for (size_t i = 0; i < PARTS; i++)
        free(parts[i].bytes);
}

static size_t write_parts(uint8_t *bytes)
{
    size_t at = SIZES_BYTES;
    for (size_t i = 0; i < PARTS; i++) {
        bytes[2 * i] = (uint8_t)parts[i].size_bytes;
        bytes[2 * i + 1] = (uint8_t)(parts[i].size_bytes >> 8);
        if (parts[i].size_bytes > 0)
            memcpy(bytes + at, parts[i].bytes, parts[i].size_bytes);
        at += parts[i].size_bytes;
    }
    return at;
}

/* Changes one part: what is behind it keeps its place. */
size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size_bytes, size_t most_bytes, unsigned seed)
{
    if (size_bytes < SIZES_BYTES || most_bytes < SIZES_BYTES)
        return LLVMFuzzerMutate(bytes, size_bytes, most_bytes);
    read_parts(bytes, size_bytes);
    size_t room = most_bytes - SIZES_BYTES;
    for (size_t i = 0; i < PARTS; i++)
        room -= parts[i].size_bytes < room ? parts[i].size_bytes : room;
    struct part *part = &parts[seed % PARTS];
    size_t most = part->size_bytes + room < UINT16_MAX ? part->size_bytes + room : UINT16_MAX;
    part->bytes = realloc(part->bytes, most + 1);
    if (part->bytes == NULL)
        abort();
    if (most > 0)
        part->size_bytes = LLVMFuzzerMutate(part->bytes, part->size_bytes, most);
    size_t changed_bytes = write_parts(bytes);
    free_parts();
    return changed_bytes;
}

struct mr_bytes mr_library_file_section(const struct mr_library_file *file, const char *name, uint8_t **to_free)
{
    (void)file;
    *to_free = NULL;
    for (size_t i = 0; i < SECTIONS; i++)
        if (strcmp(names[i], name) == 0)
            return (struct mr_bytes){parts[i].bytes, parts[i].size_bytes};
    abort();
}

/* ---- questions ---- */

static uint8_t question(size_t at)
{
    return at < parts[QUESTIONS].size_bytes ? parts[QUESTIONS].bytes[at] : 0;
}

/* Registers are near the stack, or anything. */
static void fill_context(ucontext_t *context, struct _libc_fpstate *floats, const uint8_t *stack)
{
    memset(context, 0, sizeof *context);
    memset(floats, question(0), sizeof *floats);
    for (size_t i = 0; i < NGREG && i < CONTEXT_BYTES; i++) {
        uint8_t byte = question(i + 1);
        uint64_t near = (uint64_t)(uintptr_t)stack + byte - 16;
        context->uc_mcontext.gregs[i] = (greg_t)(byte < 128 ? near : byte * 0x9e3779b97f4a7c15u);
    }
    context->uc_mcontext.fpregs = question(0) != 0 ? floats : NULL;
}

static void ask(struct mr_open_library *library, const struct mr_host_frame *frame, uint64_t address)
{
    uint32_t values[MR_PLACE_REGISTERS];
    mr_places_find(library, address, 0, frame, values);
    mr_lines_find(library, address);
    mr_lines_near(library, address);
    mr_lines_stored(library, address);
}

static void evaluate(const struct mr_host_frame *frame)
{
    static const uint8_t sp = 0x57; /* DW_OP_reg7 */
    uint32_t value;
    struct mr_bytes expression = {parts[EXPRESSION].bytes, parts[EXPRESSION].size_bytes}, base = {&sp, sizeof sp};
    mr_location_value(expression, expression.size_bytes % 2 == 0 ? base : expression, frame, &value);
}

/* At the addresses that the input names, and where something begins and ends. */
static void ask_all(struct mr_open_library *library)
{
    uint8_t *stack = malloc(STACK_BYTES);
    ucontext_t context;
    struct _libc_fpstate floats;
    if (stack == NULL)
        abort();
    memset(stack, 1, STACK_BYTES);
    fill_context(&context, &floats, stack);
    struct mr_host_frame frame = {&context, (uintptr_t)stack, (uintptr_t)stack + STACK_BYTES};
    if (question(CONTEXT_BYTES) == 0xff)
        frame.stack_low = frame.stack_high = 0; /* another stack than the host's */
    evaluate(&frame);
    for (size_t at = CONTEXT_BYTES; at < parts[QUESTIONS].size_bytes; at += 2)
        ask(library, &frame, (uint64_t)question(at) | (uint64_t)question(at + 1) << 8);
    ask(library, &frame, UINT64_MAX);
    const struct mr_place_table *table = library->places;
    for (size_t i = 0; i < table->row_count && i < MOST_ROWS; i++) {
        ask(library, &frame, table->rows[i].low);
        ask(library, &frame, (uint64_t)table->rows[i].high - 1);
    }
    for (size_t i = 0; i < table->place_count && i < MOST_ROWS; i++)
        ask(library, &frame, table->places[i].low);
    free(stack);
}

/* ---- one input ---- */

static void check_size(const struct mr_open_library *library)
{
    const struct mr_place_table *table = library->places;
    size_t table_bytes = table->row_count * sizeof *table->rows + table->variable_count * sizeof *table->variables +
                         table->place_count * sizeof *table->places + table->scope_count * sizeof *table->scopes +
                         table->expression_bytes + library->lines.row_count * sizeof *library->lines.rows;
    size_t sections_bytes = 0;
    for (size_t i = 0; i < SECTIONS; i++)
        sections_bytes += parts[i].size_bytes;
    if (table_bytes > TABLE_RATIO * sections_bytes + 1)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    struct mr_open_library library;
    memset(&library, 0, sizeof library);
    if (size_bytes < SIZES_BYTES)
        return -1;
    read_parts(bytes, size_bytes);
    ask_all(&library);
    check_size(&library);
    free(library.places->rows);
    free(library.places->variables);
    free(library.places->places);
    free(library.places->scopes);
    free(library.places->expressions);
    free(library.places);
    free(library.lines.rows);
    free_parts();
    return 0;
}
