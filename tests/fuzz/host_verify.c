/* What the parts of the host under fuzzing need of verify.c, verify_memory.c and profile.c: nothing is verified or sampled. */
#include "profile.h"
#include "verify.h"

bool mr_verifying;
__attribute__((weak)) void (*mr_store_watch)(uint32_t guest, uint32_t size_bytes); /* of interp_memory.c, where it is */

void mr_verify_point(struct mr_state *s, enum mr_verify_kind kind, uint32_t pc)
{
    (void)s, (void)kind, (void)pc;
}

void mr_verify_begin(struct mr_state *s, struct mr_verify_point point)
{
    (void)s, (void)point;
}

uint32_t mr_verify_end(struct mr_state *s, uint32_t pc)
{
    (void)s;
    return pc;
}

void mr_verify_fault(uintptr_t host_address)
{
    (void)host_address;
}

void mr_verify_range(uint32_t guest, uint32_t size_bytes)
{
    (void)guest, (void)size_bytes;
}

void mr_verify_map(uint32_t guest, uint64_t size_bytes, int protection, int host_flags, int fd, uint64_t offset)
{
    (void)guest, (void)size_bytes, (void)protection, (void)host_flags, (void)fd, (void)offset;
}

void mr_verify_release(uint32_t guest, uint64_t size_bytes)
{
    (void)guest, (void)size_bytes;
}

void mr_verify_protect(uint32_t guest, uint64_t size_bytes, int protection)
{
    (void)guest, (void)size_bytes, (void)protection;
}

void mr_verify_grow(uint32_t guest, uint64_t old_size, uint64_t new_size)
{
    (void)guest, (void)old_size, (void)new_size;
}

void mr_verify_move(uint32_t guest, uint64_t old_size, uint64_t new_size, uint32_t to)
{
    (void)guest, (void)old_size, (void)new_size, (void)to;
}

bool mr_profiling;
_Thread_local volatile struct mr_doing mr_doing;

void mr_profile_thread_begins(void) {}
void mr_profile_thread_ends(void) {}
void mr_profile_end(void) {}
void mr_profile_hold(void) {}
void mr_profile_release(void) {}

uint64_t mr_profile_hold_bit(void)
{
    return 0;
}

bool mr_profile_takes_end(int host_signal)
{
    (void)host_signal;
    return false;
}

void mr_profile_on_end(int host_signal, siginfo_t *info, void *context)
{
    (void)host_signal, (void)info, (void)context;
}
