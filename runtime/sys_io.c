/* System calls that move bytes through descriptors. Buffers go to the host kernel as they are: it finds missing pages. */
#include "linux/calls/socket.h"
#include "syscall.h"

#include <fcntl.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define IOV_COUNT 1024 /* UIO_MAXIOV */

/* Whether these bytes are a number that a big-endian guest has the other way round. */
static bool is_foreign_number(int fd, uint32_t size_bytes)
{
    return mr_big_endian && size_bytes == 8 && mr_is_number_descriptor(fd);
}

SYSCALL(4003, read, "dBu")
{
    const struct iovec part = {mr_user(U32(1), U32(2)), U32(2)};
    int64_t size_bytes = mr_wait_call(SYS_read, U32(0), MR_HOST(part.iov_base), U32(2), 0, 0, 0);
    if (size_bytes == 8 && is_foreign_number(FD(0), U32(2)))
        mr_poke64(U32(1), __builtin_bswap64(mr_peek64(U32(1))));
    return mr_socket_read(c, (struct mr_vector){&part, 1}, size_bytes);
}

static int64_t write_vector(struct mr_call *c, const struct iovec *parts, uint32_t count)
{
    int64_t written;
    if (mr_socket_write(c, (struct mr_vector){parts, count}, &written))
        return written;
    written = count == 1 ? mr_wait_call(SYS_write, U32(0), MR_HOST(parts->iov_base), parts->iov_len, 0, 0, 0)
                         : mr_wait_call(SYS_writev, U32(0), MR_HOST(parts), count, 0, 0, 0);
    return mr_socket_waited(c, written, SO_SNDTIMEO);
}

SYSCALL(4004, write, "dbu")
{
    uint64_t number;
    if (!is_foreign_number(FD(0), U32(2)) || mr_read64(U32(1), &number))
        return write_vector(c, &(const struct iovec){mr_user(U32(1), U32(2)), U32(2)}, 1);
    return mr_result(write(FD(0), &number, sizeof number));
}

SYSCALL(4200, pread64, "dBuq")
{
    return mr_result(pread(FD(0), mr_user(U32(1), U32(2)), U32(2), (int64_t)c->arg[3]));
}

SYSCALL(4201, pwrite64, "dbuq")
{
    return mr_result(pwrite(FD(0), mr_user(U32(1), U32(2)), U32(2), (int64_t)c->arg[3]));
}

/* ---- vectors ---- */

/* Fills in the host's vector; returns 0 or -errno. */
static int get_vector(uint32_t guest, uint32_t count, struct iovec *vector)
{
    if (count > IOV_COUNT)
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

SYSCALL(4145, readv, "dpu")
{
    struct iovec vector[IOV_COUNT];
    int error = get_vector(U32(1), U32(2), vector);
    if (error)
        return error;
    return mr_socket_read(c, (struct mr_vector){vector, U32(2)},
                          mr_wait_call(SYS_readv, U32(0), MR_HOST(vector), U32(2), 0, 0, 0));
}

SYSCALL(4146, writev, "dpu")
{
    struct iovec vector[IOV_COUNT];
    int error = get_vector(U32(1), U32(2), vector);
    return error ? error : write_vector(c, vector, U32(2));
}

/* These take the position as its low and its high word, in both byte orders. */
static int64_t position_of(uint32_t low, uint32_t high)
{
    return (int64_t)((uint64_t)high << 32 | low);
}

SYSCALL(4330, preadv, "dpuxx")
{
    struct iovec vector[IOV_COUNT];
    int error = get_vector(U32(1), U32(2), vector);
    return error ? error : mr_result(preadv(FD(0), vector, INT(2), position_of(U32(3), U32(4))));
}

SYSCALL(4331, pwritev, "dpuxx")
{
    struct iovec vector[IOV_COUNT];
    int error = get_vector(U32(1), U32(2), vector);
    return error ? error : mr_result(pwritev(FD(0), vector, INT(2), position_of(U32(3), U32(4))));
}

SYSCALL(4361, preadv2, "dpuxxx")
{
    struct iovec vector[IOV_COUNT];
    int error = get_vector(U32(1), U32(2), vector);
    return error ? error : mr_result(preadv2(FD(0), vector, INT(2), position_of(U32(3), U32(4)), INT(5)));
}

SYSCALL(4362, pwritev2, "dpuxxx")
{
    struct iovec vector[IOV_COUNT];
    int error = get_vector(U32(1), U32(2), vector);
    return error ? error : mr_result(pwritev2(FD(0), vector, INT(2), position_of(U32(3), U32(4)), INT(5)));
}

/* ---- from descriptor to descriptor ---- */

SYSCALL(4207, sendfile, "ddpu")
{
    uint32_t word;
    if (!U32(2))
        return mr_result(sendfile(FD(0), FD(1), NULL, U32(3)));
    if (mr_read32(U32(2), &word))
        return -EFAULT;
    off_t offset = (int32_t)word;
    int64_t sent = mr_result(sendfile(FD(0), FD(1), &offset, U32(3)));
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

SYSCALL(4237, sendfile64, "ddpu")
{
    int64_t offset = 0, *where;
    if (get_position(U32(2), &offset, &where))
        return -EFAULT;
    int64_t sent = mr_result(sendfile(FD(0), FD(1), where, U32(3)));
    return put_position(U32(2), offset) ? -EFAULT : sent;
}

SYSCALL(4360, copy_file_range, "dpdpux")
{
    int64_t in = 0, out = 0, *in_at, *out_at;
    if (get_position(U32(1), &in, &in_at) || get_position(U32(3), &out, &out_at))
        return -EFAULT;
    int64_t copied = mr_result(copy_file_range(FD(0), in_at, FD(2), out_at, U32(4), U32(5)));
    return put_position(U32(1), in) || put_position(U32(3), out) ? -EFAULT : copied;
}

SYSCALL(4304, splice, "dpdpux")
{
    int64_t in = 0, out = 0, *in_at, *out_at;
    if (get_position(U32(1), &in, &in_at) || get_position(U32(3), &out, &out_at))
        return -EFAULT;
    int64_t moved = mr_result(splice(FD(0), in_at, FD(2), out_at, U32(4), U32(5)));
    return put_position(U32(1), in) || put_position(U32(3), out) ? -EFAULT : moved;
}

SYSCALL(4306, tee, "ddux") { return mr_result(tee(FD(0), FD(1), U32(2), U32(3))); }

SYSCALL(4307, vmsplice, "dpux")
{
    struct iovec vector[IOV_COUNT];
    int error = get_vector(U32(1), U32(2), vector);
    return error ? error : mr_result(vmsplice(FD(0), vector, U32(2), U32(3)));
}

SYSCALL(4353, getrandom, "Bux") { return mr_result(getrandom(mr_user(U32(0), U32(1)), U32(1), U32(2))); }
