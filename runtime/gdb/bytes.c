/* Guest memory as the debugger sees it: every mapped page, also those that the guest may not read or write.
 *
 * The guest is stopped. So a page may have another protection for a moment. A page can still lie beyond the end of its file:
 * then the access faults, and fault.c comes back here.
 */
#include "base/host_thread.h"
#include "base/lock.h"
#include "gdb/parts.h"
#include "lifted/module.h"
#include "memory/memory.h"

#include <setjmp.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HOST_SET_BYTES 8 /* of the kernel's sigset_t */
#define FAULTS ((uint64_t)1 << (SIGSEGV - 1) | (uint64_t)1 << (SIGBUS - 1))

static void *host_at(uint32_t guest)
{
    return (void *)((uintptr_t)mr_window + guest);
}

/* The server blocks all signals; a fault of its own must come. */
static bool copy(void *to, const void *from, size_t size_bytes)
{
    jmp_buf *outer = mr_host_thread.recovery, faulted;
    const uint64_t faults = FAULTS;
    uint64_t mask = 0;
    syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &faults, &mask, HOST_SET_BYTES);
    volatile bool whole = false;
    if (setjmp(faulted) == 0) {
        mr_host_thread.recovery = &faulted;
        memcpy(to, from, size_bytes);
        whole = true;
    }
    mr_host_thread.recovery = outer;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, HOST_SET_BYTES);
    return whole;
}

static int protection_of(uint8_t bits)
{
    return (bits & MR_READ ? PROT_READ : 0) | (bits & MR_WRITE ? PROT_WRITE : 0);
}

/* Within one page. */
static bool access_page(uint32_t guest, void *bytes, uint32_t size_bytes, bool write)
{
    uint8_t bits = mr_pages[guest / MR_PAGE_BYTES], needed = write ? MR_READ | MR_WRITE : MR_READ;
    void *page = host_at(guest & ~(MR_PAGE_BYTES - 1));
    if ((bits & MR_MAPPED) == 0)
        return false;
    bool opens = (bits & needed) != needed;
    if (opens && mprotect(page, MR_PAGE_BYTES, protection_of(bits | needed)) != 0)
        return false; /* a file that was opened for reading only, and is shared */
    bool done = write ? copy(host_at(guest), bytes, size_bytes) : copy(bytes, host_at(guest), size_bytes);
    if (opens)
        mprotect(page, MR_PAGE_BYTES, protection_of(bits));
    return done;
}

/* Returns how many bytes were accessed. A thread of a dying guest may have stopped with mr_lock. */
static uint32_t access_bytes(uint32_t guest, uint8_t *bytes, uint32_t size_bytes, bool write)
{
    uint32_t done = 0;
    if (!mr_debug_session.post_mortem)
        mr_lock();
    while (done < size_bytes && guest + done >= guest) {
        uint32_t at = guest + done, rest = MR_PAGE_BYTES - at % MR_PAGE_BYTES;
        uint32_t part = size_bytes - done < rest ? size_bytes - done : rest;
        if (!access_page(at, bytes + done, part, write))
            break;
        done += part;
    }
    if (!mr_debug_session.post_mortem)
        mr_unlock();
    return done;
}

uint32_t mr_debug_read_memory(uint32_t guest, void *bytes, uint32_t size_bytes)
{
    return access_bytes(guest, bytes, size_bytes, false);
}

bool mr_debug_write_memory(uint32_t guest, const void *bytes, uint32_t size_bytes)
{
    uint32_t done = access_bytes(guest, (uint8_t *)(uintptr_t)bytes, size_bytes, true);
    if (done > 0 && !mr_debug_session.post_mortem)
        mr_code_flushed(guest, done);
    return done == size_bytes;
}
