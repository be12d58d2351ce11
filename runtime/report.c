/* The guest's end: exit, death by signal, and what --stats and --report print about it.
 *
 * Everything goes to standard error by write, since a guest may end while the host is anywhere. Where the guest runs on, it
 * goes to a copy of that descriptor: the guest may close or redirect its own.
 */
#include "report.h"

#include "base/instructions.h"
#include "base/messages.h"
#include "base/options.h"
#include "base/same_inode.h"
#include "baseline/baseline.h"
#include "cpu/disasm.h"
#include "cpu/interp.h"
#include "cpu/lacking.h"
#include "cpu/mips16.h"
#include "cpu/model.h"
#include "cpu/registers.h"
#include "gdb/gdb.h"
#include "growth/growth.h"
#include "lifted/code_files.h"
#include "lifted/module.h"
#include "linux/abi.h"
#include "linux/fault.h"
#include "linux/signals.h"
#include "linux/threads.h"
#include "linux/upcalls.h"
#include "memory/values.h"
#include "profile/profile.h"
#include "verify/verify.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static void print_stats(void)
{
    if (!mr_options.stats)
        return;
    struct mr_counters counters = mr_threads_counters();
    mr_print_error("mipsrec-host: %llu instructions interpreted, %llu runs of the interpreter, %llu dispatches, "
                   "%llu system calls, %llu of them unknown, %llu ioctls unknown\n",
                   (unsigned long long)counters.interpreted, (unsigned long long)counters.interpreter_runs,
                   (unsigned long long)counters.dispatches,
                   (unsigned long long)counters.syscalls, (unsigned long long)counters.unknown_syscalls,
                   (unsigned long long)counters.unknown_ioctls);
    mr_baseline_report(counters.baseline_entries);
    mr_growth_report();
    mr_modules_report();
    mr_code_files_report();
}

static void print_registers(const struct mr_state *s)
{
    enum { LINE = 8 * 14 }; /* eight registers */
    char text[LINE + 32];
    int length = 0;
    for (unsigned number = 0; number < MR_REGISTERS; number++) {
        if (mr_registers[number].dumped)
            length += snprintf(text + length, 32, " %4s %08x", mr_registers[number].name, (uint32_t)mr_register(s, number));
        if (length >= LINE || (length != 0 && number == MR_REGISTERS - 1)) {
            mr_print_error("%s\n", text);
            length = 0;
        }
    }
}

static void name_signal(const char *who, int mips_signal, uint32_t guest_pc, uint32_t address)
{
    const char *name = mr_signal_name(mips_signal);
    mr_print_error("mipsrec-host: the %s dies of signal %d (%s) at pc 0x%08x, address 0x%08x\n", who, mips_signal,
                   name != NULL ? name : "real-time", guest_pc, address);
}

static void print_word(uint32_t guest_pc)
{
    char text[80];
    uint32_t word = mr_code_word(guest_pc);
    mr_disassemble(guest_pc, word, text, sizeof text);
    mr_print_error("%08x: %08x  %s\n", guest_pc, word, text);
}

/* MIPS16 code: the halves, and the MIPS32 instructions that do the same; of a jump there are none. */
static void print_halves(uint32_t guest_pc)
{
    uint32_t place = guest_pc & ~1u, first = mr_peek16(place), words[MR16_MOST_WORDS];
    bool is_long = mr_mips16_is_long(first) && mr_accessible(place + MR_HALF_BYTES, MR_HALF_BYTES, MR_READ);
    uint32_t second = is_long ? mr_peek16(place + MR_HALF_BYTES) : 0;
    unsigned count = mr_mips16_words(mr_mips16_decode(first, second), guest_pc, words);
    char encoding[16], text[80] = "a jump of MIPS16 code, or none";
    snprintf(encoding, sizeof encoding, is_long ? "%04x %04x" : "%04x", first, second);
    if (count != 0)
        mr_disassemble(guest_pc, words[0], text, sizeof text);
    mr_print_error("%08x: %s  %s%s\n", guest_pc, encoding, text, count > 1 ? " ..." : "");
}

static void print_instruction(uint32_t guest_pc)
{
    if (mr_is_mips16(guest_pc) && mr_accessible(guest_pc & ~1u, MR_HALF_BYTES, MR_READ))
        print_halves(guest_pc);
    else if (mr_is_aligned(guest_pc) && mr_accessible(guest_pc, MR_INSTRUCTION_BYTES, MR_READ))
        print_word(guest_pc);
    else
        mr_print_error("%08x: no memory\n", guest_pc);
}

static void report(struct mr_state *s, int mips_signal, uint32_t guest_pc, uint32_t address)
{
    name_signal("guest", mips_signal, guest_pc, address);
    char place[400];
    if (mr_code_file_describe(guest_pc, true, place, sizeof place))
        mr_print_error("mipsrec-host: that pc is %s\n", place);
    if (mr_code_file_describe(GPR(s, MR_REG_RA), true, place, sizeof place))
        mr_print_error("mipsrec-host: ra is %s\n", place);
    print_registers(s);
    if (mr_host_thread.registers_stale)
        mr_print_error("(as far as recompiled code has them; --tier interp has those of the instruction)\n");
    print_instruction(guest_pc);
}

static struct stat first_error; /* standard error as the program got it */
static pid_t first_process;

void mr_report_start(void)
{
    if (fstat(STDERR_FILENO, &first_error) != 0)
        first_error = (struct stat){0};
    first_process = getpid();
}

/* Whether standard error is not a file of the program's own meanwhile, which the host must not write to. */
static bool error_is_as_it_was(void)
{
    struct stat now;
    return mr_messages_fd != STDERR_FILENO ||
           (fstat(STDERR_FILENO, &now) == 0 && mr_is_same_inode(&now, &first_error));
}

/* Says which part of the architecture an instruction is of that no program can use here. A program that handles the
 * signal, as those do that look whether the processor has it, hears nothing. Nor does one that forks a child to look. */
static void name_what_is_lacking(uint32_t guest_pc)
{
    if (!error_is_as_it_was() || (getpid() != first_process && !mr_options.report))
        return;
    if (mr_is_mips16(guest_pc) && mr_cpu_lacks(MR_CPU_MIPS16) && mr_accessible(guest_pc & ~1u, 2, MR_EXEC))
        mr_print_error("mipsrec-host: %s: the code at the odd address 0x%08x is " MR_MODULE_MIPS16 " code, which the processor "
                       "%s lacks\n", mr_options.program_path, guest_pc, mr_cpu_model->name);
    else if (mr_is_mips16(guest_pc) && mr_accessible(guest_pc & ~1u, 2, MR_EXEC))
        mr_print_error("mipsrec-host: %s: the code at the odd address 0x%08x is no " MR_MODULE_MIPS16 " code; " MR_MODULE_MIPS16E2
                       " and " MR_MODULE_MICROMIPS " are not supported\n", mr_options.program_path, guest_pc);
    if (!mr_is_aligned(guest_pc) || !mr_accessible(guest_pc, 4, MR_READ))
        return;
    uint32_t word = mr_code_word(guest_pc), place = guest_pc;
    if (mr_has_delay_slot(word) && !mr_cpu_lacks_word(word) && mr_accessible(mr_next_pc(guest_pc), 4, MR_READ)) {
        place = mr_next_pc(guest_pc);
        word = mr_code_word(place);
    }
    const char *module = mr_lacking_module(word);
    if (mr_cpu_lacks_word(word))
        mr_print_error("mipsrec-host: %s: the instruction %08x at 0x%08x is of %s, which the processor %s lacks\n",
                       mr_options.program_path, word, place, mr_missing_module(mr_modules_of(word)), mr_cpu_model->name);
    else if (module != NULL)
        mr_print_error("mipsrec-host: %s: the instruction %08x at 0x%08x is of %s, which is not supported\n",
                       mr_options.program_path, word, place, module);
}

void mr_die_by_signal(struct mr_state *s, int mips_signal, uint32_t guest_pc, uint32_t address)
{
    if (mips_signal == MIPS_SIGILL || mips_signal == MIPS_SIGBUS)
        name_what_is_lacking(guest_pc);
    if (mr_options.report)
        report(s, mips_signal, guest_pc, address);
    else if (mr_options.call_function != NULL)
        name_signal("function", mips_signal, guest_pc, address);
    mr_debug_crash(s, mips_signal, guest_pc, address);
    mr_threads_leave_robust_lists();
    print_stats();
    mr_profile_end();
    mr_verify_exit(0, mips_signal);
    mr_debug_dies(mips_signal);
    int host_signal = mr_signal_to_host(mips_signal);
    if (host_signal == 0) /* MIPS has twice as many real-time signals as other machines */
        _exit(128 + mips_signal);
    mr_die_of_host_signal(host_signal);
}

void mr_exit_process(int status)
{
    mr_growth_end();
    print_stats();
    mr_profile_end();
    mr_verify_exit(status & 0xff, 0);
    mr_debug_exits(status & 0xff);
    _exit(status & 0xff);
}

void mr_exit_guest(struct mr_state *s, int status)
{
    (void)s;
    if (mr_options.call_function != NULL && getpid() == first_process)
        mr_print_error("mipsrec-host: the function ended the program with exit status %d, and did not return\n",
                       status & 0xff);
    mr_exit_process(status);
}
