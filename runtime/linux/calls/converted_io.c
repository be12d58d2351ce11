/* Reads and writes of descriptors whose contents the host's kernel makes: converted on the way. Vectors of
 * guest memory. */
#include "linux/calls/converted_io.h"

#include "linux/calls/layout.h"
#include "linux/calls/socket.h"
#include "linux/descriptors.h"
#include "linux/host_call.h"
#include "memory/values.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>

#define BUFFER_BYTES 16384u /* more is not read or written at once, which all these descriptors allow */

/* ---- pieces of guest memory ---- */

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
        if (!at) /* an empty part, too, lies in user space (import_iovec in lib/iov_iter.c) */
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

/* ---- the calls ---- */

static size_t bytes_at_once(struct mr_vector vector)
{
    size_t total = mr_vector_bytes(vector);
    return total < BUFFER_BYTES ? total : BUFFER_BYTES;
}

int64_t mr_read_converted(int fd, const struct iovec *vector, uint32_t count)
{
    uint8_t buffer[BUFFER_BYTES];
    enum mr_descriptor_kind kind = mr_descriptor_kind_of(fd);
    size_t wanted = bytes_at_once((struct mr_vector){vector, count});
    int64_t got = kind == MR_FD_SIGNALS
                      ? mr_read_signals(fd, buffer, wanted)
                      : mr_wait_call(SYS_read, (uint64_t)(int64_t)fd, MR_HOST(buffer), wanted, 0, 0, 0);
    if (got <= 0)
        return got;
    switch (kind) {
    case MR_FD_NUMBER: mr_layout_to_guest("q", buffer, (size_t)got, buffer, (size_t)got); break;
    case MR_FD_INOTIFY: mr_convert_inotify(buffer, (size_t)got); break;
    case MR_FD_FANOTIFY: mr_convert_fanotify(buffer, (size_t)got); break;
    default: break;
    }
    return mr_vector_put((struct mr_vector){vector, count}, buffer, (size_t)got) ? got : -EFAULT;
}

static int64_t write_piece(int fd, const struct iovec *piece)
{
    uint8_t buffer[BUFFER_BYTES];
    const struct mr_vector vector = {piece, 1};
    size_t size_bytes = bytes_at_once(vector);
    if (!mr_vector_get(vector, buffer, size_bytes))
        return -EFAULT;
    if (mr_descriptor_kind_of(fd) == MR_FD_NUMBER)
        mr_layout_to_host("q", buffer, size_bytes, buffer, size_bytes);
    if (mr_descriptor_kind_of(fd) == MR_FD_FANOTIFY)
        mr_convert_fanotify_response(buffer, size_bytes);
    return mr_wait_call(SYS_write, (uint64_t)(int64_t)fd, MR_HOST(buffer), size_bytes, 0, 0, 0);
}

/* The kernel takes each piece by itself, as a number or an answer of its own. */
int64_t mr_write_converted(int fd, const struct iovec *vector, uint32_t count)
{
    int64_t written = 0;
    for (uint32_t i = 0; i < count; i++) {
        int64_t size = vector[i].iov_len || count == 1 ? write_piece(fd, &vector[i]) : 0;
        if (size < 0)
            return written ? written : size;
        written += size;
    }
    return written;
}
