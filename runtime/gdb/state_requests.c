/* Requests about registers, memory and breakpoints of the guest: of the thread that Hg has chosen.
 *
 * Enters: the rest of a packet behind its name. Leaves: the reply. Numbers may be any; what is out of range is refused.
 */
#include "base/lock.h"
#include "gdb/parts.h"
#include "memory/memory.h"

#include <sys/mman.h>

/* ---- registers ---- */

static void add_register(struct mr_debug_reply *reply, const struct mr_debug_thread *thread, uint32_t number)
{
    uint8_t bytes[8];
    mr_debug_get_register(thread, number, bytes);
    mr_debug_add_hex(reply, bytes, mr_debug_register_bytes(thread->state, number));
}

int mr_debug_read_registers(const char *rest, struct mr_debug_reply *reply)
{
    const struct mr_debug_thread *thread = mr_debug_general_thread();
    (void)rest;
    if (thread == NULL)
        return MR_DEBUG_INVALID;
    for (uint32_t i = 0; i < MR_GDB_NUMBERS; i++)
        add_register(reply, thread, i);
    return MR_DEBUG_ADDED;
}

/* A thread in the midst of a host call may change them itself. */
static int may_write(const struct mr_debug_thread *thread)
{
    return thread == NULL ? MR_DEBUG_INVALID : !thread->parked ? MR_DEBUG_BUSY : MR_DEBUG_OK;
}

int mr_debug_write_registers(const char *rest, struct mr_debug_reply *reply)
{
    struct mr_debug_thread *thread = mr_debug_general_thread();
    int error = may_write(thread);
    (void)reply;
    for (uint32_t i = 0; error == MR_DEBUG_OK && i < MR_GDB_NUMBERS && *rest != 0; i++) {
        uint8_t bytes[8] = {0};
        size_t size = mr_debug_register_bytes(thread->state, i);
        if (mr_debug_take_hex(&rest, bytes, size) != size)
            return MR_DEBUG_INVALID;
        mr_debug_set_register(thread, i, bytes);
    }
    return error;
}

int mr_debug_read_register(const char *rest, struct mr_debug_reply *reply)
{
    const struct mr_debug_thread *thread = mr_debug_general_thread();
    uint64_t number;
    if (thread == NULL || !mr_debug_take_number(&rest, &number) || number >= MR_GDB_NUMBERS)
        return MR_DEBUG_INVALID;
    add_register(reply, thread, (uint32_t)number);
    return MR_DEBUG_ADDED;
}

int mr_debug_write_register(const char *rest, struct mr_debug_reply *reply)
{
    struct mr_debug_thread *thread = mr_debug_general_thread();
    int error = may_write(thread);
    uint64_t number;
    uint8_t bytes[8] = {0};
    (void)reply;
    if (error != MR_DEBUG_OK)
        return error;
    if (!mr_debug_take_number(&rest, &number) || number >= MR_GDB_NUMBERS || !mr_debug_take(&rest, '=') ||
        mr_debug_take_hex(&rest, bytes, sizeof bytes) < mr_debug_register_bytes(thread->state, (uint32_t)number))
        return MR_DEBUG_INVALID;
    mr_debug_set_register(thread, (uint32_t)number, bytes);
    return MR_DEBUG_OK;
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

int mr_debug_send_memory(const char *rest, struct mr_debug_reply *reply)
{
    uint8_t bytes[MR_DEBUG_PACKET_BYTES / 2];
    uint32_t address;
    uint64_t size;
    if (!take_range(&rest, &address, &size))
        return MR_DEBUG_INVALID;
    uint32_t got = mr_debug_read_memory(address, bytes, size < sizeof bytes ? (uint32_t)size : (uint32_t)sizeof bytes);
    mr_debug_add_hex(reply, bytes, got);
    return got == 0 && size != 0 ? MR_DEBUG_FAULT : MR_DEBUG_ADDED;
}

/* M in hexadecimal, or X in bytes. */
int mr_debug_take_memory(const char *rest, struct mr_debug_reply *reply)
{
    bool binary = rest[-1] == 'X';
    uint8_t bytes[MR_DEBUG_PACKET_BYTES];
    uint32_t address;
    uint64_t size;
    (void)reply;
    if (!take_range(&rest, &address, &size) || !mr_debug_take(&rest, ':'))
        return MR_DEBUG_INVALID;
    size_t got = binary ? mr_debug_unescape(rest, bytes, sizeof bytes) : mr_debug_take_hex(&rest, bytes, sizeof bytes);
    if (got != size)
        return MR_DEBUG_INVALID;
    return mr_debug_write_memory(address, bytes, (uint32_t)size) ? MR_DEBUG_OK : MR_DEBUG_FAULT;
}

/* What lldb asks of an address: the range of pages that are like its own. */
int mr_debug_describe_region(const char *rest, struct mr_debug_reply *reply)
{
    uint64_t address;
    if (!mr_debug_take_number(&rest, &address) || address > UINT32_MAX)
        return MR_DEBUG_INVALID;
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
    return MR_DEBUG_ADDED;
}

/* ---- memory that lldb wants for itself, as for functions that it calls ---- */

#define MOST_ALLOCATED_BYTES ((uint64_t)1 << 24)

int mr_debug_allocate(const char *rest, struct mr_debug_reply *reply)
{
    uint64_t size;
    int protection = 0;
    if (!mr_debug_take_number(&rest, &size) || !mr_debug_take(&rest, ',') || size == 0 || size > MOST_ALLOCATED_BYTES ||
        mr_debug_session.post_mortem)
        return MR_DEBUG_INVALID;
    for (; *rest != 0; rest++)
        protection |= *rest == 'r' ? MR_READ : *rest == 'w' ? MR_WRITE : *rest == 'x' ? MR_EXEC : 0;
    mr_lock();
    int64_t guest = mr_map(0, (uint32_t)size, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0, false);
    mr_unlock();
    if (guest < 0)
        return MR_DEBUG_NO_MEMORY;
    mr_debug_add(reply, "%x", (unsigned)guest);
    return MR_DEBUG_ADDED;
}

/* What was allocated stays: the size is not told, and nobody runs short of it. */
int mr_debug_release(const char *rest, struct mr_debug_reply *reply)
{
    (void)rest, (void)reply;
    return MR_DEBUG_OK;
}

/* ---- breakpoints ---- */

/* Z sets one, z removes it. */
int mr_debug_change_point(const char *rest, struct mr_debug_reply *reply)
{
    bool set = rest[-1] == 'Z';
    char type = *rest;
    uint32_t address;
    uint64_t size;
    (void)reply;
    if (type < '0' || type > '4')
        return MR_DEBUG_ADDED; /* nothing: not supported */
    rest++;
    if (!mr_debug_take(&rest, ',') || !take_range(&rest, &address, &size) || size > UINT32_MAX)
        return MR_DEBUG_INVALID;
    return mr_debug_set_point(type, address, (uint32_t)size, set);
}

int mr_debug_count_watchpoints(const char *rest, struct mr_debug_reply *reply)
{
    (void)rest;
    mr_debug_add(reply, "num:%u;", MR_DEBUG_MOST_WATCHPOINTS);
    return MR_DEBUG_ADDED;
}
