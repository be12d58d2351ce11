/* Vectors of guest memory that messages are gathered from and scattered to. */
#include "linux/calls/socket.h"
#include "memory/values.h"

#include <string.h>

size_t mr_vector_bytes(struct mr_vector vector)
{
    size_t size_bytes = 0;
    for (size_t i = 0; i < vector.count; i++)
        size_bytes += vector.parts[i].iov_len;
    return size_bytes;
}

/* Copies up to size_bytes from the parts (prot MR_READ) or into them (MR_WRITE). */
static bool copy_vector(struct mr_vector vector, uint8_t *host, size_t size_bytes, int prot)
{
    for (size_t i = 0; i < vector.count && size_bytes > 0; i++) {
        size_t part = vector.parts[i].iov_len < size_bytes ? vector.parts[i].iov_len : size_bytes;
        uintptr_t guest = (uintptr_t)vector.parts[i].iov_base - (uintptr_t)mr_window;
        uint8_t *at = guest < MR_USER_END ? mr_guest_bytes((uint32_t)guest, (uint32_t)part, prot) : NULL;
        if (part == 0)
            continue;
        if (!at)
            return false;
        memcpy(prot == MR_READ ? host : at, prot == MR_READ ? at : host, part);
        host += part;
        size_bytes -= part;
    }
    return true;
}

bool mr_vector_get(struct mr_vector vector, void *to, size_t size_bytes)
{
    return copy_vector(vector, to, size_bytes, MR_READ);
}

bool mr_vector_put(struct mr_vector vector, const void *from, size_t size_bytes)
{
    return copy_vector(vector, (uint8_t *)(uintptr_t)from, size_bytes, MR_WRITE);
}
