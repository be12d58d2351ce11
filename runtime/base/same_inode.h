/* Whether two names or descriptors are of one file. */
#ifndef MR_BASE_SAME_INODE_H
#define MR_BASE_SAME_INODE_H

#include <stdbool.h>
#include <sys/stat.h>

static inline bool mr_is_same_inode(const struct stat *one, const struct stat *other)
{
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino;
}

#endif
