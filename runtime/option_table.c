/* The options of the host, one row each: how it is read, what --help says of it, and how an executed program is given it.
 *
 * A program that the guest executes runs in a host of its own, with `--executed NAME --program-fd N ... -- ARGUMENT...`
 * behind these options.
 */
#include "command_line.h"

#include "base/messages.h"
#include "base/numbers.h"
#include "base/options.h"
#include "baseline/baseline.h"
#include "coverage/coverage.h"
#include "cpu/model.h"
#include "gdb/gdb.h"
#include "growth/growth.h"
#include "lifted/caches.h"
#include "lifted/library.h"
#include "linux/guest_limits.h"
#include "linux/paths.h"
#include "linux/upcalls.h"
#include "verify/verify.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef MR_PRODUCER
#define MR_PRODUCER "mipsrec"
#endif
enum mr_window_choice mr_window_choice;
struct mr_given mr_given;

#define PROFILE_RATE_MAX 10000u
#define RANDOM "random:"

static const char usage[] =
    "usage: mipsrec-host [OPTION]... PROGRAM [ARGUMENT]...\n"
    "       mipsrec-host [OPTION]... --call ADDRESS [INTEGER]... PROGRAM [ARGUMENT]...\n"
    "Runs a MIPS Linux program.\n"
    "\n";

static const char more_usage[] =
    "\n"
    "Programs that the program executes get --tier, --sysroot, --window, --strace, --stats, --report and\n"
    "--gdb-on-crash, too; a debugger of --gdb stays with the process.\n"
    "Exit status: the program's own; 128 + N in a shell when signal N ended it; 1 for errors of the host, 2 for usage.\n"
    "MIPSREC_SYSROOT stands for --sysroot and MIPSREC_WINDOW for --window; MIPSREC_CORE, set to anything, lets a dying\n"
    "host dump core. None of them counts in a program that runs with more rights than its caller (setuid).\n";

void mr_usage_error(const char *format, const char *what)
{
    char shown[1024];
    mr_write_out(what, shown, sizeof shown);
    fprintf(stderr, "mipsrec-host: ");
    fprintf(stderr, format, shown);
    fprintf(stderr, " (--help explains)\n");
    exit(2);
}

void mr_option_window(const char *text)
{
    mr_given.window = true;
    if (strcmp(text, "auto") == 0)
        mr_window_choice = MR_WINDOW_AUTO;
    else if (strcmp(text, "identity") == 0)
        mr_window_choice = MR_WINDOW_IDENTITY;
    else if (strcmp(text, "any") == 0)
        mr_window_choice = MR_WINDOW_ANY;
    else
        mr_usage_error("--window must be auto, identity or any, not '%s'", text);
}

static const char *const memory_models[] = {MR_MEMORY_MODEL_NAMES};

static void parse_memory(const char *text)
{
    for (unsigned i = 0; i < sizeof memory_models / sizeof *memory_models; i++) {
        if (strcmp(text, memory_models[i]) == 0) {
            mr_options.memory_model = (enum mr_memory_model)i;
            return;
        }
    }
    mr_usage_error("--memory must be flat, paged or thunk, not '%s'", text);
}

static const char *hand_on_memory(bool same __attribute__((unused)))
{
    return mr_options.memory_model != MR_FLAT ? memory_models[mr_options.memory_model] : NULL;
}

static void parse_tier(const char *text)
{
    if (strcmp(text, "auto") != 0 && strcmp(text, "aot") != 0 && strcmp(text, "baseline") != 0 && strcmp(text, "interp") != 0)
        mr_usage_error("--tier must be auto, aot, baseline or interp, not '%s'", text);
    mr_given.tier = text;
}

static void parse_engine(const char *text)
{
    if (strcmp(text, "native") != 0 && strcmp(text, "interp") != 0)
        mr_usage_error("--engine must be native or interp, not '%s'", text);
    mr_given.tier = strcmp(text, "interp") == 0 ? "interp" : "aot";
}

static uint32_t whole_number(const char *text)
{
    uint32_t value;
    if (*text == '-' || !mr_parse_number(text, 10, &value) || value > INT32_MAX)
        mr_usage_error("%s is not a number that this option takes", text);
    return value;
}

/* ---- single options: how each is read, and what an executed program gets of it ---- */

static void parse_profile_rate(const char *text)
{
    mr_options.profile_rate = whole_number(text);
    if (mr_options.profile_rate < 1 || mr_options.profile_rate > PROFILE_RATE_MAX)
        mr_usage_error("--profile-rate must be 1 to 10000, not %s", text);
}

static void parse_call(const char *text)
{
    uint32_t ignored;
    if (!mr_parse_address(text, &ignored))
        mr_usage_error("--call needs a hexadecimal address, not '%s'", text);
    mr_options.call_function = text;
}

static void parse_verify(const char *text) { mr_options.verify_fd = (int)whole_number(text); }
static void parse_verify_scan(const char *text) { mr_options.verify_scan = whole_number(text); }

static void parse_verify_ignore(const char *text)
{
    if (!mr_verify_ignore(text))
        mr_usage_error("--verify-ignore: no register is named '%s'", text);
}

static void set_variable(const char *text)
{
    if (*text == '=' || *text == 0)
        mr_usage_error("-E needs NAME=VALUE or NAME, not '%s'", text);
    if (strchr(text, '=') != NULL ? putenv((char *)text) != 0 : unsetenv(text) != 0)
        mr_fail("-E %s: %s", text, strerror(errno));
}

static void describe(const char *path)
{
    mr_library_describe(path);
    exit(0);
}

static void print_version(const char *nothing __attribute__((unused)))
{
    puts("mipsrec-host (" MR_PRODUCER ", code " MR_CODE_KEY ")");
    exit(0);
}

static void parse_executed(const char *name)
{
    mr_options.program_path = name;
    mr_options.executed = true;
}

static void parse_guest_cpu(const char *model)
{
    if (!mr_cpu_choose(model, strlen(model)))
        mr_usage_error("--guest-cpu: no model is named '%s'", model);
}

static const char *hand_on_guest_cpu(bool same __attribute__((unused)))
{
    return mr_cpu_missing != 0 ? mr_cpu_model->name : NULL;
}

static void parse_host_fd(const char *text) { mr_options.host_fd = (int)whole_number(text); }
static void parse_complaint(const char *text) { mr_options.complaint_fd = (int)whole_number(text); }
static void parse_marks(const char *text) { mr_options.marks_fd = (int)whole_number(text); }
static const char *hand_on_marks(bool same __attribute__((unused))) { return mr_marks_hand_on(); }
static void parse_program_fd(const char *text) { mr_options.program_fd = (int)whole_number(text); }

static void parse_threshold(const char *text)
{
    if (strncmp(text, RANDOM, strlen(RANDOM)) == 0) {
        mr_tiers_random = true;
        mr_tiers_seed = whole_number(text + strlen(RANDOM));
        return;
    }
    mr_tiers_random = false;
    mr_baseline_threshold = whole_number(text);
    if (mr_baseline_threshold < 1 || mr_baseline_threshold > 255)
        mr_usage_error("--threshold must be a number from 1 to 255, not '%s'", text);
}

static void parse_code_cache(const char *text)
{
    unsigned kib = whole_number(text);
    if (kib < 1024 || kib > 1024 * 1024)
        mr_usage_error("--code-cache must be a number of KiB from 1024 to 1048576, not '%s'", text);
    mr_code_cache_bytes = (size_t)kib << 10;
}

static const char *hand_on_code_cache(bool same __attribute__((unused)))
{
    static char text[12];
    snprintf(text, sizeof text, "%u", (unsigned)(mr_code_cache_bytes >> 10));
    return mr_code_cache_bytes != MR_CODE_CACHE_BYTES ? text : NULL;
}

/* What an executed program gets; same: it is the one that runs now. */
static const char *hand_on_threshold(bool same __attribute__((unused)))
{
    static char text[32];
    if (mr_tiers_random)
        snprintf(text, sizeof text, RANDOM "%u", mr_tiers_seed);
    else
        snprintf(text, sizeof text, "%u", mr_baseline_threshold);
    return mr_given.tier != NULL || mr_tiers_random ? text : NULL;
}

static const char *hand_on_tier(bool same __attribute__((unused))) { return mr_given.tier; }

static const char *hand_on_library(bool same) { return same ? mr_options.library_path : NULL; }
static const char *hand_on_cache(bool same __attribute__((unused))) { return mr_cache_own(); }
static const char *hand_on_layers(bool same __attribute__((unused))) { return mr_cache_layers(); }
static const char *hand_on_sysroot(bool same __attribute__((unused))) { return mr_sysroot(); }

static const char *hand_on_server(bool same __attribute__((unused))) { return mr_server_command(); }

static const char *hand_on_debugger(bool same __attribute__((unused))) { return mr_debug_hand_on(); }

static const char *hand_on_limits(bool same __attribute__((unused))) { return mr_limits_hand_on(); }

static const char *hand_on_window(bool same __attribute__((unused)))
{
    return mr_window_choice == MR_WINDOW_AUTO ? NULL : mr_window_choice == MR_WINDOW_IDENTITY ? "identity" : "any";
}

static void print_help(const char *nothing);

/* ---- the table ---- */

const struct mr_option_row mr_option_rows[] = {
    {.name = "--library", .argument = "FILE", .text = &mr_options.library_path, .hand_on = hand_on_library,
     .help = "code that mipsrec made from PROGRAM; without it everything is interpreted"},
    {.name = "--trust-library", .flag = &mr_options.trust_library,
     .help = "run the code of --library also where another user can have written it"},
    {.name = "--cache", .argument = "DIR", .text = &mr_options.cache_path, .hand_on = hand_on_cache,
     .help = "where recompiled code is found by the contents of the files that the program loads; else\n"
             "$MIPSREC_CACHE, $XDG_CACHE_HOME/mipsrec, ~/.cache/mipsrec or /var/cache/mipsrec"},
    {.name = "--layers", .argument = "DIR:DIR...", .text = &mr_options.layers, .hand_on = hand_on_layers,
     .help = "folders like it that are only read, asked after it and before the system's; else $MIPSREC_CACHE_PATH"},
    {.name = "--variant", .argument = "NAME", .text = &mr_options.variant, .inherited = true,
     .help = "which of the ways to translate it was made in; default flat-direct-auto-PROCESSOR"},
    {.name = "--memory", .argument = "flat|paged|thunk", .apply = parse_memory, .hand_on = hand_on_memory,
     .help = "the memory model of that variant; default flat"},
    {.name = "--compile-server", .argument = "COMMAND", .text = &mr_options.compile_server, .hand_on = hand_on_server,
     .help = "have code that is hot recompiled meanwhile: starts the server if need be. Words of COMMAND are separated\n"
             "by newlines; leading words NAME=VALUE are its environment"},
    {.name = "--tier", .argument = "auto|aot|baseline|interp", .apply = parse_tier, .hand_on = hand_on_tier,
     .help = "auto: recompiled code where there is any, elsewhere code that is made at once when a place is reached often;\n"
             "aot: recompiled code, and the interpreter; baseline: only code that is made at once; interp: none"},
    {.name = "--threshold", .argument = "N|random:SEED", .apply = parse_threshold, .hand_on = hand_on_threshold,
     .help = "make code of a place when it is reached for the Nth time; default 8. For tests, random:SEED: a number for\n"
             "each place, and other changes of tiers at random"},
    {.name = "--code-cache", .argument = "KIB", .apply = parse_code_cache, .hand_on = hand_on_code_cache,
     .help = "memory for code that is made at once; default 65536. When it is full, the oldest code goes"},
    {.name = "--engine", .argument = "native|interp", .apply = parse_engine,
     .help = "the same as --tier aot, and --tier interp"},
    {.name = "--sysroot", .letter = 'L', .argument = "DIR", .text = &mr_given.sysroot, .hand_on = hand_on_sysroot,
     .help = "take absolute paths that exist below DIR from there: PROGRAM, what it opens and executes"},
    {.name = "--call", .argument = "ADDRESS [INT]..", .apply = parse_call,
     .help = "run only the function at ADDRESS (hexadecimal) and print the registers it changed;\nthe last option"},
    {.letter = 'E', .argument = "NAME=VALUE", .apply = set_variable,
     .help = "set a variable in the program's environment; -E NAME removes one"},
    {.name = "--strace", .flag = &mr_options.strace, .help = "print each system call"},
    {.name = "--stats", .flag = &mr_options.stats, .help = "print counters at the end"},
    {.name = "--gdb", .argument = "PORT|PATH", .text = &mr_options.gdb,
     .help = "wait for gdb or lldb at this port of 127.0.0.1 (0: a free one) or this socket; implies --tier interp"},
    {.name = "--gdb-on-crash", .argument = "PORT|PATH", .text = &mr_options.gdb_on_crash, .inherited = true,
     .help = "the same when a signal that dumps core is about to end the program; in any tier"},
    {.name = "--profile", .argument = "FILE", .text = &mr_options.profile_path,
     .help = "write to FILE where the program spent its processor time"},
    {.name = "--profile-rate", .argument = "N", .apply = parse_profile_rate,
     .help = "take N samples in a second of processor time, not 1000; the kernel may give fewer"},
    {.name = "--counters", .argument = "FILE", .text = &mr_options.counters_path,
     .help = "count decisions in FILE, a map of 65536 bytes as fuzzers have it; what it has is counted on"},
    {.name = "--cover", .argument = "WHAT,...", .text = &mr_options.cover,
     .help = "whose decisions are counted: program (default), all, names of libraries, or ranges of the program's\n"
             "addresses (0x401000-0x402000)"},
    {.name = "--check-memory", .flag = &mr_options.check_memory,
     .help = "end the program where it touches memory behind or before a block of its heap, or one that it has freed;\n"
             "no recompiled code runs"},
    {.name = "--complaint", .argument = "FD", .apply = parse_complaint,
     .help = "write what --check-memory finds to the descriptor FD, not to standard error"},
    {.name = "--allocator", .argument = "NAME=PLACE,...", .text = &mr_options.allocator,
     .help = "where --check-memory finds malloc, free and so on: names of symbols or addresses (malloc=0x401230)"},
    {.name = "--desock", .argument = "PORT|any", .text = &mr_options.desock, .inherited = true,
     .help = "give the service that listens at this TCP port, or the first one that listens, standard input as its first\n"
             "connection; end it when that is over"},
    {.name = "--report", .flag = &mr_options.report,
     .help = "print registers and the instruction when a signal ends the program"},
    {.name = "--window", .argument = "auto|identity|any", .apply = mr_option_window, .hand_on = hand_on_window,
     .help = "where the program's memory is: at host address 0 or not; auto: as the library needs it"},
    {.name = "--verify", .argument = "FD", .apply = parse_verify,
     .help = "compare lifted code with the interpreter, write records of it to the socket FD"},
    {.name = "--verify-scan", .argument = "N", .apply = parse_verify_scan,
     .help = "compare all memory at every Nth point, not now and then"},
    {.name = "--verify-ignore", .argument = "NAME", .apply = parse_verify_ignore,
     .help = "do not compare this register (zero ... ra, hi, lo, f0 ... f31, fcc0 ... fcc7, fcsr, tls)"},
    {.name = "--describe", .argument = "FILE", .apply = describe,
     .help = "check a library, print what it was made from and how, and exit"},
    {.name = "--log", .argument = "FILE", .text = &mr_options.log_path, .inherited = true,
     .help = "append to FILE what --strace, --stats and --report print, instead of standard error"},
    {.name = "--kernel-release", .argument = "TEXT", .text = &mr_options.kernel_release, .inherited = true,
     .help = "what uname tells the program as the kernel's release"},
    {.name = "--guest-cpu", .argument = "MODEL", .apply = parse_guest_cpu, .hand_on = hand_on_guest_cpu,
     .help = "have the modules MIPS16 and DSP as this model of qemu-user has them (24Kc, 34Kf ...); default 74Kf, all"},
    {.name = "--qemu", .argument = "NAME", .apply = mr_option_qemu,
     .help = "take the words behind it as qemu-mips or qemu-mipsel does; the same where NAME is argv[0]"},
    {.name = "--help", .apply = print_help, .help = "print this and exit"},
    {.name = "--version", .apply = print_version, .help = "print the version and exit"},
    /* From mipsrec (--marks), and from one host to the next: */
    {.name = "--core", .flag = &mr_options.dump_core},
    {.name = "--registered", .flag = &mr_options.registered},
    {.name = "--shares-root", .flag = &mr_options.shares_root},
    {.name = "--executed", .argument = "NAME", .apply = parse_executed},
    {.name = "--marks", .argument = "FD", .apply = parse_marks, .hand_on = hand_on_marks},
    {.name = "--gdb-fd", .argument = "TEXT", .text = &mr_options.gdb_handed_on, .hand_on = hand_on_debugger},
    {.name = "--limits", .argument = "TEXT", .text = &mr_options.limits, .hand_on = hand_on_limits},
    {.name = "--host-fd", .argument = "FD", .apply = parse_host_fd},
    {.name = "--program-fd", .argument = "FD", .apply = parse_program_fd},
};
_Static_assert(sizeof mr_option_rows / sizeof *mr_option_rows == MR_OPTION_ROWS, "rows");
_Static_assert(2 * MR_OPTION_ROWS <= MR_OPTION_WORDS, "a flag is one word, others are two");

static void print_help(const char *nothing __attribute__((unused)))
{
    enum { COLUMN = 25 };
    fputs(usage, stdout);
    for (const struct mr_option_row *row = mr_option_rows; row < mr_option_rows + MR_OPTION_ROWS; row++) {
        char option[80], letter[3] = {'-', row->letter, 0};
        if (row->help == NULL)
            continue;
        snprintf(option, sizeof option, "  %s%s%s%s%s", row->letter ? letter : "", row->letter && row->name ? ", " : "",
                 row->name ? row->name : "", row->argument ? " " : "", row->argument ? row->argument : "");
        printf("%-*s", COLUMN, option);
        if (strlen(option) >= COLUMN)
            printf("\n%*s", COLUMN, "");
        for (const char *line = row->help; line != NULL; line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL)
            printf("%*s%.*s\n", line == row->help ? 0 : COLUMN, "", (int)strcspn(line, "\n"), line);
    }
    fputs(more_usage, stdout);
    exit(0);
}

uint32_t mr_options_hand_on(const char *words[MR_OPTION_WORDS], bool same_program)
{
    uint32_t count = 0;
    for (const struct mr_option_row *row = mr_option_rows; row < mr_option_rows + MR_OPTION_ROWS; row++) {
        const char *argument = row->hand_on ? row->hand_on(same_program) : row->inherited ? *row->text : NULL;
        if ((row->flag == NULL || !*row->flag) && argument == NULL)
            continue;
        words[count++] = row->name;
        if (argument != NULL)
            words[count++] = argument;
    }
    return count;
}
