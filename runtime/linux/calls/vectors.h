/* Vectors of pieces of guest memory, as readv, vmsplice and process_vm_readv take them. */
#ifndef MR_VECTORS_H
#define MR_VECTORS_H

#include <stdint.h>
#include <sys/uio.h>

#define MR_MOST_PIECES 1024 /* UIO_MAXIOV */

/* Fills in a vector of host pointers made by mr_user; returns 0 or -errno. */
int mr_get_vector(uint32_t guest, uint32_t count, struct iovec *vector);

#endif
