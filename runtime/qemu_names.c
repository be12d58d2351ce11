/* The command line of qemu-user 7.2, for a host that is called by one of its names: qemu-mips, qemu-mipsel, each also with
 * -static behind it; or afl-qemu-trace, as which AFL++ calls a qemu-user of its own, for programs of either byte order.
 *
 * Enters: the words behind the name, and variables QEMU_*. Leaves: what the options say (qemu_options.c), the opened program,
 * and the position of its name. Options, order, messages and exit status are those of qemu-user, as its help and its runs
 * show them. An option that this host does not have, and that would change what is seen, is named on standard error: all such
 * in one line.
 */
#include "qemu_names.h"

#include "base/messages.h"
#include "base/numbers.h"
#include "base/options.h"
#include "command_line.h"
#include "coverage/coverage.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOADER_STATUS 255 /* of qemu-user, when it cannot load a program that it could open */

/* ---- the words ---- */

static void heed_variables(void)
{
    for (const struct mr_qemu_option *option = mr_qemu_options; option < mr_qemu_options + MR_QEMU_OPTIONS; option++) {
        const char *value = option->variable != NULL ? mr_host_variable(option->variable) : NULL;
        if (value != NULL)
            option->apply(value);
    }
}

static const struct mr_qemu_option *option_of(const char *word)
{
    for (const struct mr_qemu_option *option = mr_qemu_options; option < mr_qemu_options + MR_QEMU_OPTIONS; option++)
        if (strcmp(word, option->name) == 0)
            return option;
    mr_print_error("qemu: unknown option '%s'\n", word);
    exit(1);
}

/* Returns the position of the program. An option may have two dashes; a word of only these ends them. */
static int parse_words(int argc, char **argv, int at)
{
    while (at < argc && argv[at][0] == '-') {
        const char *word = argv[at++] + 1;
        if (strcmp(word, "-") == 0)
            break;
        const struct mr_qemu_option *option = option_of(word + (*word == '-'));
        if (option->argument != NULL && at >= argc) {
            mr_print_error("qemu: missing argument for option '%s'\n", option->name);
            exit(1);
        }
        option->apply(option->argument != NULL ? argv[at++] : "");
    }
    if (at >= argc) {
        mr_print_error("qemu: no user program specified\n");
        exit(1);
    }
    return at;
}

/* ---- the files ---- */

static _Noreturn void refuse_program(const char *path, int error)
{
    mr_print_error("Error while loading %s: %s\n", path, strerror(error));
    exit(1);
}

#define FIELD(field) mr_number_at(&(field), sizeof(field), mr_qemu.big_endian)

/* The name of a program is meant as it is, not below the prefix; and a script is none. */
static int open_program(const char *path)
{
    Elf32_Ehdr header = {0};
    struct stat status;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0 || fstat(fd, &status) != 0)
        refuse_program(path, errno);
    if (!S_ISREG(status.st_mode) || (status.st_mode & 0111) == 0)
        refuse_program(path, EACCES);
    if (pread(fd, &header, sizeof header, 0) != sizeof header || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        refuse_program(path, ENOEXEC);
    if (mr_qemu.any_order)
        mr_qemu.big_endian = header.e_ident[EI_DATA] == ELFDATA2MSB;
    if (header.e_ident[EI_CLASS] != ELFCLASS32 ||
        header.e_ident[EI_DATA] != (mr_qemu.big_endian ? ELFDATA2MSB : ELFDATA2LSB) || FIELD(header.e_machine) != EM_MIPS ||
        (FIELD(header.e_flags) & EF_MIPS_ABI2) != 0) {
        mr_print_error("%s: %s: Invalid ELF image for this architecture\n", mr_qemu.name, path);
        exit(LOADER_STATUS);
    }
    return fd;
}

/* %d in the name is the number of the process. The file is there, and empty, also where nothing is logged. */
static void make_log(void)
{
    char path[PATH_MAX], folder[PATH_MAX] = "";
    const char *sign = strchr(mr_qemu.log, '%');
    if (sign != NULL && (sign[1] != 'd' || strchr(sign + 1, '%') != NULL)) {
        mr_print_error("%s: Bad logfile template: %s\n", mr_qemu.name, mr_qemu.log);
        exit(1);
    }
    if (*mr_qemu.log != '/' && getcwd(folder, sizeof folder - 1) != NULL)
        strcat(folder, "/"); /* executed programs, which go on with it, may begin elsewhere */
    int before = sign != NULL ? (int)(sign - mr_qemu.log) : (int)strlen(mr_qemu.log), length;
    if (sign != NULL)
        length = snprintf(path, sizeof path, "%s%.*s%d%s", folder, before, mr_qemu.log, (int)getpid(), sign + 2);
    else
        length = snprintf(path, sizeof path, "%s%s", folder, mr_qemu.log);
    errno = ENAMETOOLONG;
    int fd = length < (int)sizeof path ? open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666) : -1;
    if (fd < 0) {
        mr_print_error("%s: Error opening logfile %s: %s\n", mr_qemu.name, mr_qemu.log, strerror(errno));
        exit(1);
    }
    close(fd);
    mr_options.log_path = strdup(path);
}

bool mr_qemu_is_name(const char *path)
{
    static const char *const names[] = {"qemu-mips", "qemu-mipsel", "qemu-mips-static", "qemu-mipsel-static"};
    static const char fuzzed[] = "afl-qemu-trace";
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    if (strcmp(name, fuzzed) == 0) {
        mr_qemu.name = fuzzed;
        mr_qemu.any_order = mr_fuzzed = true;
        return true;
    }
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(name, names[i]) == 0) {
            mr_qemu.name = names[i % 2];
            mr_qemu.big_endian = i % 2 == 0;
            return true;
        }
    }
    return false;
}

int mr_qemu_parse(int argc, char **argv, int at)
{
    heed_variables();
    at = parse_words(argc, argv, at);
    if (mr_qemu.log != NULL)
        make_log();
    mr_options.program_fd = open_program(argv[at]);
    if (mr_given.sysroot == NULL && mr_host_variable("MIPSREC_SYSROOT") == NULL)
        mr_qemu_default_prefix();
    mr_options.program_path = strdup(argv[at]);
    if (mr_qemu.argv0 != NULL)
        argv[at] = (char *)mr_qemu.argv0;
    if (*mr_qemu.ignored != 0)
        mr_print_error("%s: mipsrec does not have %s; ignored\n", mr_qemu.name, mr_qemu.ignored);
    mr_failure_status = LOADER_STATUS;
    return at;
}
