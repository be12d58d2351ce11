/* Inode numbers and positions of old structures, which have 32 bits for them. */
#ifndef MR_DIRECTORIES_H
#define MR_DIRECTORIES_H

#include <stdint.h>

/* Both halves together, as file systems of 32-bit kernels do with numbers that are wider (fuse_squash_ino). Never 0. */
static inline uint32_t mr_narrow_inode(uint64_t inode)
{
    uint32_t narrow = (uint32_t)(inode ^ inode >> 32);
    return narrow || !inode ? narrow : 1;
}

/* ---- sys_directory.c ---- */
/* A position that fits 31 bits, standing for a wide one of this directory; or a negative one, -ENOMEM. */
int64_t mr_directory_narrow(int fd, int64_t wide);
int64_t mr_directory_wide(int fd, int64_t narrow); /* the wide one that it stands for, or the narrow one itself */

#endif
