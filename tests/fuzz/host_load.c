/* A libFuzzer target: the loader on any bytes. Files are memory files; whatever one maps is unmapped before the next.
 *
 * Link with the sources that tests/fuzz/host.py names and -Wl,--wrap=mmap,--wrap=munmap: instead of a mapping of
 * the file the loader gets a copy on the heap, so that the sanitizer sees every byte read beyond its end.
 */
#include "base/messages.h"
#include "base/options.h"
#include "cpu/interp.h"
#include "linux/paths.h"
#include "linux/program.h"
#include "memory/memory.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

bool mr_compressed_code;
static sigjmp_buf refused;
static void *copies[2]; /* of the program and its interpreter, which the loader maps at once */
static int file;
static char path[32];

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes);
void *__real_mmap(void *at, size_t size_bytes, int protection, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t size_bytes, int protection, int flags, int fd, off_t offset);
int __real_munmap(void *at, size_t size_bytes);
int __wrap_munmap(void *at, size_t size_bytes);

void mr_fail(const char *format, ...)
{
    (void)format;
    siglongjmp(refused, 1);
}

int mr_program_open(const char *name)
{
    return open(name, O_RDONLY | O_CLOEXEC);
}

int mr_own_openat(int directory, const char *name, int flags)
{
    return openat(directory, name, flags | O_CLOEXEC);
}

int mr_own_open_file(int directory, const char *name, int flags)
{
    return mr_own_openat(directory, name, flags);
}

int mr_host_path_of(const char *name, unsigned how, const char **found) /* of an interpreter, which so is the input itself */
{
    (void)name;
    (void)how;
    *found = path;
    return 0;
}

void *__wrap_mmap(void *at, size_t size_bytes, int protection, int flags, int fd, off_t offset)
{
    if (at != NULL || fd < 0)
        return __real_mmap(at, size_bytes, protection, flags, fd, offset);
    unsigned i = copies[0] != NULL;
    if (copies[i] != NULL)
        abort();
    copies[i] = malloc(size_bytes);
    if (copies[i] == NULL || pread(fd, copies[i], size_bytes, offset) != (ssize_t)size_bytes)
        abort();
    return copies[i];
}

int __wrap_munmap(void *at, size_t size_bytes)
{
    for (unsigned i = 0; i < sizeof copies / sizeof *copies; i++)
        if (at == copies[i]) {
            free(copies[i]);
            copies[i] = NULL;
            return 0;
        }
    return __real_munmap(at, size_bytes);
}

static void forget(void)
{
    enum { END = MR_USER_END / MR_PAGE_BYTES, STEP = 4096 };
    static const uint8_t free_pages[STEP];
    for (uint32_t page = 0; page < END; page++) {
        if (page % STEP == 0 && memcmp(mr_pages + page, free_pages, STEP) == 0) {
            page += STEP - 1;
            continue;
        }
        uint32_t end = page;
        while (end < END && mr_pages[end])
            end++;
        if (end > page)
            mr_unmap(page * MR_PAGE_BYTES, (end - page) * MR_PAGE_BYTES);
        page = end;
    }
    for (unsigned i = 0; i < sizeof copies / sizeof *copies; i++) { /* a refused file leaves it behind: the host would end */
        free(copies[i]);
        copies[i] = NULL;
    }
    close_range((unsigned)file + 1, (unsigned)file + 8, 0);
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    static char *words[] = {path, "an argument", NULL}, *environment[] = {"A=1", NULL};
    (void)argc, (void)argv;
    mr_memory_reserve(false);
    file = memfd_create("fuzz", 0);
    strcpy(path, "/proc/self/fd/");
    path[14] = (char)('0' + file % 10);
    mr_options.program_path = path;
    mr_options.guest_argc = 2;
    mr_options.guest_argv = words;
    mr_options.guest_envp = environment;
    return file < 0 || file > 9;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size_bytes)
{
    struct mr_image image;
    if (ftruncate(file, (off_t)size_bytes) || pwrite(file, bytes, size_bytes, 0) != (ssize_t)size_bytes)
        return -1;
    if (sigsetjmp(refused, 0) == 0) {
        mr_reserve_stack();
        mr_load(path, &image);
        for (uint32_t i = 0; i < image.code_count; i++)
            close(image.code[i].fd);
        uint32_t sp = mr_build_stack(&image);
        if (!mr_accessible(image.entry, 4, MR_MAPPED) || !mr_accessible(sp, 4, MR_READ | MR_WRITE) || image.low >= image.high)
            __builtin_trap();
    }
    forget();
    return 0;
}
