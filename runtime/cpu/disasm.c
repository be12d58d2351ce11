/* A disassembler for reports: one line for one instruction, from a table of rows generated beside mr_state.h.
 *
 * mr_disasm.h, generated, has the rows in order of preference (aliases such as `nop` and `move` first):
 *
 *     static const struct mr_disasm_row mr_disasm_rows[] = { {mask, value, "format"}, ... };
 *
 * A word matches a row when (word & mask) == value. The format is the text as printed, mnemonic first, one space, operands
 * separated by a comma and a space; these placeholders stand in it (bit ranges are of the word, inclusive):
 *
 *     {rs} {rt} {rd}      general register named by bits 25..21, 20..16, 15..11: zero at v0 ... ra
 *     {fr} {ft} {fs} {fd} floating-point register of bits 25..21, 20..16, 15..11, 10..6: $f0 ... $f31
 *     {cs} {cd}           coprocessor register of bits 15..11 / 20..16, as $0 ... $31
 *     {sa}                bits 10..6, decimal
 *     {cc}                bits 20..18, $fcc0 ... $fcc7 (branches on it, movf, movt)
 *     {fcc}               bits 10..8, likewise (the result of c.cond.fmt)
 *     {simm}              bits 15..0, signed decimal
 *     {uimm}              bits 15..0, 0x and hexadecimal
 *     {branch}            the address pc + 4 + 4 * signed(bits 15..0), 0x and hexadecimal
 *     {target}            the address ((pc + 4) & 0xf0000000) | bits 25..0 << 2, 0x and hexadecimal
 *     {code}              bits 25..6, 0x and hexadecimal (break, syscall)
 *     {trapcode}          bits 15..6, likewise (teq and its kin)
 *     {msb}               bits 15..11, decimal
 *     {size}              bits 15..11 plus 1, decimal (ext; {sa} is the position)
 *     {inssize}           bits 15..11 minus bits 10..6 plus 1, decimal (ins; {sa} is the position)
 *     {hint}              bits 20..16, decimal (pref, cache)
 *     {stype}             bits 10..6, decimal (sync)
 *     {sel}               bits 2..0, decimal
 *     {mem}               {simm}({rs})
 *     {index}             {rt}({rs})
 *     {word}              the whole word, 0x and hexadecimal
 *
 * Anything else between braces is printed as it stands. A word that no row matches is printed as ".word 0x........".
 */
#include "cpu/disasm.h"

#include "mr_state.h"

#include <stdio.h>
#include <string.h>

struct mr_disasm_row {
    uint32_t mask, value;
    const char *format;
};

#if __has_include("mr_disasm.h")
#include "mr_disasm.h"
#else
static const struct mr_disasm_row mr_disasm_rows[] = {{0xffffffffu, 0, "nop"}};
#endif

struct field_kind {
    const char *name;
    enum { GPR_NAME, FPR_NAME, COP_NAME, FCC_NAME, DECIMAL, HEXADECIMAL, SIGNED, BRANCH, TARGET, INSERT_SIZE, SPLICE } kind;
    uint8_t low_bit, bit_count, added; /* the field, and what is added to it before it is printed */
    const char *splice;                /* a format to print in its place */
};

static const struct field_kind field_kinds[] = {
    {"rs", GPR_NAME, 21, 5, 0, NULL},
    {"rt", GPR_NAME, 16, 5, 0, NULL},
    {"rd", GPR_NAME, 11, 5, 0, NULL},
    {"fr", FPR_NAME, 21, 5, 0, NULL},
    {"ft", FPR_NAME, 16, 5, 0, NULL},
    {"fs", FPR_NAME, 11, 5, 0, NULL},
    {"fd", FPR_NAME, 6, 5, 0, NULL},
    {"cs", COP_NAME, 11, 5, 0, NULL},
    {"cd", COP_NAME, 16, 5, 0, NULL},
    {"sa", DECIMAL, 6, 5, 0, NULL},
    {"cc", FCC_NAME, 18, 3, 0, NULL},
    {"fcc", FCC_NAME, 8, 3, 0, NULL},
    {"simm", SIGNED, 0, 16, 0, NULL},
    {"uimm", HEXADECIMAL, 0, 16, 0, NULL},
    {"branch", BRANCH, 0, 16, 0, NULL},
    {"target", TARGET, 0, 26, 0, NULL},
    {"code", HEXADECIMAL, 6, 20, 0, NULL},
    {"trapcode", HEXADECIMAL, 6, 10, 0, NULL},
    {"msb", DECIMAL, 11, 5, 0, NULL},
    {"size", DECIMAL, 11, 5, 1, NULL},
    {"inssize", INSERT_SIZE, 11, 5, 1, NULL},
    {"hint", DECIMAL, 16, 5, 0, NULL},
    {"stype", DECIMAL, 6, 5, 0, NULL},
    {"sel", DECIMAL, 0, 3, 0, NULL},
    {"mem", SPLICE, 0, 0, 0, "{simm}({rs})"},
    {"index", SPLICE, 0, 0, 0, "{rt}({rs})"},
    {"word", HEXADECIMAL, 0, 32, 0, NULL},
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

static void put_field(struct output *out, uint32_t pc, uint32_t word, const struct field_kind *field)
{
    static const char *const gpr_names[32] = {MR_GPR_NAMES};
    char text[16] = "";
    uint32_t mask = field->bit_count < 32 ? (1u << field->bit_count) - 1 : 0xffffffffu;
    uint32_t value = (word >> field->low_bit & mask) + field->added;
    int32_t immediate = (int16_t)(uint16_t)word;
    switch (field->kind) {
    case GPR_NAME: snprintf(text, sizeof text, "%s", gpr_names[value]); break;
    case FPR_NAME: snprintf(text, sizeof text, "$f%u", value); break;
    case COP_NAME: snprintf(text, sizeof text, "$%u", value); break;
    case FCC_NAME: snprintf(text, sizeof text, "$fcc%u", value); break;
    case DECIMAL: snprintf(text, sizeof text, "%u", value); break;
    case HEXADECIMAL: snprintf(text, sizeof text, "0x%x", value); break;
    case SIGNED: snprintf(text, sizeof text, "%d", immediate); break;
    case BRANCH: snprintf(text, sizeof text, "0x%x", pc + 4 + ((uint32_t)immediate << 2)); break;
    case TARGET: snprintf(text, sizeof text, "0x%x", ((pc + 4) & 0xf0000000u) | value << 2); break;
    case INSERT_SIZE: snprintf(text, sizeof text, "%d", (int)value - (int)(word >> 6 & 31)); break;
    case SPLICE: put_formatted(out, pc, word, field->splice); return;
    }
    put_text(out, text, strlen(text));
}

static const struct field_kind *find_field(const char *name, size_t length)
{
    for (size_t i = 0; i < sizeof field_kinds / sizeof field_kinds[0]; i++)
        if (strlen(field_kinds[i].name) == length && memcmp(field_kinds[i].name, name, length) == 0)
            return &field_kinds[i];
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
        const struct field_kind *field = find_field(format + 1, length - 1);
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
