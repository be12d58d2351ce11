/* Finds out about a program without reading more of it than its headers.
 *
 * Enters: its name. Leaves: whether it is dynamic, which is_dynamic of mipsrec/commands/run.py tells by the same header, or
 * has a library that the host will use: notes of the host say which contents the file has, and that the library is whole.
 * Of a file that the host has not seen, a library is not looked for: that takes reading it.
 */
#include "launcher/program.h"

#include "base/numbers.h"
#include "lifted/caches.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST_SEGMENTS 128u

/* A device is not opened, which could have effects: Python says what is wrong with it. */
static int open_file(int directory, const char *name, uint64_t resolve)
{
    struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = resolve};
    struct stat status;
    char link[40];
    int file = resolve == 0 ? openat(directory, name, O_PATH | O_CLOEXEC)
                            : (int)syscall(SYS_openat2, directory, name, &how, sizeof how);
    if (file < 0)
        return -1;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    int fd = fstat(file, &status) == 0 && S_ISREG(status.st_mode) ? open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    int error = errno;
    close(file);
    errno = error == ENOENT ? EACCES : error;
    return fd;
}

/* An absolute path is looked for below the sysroot, in which links lead nowhere else. One that is not there is meant as it is,
 * as in guest_file of mipsrec/commands/guest_files.py. */
static int open_program(const char *name, const char *sysroot)
{
    if (sysroot == NULL || *sysroot == 0 || *name != '/')
        return open_file(AT_FDCWD, name, 0);
    int root = open(sysroot, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int fd = root >= 0 ? open_file(root, name, RESOLVE_IN_ROOT) : -1;
    int error = errno;
    if (root >= 0)
        close(root);
    errno = error;
    return fd >= 0 || errno != ENOENT ? fd : open_file(AT_FDCWD, name, 0);
}

#define FIELD(field) mr_number_at(&(field), sizeof(field), big_endian)

/* Whether one of the segments names an interpreter. Returns -1 for a file that is no MIPS program, or an odd one. */
static int has_interpreter(int fd)
{
    Elf32_Ehdr header;
    Elf32_Phdr segment;
    if (pread(fd, &header, sizeof header, 0) != sizeof header || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
        return -1;
    bool big_endian = header.e_ident[EI_DATA] == ELFDATA2MSB;
    if (header.e_ident[EI_CLASS] != ELFCLASS32 || FIELD(header.e_machine) != EM_MIPS ||
        FIELD(header.e_phentsize) != sizeof segment || FIELD(header.e_phnum) > MOST_SEGMENTS)
        return -1;
    for (unsigned i = 0; i < FIELD(header.e_phnum); i++) {
        if (pread(fd, &segment, sizeof segment, FIELD(header.e_phoff) + (off_t)(i * sizeof segment)) != sizeof segment)
            return -1;
        if (FIELD(segment.p_type) == PT_INTERP)
            return 1;
    }
    return 0;
}

/* The host takes the first library that is fit; so another one behind it does not matter here. */
static bool has_library(int fd, const char *cache)
{
    char identity[MR_IDENTITY_DIGITS + 1], path[PATH_MAX], real[PATH_MAX];
    const char *folder;
    struct stat status;
    mr_caches_find(cache, NULL, true);
    mr_notes_open(mr_cache_own());
    mr_code_folders_find(NULL);
    if (fstat(fd, &status) != 0 || !mr_note_identity(fd, &status, identity))
        return false;
    for (unsigned i = 0; (folder = mr_code_folder(i)) != NULL; i++)
        if (!mr_code_folder_counts(i) && mr_code_path(folder, identity, path, sizeof path) && mr_distrust(path, real) == NULL)
            return stat(real, &status) == 0 && mr_note_is_whole(&status);
    return false;
}

enum mr_program_kind mr_program_kind_of(const char *name, const char *sysroot, const char *cache)
{
    int fd = open_program(name, sysroot);
    int interpreted = fd >= 0 ? has_interpreter(fd) : -1;
    enum mr_program_kind kind = interpreted == 1                            ? MR_DYNAMIC
                                : interpreted != 0                          ? MR_UNKNOWN
                                : has_library(fd, cache)                    ? MR_STATIC_BUILT
                                                                            : MR_STATIC;
    if (fd >= 0)
        close(fd);
    return kind;
}
