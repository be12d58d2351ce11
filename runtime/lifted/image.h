/* The guest's program and its interpreter as they were loaded. */
#ifndef MR_LIFTED_IMAGE_H
#define MR_LIFTED_IMAGE_H

#include <stdbool.h>
#include <stdint.h>

struct mr_image {
    uint32_t entry, phdr, phent, phnum; /* phdr: guest address of the program headers, or 0 */
    uint32_t start;                     /* where control begins: the interpreter's entry, or the program's */
    uint32_t interpreter_base;          /* load bias of the interpreter (AT_BASE), or 0 */
    uint32_t low, high;                 /* first and one past the last loaded byte */
    uint32_t bias;                      /* added to the addresses of an ET_DYN file */
    uint32_t flags;                     /* e_flags */
    uint32_t fp_abi;                    /* .MIPS.abiflags fp_abi, or 0 */
    bool nan2008;
    uint8_t identity[32];               /* BLAKE2b-256 of the file; set by mr_image_identify */
    struct mr_image_code {
        uint32_t guest, size_bytes;
        uint64_t offset;
        int fd; /* open until mr_image_bind */
    } code[8];                          /* executable mappings of the program and its interpreter */
    uint32_t code_count;
};

void mr_image_identify(struct mr_image *image); /* sets its identity; before mr_image_bind */
void mr_image_bind(struct mr_image *image);     /* binds code of the store to it; closes its files */

#endif
