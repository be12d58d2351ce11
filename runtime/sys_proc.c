/* Files of /proc that tell of this process, as the guest must see them: maps, cmdline and auxv are those of the guest, not
 * of the host. Each is made when it is opened, in memory, and read like any file.
 */
#include "syscall.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static void write_maps(FILE *to)
{
    const uint32_t last = MR_USER_END / MR_PAGE_BYTES;
    for (uint32_t page = 0, end; page < last; page = end) {
        uint8_t bits = mr_pages[page];
        for (end = page + 1; end < last && mr_pages[end] == bits && end * MR_PAGE_BYTES != mr_brk_start; end++)
            ;
        if (!bits)
            continue;
        uint32_t start = page * MR_PAGE_BYTES, stop = end * MR_PAGE_BYTES;
        const char *name = start < mr_brk_start    ? mr_options.program_name
                           : start == mr_brk_start ? "[heap]"
                           : stop == MR_USER_END   ? "[stack]"
                                                   : "";
        fprintf(to, "%08x-%08x %c%c%cp 00000000 00:00 0 %*s%s\n", start, stop, bits & MR_READ ? 'r' : '-',
                bits & MR_WRITE ? 'w' : '-', bits & MR_EXEC ? 'x' : '-', *name ? 25 : 0, "", name);
    }
}

static void write_command_line(FILE *to)
{
    for (int i = 0; i < mr_options.guest_argc; i++)
        fwrite(mr_options.guest_argv[i], 1, strlen(mr_options.guest_argv[i]) + 1, to);
}

static void write_auxiliary(FILE *to)
{
    const void *vector = mr_guest_bytes(mr_auxiliary, mr_auxiliary_bytes, MR_READ);
    if (vector)
        fwrite(vector, 1, mr_auxiliary_bytes, to);
}

static const struct {
    const char *name;
    void (*write)(FILE *);
} files[] = {
    {"maps", write_maps},
    {"cmdline", write_command_line},
    {"auxv", write_auxiliary},
};

/* Returns what follows /proc/self/ or its equals, or NULL. */
static const char *name_below_own_folder(const char *path)
{
    char own[32];
    const char *const folders[] = {"/proc/self/", "/proc/thread-self/", own};
    snprintf(own, sizeof own, "/proc/%d/", (int)getpid());
    for (int i = 0; i < 3; i++)
        if (strncmp(path, folders[i], strlen(folders[i])) == 0)
            return path + strlen(folders[i]);
    return NULL;
}

int mr_open_own_file(const char *path, int host_flags)
{
    const char *name = strncmp(path, "/proc/", 6) == 0 ? name_below_own_folder(path) : NULL;
    for (size_t i = 0; name && i < sizeof files / sizeof *files; i++) {
        if (strcmp(name, files[i].name) != 0 || (host_flags & O_ACCMODE) != O_RDONLY)
            continue;
        int fd = (int)syscall(SYS_memfd_create, name, host_flags & O_CLOEXEC ? MFD_CLOEXEC : 0);
        FILE *to = fd < 0 ? NULL : fdopen(dup(fd), "w");
        if (!to)
            return fd;
        files[i].write(to);
        fclose(to);
        lseek(fd, 0, SEEK_SET);
        return fd;
    }
    return -1;
}
