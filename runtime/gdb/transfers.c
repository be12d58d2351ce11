/* qXfer: objects of the target that the debugger reads in pieces: the description of the registers, the auxiliary vector, and
 * the guest's name of its program, and what is known of the signal that a thread has stopped for. */
#include "base/options.h"
#include "gdb/parts.h"
#include "linux/program.h"

#include <string.h>

struct object {
    const void *bytes; /* NULL: there is nothing of that kind now */
    size_t size_bytes;
};

static uint8_t auxiliary[1024];

static struct object text_object(const char *text)
{
    return (struct object){text, strlen(text)};
}

static struct object find_features(void)
{
    return text_object(mr_debug_target_xml());
}

static struct object find_program(void)
{
    return text_object(mr_options.program_name);
}

static struct object find_auxiliary(void)
{
    uint32_t size = mr_auxiliary_bytes < sizeof auxiliary ? mr_auxiliary_bytes : (uint32_t)sizeof auxiliary;
    return (struct object){auxiliary, mr_debug_read_memory(mr_auxiliary, auxiliary, size)};
}

static struct object find_signal(void)
{
    const struct mr_debug_thread *thread = mr_debug_general_thread();
    if (thread == NULL || !thread->has_signal_info)
        return (struct object){NULL, 0};
    return (struct object){thread->signal_info, sizeof thread->signal_info};
}

static const struct kind {
    const char *begin, *annex; /* NULL: any, such as the number of the process */
    struct object (*find)(void);
} kinds[] = {
    {"features:read:", "target.xml", find_features},
    {"exec-file:read:", NULL, find_program},
    {"auxv:read:", NULL, find_auxiliary},
    {"siginfo:read:", NULL, find_signal},
};

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
int mr_debug_transfer(const char *rest, struct mr_debug_reply *reply)
{
    const struct kind *kind = kinds, *end = kinds + sizeof kinds / sizeof *kinds;
    uint64_t offset, size;
    while (kind < end && strncmp(rest, kind->begin, strlen(kind->begin)) != 0)
        kind++;
    if (kind == end)
        return MR_DEBUG_ADDED; /* nothing: not supported */
    const char *annex = rest + strlen(kind->begin), *at = strchr(annex, ':');
    size_t length = at == NULL ? 0 : (size_t)(at - annex);
    bool known = kind->annex == NULL || (length == strlen(kind->annex) && strncmp(annex, kind->annex, length) == 0);
    struct object object = at == NULL || !known ? (struct object){NULL, 0} : kind->find();
    if (object.bytes == NULL || !mr_debug_take(&at, ':') || !mr_debug_take_number(&at, &offset) || !mr_debug_take(&at, ',') ||
        !mr_debug_take_number(&at, &size))
        mr_debug_add(reply, "E00");
    else
        add_piece(reply, object, offset, size);
    return MR_DEBUG_ADDED;
}
