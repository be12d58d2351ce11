/* execve: another program takes this process over. A MIPS program re-enters this host with the same options; everything
 * else is left to the host's kernel. Scripts are resolved here, since their interpreter may be a MIPS program (binfmt_script.c).
 */
#include "control.h"
#include "profile.h"
#include "signals.h"
#include "syscall.h"
#include "thread.h"
#include "verify.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER_BYTES 256 /* BINPRM_BUF_SIZE */
#define MOST_STRINGS 0x100000u
#define MOST_SCRIPTS 5
#define MOST_OPTIONS 16
/* How the next host is told an argv[0] that is not the program's path. */
#define ARGV0_VARIABLE "MIPSREC_ARGV0"

/* ---- the guest's strings ---- */

/* Returns a NULL-terminated array of host pointers with room for `extra` more in front and one behind, or NULL and *error. */
static const char **get_strings(uint32_t guest, uint32_t extra, int *error)
{
    uint32_t count = 0, pointer = 0;
    *error = EFAULT;
    for (; guest; count++) {
        if (mr_read32(guest + 4 * count, &pointer))
            return NULL;
        if (!pointer)
            break;
        if (count == MOST_STRINGS) {
            *error = E2BIG;
            return NULL;
        }
    }
    const char **strings = calloc((size_t)extra + count + 2, sizeof *strings);
    for (uint32_t i = 0; strings && i < count; i++) {
        mr_read32(guest + 4 * i, &pointer);
        if ((strings[extra + i] = mr_guest_string(pointer)) == NULL) {
            free(strings);
            return NULL;
        }
    }
    if (!strings)
        *error = ENOMEM;
    return strings;
}

/* ---- what kind of program ---- */

struct header {
    char bytes[HEADER_BYTES + 1];
    ssize_t size_bytes;
    uint64_t file_bytes;
};

static int read_header(const char *path, struct header *header)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    header->size_bytes = pread(fd, header->bytes, HEADER_BYTES, 0);
    struct stat status;
    int error = header->size_bytes < 0 || fstat(fd, &status) ? -errno : 0;
    header->file_bytes = error ? 0 : (uint64_t)status.st_size;
    close(fd);
    header->bytes[error ? 0 : header->size_bytes] = 0;
    return error;
}

static uint32_t header_field(const struct header *header, size_t offset, size_t size_bytes)
{
    uint32_t value = 0;
    for (size_t i = 0; i < size_bytes; i++) {
        size_t place = header->bytes[EI_DATA] == ELFDATA2MSB ? i : size_bytes - 1 - i;
        value = value << 8 | (uint8_t)header->bytes[offset + place];
    }
    return value;
}
#define FIELD(header, name) header_field(header, offsetof(Elf32_Ehdr, name), sizeof(((Elf32_Ehdr *)0)->name))

/* What binfmt_elf of a MIPS kernel would try to load; of the rest the host's kernel says ENOEXEC. */
static bool is_mips(const struct header *header)
{
    if (header->size_bytes < (ssize_t)sizeof(Elf32_Ehdr) || memcmp(header->bytes, ELFMAG, SELFMAG) ||
        FIELD(header, e_machine) != EM_MIPS)
        return false;
    uint32_t type = FIELD(header, e_type), count = FIELD(header, e_phnum);
    return header->bytes[EI_CLASS] == ELFCLASS32 && (type == ET_EXEC || type == ET_DYN) && count > 0 &&
           FIELD(header, e_phentsize) == sizeof(Elf32_Phdr) &&
           (uint64_t)FIELD(header, e_phoff) + count * sizeof(Elf32_Phdr) <= header->file_bytes;
}

/* Splits "#! interpreter argument"; argument may come out NULL. Returns false for anything else. */
static bool split_script(struct header *header, const char **interpreter, const char **argument)
{
    char *at = header->bytes + 2, *end;
    if (header->size_bytes < 2 || header->bytes[0] != '#' || header->bytes[1] != '!')
        return false;
    at[strcspn(at, "\n")] = 0;
    for (end = at + strlen(at); end > at && (end[-1] == ' ' || end[-1] == '\t'); end--)
        end[-1] = 0;
    at += strspn(at, " \t");
    *interpreter = at;
    at += strcspn(at, " \t");
    *argument = NULL;
    if (*at) {
        *at++ = 0;
        at += strspn(at, " \t");
        *argument = at;
    }
    return **interpreter != 0;
}

/* Whether the host's kernel will most likely run it. */
static bool is_program(const struct header *header)
{
    return memcmp(header->bytes, ELFMAG, SELFMAG) == 0 || memcmp(header->bytes, "#!", 2) == 0;
}

/* ---- the next host ---- */

static const char *own_path(const char *path)
{
    return mr_is_own_exe(path) ? mr_options.program_name : path;
}

/* Whether a path is the program that this library belongs to. */
static bool is_own_program(const char *path)
{
    char absolute[PATH_MAX];
    return realpath(path, absolute) && strcmp(absolute, mr_options.program_name) == 0;
}

static uint32_t host_options(const char *path, const char **options)
{
    uint32_t count = 0;
    options[count++] = "mipsrec-host";
    if (mr_options.engine_interp) {
        options[count++] = "--engine";
        options[count++] = "interp";
    }
    if (mr_options.library_path && is_own_program(path)) {
        options[count++] = "--library";
        options[count++] = mr_options.library_path;
    }
    if (mr_window_choice != MR_WINDOW_AUTO) {
        options[count++] = "--window";
        options[count++] = mr_window_choice == MR_WINDOW_IDENTITY ? "identity" : "any";
    }
    if (mr_options.strace)
        options[count++] = "--strace";
    if (mr_options.stats)
        options[count++] = "--stats";
    if (mr_options.report)
        options[count++] = "--report";
    return count;
}

/* strings: the program's, with MOST_OPTIONS empty places before the first; environment: with one empty place. */
static int64_t run_in_host(const char *path, const char **strings, uint32_t first, const char **environment)
{
    const char *options[MOST_OPTIONS];
    uint32_t count = host_options(path, options);
    char *name = NULL;
    const char *argv0 = strings[first];
    if (strcmp(argv0, path) != 0) {
        name = malloc(sizeof ARGV0_VARIABLE "=" + strlen(argv0));
        if (!name)
            return -ENOMEM;
        strcpy(stpcpy(name, ARGV0_VARIABLE "="), argv0);
        *environment = name;
    } else {
        environment++;
    }
    strings[first] = path;
    const char **argv = strings + first - count;
    memcpy(argv, options, count * sizeof *options);
    mr_threads_leave_robust_lists();
    mr_signals_hand_on(true);
    execve("/proc/self/exe", (char *const *)argv, (char *const *)environment);
    int error = errno;
    free(name);
    return -error;
}

void mr_exec_take_argv0(void)
{
    char *name = getenv(ARGV0_VARIABLE);
    if (!name)
        return;
    mr_options.guest_argv[0] = strdup(name);
    unsetenv(ARGV0_VARIABLE);
}

/* ---- the call ---- */

/* Puts a script's interpreter before its arguments, as often as needed. Returns whether a MIPS program is at the end. */
static bool resolve(const char **path, const char **strings, uint32_t *first, struct header headers[MOST_SCRIPTS])
{
    for (int depth = 0; depth < MOST_SCRIPTS; depth++) {
        const char *interpreter, *argument;
        struct header *header = &headers[depth];
        if (read_header(own_path(*path), header))
            return false;
        if (is_mips(header))
            return true;
        if (!split_script(header, &interpreter, &argument))
            return false;
        strings[*first] = *path;
        if (argument)
            strings[--*first] = argument;
        strings[--*first] = interpreter;
        *path = interpreter;
    }
    return false;
}

static int64_t execute(const char *path, uint32_t guest_argv, uint32_t guest_envp)
{
    const uint32_t room = MOST_OPTIONS + 2 * MOST_SCRIPTS + 1;
    struct header headers[MOST_SCRIPTS];
    int error;
    headers[0].bytes[0] = 0;
    if (access(own_path(path), X_OK))
        return -errno;
    const char **strings = get_strings(guest_argv, room, &error);
    if (!strings)
        return -error;
    const char **environment = get_strings(guest_envp, 1, &error);
    int64_t result = -error;
    uint32_t first = room;
    if (!strings[first])
        strings[first] = ""; /* as the kernel does for an empty argv */
    const char *program = path;
    mr_verify_exec(path);
    mr_profile_executes();
    mr_faults_hand_on();
    if (environment && resolve(&program, strings, &first, headers)) {
        result = run_in_host(own_path(program), strings, first, environment);
    } else if (environment) {
        if (is_program(&headers[0]))
            mr_threads_leave_robust_lists();
        mr_signals_hand_on(false);
        execve(path, (char *const *)(strings + room), (char *const *)(environment + 1));
        result = -errno;
    }
    mr_faults_take_back();
    mr_profile_executes_not();
    free(environment);
    free(strings);
    return result;
}

SYSCALL(4011, execve, "!spp")
{
    const char *path = mr_guest_string(U32(0));
    return path ? execute(path, U32(1), U32(2)) : -EFAULT;
}
