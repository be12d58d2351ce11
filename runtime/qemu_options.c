/* The options of qemu-user 7.2, one row each, and what they mean for this host.
 *
 * Enters: the text of an option, or of its variable. Leaves: mr_options, mr_qemu and the environment. What would change what
 * is seen, and is not there, is noted in mr_qemu.
 */
#include "qemu_names.h"

#include "base/messages.h"
#include "base/options.h"
#include "command_line.h"
#include "cpu/model.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MR_PRODUCER
#define MR_PRODUCER "mipsrec"
#endif
#define VERSION "7.2.0" /* whose options these are */

struct mr_qemu mr_qemu;

/* ---- what the options mean ---- */

static void print_usage(void);

static _Noreturn void fail_with_usage(void)
{
    print_usage();
    exit(1);
}

static void ignore(const char *option, const char *argument)
{
    size_t length = strlen(mr_qemu.ignored);
    snprintf(mr_qemu.ignored + length, sizeof mr_qemu.ignored - length, "%s%s %s", length ? ", " : "", option, argument);
}

static void print_help(const char *text __attribute__((unused)))
{
    print_usage();
    exit(0);
}

static void print_version(const char *text __attribute__((unused)))
{
    printf("%s version " VERSION " (" MR_PRODUCER ")\nmipsrec in the place of QEMU's user emulation.\n", mr_qemu.name);
    exit(0);
}

/* A number is a port, whatever stands behind it; all else is the path of a socket. */
static void set_debugger(const char *text)
{
    char place[PATH_MAX + 2];
    unsigned long long port = *text == '-' ? 0 : strtoull(text, NULL, 10);
    if (port != 0)
        snprintf(place, sizeof place, "%llu", port);
    else
        snprintf(place, sizeof place, "%s%s", *text == '/' ? "" : "./", text);
    mr_options.gdb = strdup(place);
}

/* qemu-user goes on where the folder is not there. */
static void set_prefix(const char *text)
{
    struct stat status;
    bool is_folder = stat(text, &status) == 0 && S_ISDIR(status.st_mode);
    mr_given.sysroot = is_folder ? strdup(text) : NULL;
}

static void set_stack(const char *text)
{
    char *end;
    struct rlimit limit;
    rlim_t size_bytes = strtoul(text, &end, 0);
    if (size_bytes == 0)
        fail_with_usage();
    size_bytes <<= *end == 'M' ? 20 : *end == 'k' || *end == 'K' ? 10 : 0;
    if (getrlimit(RLIMIT_STACK, &limit) == 0) {
        limit.rlim_cur = size_bytes;
        if (size_bytes <= limit.rlim_max && setrlimit(RLIMIT_STACK, &limit) == 0)
            return;
    }
    ignore("-s", text);
}

static const char *const other_models[] = {"mips32r6-generic", "I7200", NULL}; /* of code that this host does not run */

static bool is_among(const char *text, size_t length, const char *const *words)
{
    for (; *words != NULL; words++)
        if (strlen(*words) == length && strncmp(*words, text, length) == 0)
            return true;
    return false;
}

static void set_cpu(const char *text)
{
    size_t length = strcspn(text, ",");
    bool is_known = mr_cpu_choose(text, length), is_other = is_among(text, length, other_models);
    if (strcmp(text, "help") == 0 || strcmp(text, "?") == 0) {
        for (const struct mr_cpu_model *model = mr_cpu_models; model->name != NULL; model++)
            printf("MIPS '%s'\n", model->name);
        exit(1);
    }
    if (!is_known && !is_other) {
        mr_print_error("%s: unable to find CPU model '%s'\n", mr_qemu.name, text);
        exit(1);
    }
    if (is_other || text[length] == ',')
        ignore("-cpu", text);
}

static void set_variables(const char *text)
{
    char *rest = strdup(text), *setting;
    while ((setting = strsep(&rest, ",")) != NULL)
        if (strchr(setting, '=') == NULL || putenv(setting) != 0)
            fail_with_usage();
}

static void unset_variables(const char *text)
{
    char *rest = strdup(text), *name;
    while ((name = strsep(&rest, ",")) != NULL) {
        if (strchr(name, '=') != NULL)
            fail_with_usage();
        unsetenv(name);
    }
}

static void set_argv0(const char *text) { mr_qemu.argv0 = strdup(text); }
static void set_release(const char *text) { mr_options.kernel_release = strdup(text); }
static void set_log(const char *text) { mr_qemu.log = strdup(text); }
static void set_strace(const char *text __attribute__((unused))) { mr_options.strace = true; }
static void change_nothing(const char *text __attribute__((unused))) {}

/* Where guest memory lies on this machine is no matter of the guest; so 0, which leaves it open, is what happens. */
static void set_guest_base(const char *text)
{
    if (strtoul(text, NULL, 0) != 0)
        ignore("-B", text);
}

static void set_reserved(const char *text)
{
    char *end;
    unsigned long size = strtoul(text, &end, 0);
    const char *suffix = end + (*end != 0 && strchr("kKMG", *end) != NULL);
    if (*suffix != 0) {
        mr_print_error("Unrecognised -R size suffix '%s'\n", end);
        exit(1);
    }
    if (size != 0)
        ignore("-R", text);
}

static void set_page_size(const char *text)
{
    int size = atoi(text);
    if (size <= 0 || (size & (size - 1)) != 0) {
        mr_print_error("page size must be a power of two\n");
        exit(1);
    }
    if (size != 4096)
        ignore("-p", text);
}

static void set_seed(const char *text)
{
    char *end;
    strtoull(text, &end, 0);
    if (*text == 0 || *text == '-' || *end != 0) {
        mr_print_error("%s: cannot initialize crypto: Invalid seed number: %s\n", mr_qemu.name, text);
        exit(1);
    }
    ignore("-seed", text);
}

static void set_trace(const char *text) { ignore("-trace", text); }
static void set_plugin(const char *text) { ignore("-plugin", text); }

static const char *const log_items[] = {"out_asm", "in_asm", "op",      "op_opt",       "op_ind", "int",  "exec",    "cpu",
                                        "fpu",     "mmu",    "pcall",   "cpu_reset",    "unimp",  "guest_errors",
                                        "page",    "nochain", "plugin", "strace",       "tid",    "all", NULL};

static void set_log_items(const char *text)
{
    char others[256] = "";
    for (const char *item = text; item != NULL; item = strchr(item, ',') ? strchr(item, ',') + 1 : NULL) {
        size_t length = strcspn(item, ","), used = strlen(others);
        if (!is_among(item, length, log_items) && strncmp(item, "trace:", strlen("trace:")) != 0) {
            printf("Log items (comma separated); mipsrec has strace:\n");
            for (const char *const *word = log_items; *word != NULL; word++)
                printf("%s\n", *word);
            exit(1);
        }
        if (is_among(item, length, (const char *const[]){"strace", "all", NULL}))
            mr_options.strace = true;
        if (!is_among(item, length, (const char *const[]){"strace", "nochain", NULL}))
            snprintf(others + used, sizeof others - used, "%s%.*s", used ? "," : "", (int)length, item);
    }
    if (*others != 0)
        ignore("-d", others);
}

/* ---- the table ---- */

/* Those that change the environment are last: what they set is not for this host. */
const struct mr_qemu_option mr_qemu_options[MR_QEMU_OPTIONS] = {
    {"h", NULL, NULL, print_help, "print this help"},
    {"help", NULL, NULL, print_help, "the same"},
    {"g", "QEMU_GDB", "port", set_debugger, "wait for gdb at this port of 127.0.0.1, or at this socket"},
    {"L", "QEMU_LD_PREFIX", "path", set_prefix, "take absolute paths that exist below path from there"},
    {"s", "QEMU_STACK_SIZE", "size", set_stack, "let the stack grow to size bytes; k and M are suffixes"},
    {"cpu", "QEMU_CPU", "model", set_cpu, "have the modules MIPS16 and DSP as this CPU has (-cpu help lists them)"},
    {"0", "QEMU_ARGV0", "argv0", set_argv0, "what the program gets as argv[0]"},
    {"r", "QEMU_UNAME", "uname", set_release, "what uname tells as the kernel's release"},
    {"B", "QEMU_GUEST_BASE", "address", set_guest_base, "not supported, ignored"},
    {"R", "QEMU_RESERVED_VA", "size", set_reserved, "not supported, ignored"},
    {"d", "QEMU_LOG", "item[,...]", set_log_items, "strace alone is supported (-d help lists all)"},
    {"dfilter", "QEMU_DFILTER", "range", change_nothing, "ignored: of -d items that are not supported"},
    {"D", "QEMU_LOG_FILENAME", "logfile", set_log, "where system calls are logged (default stderr); %d: the pid"},
    {"p", "QEMU_PAGESIZE", "pagesize", set_page_size, "4096, others are not supported and ignored"},
    {"singlestep", "QEMU_SINGLESTEP", NULL, change_nothing, "accepted, changes nothing"},
    {"one-insn-per-tb", "QEMU_ONE_INSN_PER_TB", NULL, change_nothing, "accepted, changes nothing"},
    {"strace", "QEMU_STRACE", NULL, set_strace, "log system calls"},
    {"seed", "QEMU_RAND_SEED", "number", set_seed, "not supported, ignored"},
    {"trace", "QEMU_TRACE", "pattern", set_trace, "not supported, ignored"},
    {"plugin", "QEMU_PLUGIN", "file", set_plugin, "not supported, ignored"},
    {"version", "QEMU_VERSION", NULL, print_version, "display the version and exit"},
    {"E", "QEMU_SET_ENV", "var=value", set_variables, "set variables of the program, with commas between"},
    {"U", "QEMU_UNSET_ENV", "var", unset_variables, "unset variables of the program, with commas between"},
};

static const char *default_prefix(void)
{
    return mr_qemu.big_endian ? "/etc/qemu-binfmt/mips" : "/etc/qemu-binfmt/mipsel";
}

void mr_qemu_default_prefix(void) { set_prefix(default_prefix()); }

static void print_usage(void)
{
    printf("usage: %s [options] program [arguments...]\n"
           "Runs a 32-bit MIPS program of Linux (%s-endian) with mipsrec, by the options of qemu-user " VERSION "\n\n"
           "%-20s %-20s %s\n", mr_qemu.name, mr_qemu.big_endian ? "big" : "little", "Argument", "Env-variable", "Description");
    for (const struct mr_qemu_option *option = mr_qemu_options; option < mr_qemu_options + MR_QEMU_OPTIONS; option++) {
        char words[40];
        const char *argument = option->argument != NULL ? option->argument : "";
        snprintf(words, sizeof words, "-%s%s%s", option->name, *argument ? " " : "", argument);
        printf("%-20s %-20s %s\n", words, option->variable ? option->variable : "", option->help);
    }
    printf("\nDefaults:\nQEMU_LD_PREFIX  = %s\nQEMU_STACK_SIZE = the limit of the process\n", default_prefix());
}
