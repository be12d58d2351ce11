/* Registers by the numbers that gdb has for 32-bit MIPS Linux, as bytes in the guest's byte order; and what gdb and
 * lldb are told of them: the features org.gnu.gdb.mips.* of gdb's manual ("MIPS Features"). */
#include "base/host_thread.h"
#include "cpu/fpu.h"
#include "gdb/parts.h"
#include "memory/values.h"

#include <stdio.h>
#include <string.h>

#define STATUS_CU1 (1u << 29) /* the FPU is usable */
#define STATUS_FR (1u << 26)
#define STATUS_USER 0x13u     /* interrupts enabled, user mode, as Linux shows it */

static bool is_fpr(uint32_t number)
{
    return number >= MR_DEBUG_F0 && number < MR_DEBUG_FCSR;
}

uint32_t mr_debug_register_bytes(const struct mr_state *s, uint32_t number)
{
    return is_fpr(number) && s->fr ? 8 : 4;
}

static uint32_t special(const struct mr_debug_thread *thread, uint32_t number)
{
    const struct mr_state *s = thread->state;
    const uint32_t values[MR_DEBUG_REGISTER_COUNT] = {
        [MR_DEBUG_STATUS] = STATUS_CU1 | STATUS_USER | (s->fr ? STATUS_FR : 0),
        [MR_DEBUG_LO] = (uint32_t)s->hilo,
        [MR_DEBUG_HI] = (uint32_t)(s->hilo >> 32),
        [MR_DEBUG_BADVADDR] = thread->fault_address,
        [MR_DEBUG_PC] = s->pc,
        [MR_DEBUG_FCSR] = mr_fpu_fcsr(s),
        [MR_DEBUG_FIR] = MR_FIR,
    };
    return values[number]; /* 0: cause, and Linux's note of a call to restart, which the host does not have */
}

void mr_debug_get_register(const struct mr_debug_thread *thread, uint32_t number, uint8_t bytes[8])
{
    const struct mr_state *s = thread->state;
    if (is_fpr(number) && s->fr)
        mr_put64(bytes, mr_fpr_double(s, number - MR_DEBUG_F0));
    else if (is_fpr(number))
        mr_put32(bytes, mr_fpr_single(s, number - MR_DEBUG_F0));
    else
        mr_put32(bytes, number < MR_DEBUG_STATUS ? GPR(s, number) : special(thread, number));
}

/* What has the value already is not written: gdb writes all registers where it means one, or sets the note of a call.
 * Those that are not named here are read-only. */
void mr_debug_set_register(struct mr_debug_thread *thread, uint32_t number, const uint8_t bytes[8])
{
    struct mr_state *s = thread->state;
    uint32_t value = mr_get32(bytes);
    uint8_t before[8] = {0};
    mr_debug_get_register(thread, number, before);
    if (number == 0 || memcmp(before, bytes, mr_debug_register_bytes(s, number)) == 0)
        return;
    if (is_fpr(number) && s->fr)
        mr_fpr_set_double(s, number - MR_DEBUG_F0, mr_get64(bytes));
    else if (is_fpr(number))
        mr_fpr_set_single(s, number - MR_DEBUG_F0, value);
    else if (number < MR_DEBUG_STATUS)
        GPR(s, number) = value;
    else if (number == MR_DEBUG_LO)
        s->hilo = (s->hilo & 0xffffffff00000000u) | value;
    else if (number == MR_DEBUG_HI)
        s->hilo = (s->hilo & 0xffffffffu) | (uint64_t)value << 32;
    else if (number == MR_DEBUG_FCSR)
        mr_fpu_set_fcsr(s, value);
    else if (number == MR_DEBUG_PC) {
        s->pc = value;
        s->ll_valid = 0;
    }
    thread->changed = true;
}

/* ---- the description ---- */

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
