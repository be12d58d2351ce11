/* The one door to guest memory: checked pointers, and values in guest byte order. */
#ifndef MR_MEMORY_VALUES_H
#define MR_MEMORY_VALUES_H

#include "memory/memory.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

extern bool mr_big_endian;            /* byte order of the guest */

/* Host pointer to guest bytes that are all accessible with prot, or NULL (the caller answers EFAULT). Size 0 is fine. */
void *mr_guest_bytes(uint32_t guest, uint32_t size_bytes, int prot);
/* Host pointer to a guest string with its terminator inside readable memory, or NULL. */
const char *mr_guest_string(uint32_t guest);

/* Guest byte order, any alignment, plain host accesses: a fault raises the guest's signal (for the interpreter). */
static inline uint16_t mr_swap16(uint16_t v) { return mr_big_endian ? __builtin_bswap16(v) : v; }
static inline uint32_t mr_swap32(uint32_t v) { return mr_big_endian ? __builtin_bswap32(v) : v; }
static inline uint64_t mr_swap64(uint64_t v) { return mr_big_endian ? __builtin_bswap64(v) : v; }
/* Told of every store by mr_poke* and sc before it is made; NULL: nobody listens (verify/memory.c). */
extern void (*mr_store_watch)(uint32_t guest, uint32_t size_bytes);
static inline void mr_watch_store(uint32_t guest, uint32_t size_bytes)
{
    if (__builtin_expect(mr_store_watch != NULL, false))
        mr_store_watch(guest, size_bytes);
}

/* get and put: host-side images of guest structures. peek and poke: guest memory. */
#define MR_DEFINE_ACCESS(bits, SWAP)                                        \
    static inline uint##bits##_t mr_get##bits(const void *from)             \
    {                                                                       \
        uint##bits##_t value;                                               \
        memcpy(&value, from, sizeof value);                                 \
        return SWAP(value);                                                 \
    }                                                                       \
    static inline void mr_put##bits(void *to, uint##bits##_t value)         \
    {                                                                       \
        value = SWAP(value);                                                \
        memcpy(to, &value, sizeof value);                                   \
    }                                                                       \
    static inline uint##bits##_t mr_peek##bits(uint32_t guest)              \
    {                                                                       \
        return mr_get##bits((const void *)((uintptr_t)mr_window + guest));  \
    }                                                                       \
    static inline void mr_poke##bits(uint32_t guest, uint##bits##_t value)  \
    {                                                                       \
        mr_watch_store(guest, sizeof value);                                \
        mr_put##bits((void *)((uintptr_t)mr_window + guest), value);        \
    }

MR_DEFINE_ACCESS(8, )
MR_DEFINE_ACCESS(16, mr_swap16)
MR_DEFINE_ACCESS(32, mr_swap32)
MR_DEFINE_ACCESS(64, mr_swap64)

/* Words in guest memory, checked: 0 or -EFAULT. */
int mr_read32(uint32_t guest, uint32_t *value);
int mr_write32(uint32_t guest, uint32_t value);
int mr_read64(uint32_t guest, uint64_t *value);
int mr_write64(uint32_t guest, uint64_t value);

/* A host pointer to hand to the host kernel, which then does what a kernel does where pages are missing: EFAULT, or part of
 * the work. Never to be dereferenced here. Outside the guest's user space it is an address that no process has. */
void *mr_user(uint32_t guest, uint32_t size_bytes);

#endif
