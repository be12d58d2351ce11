/* What a file says of itself besides being a MIPS program: of which system it is, and which modules it uses. */
#ifndef MR_LINUX_MARKS_H
#define MR_LINUX_MARKS_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

#define MR_ABIFLAGS_BYTES 24u

struct mr_file_bytes {
    const uint8_t *bytes;
    uint64_t size_bytes;
};

/* Returns the name of another system that a program is of, or NULL. The interpreter is PT_INTERP, or NULL. */
const char *mr_other_system(struct mr_file_bytes file, const Elf32_Phdr *segments, uint32_t count, const char *interpreter);

/* Returns the name of the processors of an e_machine, or NULL for one that is rare. */
const char *mr_machine_name(uint32_t machine);

/* Returns .MIPS.abiflags, MR_ABIFLAGS_BYTES of them, or NULL where the file has none. */
const uint8_t *mr_abiflags(struct mr_file_bytes file, const Elf32_Phdr *segments, uint32_t count);

#endif
