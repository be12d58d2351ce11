/* Structures that guest and host have in different byte orders, and with a long of 4 or 8 bytes, told by a layout.
 *
 * A layout is text, for example "w2h16bl": a kind for each member, and before it how many follow each other.
 *
 *     b 8 bits    h 16 bits    w 32 bits    q 64 bits    l long    u unsigned long    p pointer into guest memory
 *
 * Members are aligned to their sizes on both sides, as the ABIs do. A pointer is converted on its way to the host only.
 */
#ifndef MR_LAYOUT_H
#define MR_LAYOUT_H

#include <stdint.h>

struct mr_layout_size {
    uint32_t guest, host; /* bytes, with the padding at the end */
};
struct mr_layout_size mr_layout_size(const char *layout);
/* Both sides must have room for the whole structure. */
void mr_layout_to_host(const char *layout, const void *guest_image, void *host);
void mr_layout_to_guest(const char *layout, const void *host, void *guest_image);

/* The same with the guest's side in guest memory: 0 or -EFAULT. */
int mr_get_struct(const char *layout, uint32_t guest, void *host);
int mr_put_struct(const char *layout, uint32_t guest, const void *host);

#endif
