/* Whether the guest still has in a page what a module was made of.
 *
 * A page that the guest may not write changes all the same: through /proc/PID/mem, ptrace and process_vm_writev, and, where
 * the file itself changes, through write and other mappings of it. So the page is compared with the file of the module's
 * identity, whose bytes are kept from the first such question on. What cannot be told counts as changed.
 */
#include "base/checksum.h"
#include "base/kernel_proc.h"
#include "lifted/code_files.h"
#include "lifted/module_parts.h"
#include "lifted/store.h"
#include "memory/memory.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define MOST_KEPT_BYTES ((off_t)1 << 30)

/* The file that is under the name now, if the library was made of one with these contents; else NULL. */
static uint8_t *read_guest_file(const char *path, const struct mr_library *table, size_t *size_bytes)
{
    struct stat status;
    int fd = mr_open_regular(path);
    if (fd < 0)
        return NULL;
    bool fits = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size <= MOST_KEPT_BYTES;
    uint8_t *bytes = fits ? mr_file_read(fd, (size_t)status.st_size) : NULL;
    uint8_t hash[sizeof table->guest_identity];
    close(fd);
    if (bytes == NULL)
        return NULL;
    *size_bytes = (size_t)status.st_size;
    mr_blake2b_256(bytes, *size_bytes, hash);
    if (memcmp(hash, table->guest_identity, sizeof hash) == 0)
        return bytes;
    free(bytes);
    return NULL;
}

static void keep_guest_file(struct mr_module *module)
{
    const struct mr_code_file *file = mr_code_file(module->code_file);
    const char *path = file != NULL ? file->path : module->guest_path;
    module->was_asked = true;
    if (path != NULL)
        module->guest_bytes = read_guest_file(path, module->table, &module->guest_size_bytes);
}

const uint8_t *mr_module_guest_file(struct mr_module *module, size_t *size_bytes)
{
    if (!module->was_asked)
        keep_guest_file(module);
    *size_bytes = module->guest_size_bytes;
    return module->guest_bytes;
}

/* Reads the guest's memory where a fault must not happen: its file may have been cut off. */
static bool read_page(uint32_t guest, uint8_t *bytes, size_t size_bytes)
{
    struct iovec to = {bytes, size_bytes}, from = {mr_window + guest, size_bytes};
    return process_vm_readv(getpid(), &to, 1, &from, 1, 0) == (ssize_t)size_bytes;
}

bool mr_module_has_page(struct mr_module *module, uint64_t page)
{
    uint8_t now[MR_PAGE_BYTES];
    uint64_t page_start = page * MR_PAGE_BYTES;
    size_t file_bytes;
    const uint8_t *file = mr_module_guest_file(module, &file_bytes);
    if (file == NULL || !read_page((uint32_t)page_start, now, sizeof now))
        return false;
    for (unsigned i = 0; i < MR_LIBRARY_SEGMENTS; i++) {
        const struct mr_library_segment *segment = &module->table->segments[i];
        uint64_t start = (uint32_t)(segment->guest + module->delta), end = start + segment->size_bytes;
        uint64_t from = start > page_start ? start : page_start;
        uint64_t to = end < page_start + MR_PAGE_BYTES ? end : page_start + MR_PAGE_BYTES;
        if (from >= to)
            continue;
        uint64_t offset = segment->offset + (from - start);
        if (offset + (to - from) > file_bytes || memcmp(now + (from - page_start), file + offset, to - from) != 0)
            return false;
    }
    return true;
}
