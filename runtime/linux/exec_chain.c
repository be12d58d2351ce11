/* Follows `#!` lines, as binfmt_script.c does, through the sysroot. */
#include "base/kernel_proc.h"
#include "base/numbers.h"
#include "linux/descriptors.h"
#include "linux/paths.h"
#include "linux/program.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- MIPS programs ---- */

#define FIELD(field) mr_number_at(&(field), sizeof(field), big_endian)

/* What binfmt_elf of a MIPS kernel would try to load; of the rest the host's kernel says ENOEXEC. */
static bool is_mips(const char *begin, ssize_t size_bytes, uint64_t file_bytes)
{
    Elf32_Ehdr header;
    memcpy(&header, begin, sizeof header);
    bool big_endian = header.e_ident[EI_DATA] == ELFDATA2MSB;
    if (size_bytes < (ssize_t)sizeof header || memcmp(begin, ELFMAG, SELFMAG) || FIELD(header.e_machine) != EM_MIPS)
        return false;
    uint32_t type = FIELD(header.e_type), count = FIELD(header.e_phnum);
    return header.e_ident[EI_CLASS] == ELFCLASS32 && (type == ET_EXEC || type == ET_DYN) && count > 0 &&
           !(FIELD(header.e_flags) & EF_MIPS_ABI2) && /* n32, which no o32 kernel takes */
           FIELD(header.e_phentsize) == sizeof(Elf32_Phdr) &&
           (uint64_t)FIELD(header.e_phoff) + count * sizeof(Elf32_Phdr) <= file_bytes;
}

/* ---- scripts ---- */

#define BLANKS " \t"

/* Splits "#! interpreter argument"; argument may come out NULL. The header has a null byte behind it. Returns false for
 * anything else, and for a name that the header cuts off. */
static bool split_script(char *header, const char **interpreter, const char **argument)
{
    char *end = header + MR_CHAIN_HEADER_BYTES - 1, *at = header + 2;
    if (header[0] != '#' || header[1] != '!')
        return false;
    char *newline = memchr(header, '\n', MR_CHAIN_HEADER_BYTES);
    size_t blanks = strspn(at, BLANKS);
    if (newline == NULL && at + blanks + strcspn(at + blanks, BLANKS) >= end)
        return false;
    if (newline != NULL)
        end = newline;
    while (end > at && (end[-1] == ' ' || end[-1] == '\t'))
        end--;
    *end = 0;
    at += strspn(at, BLANKS);
    *interpreter = at;
    *argument = NULL;
    char *blank = at + strcspn(at, BLANKS);
    if (*blank != 0) {
        *blank = 0;
        *argument = blank + 1 + strspn(blank + 1, BLANKS);
    }
    return **interpreter != 0;
}

/* ---- files ---- */

int mr_may_execute(int fd)
{
    char path[MR_PROC_ROOM];
    struct stat status;
    if (fstat(fd, &status))
        return -errno;
    if (!S_ISREG(status.st_mode))
        return -EACCES;
    if (syscall(SYS_faccessat2, fd, "", X_OK, AT_EMPTY_PATH | AT_EACCESS) == 0)
        return 0;
    if (errno != ENOSYS && errno != EPERM && errno != EINVAL)
        return -errno;
    int proc = mr_proc_at(path, "thread-self/fd/%d", fd);
    return faccessat(proc, path, X_OK, 0) ? -errno : 0;
}

/* A descriptor of the interpreter that a script names, MR_CHAIN_OTHER in *other if it cannot be read, or -errno. */
static int open_interpreter(const char *name, bool *other)
{
    struct mr_path path;
    int fd = mr_path_find_text(&path, AT_FDCWD, name, MR_FOLLOW);
    if (fd < 0)
        return fd;
    fd = mr_own_open_file(path.directory, path.name, O_RDONLY | O_NONBLOCK);
    if (fd < 0)
        fd = -errno;
    *other = fd == -EACCES && faccessat(path.directory, path.name, X_OK, AT_EACCESS) == 0;
    mr_path_done(&path);
    int error = fd < 0 ? fd : mr_may_execute(fd);
    if (error && fd >= 0)
        close(fd);
    return error ? error : fd;
}

/* ---- the chain ---- */

/* Returns MR_CHAIN_MIPS, MR_CHAIN_OTHER, -errno, or 0: the header is that of a script. */
static int look_at(int fd, char *header)
{
    struct stat status;
    memset(header, 0, MR_CHAIN_HEADER_BYTES + 1);
    ssize_t size_bytes = pread(fd, header, MR_CHAIN_HEADER_BYTES, 0);
    if (size_bytes < 0 || fstat(fd, &status))
        return -errno;
    if (is_mips(header, size_bytes, (uint64_t)status.st_size))
        return MR_CHAIN_MIPS;
    return header[0] == '#' && header[1] == '!' ? 0 : MR_CHAIN_OTHER;
}

bool mr_is_mips_program(int fd)
{
    char header[MR_CHAIN_HEADER_BYTES + 1];
    return look_at(fd, header) == MR_CHAIN_MIPS;
}

int mr_chain_follow(struct mr_chain *chain, int fd, const char *name, const char ***strings)
{
    bool other = false;
    for (chain->depth = 0;; chain->depth++) {
        const char *interpreter, *argument;
        char *header = chain->headers[chain->depth];
        chain->fd = fd;
        int kind = look_at(fd, header), busy = kind == MR_CHAIN_MIPS || kind == 0 ? mr_text_is_written(fd) : 0;
        if (kind == MR_CHAIN_MIPS && !busy)
            return kind;
        kind = busy ? busy : kind;
        if (kind == 0)
            kind = !split_script(header, &interpreter, &argument) ? MR_CHAIN_OTHER
                   : chain->depth == MR_CHAIN_SCRIPTS             ? -ELOOP
                                                                  : 0;
        close(fd);
        if (kind)
            return kind;
        **strings = name;
        if (argument)
            *--*strings = argument;
        *--*strings = name = interpreter;
        fd = open_interpreter(interpreter, &other);
        if (fd < 0)
            return other ? MR_CHAIN_OTHER : fd;
    }
}
