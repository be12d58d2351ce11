/* Registers by the numbers that gdb has for 32-bit MIPS Linux, as bytes in the guest's byte order; and what gdb and
 * lldb are told of them: the features org.gnu.gdb.mips.* of gdb's manual ("MIPS Features"). */
#include "base/host_thread.h"
#include "cpu/fpu.h"
#include "cpu/registers.h"
#include "gdb/parts.h"
#include "memory/values.h"

#include <stdio.h>
#include <string.h>

#define STATUS_CU1 (1u << 29) /* the FPU is usable */
#define STATUS_FR (1u << 26)
#define STATUS_USER 0x13u     /* interrupts enabled, user mode, as Linux shows it */

/* Every number below MR_GDB_NUMBERS has its row. */
static unsigned register_of(uint32_t gdb_number)
{
    unsigned number = 0;
    while (mr_registers[number].gdb_feature[0] == 0 || mr_registers[number].gdb_number != gdb_number)
        number++;
    return number;
}

uint32_t mr_debug_register_bytes(const struct mr_state *s, uint32_t gdb_number)
{
    return mr_registers[register_of(gdb_number)].kind == MR_KIND_FLOAT && s->fr ? 8 : 4;
}

static uint32_t computed(const struct mr_debug_thread *thread, unsigned number)
{
    const struct mr_state *s = thread->state;
    switch (number) {
    case MR_REG_STATUS: return STATUS_CU1 | STATUS_USER | (s->fr ? STATUS_FR : 0);
    case MR_REG_BADVADDR: return thread->fault_address;
    case MR_REG_FCSR: return mr_fpu_fcsr(s);
    case MR_REG_FIR: return MR_FIR;
    default: return 0; /* cause, and Linux's note of a call to restart, which the host does not have */
    }
}

void mr_debug_get_register(const struct mr_debug_thread *thread, uint32_t gdb_number, uint8_t bytes[8])
{
    const struct mr_state *s = thread->state;
    unsigned number = register_of(gdb_number);
    enum mr_register_kind kind = mr_registers[number].kind;
    if (kind == MR_KIND_FLOAT && s->fr)
        mr_put64(bytes, mr_fpr_double(s, number - MR_REG_F0));
    else if (kind == MR_KIND_FLOAT)
        mr_put32(bytes, mr_fpr_single(s, number - MR_REG_F0));
    else
        mr_put32(bytes, kind == MR_KIND_PLAIN ? (uint32_t)mr_register(s, number) : computed(thread, number));
}

/* What has the value already is not written: gdb writes all registers where it means one, or sets the note of a call.
 * Register 0, and what is computed, are read-only. */
void mr_debug_set_register(struct mr_debug_thread *thread, uint32_t gdb_number, const uint8_t bytes[8])
{
    struct mr_state *s = thread->state;
    unsigned number = register_of(gdb_number);
    enum mr_register_kind kind = mr_registers[number].kind;
    uint8_t before[8] = {0};
    mr_debug_get_register(thread, gdb_number, before);
    if (number == MR_REG_ZERO || memcmp(before, bytes, mr_debug_register_bytes(s, gdb_number)) == 0)
        return;
    if (kind == MR_KIND_FLOAT && s->fr)
        mr_fpr_set_double(s, number - MR_REG_F0, mr_get64(bytes));
    else if (kind == MR_KIND_FLOAT)
        mr_fpr_set_single(s, number - MR_REG_F0, mr_get32(bytes));
    else if (kind == MR_KIND_FCSR)
        mr_fpu_set_fcsr(s, mr_get32(bytes));
    else if (kind == MR_KIND_PLAIN)
        mr_set_register(s, number, mr_get32(bytes));
    if (number == MR_REG_PC)
        s->ll_valid = 0;
    thread->changed = true;
}

/* ---- the description ---- */

struct text {
    char bytes[8192];
    size_t length;
};

#define ADD(text, ...)                                                                                          \
    ((text)->length += (size_t)snprintf((text)->bytes + (text)->length, sizeof(text)->bytes - (text)->length, __VA_ARGS__))

static void add_register(struct text *text, const struct mr_register *row, bool wide)
{
    bool is_general = row < &mr_registers[MR_REG_HI], is_float = row->kind == MR_KIND_FLOAT;
    char name[16];
    snprintf(name, sizeof name, "r%u", (unsigned)row->gdb_number);
    ADD(text, "<reg name=\"%s\" bitsize=\"%u\" regnum=\"%u\"", is_general ? name : row->name, is_float && wide ? 64 : 32,
        (unsigned)row->gdb_number);
    if (is_float)
        ADD(text, " type=\"%s\"", wide ? "ieee_double" : "ieee_single");
    else if (strcmp(row->gdb_feature, "fpu") == 0)
        ADD(text, " group=\"float\"");
    else if (strcmp(row->gdb_feature, "linux") == 0)
        ADD(text, " group=\"system\"");
    ADD(text, "/>");
}

/* Adds a feature where `first` is the first of its registers. */
static void add_feature(struct text *text, const struct mr_register *first, bool wide)
{
    const char *feature = first->gdb_feature;
    for (const struct mr_register *row = mr_registers; row < first; row++)
        if (strcmp(row->gdb_feature, feature) == 0)
            return;
    ADD(text, "<feature name=\"org.gnu.gdb.mips.%s\">", feature);
    for (const struct mr_register *row = first; row < mr_registers + MR_REGISTERS; row++)
        if (strcmp(row->gdb_feature, feature) == 0)
            add_register(text, row, wide);
    ADD(text, "</feature>");
}

const char *mr_debug_target_xml(void)
{
    static struct text text;
    if (text.length == 0) {
        ADD(&text, "<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\"><target version=\"1.0\">"
                   "<architecture>mips</architecture><osabi>GNU/Linux</osabi>");
        for (unsigned number = 0; number < MR_REGISTERS; number++)
            if (mr_registers[number].gdb_feature[0] != 0)
                add_feature(&text, &mr_registers[number], mr_main_state->fr);
        ADD(&text, "</target>");
    }
    return text.bytes;
}
