/* Layouts of structures that a guest of o32 and the host both have, as text in the manner of Python's struct module.
 *
 * A member is a letter, after a count where there are several, or after '*' where they go on to the end:
 *
 *     b byte    h 2 bytes    w 4 bytes    d 8 bytes    l long: 4 bytes of the guest, 8 of the host, signed
 *     p a byte of padding that only the host has       g one that only the guest has
 *     a struct sockaddr_storage, 128 bytes             e 4 bytes: a positive errno     t 4 bytes: a socket's type
 *     n a byte of two bit fields of 4 bits             f a byte of bit fields of 1, 2 and 5 bits
 *     r a byte of bit fields of 1 bit
 *
 * All but b, p and g are in the guest's byte order there. Compilers lay out bit fields from the other end where it is big.
 * "3w6b" is struct { uint32_t a, b, c; uint8_t d[6]; }. The alignment is the writer's to spell out.
 */
#ifndef MR_SOCKET_LAYOUT_H
#define MR_SOCKET_LAYOUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Both return how many bytes they have written, and end with the input, the room or the layout. Of a member that the input
 * has a part of, they copy that part as it is. Where both sides have equal sizes, input and output may be the same. */
size_t mr_socket_layout_to_host(const char *layout, const void *guest, size_t guest_bytes, void *host, size_t host_room);
size_t mr_socket_layout_to_guest(const char *layout, const void *host, size_t host_bytes, void *guest, size_t guest_room);

/* The size of the guest's structure; what '*' stands for counts as nothing. */
size_t mr_socket_layout_guest_bytes(const char *layout);
size_t mr_socket_layout_host_bytes(const char *layout);

#endif
