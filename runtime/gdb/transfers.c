/* qXfer: objects of the target that the debugger reads in pieces: the description of the registers, the auxiliary vector, and
 * the guest's name of its program. */
#include "parts.h"

#include "../syscall.h"

#include <string.h>

struct object {
    const void *bytes; /* NULL: there is no such object */
    size_t size_bytes;
};

static uint8_t auxiliary[1024];

static struct object find_object(const char *name, size_t length, const char *annex, size_t annex_length)
{
    if (length == 8 && memcmp(name, "features", 8) == 0 && annex_length == 10 && memcmp(annex, "target.xml", 10) == 0)
        return (struct object){mr_debug_target_xml(), strlen(mr_debug_target_xml())};
    if (length == 9 && memcmp(name, "exec-file", 9) == 0)
        return (struct object){mr_options.program_name, strlen(mr_options.program_name)};
    if (length == 4 && memcmp(name, "auxv", 4) == 0) {
        uint32_t size = mr_auxiliary_bytes < sizeof auxiliary ? mr_auxiliary_bytes : (uint32_t)sizeof auxiliary;
        return (struct object){auxiliary, mr_debug_read_memory(mr_auxiliary, auxiliary, size)};
    }
    return (struct object){NULL, 0};
}

static void add_piece(struct mr_debug_reply *reply, struct object object, uint64_t offset, uint64_t size_bytes)
{
    if (offset >= object.size_bytes) {
        mr_debug_add(reply, "l");
        return;
    }
    uint64_t rest = object.size_bytes - offset, wanted = size_bytes < rest ? size_bytes : rest;
    mr_debug_add(reply, "m");
    size_t done = mr_debug_add_binary(reply, (const uint8_t *)object.bytes + offset, wanted);
    if (done == rest)
        reply->bytes[0] = 'l';
}

/* rest: OBJECT:read:ANNEX:OFFSET,LENGTH */
void mr_debug_transfer(const char *rest, struct mr_debug_reply *reply)
{
    static const char read[] = ":read:";
    const char *name = rest, *way = strchr(rest, ':');
    if (way == NULL || strncmp(way, read, sizeof read - 1) != 0)
        return;
    const char *annex = way + sizeof read - 1, *at = strchr(annex, ':');
    uint64_t offset, size;
    if (at == NULL)
        return;
    struct object object = find_object(name, (size_t)(way - name), annex, (size_t)(at - annex));
    at++;
    if (object.bytes == NULL)
        mr_debug_add(reply, strncmp(name, "features", 8) == 0 ? "E00" : "");
    else if (!mr_debug_take_number(&at, &offset) || !mr_debug_take(&at, ',') || !mr_debug_take_number(&at, &size))
        mr_debug_add(reply, "E%02x", MR_DEBUG_INVALID);
    else
        add_piece(reply, object, offset, size);
}
