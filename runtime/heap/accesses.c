/* Looks at each access of the guest's instructions, and at the memory that system calls read and write for it. */
#include "cpu/access.h"
#include "cpu/interp.h"
#include "cpu/upcalls.h"
#include "heap/heap.h"
#include "linux/upcalls.h"
#include "memory/shadow.h"
#include "memory/values.h"

#include <stddef.h>

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

/* Of a call with a vector of pieces: as above, but that the argument is the vector, or a message that has it. */
static const struct transfer vectors[] = {
    {4145, 1, RESULT, "readv"}, {4330, 1, RESULT, "preadv"}, {4146, 1, 2, "writev"}, {4331, 1, 2, "pwritev"},
};
static const struct transfer messages[] = {{4177, 1, RESULT, "recvmsg"}, {4179, 1, 2, "sendmsg"}};

static void check_bytes(struct mr_state *s, uint32_t guest, uint32_t size_bytes, const struct transfer *transfer)
{
    if (mr_shadow_find(guest, size_bytes) != guest + size_bytes)
        mr_heap_bad_access(s, guest, size_bytes, transfer->size == RESULT, transfer->name);
}

/* As many bytes of the pieces as went through. */
static void check_pieces(struct mr_state *s, uint32_t vector, uint32_t count, uint64_t rest, const struct transfer *transfer)
{
    uint32_t piece[2];
    for (uint32_t i = 0; i < count && rest > 0; i++, vector += sizeof piece) {
        if (mr_read32(vector, &piece[0]) != 0 || mr_read32(vector + 4, &piece[1]) != 0)
            return;
        uint32_t here = piece[1] < rest ? piece[1] : (uint32_t)rest;
        check_bytes(s, piece[0], here, transfer);
        rest -= here;
    }
}

static const struct transfer *find(const struct transfer *rows, size_t count, uint32_t number)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].number == number)
            return &rows[i];
    return NULL;
}
#define FIND(rows, number) find(rows, sizeof rows / sizeof *rows, number)

void mr_check_call(struct mr_state *s, uint32_t number, int64_t result)
{
    const uint32_t arguments[3] = {GPR(s, MR_REG_A0), GPR(s, MR_REG_A0 + 1), GPR(s, MR_REG_A0 + 2)};
    const struct transfer *bytes = FIND(transfers, number), *vector = FIND(vectors, number), *message = FIND(messages, number);
    uint32_t place, count;
    if (result < 0)
        return;
    if (bytes != NULL)
        check_bytes(s, arguments[bytes->address], bytes->size == RESULT ? (uint32_t)result : arguments[bytes->size], bytes);
    if (vector != NULL)
        check_pieces(s, arguments[1], arguments[2], (uint64_t)result, vector);
    if (message != NULL && mr_read32(arguments[1] + 8, &place) == 0 && mr_read32(arguments[1] + 12, &count) == 0)
        check_pieces(s, place, count, (uint64_t)result, message); /* msg_iov and msg_iovlen */
}
