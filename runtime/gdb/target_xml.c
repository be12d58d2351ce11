/* What gdb and lldb are told of the registers: the features org.gnu.gdb.mips.* of gdb's manual ("MIPS Features"). */
#include "base/host_thread.h"
#include "gdb/parts.h"

#include <stdio.h>

struct text {
    char bytes[8192];
    size_t length;
};

#define ADD(text, ...)                                                                                          \
    ((text)->length += (size_t)snprintf((text)->bytes + (text)->length, sizeof(text)->bytes - (text)->length, __VA_ARGS__))

static void add_register(struct text *text, const char *name, unsigned number, const char *more)
{
    ADD(text, "<reg name=\"%s\" bitsize=\"32\" regnum=\"%u\"%s/>", name, number, more);
}

static void add_cpu(struct text *text)
{
    ADD(text, "<feature name=\"org.gnu.gdb.mips.cpu\">");
    for (unsigned number = 0; number < 32; number++) {
        char name[8];
        snprintf(name, sizeof name, "r%u", number);
        add_register(text, name, number, "");
    }
    add_register(text, "lo", MR_DEBUG_LO, "");
    add_register(text, "hi", MR_DEBUG_HI, "");
    add_register(text, "pc", MR_DEBUG_PC, "");
    ADD(text, "</feature><feature name=\"org.gnu.gdb.mips.cp0\">");
    add_register(text, "status", MR_DEBUG_STATUS, "");
    add_register(text, "badvaddr", MR_DEBUG_BADVADDR, "");
    add_register(text, "cause", MR_DEBUG_CAUSE, "");
    ADD(text, "</feature>");
}

static void add_fpu(struct text *text, bool wide)
{
    ADD(text, "<feature name=\"org.gnu.gdb.mips.fpu\">");
    for (unsigned number = 0; number < 32; number++)
        ADD(text, "<reg name=\"f%u\" bitsize=\"%u\" type=\"%s\" regnum=\"%u\"/>", number, wide ? 64 : 32,
            wide ? "ieee_double" : "ieee_single", MR_DEBUG_F0 + number);
    add_register(text, "fcsr", MR_DEBUG_FCSR, " group=\"float\"");
    add_register(text, "fir", MR_DEBUG_FIR, " group=\"float\"");
    ADD(text, "</feature><feature name=\"org.gnu.gdb.mips.linux\">");
    add_register(text, "restart", MR_DEBUG_RESTART, " group=\"system\"");
    ADD(text, "</feature>");
}

const char *mr_debug_target_xml(void)
{
    static struct text text;
    if (text.length == 0) {
        ADD(&text, "<?xml version=\"1.0\"?><!DOCTYPE target SYSTEM \"gdb-target.dtd\"><target version=\"1.0\">"
                   "<architecture>mips</architecture><osabi>GNU/Linux</osabi>");
        add_cpu(&text);
        add_fpu(&text, mr_main_state->fr);
        ADD(&text, "</target>");
    }
    return text.bytes;
}
