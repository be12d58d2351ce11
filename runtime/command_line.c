/* The command line of the host.
 *
 * Enters: argv, the host's environment, and what binfmt_misc tells. Leaves: mr_options and the guest's arguments and
 * environment. What follows the program's path belongs to the guest, whatever it looks like. Usage errors exit with status 2.
 */
#include "command_line.h"

#include "base/numbers.h"
#include "base/options.h"
#include "baseline/baseline.h"
#include "coverage/coverage.h"
#include "gdb/gdb.h"
#include "linux/paths.h"
#include "qemu_names.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#define FIRST_VALUE 256 /* getopt's value for the first row of the table */

char **mr_call_arguments;
int mr_call_argument_count;
static bool is_qemu; /* called by a name of qemu-user */

void mr_option_qemu(const char *name)
{
    is_qemu = mr_qemu_is_name(name);
    if (!is_qemu)
        mr_usage_error("--qemu must be a name of qemu-user for o32, such as qemu-mipsel, not '%s'", name);
}

static void choose_tier(void)
{
    const char *chosen = mr_given.tier != NULL ? mr_given.tier : "auto";
    if (mr_options.gdb != NULL || mr_options.gdb_handed_on != NULL)
        chosen = "interp"; /* exact at each instruction */
    bool only_baseline = strcmp(chosen, "baseline") == 0;
    mr_options.engine_interp = only_baseline || strcmp(chosen, "interp") == 0;
    mr_baseline_on = (only_baseline || strcmp(chosen, "auto") == 0) && mr_options.verify_fd < 0;
    mr_tiers_random = mr_tiers_random && mr_options.verify_fd < 0;
}

/* The first argument after the options of --call that is no integer is the program. */
static int parse_call_arguments(int argc, char **argv, int at)
{
    uint32_t ignored;
    mr_call_arguments = argv + at;
    while (at < argc && mr_parse_integer(argv[at], &ignored))
        at++;
    mr_call_argument_count = (int)(argv + at - mr_call_arguments);
    return at;
}

static void apply_row(const struct mr_option_row *row, const char *argument)
{
    if (row->flag != NULL)
        *row->flag = true;
    else if (row->text != NULL)
        *row->text = strdup(argument); /* the words themselves may become the guest's (process_view.c) */
    else
        row->apply(argument);
}

static const struct mr_option_row *row_of(int value)
{
    for (const struct mr_option_row *row = mr_option_rows; row < mr_option_rows + MR_OPTION_ROWS; row++)
        if (value == FIRST_VALUE + (int)(row - mr_option_rows) || (row->letter && value == row->letter))
            return row;
    return NULL;
}

/* Says what getopt_long refuses. getopt itself writes names as they are. */
static _Noreturn void refuse(int value, const char *word)
{
    char letter[] = {'-', (char)optopt, 0};
    const char *name = optopt == 0 || optopt >= FIRST_VALUE ? word : letter;
    if (value == ':')
        mr_usage_error("option %s needs an argument", name);
    mr_usage_error(optopt >= FIRST_VALUE ? "option %s takes no argument" : "unknown or ambiguous option %s", name);
}

static void parse_words(int argc, char **argv)
{
    struct option long_options[MR_OPTION_ROWS + 1];
    char short_options[2 * MR_OPTION_ROWS + 3] = "+:";
    size_t count = 0, length = 2;
    int value;
    for (size_t i = 0; i < MR_OPTION_ROWS; i++) {
        int has_argument = mr_option_rows[i].argument ? required_argument : no_argument;
        if (mr_option_rows[i].name)
            long_options[count++] = (struct option){mr_option_rows[i].name + 2, has_argument, NULL, FIRST_VALUE + (int)i};
        if (mr_option_rows[i].letter) {
            short_options[length++] = mr_option_rows[i].letter;
            if (has_argument)
                short_options[length++] = ':';
        }
    }
    long_options[count] = (struct option){0};
    opterr = 0;
    /* --call is the last option, since its integers may be negative; and behind --qemu are other ones. */
    while (mr_options.call_function == NULL && !is_qemu && (value = getopt_long(argc, argv, short_options, long_options, NULL)) != -1) {
        const struct mr_option_row *row = row_of(value);
        if (row == NULL)
            refuse(value, argv[optind - 1]);
        apply_row(row, optarg);
    }
}

/* Variables of the host. In a program of more rights than its caller the caller has no say. */
const char *mr_host_variable(const char *name)
{
    return mr_options.executed ? NULL : secure_getenv(name);
}

/* As ld.so does with LD_*: what the caller says of hosts is not for programs that this one starts with its rights either. */
static char **environment_for_guest(void)
{
    size_t kept = 0;
    for (char **string = environ; getauxval(AT_SECURE) != 0 && *string; string++)
        if (strncmp(*string, "MIPSREC_", strlen("MIPSREC_")) != 0)
            environ[kept++] = *string;
    if (getauxval(AT_SECURE) != 0)
        environ[kept] = NULL;
    return environ;
}

static void heed_environment(void)
{
    const char *window = mr_host_variable("MIPSREC_WINDOW");
    if (window != NULL && !mr_given.window)
        mr_option_window(window);
    if (mr_given.sysroot == NULL)
        mr_given.sysroot = mr_host_variable("MIPSREC_SYSROOT");
    if (mr_host_variable("MIPSREC_CORE") != NULL)
        mr_options.dump_core = true;
}

/* The guest may be in another folder by the time of its end. */
static const char *from_here(const char *path)
{
    static char text[PATH_MAX];
    char folder[PATH_MAX];
    if (*path == '/' || mr_debug_is_port(path) || getcwd(folder, sizeof folder) == NULL ||
        snprintf(text, sizeof text, "%s/%s", folder, path) >= (int)sizeof text)
        return path;
    return text;
}

static void check_place_of_debugger(const char *place)
{
    const char *digits = place + (*place == '-');
    if (*digits != 0 && digits[strspn(digits, "0123456789")] == 0 && !mr_debug_is_port(place))
        mr_usage_error("%s is no port for a debugger (0 to 65535); write ./ before the name of a socket", place);
}

static void check_debugger(void)
{
    if (mr_options.gdb != NULL)
        check_place_of_debugger(mr_options.gdb);
    if (mr_options.gdb_on_crash != NULL)
        check_place_of_debugger(mr_options.gdb_on_crash);
    if (mr_options.gdb_on_crash != NULL)
        mr_options.gdb_on_crash = from_here(mr_options.gdb_on_crash);
    if (mr_options.gdb != NULL && mr_given.tier != NULL && strcmp(mr_given.tier, "interp") != 0)
        mr_usage_error("--gdb runs everything in the interpreter: --tier %s contradicts it", mr_given.tier);
    if (mr_options.gdb != NULL && mr_options.gdb_on_crash != NULL)
        mr_usage_error("%s", "--gdb and --gdb-on-crash exclude each other");
    if ((mr_options.gdb != NULL || mr_options.gdb_on_crash != NULL) &&
        (mr_options.verify_fd >= 0 || mr_options.call_function != NULL))
        mr_usage_error("%s", "a debugger goes neither with --verify nor with --call");
}

static void check(void)
{
    check_debugger();
    if (mr_options.verify_fd >= 0 &&
        ((mr_options.library_path == NULL && mr_options.variant == NULL) || mr_options.engine_interp))
        mr_usage_error("%s", "--verify needs --library, or --cache and --variant, and lifted code to run");
    if (mr_options.allocator != NULL && !mr_options.check_memory)
        mr_usage_error("%s", "--allocator says what --check-memory watches; give that, too");
    if (mr_options.check_memory && (mr_options.verify_fd >= 0 || mr_options.call_function != NULL))
        mr_usage_error("%s", "--check-memory goes neither with --verify nor with --call");
    if (mr_options.cover != NULL && mr_options.counters_path == NULL && !mr_fuzzed)
        mr_usage_error("%s", "--cover says what --counters FILE counts; give that, too");
    if (mr_options.counters_path != NULL && (mr_options.verify_fd >= 0 || mr_options.call_function != NULL))
        mr_usage_error("%s", "--counters goes neither with --verify nor with --call");
    if (mr_options.marks_fd >= 0 && (!mr_options.engine_interp || mr_options.counters_path != NULL || mr_options.check_memory ||
                                     mr_options.verify_fd >= 0 || mr_options.call_function != NULL))
        mr_usage_error("%s", "--marks needs --tier baseline or interp, and goes with none of --counters, --check-memory, "
                       "--verify and --call");
    if (mr_options.profile_path != NULL && (mr_options.verify_fd >= 0 || mr_options.call_function != NULL))
        mr_usage_error("%s", "--profile goes neither with --verify nor with --call");
}

/* Returns the position of the program's argv[0]. */
static int parse_all(int argc, char **argv)
{
    is_qemu = mr_qemu_is_name(argv[0]);
    optind = 1;
    if (!is_qemu)
        parse_words(argc, argv);
    if (is_qemu)
        return mr_qemu_parse(argc, argv, optind);
    return mr_options.call_function == NULL ? optind : parse_call_arguments(argc, argv, optind);
}

#ifndef AT_FLAGS_PRESERVE_ARGV0
#define AT_FLAGS_PRESERVE_ARGV0 1u
#endif

/* The kernel starts the host for a registered kind of program (binfmt_misc): host PROGRAM ARGUMENT..., where nothing is an
 * option. It says so when the registration has flag P (since Linux 5.12), and then puts argv[0] before the arguments; or
 * when it has flag O, and then hands the program over opened. Returns the position of the guest's argv[0], or 0: started by
 * hand, or without these flags, which is the same. */
static int binfmt_arguments(int argc, char **argv)
{
    int has_argv0 = getauxval(AT_FLAGS) & AT_FLAGS_PRESERVE_ARGV0 ? 1 : 0;
    errno = 0;
    unsigned long fd = getauxval(AT_EXECFD);
    bool opened = errno == 0;
    if (argc < 2 + has_argv0 || !(has_argv0 || opened))
        return 0;
    if (opened)
        mr_options.program_fd = (int)fd;
    mr_options.program_path = argv[1];
    mr_options.registered = true;
    return 1 + has_argv0;
}

/* The guest may change its folder and then run itself again. Links stay: who made them is looked at (lifted/library.c). */
static const char *absolute_path(const char *path, char buffer[PATH_MAX])
{
    if (*path == '/' || getcwd(buffer, PATH_MAX) == NULL)
        return path;
    size_t length = strlen(buffer);
    return snprintf(buffer + length, PATH_MAX - length, "/%s", path) < (int)(PATH_MAX - length) ? buffer : path;
}

void mr_options_parse(int argc, char **argv)
{
    static char library[PATH_MAX];
    extern char **environ;
    if (argc < 1)
        exit(2);
    mr_options.host_name = mr_options.host_words = argv[0];
    mr_options.host_words_end = argv[argc - 1] + strlen(argv[argc - 1]) + 1;
    int first = binfmt_arguments(argc, argv);
    if (first == 0)
        first = parse_all(argc, argv);
    if (first >= argc)
        mr_usage_error("%s", "no program given");
    heed_environment();
    choose_tier();
    check();
    if (mr_options.library_path != NULL)
        mr_options.library_path = absolute_path(mr_options.library_path, library);
    mr_options.program_path = strdup(mr_options.program_path ? mr_options.program_path : argv[first]);
    mr_options.guest_argc = argc - first;
    mr_options.guest_argv = argv + first;
    mr_options.guest_envp = environment_for_guest();
    mr_sysroot_start(mr_given.sysroot);
}
