/* A disassembler for reports: one line for one instruction, from a table of rows generated beside mr_state.h.
 *
 * mr_disasm.h has the rows in order of preference (aliases such as `nop` and `move` first): {mask, value, "format"}. A
 * word matches a row when (word & mask) == value. The format is the text as printed, mnemonic first, one space,
 * operands separated by a comma and a space; names in braces stand for fields of the word, as `fields` below has them.
 * A word that no row matches is printed as ".word 0x........".
 */
#include "cpu/disasm.h"

#include "base/instructions.h"
#include "cpu/registers.h"

#include <stdio.h>
#include <string.h>

struct mr_disasm_row {
    uint32_t mask, value;
    const char *format;
};

#include "mr_disasm.h"

struct field {
    const char *name;
    enum { GPR_NAME, DECIMAL, HEXADECIMAL, SIGNED, BRANCH, TARGET, INSERT_SIZE, SPLICE } kind;
    uint8_t low_bit, bit_count, added; /* what is added to it before it is printed */
    const char *text;                  /* before the number; of SPLICE, a format to print in its place */
};

static const struct field fields[] = {
    {"rs", GPR_NAME, 21, 5, 0, ""},
    {"rt", GPR_NAME, 16, 5, 0, ""},
    {"rd", GPR_NAME, 11, 5, 0, ""},
    {"fr", DECIMAL, 21, 5, 0, "$f"},
    {"ft", DECIMAL, 16, 5, 0, "$f"},
    {"fs", DECIMAL, 11, 5, 0, "$f"},
    {"fd", DECIMAL, 6, 5, 0, "$f"},
    {"cs", DECIMAL, 11, 5, 0, "$"}, /* coprocessor register */
    {"sa", DECIMAL, 6, 5, 0, ""},
    {"cc", DECIMAL, 18, 3, 0, "$fcc"}, /* branches on it, movf, movt */
    {"fcc", DECIMAL, 8, 3, 0, "$fcc"}, /* the result of c.cond.fmt */
    {"simm", SIGNED, 0, 16, 0, ""},
    {"uimm", HEXADECIMAL, 0, 16, 0, "0x"},
    {"branch", BRANCH, 0, 16, 0, "0x"},
    {"target", TARGET, 0, 26, 0, "0x"},
    {"code", HEXADECIMAL, 6, 20, 0, "0x"}, /* break, syscall */
    {"msb", DECIMAL, 11, 5, 0, ""},
    {"size", DECIMAL, 11, 5, 1, ""},        /* ext; {sa} is the position */
    {"inssize", INSERT_SIZE, 11, 5, 1, ""}, /* ins; {sa} is the position */
    {"hint", DECIMAL, 16, 5, 0, ""},        /* pref, cache */
    {"ac", DECIMAL, 11, 2, 0, "$ac"},
    {"amount", DECIMAL, 21, 5, 0, ""},
    {"shift", SIGNED, 20, 6, 0, ""},
    {"byte", HEXADECIMAL, 16, 8, 0, "0x"},
    {"half", SIGNED, 16, 10, 0, ""},
    {"reads", HEXADECIMAL, 16, 10, 0, "0x"}, /* fields of DSPControl */
    {"writes", HEXADECIMAL, 11, 10, 0, "0x"},
    {"mem", SPLICE, 0, 0, 0, "{simm}({rs})"},
    {"index", SPLICE, 0, 0, 0, "{rt}({rs})"},
};

/* Where text is written; what does not fit is dropped. */
struct output {
    char *at, *end; /* end: where the terminator goes at the latest */
};

static void put_text(struct output *out, const char *text, size_t length)
{
    size_t room = (size_t)(out->end - out->at);
    length = length < room ? length : room;
    memcpy(out->at, text, length);
    out->at += length;
    *out->at = 0;
}

static void put_formatted(struct output *out, uint32_t pc, uint32_t word, const char *format);

static void put_field(struct output *out, uint32_t pc, uint32_t word, const struct field *field)
{
    char text[16] = "";
    uint32_t value = (word >> field->low_bit & ((1u << field->bit_count) - 1)) + field->added;
    int32_t immediate = (int16_t)(uint16_t)word;
    switch (field->kind) {
    case GPR_NAME: snprintf(text, sizeof text, "%s", mr_registers[value].name); break;
    case DECIMAL: snprintf(text, sizeof text, "%s%u", field->text, value); break;
    case HEXADECIMAL: snprintf(text, sizeof text, "%s%x", field->text, value); break;
    case SIGNED: snprintf(text, sizeof text, "%d", (int32_t)(value << (32 - field->bit_count)) >> (32 - field->bit_count)); break;
    case BRANCH: snprintf(text, sizeof text, "%s%x", field->text, mr_next_pc(pc) + ((uint32_t)immediate << 2)); break;
    case TARGET: snprintf(text, sizeof text, "%s%x", field->text, (mr_next_pc(pc) & 0xf0000000u) | value << 2); break;
    case INSERT_SIZE: snprintf(text, sizeof text, "%d", (int)value - (int)(word >> 6 & 31)); break;
    case SPLICE: put_formatted(out, pc, word, field->text); return;
    }
    put_text(out, text, strlen(text));
}

static const struct field *find_field(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (strlen(fields[i].name) == length && memcmp(fields[i].name, name, length) == 0)
            return &fields[i];
    return NULL;
}

static void put_formatted(struct output *out, uint32_t pc, uint32_t word, const char *format)
{
    while (*format != 0) {
        size_t plain = strcspn(format, "{");
        put_text(out, format, plain);
        format += plain;
        size_t length = *format == '{' ? strcspn(format, "}") : 0;
        if (length == 0)
            continue;
        const struct field *field = find_field(format + 1, length - 1);
        if (field != NULL)
            put_field(out, pc, word, field);
        else
            put_text(out, format, length + (format[length] != 0));
        format += length + (format[length] != 0);
    }
}

void mr_disassemble(uint32_t pc, uint32_t word, char *text, size_t size_bytes)
{
    if (size_bytes == 0)
        return;
    struct output out = {text, text + size_bytes - 1};
    *text = 0;
    for (size_t i = 0; i < sizeof mr_disasm_rows / sizeof mr_disasm_rows[0]; i++)
        if ((word & mr_disasm_rows[i].mask) == mr_disasm_rows[i].value) {
            put_formatted(&out, pc, word, mr_disasm_rows[i].format);
            return;
        }
    snprintf(text, size_bytes, ".word 0x%08x", word);
}
