/* Looks at each access of the guest's instructions, and at the memory that system calls read and write for it. */
#include "cpu/access.h"
#include "cpu/interp.h"
#include "cpu/upcalls.h"
#include "heap/heap.h"
#include "linux/upcalls.h"
#include "memory/shadow.h"

void mr_check_access(struct mr_state *s, uint32_t word)
{
    struct mr_access access = mr_access_of(word);
    if (access.size_bytes == 0)
        return;
    uint32_t guest = GPR(s, rs(word)) + (access.is_indexed ? GPR(s, rt(word)) : signed_immediate(word));
    if (mr_shadow_find(guest, access.size_bytes) == guest + access.size_bytes)
        return;
    if (access.stores || !mr_shadow_allows(guest & ~3u) || !mr_heap_in_string_function(s->pc))
        mr_heap_bad_access(s, guest, access.size_bytes, access.stores, NULL);
}

/* ---- system calls ---- */

/* Of a call: which argument is the address, and which one the size; where the kernel writes, the result is. */
struct transfer {
    uint32_t number;
    uint8_t address, size;
    const char *name;
};
enum { RESULT = 9 };
static const struct transfer transfers[] = {
    {4003, 1, RESULT, "read"},       {4200, 1, RESULT, "pread64"},  {4175, 1, RESULT, "recv"}, {4176, 1, RESULT, "recvfrom"},
    {4203, 0, RESULT, "getcwd"},     {4085, 1, RESULT, "readlink"}, {4353, 0, RESULT, "getrandom"},
    {4298, 2, RESULT, "readlinkat"}, {4004, 1, 2, "write"},         {4201, 1, 2, "pwrite64"},  {4178, 1, 2, "send"},
    {4180, 1, 2, "sendto"},
};

void mr_check_call(struct mr_state *s, uint32_t number, const uint32_t arguments[4], int64_t result)
{
    for (unsigned i = 0; i < sizeof transfers / sizeof *transfers; i++) {
        const struct transfer *transfer = &transfers[i];
        if (transfer->number != number || result < 0)
            continue;
        bool stores = transfer->size == RESULT;
        uint32_t guest = arguments[transfer->address], size_bytes = stores ? (uint32_t)result : arguments[transfer->size];
        if (mr_shadow_find(guest, size_bytes) != guest + size_bytes)
            mr_heap_bad_access(s, guest, size_bytes, stores, transfer->name);
    }
}
