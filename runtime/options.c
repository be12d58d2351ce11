/* The command line of the host.
 *
 * Enters: argv and the host's environment. Leaves: mr_options and the guest's arguments and environment. What follows the
 * program's path belongs to the guest, whatever it looks like. Usage errors exit with status 2.
 */
#include "control.h"
#include "lifted/code.h"
#include "verify.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef MR_PRODUCER
#define MR_PRODUCER "mipsrec"
#endif

struct mr_options mr_options = {.verify_fd = -1, .profile_rate = 1000};
enum mr_window_choice mr_window_choice;
char **mr_call_arguments;
int mr_call_argument_count;

#define PROFILE_RATE_MAX 10000u

static const char usage[] =
    "usage: mipsrec-host [OPTION]... PROGRAM [ARGUMENT]...\n"
    "       mipsrec-host [OPTION]... --call ADDRESS [INTEGER]... PROGRAM [ARGUMENT]...\n"
    "Runs a MIPS Linux program.\n"
    "\n"
    "  --library FILE         code that mipsrec made from PROGRAM; without it everything is interpreted\n"
    "  --cache DIR            where recompiled code is found by the contents of the files that the program loads;\n"
    "                         else $MIPSREC_CACHE, $XDG_CACHE_HOME/mipsrec, ~/.cache/mipsrec or /var/cache/mipsrec\n"
    "  --variant NAME         which of the ways to translate it was made in; default flat-direct-auto-PROCESSOR\n"
    "  --engine native|interp interp: interpret everything, even with a library\n"
    "  --call ADDRESS [INT].. run only the function at ADDRESS (hexadecimal) and print the registers it changed;\n"
    "                         the last option\n"
    "  -E NAME=VALUE          set a variable in the program's environment; -E NAME removes one\n"
    "  --strace               print each system call\n"
    "  --stats                print counters at the end\n"
    "  --profile FILE         write to FILE where the program spent its processor time\n"
    "  --profile-rate N       take N samples in a second of processor time, not 1000; the kernel may give fewer\n"
    "  --report               print registers and the instruction when a signal ends the program\n"
    "  --window auto|identity|any\n"
    "                         where the program's memory is: at host address 0 or not; auto: as the library needs it\n"
    "  --verify FD            compare lifted code with the interpreter, write records of it to the socket FD\n"
    "  --verify-scan N        compare all memory at every Nth point, not now and then\n"
    "  --verify-ignore NAME   do not compare this register (zero ... ra, hi, lo, f0 ... f31, fcc0 ... fcc7, fcsr, tls)\n"
    "  --describe FILE        check a library, print what it was made from and how, and exit\n"
    "  --help, --version      print this, or the version, and exit\n"
    "\n"
    "Exit status: the program's own; 128 + N in a shell when signal N ended it; 1 for errors of the host, 2 for usage.\n"
    "MIPSREC_WINDOW stands for --window; MIPSREC_CORE, set to anything, lets a dying host dump core.\n";

void mr_fail(const char *format, ...)
{
    char text[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    fprintf(stderr, "mipsrec-host: %s\n", text);
    _exit(1);
}

static _Noreturn void usage_error(const char *format, const char *what)
{
    fprintf(stderr, "mipsrec-host: ");
    fprintf(stderr, format, what);
    fprintf(stderr, " (--help explains)\n");
    exit(2);
}

static bool parse_number(const char *text, int base, uint32_t *value)
{
    char *end;
    errno = 0;
    long long parsed = strtoll(text, &end, base);
    if (errno != 0 || end == text || *end != 0 || parsed < INT32_MIN || parsed > UINT32_MAX)
        return false;
    *value = (uint32_t)parsed;
    return true;
}

bool mr_parse_integer(const char *text, uint32_t *value)
{
    const char *digits = text + (*text == '-');
    bool hexadecimal = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X');
    return *digits >= '0' && *digits <= '9' && parse_number(text, hexadecimal ? 16 : 10, value);
}

bool mr_parse_address(const char *text, uint32_t *value)
{
    return *text != '-' && parse_number(text, 16, value);
}

static void parse_window(const char *text)
{
    if (strcmp(text, "auto") == 0)
        mr_window_choice = MR_WINDOW_AUTO;
    else if (strcmp(text, "identity") == 0)
        mr_window_choice = MR_WINDOW_IDENTITY;
    else if (strcmp(text, "any") == 0)
        mr_window_choice = MR_WINDOW_ANY;
    else
        usage_error("--window must be auto, identity or any, not '%s'", text);
}

static void parse_engine(const char *text)
{
    if (strcmp(text, "native") != 0 && strcmp(text, "interp") != 0)
        usage_error("--engine must be native or interp, not '%s'", text);
    mr_options.engine_interp = strcmp(text, "interp") == 0;
}

static uint32_t whole_number(const char *text)
{
    uint32_t value;
    if (*text == '-' || !parse_number(text, 10, &value) || value > INT32_MAX)
        usage_error("%s is not a number that this option takes", text);
    return value;
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

enum { OPTION_LIBRARY = 256, OPTION_CACHE, OPTION_VARIANT, OPTION_ENGINE, OPTION_STRACE, OPTION_STATS, OPTION_REPORT, OPTION_CALL, OPTION_WINDOW,
       OPTION_DESCRIBE, OPTION_VERIFY, OPTION_VERIFY_SCAN, OPTION_VERIFY_IGNORE,
       OPTION_PROFILE, OPTION_PROFILE_RATE, OPTION_HELP, OPTION_VERSION };

static const struct option long_options[] = {
    {"library", required_argument, NULL, OPTION_LIBRARY},
    {"cache", required_argument, NULL, OPTION_CACHE},
    {"variant", required_argument, NULL, OPTION_VARIANT},
    {"engine", required_argument, NULL, OPTION_ENGINE},
    {"strace", no_argument, NULL, OPTION_STRACE},
    {"stats", no_argument, NULL, OPTION_STATS},
    {"report", no_argument, NULL, OPTION_REPORT},
    {"profile", required_argument, NULL, OPTION_PROFILE},
    {"profile-rate", required_argument, NULL, OPTION_PROFILE_RATE},
    {"call", required_argument, NULL, OPTION_CALL},
    {"window", required_argument, NULL, OPTION_WINDOW},
    {"describe", required_argument, NULL, OPTION_DESCRIBE},
    {"verify", required_argument, NULL, OPTION_VERIFY},
    {"verify-scan", required_argument, NULL, OPTION_VERIFY_SCAN},
    {"verify-ignore", required_argument, NULL, OPTION_VERIFY_IGNORE},
    {"help", no_argument, NULL, OPTION_HELP},
    {"version", no_argument, NULL, OPTION_VERSION},
    {NULL, 0, NULL, 0},
};

static void apply_option(int option)
{
    uint32_t ignored;
    switch (option) {
    case OPTION_LIBRARY: mr_options.library_path = optarg; break;
    case OPTION_CACHE: mr_options.cache_path = optarg; break;
    case OPTION_VARIANT: mr_options.variant = optarg; break;
    case OPTION_ENGINE: parse_engine(optarg); break;
    case OPTION_STRACE: mr_options.strace = true; break;
    case OPTION_STATS: mr_options.stats = true; break;
    case OPTION_REPORT: mr_options.report = true; break;
    case OPTION_PROFILE: mr_options.profile_path = optarg; break;
    case OPTION_PROFILE_RATE:
        mr_options.profile_rate = whole_number(optarg);
        if (mr_options.profile_rate < 1 || mr_options.profile_rate > PROFILE_RATE_MAX)
            usage_error("--profile-rate must be 1 to 10000, not %s", optarg);
        break;
    case OPTION_CALL:
        if (!mr_parse_address(optarg, &ignored))
            usage_error("--call needs a hexadecimal address, not '%s'", optarg);
        mr_options.call_function = optarg;
        break;
    case OPTION_WINDOW: parse_window(optarg); break;
    case OPTION_DESCRIBE: mr_library_describe(optarg); exit(0);
    case OPTION_VERIFY: mr_options.verify_fd = (int)whole_number(optarg); break;
    case OPTION_VERIFY_IGNORE:
        if (!mr_verify_ignore(optarg))
            usage_error("--verify-ignore: no register is named '%s'", optarg);
        break;
    case OPTION_VERIFY_SCAN: mr_options.verify_scan = whole_number(optarg); break;
    case OPTION_HELP: fputs(usage, stdout); exit(0);
    case OPTION_VERSION: puts("mipsrec-host (" MR_PRODUCER ")"); exit(0);
    case 'E':
        if (*optarg == '=' || *optarg == 0)
            usage_error("-E needs NAME=VALUE or NAME, not '%s'", optarg);
        if (strchr(optarg, '=') != NULL ? putenv(optarg) != 0 : unsetenv(optarg) != 0)
            mr_fail("-E %s: %s", optarg, strerror(errno));
        break;
    default: /* getopt_long has said what is wrong */
        exit(2);
    }
}

/* The guest may change its folder and then run itself again. */
static const char *absolute_path(const char *path, char *buffer)
{
    return realpath(path, buffer) != NULL ? buffer : path;
}

void mr_options_parse(int argc, char **argv)
{
    static char program[PATH_MAX], library[PATH_MAX];
    extern char **environ;
    int option;
    const char *window = getenv("MIPSREC_WINDOW");
    if (window != NULL)
        parse_window(window);
    argv[0] = (char *)"mipsrec-host"; /* for getopt's messages */
    /* --call is the last option, since its integers may be negative. */
    while (mr_options.call_function == NULL && (option = getopt_long(argc, argv, "+E:", long_options, NULL)) != -1)
        apply_option(option);
    if (mr_options.call_function != NULL)
        optind = parse_call_arguments(argc, argv, optind);
    if (optind >= argc)
        usage_error("%s", "no program given");
    if (mr_options.verify_fd >= 0 && ((mr_options.library_path == NULL && mr_options.variant == NULL) ||
                                      mr_options.engine_interp))
        usage_error("%s", "--verify needs --library, or --cache and --variant, and lifted code to run");
    if (mr_options.profile_path != NULL && (mr_options.verify_fd >= 0 || mr_options.call_function != NULL))
        usage_error("%s", "--profile goes neither with --verify nor with --call");
    if (mr_options.library_path != NULL)
        mr_options.library_path = absolute_path(mr_options.library_path, library);
    mr_options.program_path = argv[optind];
    mr_options.program_name = absolute_path(argv[optind], program);
    mr_options.guest_argc = argc - optind;
    mr_options.guest_argv = argv + optind;
    mr_options.guest_envp = environ;
}
