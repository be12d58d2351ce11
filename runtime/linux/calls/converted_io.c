/* Reads and writes of descriptors whose contents the host's kernel makes: converted on the way. */
#include "linux/calls/converted_io.h"

#include "linux/descriptors.h"
#include "linux/host_call.h"
#include "memory/values.h"

#include <errno.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BUFFER_BYTES 16384u /* more is not read or written at once, which all these descriptors allow */

static size_t total_bytes(const struct iovec *vector, uint32_t count)
{
    size_t total = 0;
    for (uint32_t i = 0; i < count; i++)
        total += vector[i].iov_len;
    return total < BUFFER_BYTES ? total : BUFFER_BYTES;
}

static uint32_t guest_of(const void *host)
{
    return (uint32_t)((uintptr_t)host - (uintptr_t)mr_window);
}

/* Copies between a buffer and the guest's pieces; false: a piece is not there. */
static bool copy_pieces(const struct iovec *vector, uint8_t *buffer, size_t size_bytes, bool to_guest)
{
    for (size_t done = 0, piece; done < size_bytes; done += piece, vector++) {
        piece = vector->iov_len < size_bytes - done ? vector->iov_len : size_bytes - done;
        if ((uintptr_t)vector->iov_base - (uintptr_t)mr_window >= MR_USER_END)
            return false;
        void *at = mr_guest_bytes(guest_of(vector->iov_base), (uint32_t)piece, to_guest ? MR_WRITE : MR_READ);
        if (!at)
            return false;
        if (to_guest)
            memcpy(at, buffer + done, piece);
        else
            memcpy(buffer + done, at, piece);
    }
    return true;
}

static void swap_number(uint8_t *bytes, size_t size_bytes)
{
    uint64_t number;
    if (size_bytes < sizeof number)
        return;
    memcpy(&number, bytes, sizeof number);
    mr_put64(bytes, number);
}

int64_t mr_read_converted(int fd, const struct iovec *vector, uint32_t count)
{
    uint8_t buffer[BUFFER_BYTES];
    enum mr_descriptor_kind kind = mr_descriptor_kind_of(fd);
    size_t wanted = total_bytes(vector, count);
    int64_t got = kind == MR_FD_SIGNALS
                      ? mr_read_signals(fd, buffer, wanted)
                      : mr_wait_call(SYS_read, (uint64_t)(int64_t)fd, MR_HOST(buffer), wanted, 0, 0, 0);
    if (got <= 0)
        return got;
    switch (kind) {
    case MR_FD_NUMBER: swap_number(buffer, (size_t)got); break;
    case MR_FD_INOTIFY: mr_convert_inotify(buffer, (size_t)got); break;
    case MR_FD_FANOTIFY: mr_convert_fanotify(buffer, (size_t)got); break;
    default: break;
    }
    return copy_pieces(vector, buffer, (size_t)got, true) ? got : -EFAULT;
}

static int64_t write_piece(int fd, const struct iovec *piece)
{
    uint8_t buffer[BUFFER_BYTES];
    size_t size_bytes = total_bytes(piece, 1);
    if (!copy_pieces(piece, buffer, size_bytes, false))
        return -EFAULT;
    if (mr_descriptor_kind_of(fd) == MR_FD_NUMBER)
        swap_number(buffer, size_bytes);
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
