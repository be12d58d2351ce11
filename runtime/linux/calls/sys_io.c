/* System calls that move bytes through descriptors. Buffers go to the host kernel as they are: it finds missing pages. */
#include "linux/calls/converted_io.h"
#include "linux/calls/memory_file.h"
#include "linux/calls/socket.h"
#include "linux/descriptors.h"
#include "linux/host_call.h"
#include "memory/values.h"

#include <errno.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* ---- from and to the position of the descriptor itself ---- */

/* Some descriptors give structures, which the guest has another way; those of sockets have rules for signals besides. */
static int64_t read_pieces(struct mr_call *c, const struct iovec *pieces, uint32_t count)
{
    if (mr_descriptor_converts(FD(0)))
        return mr_read_converted(FD(0), pieces, count);
    if (mr_is_memory_file(FD(0)))
        return mr_memory_file_call(FD(0), false, pieces, count, NULL);
    int64_t result = count == 1 ? mr_wait_call(SYS_read, U32(0), MR_HOST(pieces->iov_base), pieces->iov_len, 0, 0, 0)
                                : mr_wait_call(SYS_readv, U32(0), MR_HOST(pieces), count, 0, 0, 0);
    return mr_socket_read(c, (struct mr_vector){pieces, count}, result);
}

static int64_t write_pieces(struct mr_call *c, const struct iovec *pieces, uint32_t count)
{
    int64_t written;
    if (mr_descriptor_converts(FD(0)))
        return mr_write_converted(FD(0), pieces, count);
    if (mr_is_memory_file(FD(0)))
        return mr_memory_file_call(FD(0), true, pieces, count, NULL);
    if (mr_socket_write(c, (struct mr_vector){pieces, count}, &written))
        return written;
    written = count == 1 ? mr_wait_call(SYS_write, U32(0), MR_HOST(pieces->iov_base), pieces->iov_len, 0, 0, 0)
                         : mr_wait_call(SYS_writev, U32(0), MR_HOST(pieces), count, 0, 0, 0);
    return mr_socket_waited(c, written, SO_SNDTIMEO);
}

SYSCALL(4003, read, "DBu")
{
    const struct iovec piece = {mr_user(U32(1), U32(2)), U32(2)};
    return read_pieces(c, &piece, 1);
}

SYSCALL(4004, write, "Dbu")
{
    const struct iovec piece = {mr_user(U32(1), U32(2)), U32(2)};
    return write_pieces(c, &piece, 1);
}

SYSCALL(4200, pread64, "DBuq")
{
    const struct iovec piece = {mr_user(U32(1), U32(2)), U32(2)};
    if (mr_is_memory_file(FD(0)))
        return mr_memory_file_call(FD(0), false, &piece, 1, &c->arg[3]);
    return mr_wait_call(SYS_pread64, U32(0), MR_HOST(piece.iov_base), piece.iov_len, c->arg[3], 0, 0);
}

SYSCALL(4201, pwrite64, "Dbuq")
{
    const struct iovec piece = {mr_user(U32(1), U32(2)), U32(2)};
    if (mr_is_memory_file(FD(0)))
        return mr_memory_file_call(FD(0), true, &piece, 1, &c->arg[3]);
    return mr_wait_call(SYS_pwrite64, U32(0), MR_HOST(piece.iov_base), piece.iov_len, c->arg[3], 0, 0);
}

/* ---- vectors ---- */

int mr_get_vector(uint32_t guest, uint32_t count, struct iovec *vector)
{
    if (count > MR_MOST_PIECES)
        return -EINVAL;
    const uint8_t *from = mr_guest_bytes(guest, 8 * count, MR_READ);
    if (!from)
        return -EFAULT;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t size_bytes = mr_get32(from + 8 * i + 4);
        if ((int32_t)size_bytes < 0)
            return -EINVAL;
        vector[i] = (struct iovec){mr_user(mr_get32(from + 8 * i), size_bytes), size_bytes};
    }
    return 0;
}

SYSCALL(4145, readv, "Dpu")
{
    struct iovec vector[MR_MOST_PIECES];
    int error = mr_get_vector(U32(1), U32(2), vector);
    return error ? error : read_pieces(c, vector, U32(2));
}

SYSCALL(4146, writev, "Dpu")
{
    struct iovec vector[MR_MOST_PIECES];
    int error = mr_get_vector(U32(1), U32(2), vector);
    return error ? error : write_pieces(c, vector, U32(2));
}

/* These take the position as its low and its high word, in both byte orders. The host takes the whole in one. */
static uint64_t position_of(const struct mr_call *c)
{
    return (uint64_t)U32(4) << 32 | U32(3);
}

static int64_t pieces_at(struct mr_call *c, long host_number, bool out)
{
    struct iovec vector[MR_MOST_PIECES];
    int error = mr_get_vector(U32(1), U32(2), vector);
    const uint64_t position = position_of(c);
    if (!error && mr_is_memory_file(FD(0)))
        return mr_memory_file_call(FD(0), out, vector, U32(2), &position);
    return error ? error : mr_wait_call(host_number, U32(0), MR_HOST(vector), U32(2), position, 0, 0);
}

SYSCALL(4330, preadv, "Dpuxx") { return pieces_at(c, SYS_preadv, false); }
SYSCALL(4331, pwritev, "Dpuxx") { return pieces_at(c, SYS_pwritev, true); }

/* Position -1 stands for that of the descriptor. */
static int64_t pieces_with_flags(struct mr_call *c, long host_number, bool out)
{
    struct iovec vector[MR_MOST_PIECES];
    int error = mr_get_vector(U32(1), U32(2), vector);
    if (error)
        return error;
    if (U32(3) == UINT32_MAX && U32(4) == UINT32_MAX && mr_descriptor_converts(FD(0)) && !U32(5))
        return out ? mr_write_converted(FD(0), vector, U32(2)) : mr_read_converted(FD(0), vector, U32(2));
    const uint64_t position = position_of(c);
    if (mr_is_memory_file(FD(0)))
        return U32(5) & ~RWF_HIPRI ? -EOPNOTSUPP
                                   : mr_memory_file_call(FD(0), out, vector, U32(2), position == UINT64_MAX ? NULL : &position);
    return mr_wait_call(host_number, U32(0), MR_HOST(vector), U32(2), position, 0, U32(5));
}

SYSCALL(4361, preadv2, "Dpuxxx") { return pieces_with_flags(c, SYS_preadv2, false); }
SYSCALL(4362, pwritev2, "Dpuxxx") { return pieces_with_flags(c, SYS_pwritev2, true); }

/* ---- from descriptor to descriptor ---- */

#define MOST_NARROW INT32_MAX /* MAX_NON_LFS: sendfile goes no further */

/* `where` points to the position, or is NULL. */
static int64_t send_file(struct mr_call *c, off_t *where, uint64_t size_bytes)
{
    if ((int64_t)size_bytes > INT32_MAX)
        return -EINVAL; /* a negative number, of a 32-bit kernel */
    return mr_wait_call(SYS_sendfile, U32(0), U32(1), MR_HOST(where), size_bytes, 0, 0);
}

SYSCALL(4207, sendfile, "DDpu")
{
    uint32_t word, size_bytes = U32(3);
    if (!U32(2))
        return send_file(c, NULL, size_bytes);
    if (mr_read32(U32(2), &word))
        return -EFAULT;
    off_t offset = (int32_t)word;
    if (offset >= 0 && offset < MOST_NARROW && size_bytes > (uint32_t)(MOST_NARROW - offset))
        size_bytes = (uint32_t)(MOST_NARROW - offset);
    int64_t sent = offset == MOST_NARROW && size_bytes ? -EOVERFLOW : send_file(c, &offset, size_bytes);
    return mr_write32(U32(2), (uint32_t)offset) ? -EFAULT : sent;
}

/* An optional 64-bit position in guest memory: `where` points to *value, or is NULL when the guest gives none. */
static int get_position(uint32_t guest, int64_t *value, int64_t **where)
{
    *where = guest ? value : NULL;
    return guest ? mr_read64(guest, (uint64_t *)value) : 0;
}

static int put_position(uint32_t guest, int64_t value)
{
    return guest ? mr_write64(guest, (uint64_t)value) : 0;
}

SYSCALL(4237, sendfile64, "DDpu")
{
    int64_t offset = 0, *where;
    if (get_position(U32(2), &offset, &where))
        return -EFAULT;
    int64_t sent = send_file(c, where, U32(3));
    return put_position(U32(2), offset) ? -EFAULT : sent;
}

/* copy_file_range and splice: descriptor and position, twice, size and flags. */
static int64_t between_positions(struct mr_call *c, long host_number)
{
    int64_t in = 0, out = 0, *in_at, *out_at;
    if (get_position(U32(1), &in, &in_at) || get_position(U32(3), &out, &out_at))
        return -EFAULT;
    int64_t done = mr_wait_call(host_number, U32(0), MR_HOST(in_at), U32(2), MR_HOST(out_at), U32(4), U32(5));
    if (done < 0)
        return done;
    return put_position(U32(1), in) || put_position(U32(3), out) ? -EFAULT : done;
}

SYSCALL(4360, copy_file_range, "DpDpux") { return between_positions(c, SYS_copy_file_range); }
SYSCALL(4304, splice, "DpDpux") { return between_positions(c, SYS_splice); }
SYSCALL(4306, tee, "DDux") { return mr_wait_call(SYS_tee, U32(0), U32(1), U32(2), U32(3), 0, 0); }

SYSCALL(4307, vmsplice, "Dpux")
{
    struct iovec vector[MR_MOST_PIECES];
    int error = mr_get_vector(U32(1), U32(2), vector);
    return error ? error : mr_wait_call(SYS_vmsplice, U32(0), MR_HOST(vector), U32(2), U32(3), 0, 0);
}

SYSCALL(4353, getrandom, "Bux") { return mr_result(getrandom(mr_user(U32(0), U32(1)), U32(1), U32(2))); }
