/* The commands `mipsrec` and `mipsrec-run`, where they are installed: start the host at once, or Python.
 *
 * Enters: a command line of `mipsrec`; `mipsrec-run ...` is `mipsrec run ...`; or one of qemu-user, by a link of its name
 * (mipsrec/commands/qemu_names.py). Leaves: this process is the host, with the words that mipsrec/commands/run.py would give
 * it, or it is `mipsrec-python`, the same command line in Python. Both stand in the folder of this program. Whatever is not
 * plain is Python's: building, all other commands, abbreviated options, old names of options, and every error. So there is one place that knows what is wrong and how to say so.
 */
#include "lifted/caches.h"
#include "launcher/program.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

struct option {
    const char *name; /* of the command line, and of the host */
    const char *other; /* the same of the command line alone, or NULL */
    char letter;      /* the same in short, or 0 */
    bool flag;        /* it takes no argument */
    const char *choices; /* with blanks around each, or NULL: any argument */
};

/* In the order in which Python writes them. */
enum {
    STRACE, STATS, REPORT, TIER, PROFILE, PROFILE_RATE, SYSROOT, VARIABLE, LIBRARY, SERVER, NO_SERVER,
    OPTION_COUNT
};
static const struct option options[OPTION_COUNT] = {
    [STRACE] = {.name = "--strace", .flag = true},
    [STATS] = {.name = "--stats", .flag = true},
    [REPORT] = {.name = "--report", .flag = true},
    [TIER] = {.name = "--tier", .choices = " auto aot baseline interp "},
    [PROFILE] = {.name = "--profile"},
    [PROFILE_RATE] = {.name = "--profile-rate"},
    [SYSROOT] = {.name = "--sysroot", .letter = 'L'},
    [VARIABLE] = {.name = "-E", .letter = 'E'},
    [LIBRARY] = {.name = "--library", .other = "--static-lib"},
    [SERVER] = {.name = "--server", .flag = true},
    [NO_SERVER] = {.name = "--no-server", .flag = true},
};

struct command_line {
    const char *value[OPTION_COUNT]; /* the last one given; of a flag its name */
    const char **variables;          /* those of -E */
    unsigned variable_count;
    char **program;                  /* and its arguments */
};

/* ---- the command line ---- */

static bool is_choice(const struct option *option, const char *value)
{
    char word[32];
    if (option->choices == NULL)
        return true;
    return strchr(value, ' ') == NULL && snprintf(word, sizeof word, " %s ", value) < (int)sizeof word &&
           strstr(option->choices, word) != NULL;
}

static bool is_rate(const char *value)
{
    size_t digits = strspn(value, "0123456789");
    return value[digits] == 0 && digits >= 1 && digits <= 4 && value[0] != '0';
}

/* Whether a word is an option by this name. Sets its argument if that is part of the word: `--tier=aot`. */
static bool is_named(const char *word, const char *name, bool is_flag, const char **attached)
{
    size_t length = name != NULL ? strlen(name) : 0;
    if (name == NULL || strncmp(word, name, length) != 0)
        return false;
    if (word[length] == '=' && !is_flag && strncmp(word, "--", 2) == 0)
        *attached = word + length + 1;
    return word[length] == 0 || *attached != NULL;
}

/* The option that a word is, and its argument if that is part of the word. OPTION_COUNT: it is none of these. */
static unsigned option_of(const char *word, const char **attached)
{
    *attached = NULL;
    for (unsigned i = 0; i < OPTION_COUNT; i++) {
        const struct option *option = &options[i];
        if (is_named(word, option->name, option->flag, attached) || is_named(word, option->other, option->flag, attached))
            return i;
        if (option->letter != 0 && word[1] == option->letter) {
            *attached = word[2] != 0 ? word + 2 : NULL;
            return i;
        }
    }
    return OPTION_COUNT;
}

static void set(struct command_line *line, unsigned which, const char *value)
{
    line->value[which] = value;
    if (which == VARIABLE)
        line->variables[line->variable_count++] = value;
    else if (which == SERVER || which == NO_SERVER)
        line->value[which == SERVER ? NO_SERVER : SERVER] = NULL;
}

/* Returns false where the words are not plain: then Python reads them. */
static bool parse(char **words, struct command_line *line)
{
    for (; *words != NULL && **words == '-'; words++) {
        const char *value;
        unsigned which = option_of(*words, &value);
        if (which == OPTION_COUNT)
            return false;
        if (options[which].flag) {
            value = *words;
        } else if (value == NULL) {
            value = *++words;
            if (value == NULL || *value == '-')
                return false;
        } else if (*value == '=') {
            return false;
        }
        if (*value == 0 || !is_choice(&options[which], value) || (which == PROFILE_RATE && !is_rate(value)))
            return false;
        set(line, which, value);
    }
    line->program = words;
    return *words != NULL && **words != 0;
}

/* ---- the decision ---- */

static bool runs_recompiled_code(const struct command_line *line)
{
    const char *tier = line->value[TIER];
    return tier == NULL || strcmp(tier, "auto") == 0 || strcmp(tier, "aot") == 0;
}

/* The cache as Python names it, made as Python makes it, or NULL where Python is to say why it cannot be. */
static const char *find_cache(void)
{
    static char real[PATH_MAX];
    char path[PATH_MAX];
    const char *named = getenv("MIPSREC_CACHE"), *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    struct stat status;
    int length;
    if (named != NULL && *named != 0)
        length = snprintf(path, sizeof path, "%s", named);
    else if (xdg != NULL && *xdg != 0)
        length = snprintf(path, sizeof path, "%s/mipsrec", xdg);
    else
        length = home != NULL && *home == '/' ? snprintf(path, sizeof path, "%s/.cache/mipsrec", home) : -1;
    if (length <= 0 || length >= (int)sizeof path || mr_distrust_made(path, real) != NULL)
        return NULL;
    return stat(real, &status) == 0 && S_ISDIR(status.st_mode) ? real : NULL;
}

/* As is_wanted of mipsrec/commands/server_words.py. */
static bool wants_server(const struct command_line *line)
{
    const char *tier = line->value[TIER], *wanted = getenv("MIPSREC_SERVER");
    if ((tier != NULL && strcmp(tier, "auto") != 0) || line->value[LIBRARY] != NULL || line->value[NO_SERVER] != NULL)
        return false;
    return line->value[SERVER] != NULL || wanted == NULL || strcmp(wanted, "0") != 0;
}

/* Whether a variable is not set, or is one of the usual words for it: digits, or one of these letters behind them. */
static bool is_usual(const char *name, const char *letters)
{
    const char *value = getenv(name);
    size_t digits = value != NULL ? strspn(value, "0123456789") : 0;
    if (value == NULL || value[digits] == 0)
        return true;
    return digits > 0 && strchr(letters, value[digits]) != NULL && value[digits + 1] == 0;
}

/* Whether Python is to judge what the environment says (mipsrec/commands/server_words.py, mipsrec/cache/limit.py). */
static bool has_odd_variables(void)
{
    const char *wanted = getenv("MIPSREC_SERVER");
    return (wanted != NULL && *wanted != 0 && strcmp(wanted, "0") != 0 && strcmp(wanted, "1") != 0) ||
           !is_usual("MIPSREC_SERVER_IDLE", "") || !is_usual("MIPSREC_CACHE_LIMIT", "KMGT");
}

/* Whether Python must run first: to build something, or to say what is wrong. */
static bool must_build(const struct command_line *line, const char *cache)
{
    if (line->value[LIBRARY] != NULL)
        return !runs_recompiled_code(line) || line->value[SERVER] != NULL;
    if (!runs_recompiled_code(line))
        return false;
    if (has_odd_variables())
        return true;
    const char *sysroot = line->value[SYSROOT] != NULL ? line->value[SYSROOT] : getenv("MIPSREC_SYSROOT");
    enum mr_program_kind kind = mr_program_kind_of(*line->program, sysroot, cache);
    return kind == MR_UNKNOWN || (kind == MR_STATIC && !wants_server(line));
}

/* ---- what this process becomes ---- */

#define PYTHON "mipsrec-python"

/* Puts the path of a program in the folder of this one into path. */
static bool find_beside(const char *name, char path[PATH_MAX])
{
    char own[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", own, sizeof own - 1);
    if (length > 0)
        own[length] = 0;
    else if (realpath((const char *)getauxval(AT_EXECFN), own) == NULL)
        return false;
    char *slash = strrchr(own, '/');
    return slash != NULL && snprintf(path, PATH_MAX, "%.*s/%s", (int)(slash - own), own, name) < PATH_MAX;
}

static size_t put_code_words(const struct command_line *line, const char *cache, const char **words)
{
    static char python[PATH_MAX];
    size_t count = 0;
    words[count++] = line->value[LIBRARY] != NULL ? options[LIBRARY].name : "--cache";
    words[count++] = line->value[LIBRARY] != NULL ? line->value[LIBRARY] : cache;
    const char *server = wants_server(line) && find_beside(PYTHON, python) ? mr_server_words(python, cache) : NULL;
    if (server != NULL) {
        words[count++] = "--compile-server";
        words[count++] = server;
    }
    return count;
}

static void become_host(const struct command_line *line, const char *cache, size_t word_count)
{
    char host[PATH_MAX];
    const char **words = calloc(2 * OPTION_COUNT + 2 * line->variable_count + word_count + 10, sizeof *words);
    size_t count = 0;
    if (words == NULL || !find_beside("mipsrec-host", host))
        return;
    words[count++] = host;
    for (unsigned i = 0; i < SYSROOT + 1; i++) {
        const char *value = line->value[i] != NULL ? line->value[i] : i == TIER ? "auto" : NULL;
        if (i == PROFILE_RATE)
            value = line->value[PROFILE] == NULL ? NULL : value != NULL ? value : "1000";
        if (value == NULL)
            continue;
        words[count++] = options[i].name;
        if (!options[i].flag)
            words[count++] = value;
    }
    for (unsigned i = 0; i < line->variable_count; i++) {
        words[count++] = options[VARIABLE].name;
        words[count++] = line->variables[i];
    }
    if (runs_recompiled_code(line))
        count += put_code_words(line, cache, words + count);
    for (char **word = line->program; *word != NULL; word++)
        words[count++] = *word;
    execv(host, (char **)words);
}

/* As qemu-user, by its name: the host reads the words, and judges them. */
static void become_qemu(const char *name, char **argv, size_t word_count)
{
    char host[PATH_MAX];
    const struct command_line line = {0};
    const char *cache = find_cache(), **words = calloc(word_count + 8, sizeof *words);
    size_t count = 0;
    if (words == NULL || !find_beside("mipsrec-host", host))
        return;
    words[count++] = host;
    if (cache != NULL && !has_odd_variables())
        count += put_code_words(&line, cache, words + count);
    words[count++] = "--qemu";
    words[count++] = name;
    memcpy(words + count, argv, word_count * sizeof *words);
    execv(host, (char **)words);
    fprintf(stderr, "%s: mipsrec-host, which belongs beside mipsrec, cannot be executed (%s); run mipsrec qemu-names "
                    "again\n", name, strerror(errno));
}

static int become_python(char **argv, size_t word_count, bool run)
{
    char python[PATH_MAX];
    char **words = calloc(word_count + 3, sizeof *words);
    size_t count = 0;
    errno = ENOENT;
    if (words != NULL && find_beside(PYTHON, python)) {
        words[count++] = python;
        if (run)
            words[count++] = (char *)"run";
        memcpy(words + count, argv, (word_count + 1) * sizeof *words);
        execv(python, words);
    }
    fprintf(stderr, "mipsrec: mipsrec-python, which belongs beside this command, cannot be executed (%s); install mipsrec "
                    "again\n", strerror(errno));
    return 1;
}

int main(int argc, char **argv)
{
    if (argc < 1)
        return 2;
    const char *slash = strrchr(argv[0], '/');
    const char *name = slash != NULL ? slash + 1 : argv[0];
    if (strncmp(name, "qemu-", strlen("qemu-")) == 0 || strcmp(name, "afl-qemu-trace") == 0) {
        become_qemu(name, argv + 1, (size_t)argc - 1);
        return 1;
    }
    bool short_name = strcmp(name, "mipsrec-run") == 0;
    bool run = short_name || (argc > 1 && strcmp(argv[1], "run") == 0);
    char **words = argv + (run && !short_name ? 2 : 1);
    size_t word_count = (size_t)(argv + argc - words);
    struct command_line line = {.variables = calloc(word_count + 1, sizeof *line.variables)};
    if (run && line.variables != NULL && parse(words, &line)) {
        bool wants_cache = runs_recompiled_code(&line) && line.value[LIBRARY] == NULL;
        const char *cache = wants_cache ? find_cache() : NULL;
        if ((cache != NULL || !wants_cache) && !must_build(&line, cache))
            become_host(&line, cache, word_count);
    }
    return become_python(words, word_count, run);
}
