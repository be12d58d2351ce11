/* Requests about registers, memory and breakpoints of the guest: of the thread that Hg has chosen.
 *
 * Enters: the rest of a packet behind its name. Leaves: the reply. Numbers may be any; what is out of range is refused.
 */
#include "base/lock.h"
#include "gdb/parts.h"
#include "memory/memory.h"

#include <sys/mman.h>

/* ---- registers ---- */

bool mr_debug_read_registers(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    const struct mr_debug_thread *thread = mr_debug_general_thread();
    uint8_t bytes[8];
    (void)rest, (void)length;
    for (uint32_t i = 0; thread != NULL && i < MR_DEBUG_REGISTER_COUNT; i++) {
        mr_debug_get_register(thread, i, bytes);
        mr_debug_add_hex(reply, bytes, mr_debug_register_bytes(thread->state, i));
    }
    if (thread == NULL)
        mr_debug_refuse(reply, MR_DEBUG_INVALID);
    return true;
}

/* A thread in the midst of a host call may change them itself. */
static int may_write(const struct mr_debug_thread *thread)
{
    return thread == NULL ? MR_DEBUG_INVALID : !thread->parked ? MR_DEBUG_BUSY : 0;
}

bool mr_debug_write_registers(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    struct mr_debug_thread *thread = mr_debug_general_thread();
    int error = may_write(thread);
    (void)length;
    for (uint32_t i = 0; error == 0 && i < MR_DEBUG_REGISTER_COUNT && *rest != 0; i++) {
        uint8_t bytes[8] = {0};
        size_t size = mr_debug_register_bytes(thread->state, i);
        if (mr_debug_take_hex(&rest, bytes, size) == size)
            mr_debug_set_register(thread, i, bytes);
        else
            error = MR_DEBUG_INVALID;
    }
    mr_debug_agree(reply, error);
    return true;
}

bool mr_debug_read_register(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    const struct mr_debug_thread *thread = mr_debug_general_thread();
    uint64_t number;
    uint8_t bytes[8];
    (void)length;
    if (thread == NULL || !mr_debug_take_number(&rest, &number) || number >= MR_DEBUG_REGISTER_COUNT) {
        mr_debug_refuse(reply, MR_DEBUG_INVALID);
        return true;
    }
    mr_debug_get_register(thread, (uint32_t)number, bytes);
    mr_debug_add_hex(reply, bytes, mr_debug_register_bytes(thread->state, (uint32_t)number));
    return true;
}

bool mr_debug_write_register(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    struct mr_debug_thread *thread = mr_debug_general_thread();
    int error = may_write(thread);
    uint64_t number;
    uint8_t bytes[8] = {0};
    (void)length;
    if (error == 0 && (!mr_debug_take_number(&rest, &number) || number >= MR_DEBUG_REGISTER_COUNT ||
                       !mr_debug_take(&rest, '=')))
        error = MR_DEBUG_INVALID;
    if (error == 0 && mr_debug_take_hex(&rest, bytes, sizeof bytes) < mr_debug_register_bytes(thread->state, (uint32_t)number))
        error = MR_DEBUG_INVALID;
    if (error == 0)
        mr_debug_set_register(thread, (uint32_t)number, bytes);
    mr_debug_agree(reply, error);
    return true;
}

/* ---- memory ---- */

static bool take_range(const char **at, uint32_t *address, uint64_t *size_bytes)
{
    uint64_t start;
    if (!mr_debug_take_number(at, &start) || !mr_debug_take(at, ',') || !mr_debug_take_number(at, size_bytes))
        return false;
    *address = (uint32_t)start; /* a debugger may extend the sign of addresses */
    return start <= UINT32_MAX || start >= 0xffffffff80000000u;
}

bool mr_debug_send_memory(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    uint8_t bytes[MR_DEBUG_PACKET_BYTES / 2];
    uint32_t address;
    uint64_t size;
    (void)length;
    if (!take_range(&rest, &address, &size)) {
        mr_debug_refuse(reply, MR_DEBUG_INVALID);
        return true;
    }
    uint32_t got = mr_debug_read_memory(address, bytes, size < sizeof bytes ? (uint32_t)size : (uint32_t)sizeof bytes);
    mr_debug_add_hex(reply, bytes, got);
    if (got == 0 && size != 0)
        mr_debug_refuse(reply, MR_DEBUG_FAULT);
    return true;
}

static bool write_bytes(const char *rest, size_t length, struct mr_debug_reply *reply, bool binary)
{
    uint8_t bytes[MR_DEBUG_PACKET_BYTES];
    const char *at = rest;
    uint32_t address;
    uint64_t size;
    if (!take_range(&at, &address, &size) || !mr_debug_take(&at, ':')) {
        mr_debug_refuse(reply, MR_DEBUG_INVALID);
        return true;
    }
    size_t got = binary ? mr_debug_unescape(at, length - (size_t)(at - rest), bytes, sizeof bytes)
                        : mr_debug_take_hex(&at, bytes, sizeof bytes);
    if (got != size)
        mr_debug_refuse(reply, MR_DEBUG_INVALID);
    else
        mr_debug_agree(reply, mr_debug_write_memory(address, bytes, (uint32_t)size) ? 0 : MR_DEBUG_FAULT);
    return true;
}

bool mr_debug_take_memory(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    return write_bytes(rest, length, reply, false);
}

bool mr_debug_take_binary(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    return write_bytes(rest, length, reply, true);
}

/* What lldb asks of an address: the range of pages that are like its own. */
bool mr_debug_describe_region(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    uint64_t address;
    (void)length;
    if (!mr_debug_take_number(&rest, &address) || address > UINT32_MAX) {
        mr_debug_refuse(reply, MR_DEBUG_INVALID);
        return true;
    }
    uint32_t first = (uint32_t)address / MR_PAGE_BYTES, end = first + 1;
    uint8_t bits = mr_pages[first];
    while (first > 0 && mr_pages[first - 1] == bits)
        first--;
    while (end < sizeof mr_pages && mr_pages[end] == bits)
        end++;
    mr_debug_add(reply, "start:%llx;size:%llx;", (unsigned long long)first * MR_PAGE_BYTES,
                 (unsigned long long)(end - first) * MR_PAGE_BYTES);
    if (bits != 0)
        mr_debug_add(reply, "permissions:%s%s%s;", bits & MR_READ ? "r" : "", bits & MR_WRITE ? "w" : "",
                     bits & MR_EXEC ? "x" : "");
    return true;
}

/* ---- memory that lldb wants for itself, as for functions that it calls ---- */

#define MOST_ALLOCATED_BYTES ((uint64_t)1 << 24)

bool mr_debug_allocate(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    uint64_t size;
    int protection = 0;
    (void)length;
    if (!mr_debug_take_number(&rest, &size) || !mr_debug_take(&rest, ',') || size == 0 || size > MOST_ALLOCATED_BYTES ||
        mr_debug_session.post_mortem) {
        mr_debug_refuse(reply, MR_DEBUG_INVALID);
        return true;
    }
    for (; *rest != 0; rest++)
        protection |= *rest == 'r' ? MR_READ : *rest == 'w' ? MR_WRITE : *rest == 'x' ? MR_EXEC : 0;
    mr_lock();
    int64_t guest = mr_map(0, (uint32_t)size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, false);
    mr_unlock();
    if (guest < 0)
        mr_debug_refuse(reply, MR_DEBUG_NO_MEMORY);
    else
        mr_debug_add(reply, "%x", (unsigned)guest);
    return true;
}

/* What was allocated stays: the size is not told, and nobody runs short of it. */
bool mr_debug_release(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    (void)rest, (void)length;
    mr_debug_agree(reply, 0);
    return true;
}

/* ---- breakpoints ---- */

static bool change_point(const char *rest, struct mr_debug_reply *reply, bool set)
{
    char type = *rest;
    uint32_t address;
    uint64_t size;
    if (type < '0' || type > '4')
        return true; /* not supported */
    rest++;
    if (!mr_debug_take(&rest, ',') || !take_range(&rest, &address, &size) || size > UINT32_MAX)
        mr_debug_refuse(reply, MR_DEBUG_INVALID);
    else
        mr_debug_agree(reply, mr_debug_set_point(type, address, (uint32_t)size, set));
    return true;
}

bool mr_debug_add_point(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    (void)length;
    return change_point(rest, reply, true);
}

bool mr_debug_remove_point(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    (void)length;
    return change_point(rest, reply, false);
}

bool mr_debug_count_watchpoints(const char *rest, size_t length, struct mr_debug_reply *reply)
{
    (void)rest, (void)length;
    mr_debug_add(reply, "num:%u;", MR_DEBUG_MOST_WATCHPOINTS);
    return true;
}
