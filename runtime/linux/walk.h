/* One path on its way through the sysroot (walk.c). */
#ifndef MR_WALK_H
#define MR_WALK_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

struct mr_walk {
    char at[PATH_MAX];   /* the host path so far: DIR, and what follows has no links but perhaps at the end */
    size_t length, root_length;
    char rest[PATH_MAX]; /* of the guest's path */
    unsigned links;
    bool above;          /* ".." led above DIR, which a kernel does not let it */
};

enum mr_found { MR_HIT, MR_MISS, MR_HOSTS }; /* HOSTS: a part that Linux provides */

/* Walks an absolute guest path; how is as in paths.h. Returns how far that went in *found, or -errno. */
int mr_walk(struct mr_walk *walk, const char *path, unsigned how, enum mr_found *found);
/* Whether an absolute path is one of those parts; of a relative one, whether it would be in the root. */
bool mr_is_kernels_path(const char *path);
/* What an absolute path is below the root that /proc/self/root or another name of this process's is; NULL: it is no such path. */
const char *mr_below_own_root(const char *absolute, unsigned how);

#endif
