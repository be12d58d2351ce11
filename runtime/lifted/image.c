/* Binds recompiled code to what was loaded at the start: the program and its interpreter. */
#include "base/checksum.h"
#include "base/messages.h"
#include "base/options.h"
#include "lifted/module.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

void mr_image_identify(struct mr_image *image)
{
    struct stat status;
    void *bytes = MAP_FAILED;
    if (image->code_count > 0 && fstat(image->code[0].fd, &status) == 0)
        bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, image->code[0].fd, 0);
    if (bytes == MAP_FAILED)
        mr_fail("%s: cannot be read again: %s", mr_options.program_path, strerror(errno));
    mr_blake2b_256(bytes, (size_t)status.st_size, image->identity);
    munmap(bytes, (size_t)status.st_size);
}

void mr_image_bind(struct mr_image *image)
{
    for (uint32_t i = 0; i < image->code_count; i++) {
        mr_module_file_mapped(image->code[i].guest, image->code[i].size_bytes, image->code[i].fd,
                              image->code[i].offset);
        close(image->code[i].fd);
    }
    image->code_count = 0;
}
