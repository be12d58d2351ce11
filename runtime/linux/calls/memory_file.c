/* /proc/PID/mem and pagemap of a guest: their offsets are the guest's addresses, and those of its pages, wherever the window
 * lies, and nothing else is there.
 *
 * The kernel keeps the position of such a descriptor in the guest's addresses, so that copies of it and forked processes share
 * it, and lseek is the kernel's. Only the place of each access is moved into the window. Another guest's window is taken to lie
 * where this one's does, as in sys_remote.c.
 *
 * Source: mem_rw and mem_lseek in fs/proc/base.c, pagemap_read in fs/proc/task_mmu.c.
 */
#include "linux/calls/memory_file.h"

#include "linux/calls/socket.h"
#include "linux/host_call.h"
#include "linux/paths.h"
#include "memory/memory.h"
#include "memory/values.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NOWHERE ((uint64_t)1 << 62) /* no process has anything there: the kernel says what that means */

struct access {
    int fd;
    long host_number;
    bool own; /* this process's memory, whose pages are known here */
    bool has_entries; /* pagemap: a word of eight bytes for each page */
};

static struct access access_of(int fd, long host_number)
{
    char name[PATH_MAX];
    bool is_known = mr_proc_name_of(fd, name);
    bool own = is_known && mr_proc_own_file(name) != NULL;
    return (struct access){fd, host_number, own, is_known && strcmp(strrchr(name, '/'), "/pagemap") == 0};
}

/* How much of a range the guest has, from its start on. Protections do not count; but pages that it has not mapped are
 * reserved by the host, and the kernel would take them for memory. */
static uint64_t bytes_there(const struct access *access, uint64_t guest, uint64_t size_bytes)
{
    if (guest >= MR_USER_END)
        return 0;
    uint64_t end = size_bytes < MR_USER_END - guest ? guest + size_bytes : MR_USER_END, at = guest;
    while (access->own && at < end && mr_pages[at / MR_PAGE_BYTES])
        at = mr_page_down((uint32_t)at) + (uint64_t)MR_PAGE_BYTES;
    return (access->own && at < end ? at : end) - guest;
}

/* Words of pages that the guest has not mapped are 0, whatever the kernel knows of what the host reserves. */
static int64_t read_entries(const struct access *access, const struct iovec *piece, uint64_t position)
{
    uint64_t entries[512];
    const uint64_t end = MR_USER_END / MR_PAGE_BYTES * sizeof *entries;
    const uint64_t window = (uintptr_t)mr_window / MR_PAGE_BYTES * sizeof *entries;
    uint64_t done = 0;
    if (position % sizeof *entries != 0 || piece->iov_len % sizeof *entries != 0)
        return -EINVAL;
    while (done < piece->iov_len && position + done < end) {
        uint64_t room = end - position - done, left = piece->iov_len - done, size = left < room ? left : room;
        size = size < sizeof entries ? size : sizeof entries;
        int64_t got = mr_result(syscall(SYS_pread64, access->fd, entries, size, window + position + done));
        if (got <= 0)
            return done ? (int64_t)done : got;
        for (uint64_t i = 0; i < (uint64_t)got / sizeof *entries; i++) {
            uint64_t page = (position + done) / sizeof *entries + i;
            entries[i] = access->own && !mr_pages[page] ? 0 : mr_swap64(entries[i]);
        }
        const struct iovec part = {(char *)piece->iov_base + done, (size_t)got};
        if (!mr_vector_put((struct mr_vector){&part, 1}, entries, (size_t)got))
            return -EFAULT;
        done += (uint64_t)got;
    }
    return (int64_t)done;
}

static int64_t access_piece(const struct access *access, const struct iovec *piece, uint64_t guest)
{
    if (access->has_entries && access->host_number == SYS_pread64)
        return read_entries(access, piece, guest);
    uint64_t size = bytes_there(access, guest, piece->iov_len);
    if (size == 0)
        return mr_result(syscall(access->host_number, access->fd, piece->iov_base, piece->iov_len, NOWHERE));
    return mr_result(syscall(access->host_number, access->fd, piece->iov_base, size, (uintptr_t)mr_window + guest));
}

/* One piece after the other, up to one that is not done as a whole (do_loop_readv_writev in fs/read_write.c). */
static int64_t access_pieces(const struct access *access, const struct iovec *vector, uint32_t count, uint64_t guest)
{
    int64_t done = 0;
    for (uint32_t i = 0; i < count; i++) {
        int64_t size = access_piece(access, &vector[i], guest + (uint64_t)done);
        if (size < 0)
            return done ? done : size;
        done += size;
        if ((uint64_t)size < vector[i].iov_len)
            break;
    }
    return done;
}

int64_t mr_memory_file_call(int fd, bool writes, const struct iovec *vector, uint32_t count, const uint64_t *position)
{
    const struct access access = access_of(fd, writes ? SYS_pwrite64 : SYS_pread64);
    if (position)
        return (int64_t)*position < 0 ? -EINVAL : access_pieces(&access, vector, count, *position);
    off_t at = lseek(fd, 0, SEEK_CUR);
    int64_t done = access_pieces(&access, vector, count, (uint64_t)at);
    if (done > 0)
        lseek(fd, at + done, SEEK_SET);
    return done;
}
