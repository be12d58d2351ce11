/* What a file says of itself besides being a MIPS program. mipsrec/elf/marks.py states the same for the translator.
 *
 * Sources: the notes of binutils' readelf and of each system's start-up code; IRIX's sys/elf.h for its interpreters.
 */
#include "linux/marks.h"

#include "memory/values.h"

#include <string.h>

#define ABI_TAG_TYPE 1u /* NT_GNU_ABI_TAG: the first word of the note is a system */

static const struct {
    uint8_t os_abi;
    const char *name;
} systems[] = {
    {ELFOSABI_HPUX, "HP-UX"}, {ELFOSABI_NETBSD, "NetBSD"}, {ELFOSABI_SOLARIS, "Solaris"}, {ELFOSABI_IRIX, "IRIX"},
    {ELFOSABI_FREEBSD, "FreeBSD"}, {ELFOSABI_TRU64, "Tru64"}, {ELFOSABI_OPENBSD, "OpenBSD"},
};

/* Numbers, since some are younger than the elf.h of many systems. */
static const struct {
    uint16_t machine;
    const char *name;
} machines[] = {
    {2, "SPARC"}, {3, "i386"}, {4, "m68k"}, {15, "PA-RISC"}, {20, "PowerPC"}, {21, "64-bit PowerPC"}, {22, "S/390"},
    {40, "ARM"}, {42, "SuperH"}, {43, "64-bit SPARC"}, {50, "Itanium"}, {62, "x86-64"}, {183, "AArch64"}, {243, "RISC-V"},
    {258, "LoongArch"},
};

static const char *const note_owners[] = {"NetBSD", "OpenBSD", "FreeBSD"};
static const char *const tagged_systems[] = {NULL, "GNU Hurd", "Solaris", "FreeBSD"}; /* 0 is Linux */

const char *mr_machine_name(uint32_t machine)
{
    for (size_t i = 0; i < sizeof machines / sizeof *machines; i++)
        if (machines[i].machine == machine)
            return machines[i].name;
    return NULL;
}

static uint64_t aligned(uint64_t size)
{
    return (size + 3) & ~(uint64_t)3;
}

/* The system that one note names, by its owner or by what a tag of GNU says. */
static const char *system_of_note(const char *owner, uint32_t owner_bytes, const uint8_t *content, uint32_t content_bytes,
                                  uint32_t type)
{
    if (type != ABI_TAG_TYPE)
        return NULL;
    for (size_t i = 0; i < sizeof note_owners / sizeof *note_owners; i++)
        if (owner_bytes == strlen(note_owners[i]) + 1 && memcmp(owner, note_owners[i], owner_bytes) == 0)
            return note_owners[i];
    if (owner_bytes != sizeof "GNU" || memcmp(owner, "GNU", sizeof "GNU") != 0 || content_bytes < 4)
        return NULL;
    uint32_t number = mr_get32(content);
    return number < sizeof tagged_systems / sizeof *tagged_systems ? tagged_systems[number] : NULL;
}

static const char *system_of_notes(struct mr_file_bytes file, const Elf32_Phdr *segment)
{
    uint64_t at = segment->p_offset, end = at + segment->p_filesz;
    const char *name = NULL;
    end = end < file.size_bytes ? end : file.size_bytes;
    while (name == NULL && at + sizeof(Elf32_Nhdr) <= end) {
        uint32_t owner_bytes = mr_get32(file.bytes + at), content_bytes = mr_get32(file.bytes + at + 4);
        uint64_t owner = at + sizeof(Elf32_Nhdr), content = owner + aligned(owner_bytes), next = content + aligned(content_bytes);
        if (next > end)
            break;
        name = system_of_note((const char *)file.bytes + owner, owner_bytes, file.bytes + content, content_bytes,
                              mr_get32(file.bytes + at + 8));
        at = next;
    }
    return name;
}

const char *mr_other_system(struct mr_file_bytes file, const Elf32_Phdr *segments, uint32_t count, const char *interpreter)
{
    for (size_t i = 0; i < sizeof systems / sizeof *systems; i++)
        if (file.bytes[EI_OSABI] == systems[i].os_abi)
            return systems[i].name;
    if (interpreter != NULL && (strcmp(interpreter, "/usr/lib/libc.so.1") == 0 || strcmp(interpreter, "/lib/rld") == 0))
        return "IRIX";
    for (const Elf32_Phdr *segment = segments; segment < segments + count; segment++) {
        const char *name = segment->p_type == PT_NOTE ? system_of_notes(file, segment) : NULL;
        if (name != NULL)
            return name;
    }
    return NULL;
}

const uint8_t *mr_abiflags(struct mr_file_bytes file, const Elf32_Phdr *segments, uint32_t count)
{
    for (const Elf32_Phdr *segment = segments; segment < segments + count; segment++)
        if (segment->p_type == PT_MIPS_ABIFLAGS && segment->p_filesz >= MR_ABIFLAGS_BYTES &&
            (uint64_t)segment->p_offset + MR_ABIFLAGS_BYTES <= file.size_bytes)
            return file.bytes + segment->p_offset;
    return NULL;
}
