/* inotify and fanotify: what happens to files. Their masks and flags have the same values everywhere, the events the same
 * layout but for the byte order. */
#include "linux/abi.h"
#include "linux/calls/converted_io.h"
#include "linux/calls/layout.h"
#include "linux/calls/syscall.h"
#include "linux/descriptors.h"
#include "linux/host_call.h"
#include "linux/paths.h"

#include <errno.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Converts one member after the other, where it stands. */
static void convert(const char *layout, uint8_t *at, size_t size_bytes)
{
    mr_layout_to_guest(layout, at, size_bytes, at, size_bytes);
}

static uint32_t host_word(const uint8_t *from)
{
    uint32_t value;
    memcpy(&value, from, sizeof value);
    return value;
}

static uint16_t host_half(const uint8_t *from)
{
    uint16_t value;
    memcpy(&value, from, sizeof value);
    return value;
}

/* ---- inotify ---- */

static int64_t make_inotify(int flags)
{
    return flags < 0 ? flags : mr_descriptor_made(mr_result(inotify_init1(flags)), MR_FD_INOTIFY);
}

SYSCALL(4284, inotify_init, "") { return make_inotify(0); }
SYSCALL(4329, inotify_init1, "f") { return make_inotify(mr_known_flags(U32(0), IN_CLOEXEC | IN_NONBLOCK)); }

SYSCALL(4285, inotify_add_watch, "Dsx")
{
    const char *path;
    int error = mr_host_path(U32(1), U32(2) & IN_DONT_FOLLOW ? MR_NO_FOLLOW : MR_FOLLOW, &path);
    return error ? error : mr_result(inotify_add_watch(FD(0), path, U32(2)));
}

SYSCALL(4286, inotify_rm_watch, "Dd") { return mr_result(inotify_rm_watch(FD(0), INT(1))); }

/* struct inotify_event: descriptor, mask, cookie, size of the name that follows. */
#define EVENT_BYTES 16u

void mr_convert_inotify(uint8_t *events, size_t size_bytes)
{
    for (size_t at = 0; at + EVENT_BYTES <= size_bytes;) {
        uint32_t name_bytes = host_word(events + at + 12);
        convert("4w", events + at, EVENT_BYTES);
        at += EVENT_BYTES + name_bytes;
    }
}

/* ---- fanotify ---- */

SYSCALL(4336, fanotify_init, "xf")
{
    int flags = mr_known_flags(U32(1), ~0);
    return flags < 0 ? flags : mr_descriptor_made(mr_result(syscall(SYS_fanotify_init, U32(0), flags)), MR_FD_FANOTIFY);
}

#define MARK_DONT_FOLLOW 4u /* FAN_MARK_DONT_FOLLOW */

SYSCALL(4337, fanotify_mark, "Dxqas")
{
    struct mr_path path = {.directory = FD(3), .opened = -1};
    int64_t result = U32(4) ? mr_path_find(&path, FD(3), U32(4), U32(1) & MARK_DONT_FOLLOW ? MR_NO_FOLLOW : MR_FOLLOW) : 0;
    if (!result)
        result = mr_result(syscall(SYS_fanotify_mark, FD(0), U32(1), c->arg[2], path.directory, path.name));
    mr_path_done(&path);
    return result;
}

/* struct fanotify_event_metadata: size with all records, version, reserved, own size, mask, descriptor, process. */
#define METADATA_LAYOUT "w2bhqww"
#define METADATA_BYTES 24u
/* struct fanotify_event_info_header: type, padding, size; then by type. */
#define RECORD_HEADER "2bh"

static const char *record_layout(uint8_t type)
{
    switch (type) {
    case 4: return RECORD_HEADER "w";    /* FAN_EVENT_INFO_TYPE_PIDFD */
    case 6: return RECORD_HEADER "w2q";  /* _RANGE */
    case 7: return RECORD_HEADER "4bq";  /* _MNT */
    case 5: return RECORD_HEADER "2w";   /* _ERROR */
    default: return RECORD_HEADER "4w";  /* those with a file handle: its file system's id, its size and type */
    }
}

static void convert_record(uint8_t *record, size_t size_bytes)
{
    const char *layout = record_layout(record[0]);
    if (record[0] == 5) { /* _ERROR: an errno */
        uint32_t error = (uint32_t)mr_errno_to_mips((int)host_word(record + 4));
        memcpy(record + 4, &error, sizeof error);
    }
    convert(mr_layout_size(layout).host <= size_bytes ? layout : RECORD_HEADER, record, size_bytes);
}

void mr_convert_fanotify(uint8_t *events, size_t size_bytes)
{
    for (size_t at = 0, end; at + METADATA_BYTES <= size_bytes; at = end) {
        end = at + host_word(events + at);
        if (end > size_bytes || end < at + METADATA_BYTES)
            return;
        size_t record = at + host_half(events + at + 6);
        convert(METADATA_LAYOUT, events + at, METADATA_BYTES);
        while (record + 4 <= end) {
            size_t record_bytes = host_half(events + record + 2);
            if (record_bytes < 4 || record + record_bytes > end)
                break;
            convert_record(events + record, record_bytes);
            record += record_bytes;
        }
    }
}

/* struct fanotify_response: descriptor, answer; and perhaps a record of type, padding, size and three words. */
void mr_convert_fanotify_response(uint8_t *response, size_t size_bytes)
{
    if (size_bytes >= 8)
        mr_layout_to_host(size_bytes >= 24 ? "2w2bh3w" : "2w", response, size_bytes, response, size_bytes);
}
