/* Structures that guest and host have in different byte orders, and with a long of 4 or 8 bytes, told by a layout.
 *
 * A layout is text, for example "w2h16bl": a kind for each member, and before it how many follow each other, or '*'
 * where they go on to the end.
 *
 *     b 8 bits    h 16 bits    w 32 bits    q 64 bits    l long    u unsigned long
 *     a struct sockaddr_storage, 128 bytes             e 32 bits: a positive errno     t 32 bits: a socket's type
 *     n a byte of two bit fields of 4 bits             f a byte of bit fields of 1, 2 and 5 bits
 *     r a byte of bit fields of 1 bit
 *
 * Members are aligned to their sizes on both sides, as the ABIs do. What is between them stays as it is. Compilers lay
 * out bit fields from the other end where the guest is big-endian.
 */
#ifndef MR_LAYOUT_H
#define MR_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

struct mr_layout_size {
    uint32_t guest, host; /* bytes, with the padding at the end; what '*' stands for counts as nothing */
};
struct mr_layout_size mr_layout_size(const char *layout);

/* Both return how many bytes they have written, and end with the input, the room or the layout. Of a member that the
 * input has a part of, they copy that part as it is. Where both sides have equal sizes, input and output may be the
 * same. */
size_t mr_layout_to_host(const char *layout, const void *guest, size_t guest_bytes, void *host, size_t host_room);
size_t mr_layout_to_guest(const char *layout, const void *host, size_t host_bytes, void *guest, size_t guest_room);
#define MR_WHOLE SIZE_MAX /* as size and room: both sides have the whole structure */

/* The same for a whole structure, with the guest's side in guest memory: 0 or -EFAULT. */
int mr_get_struct(const char *layout, uint32_t guest, void *host);
int mr_put_struct(const char *layout, uint32_t guest, const void *host);
int mr_get_words(uint32_t guest, uint32_t *words, uint32_t count);
int mr_put_words(uint32_t guest, const uint32_t *words, uint32_t count);

#endif
