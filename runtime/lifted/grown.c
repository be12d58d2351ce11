/* Libraries that the compile server makes while programs run: they lie in the store beside those of `mipsrec build`, and
 * grow by being replaced.
 *
 *     CACHE/code/KEY/VARIANT/ab/abcdef....so        all functions of a file: it is used where it is there
 *     CACHE/code/KEY/VARIANT/ab/abcdef...-hot.so    those that were hot so far
 *
 * Enters: the identity of a file. Leaves: the library that has grown for it, if nobody else could write it (caches.c).
 */
#include "lifted/caches.h"
#include "lifted/store.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

static bool name_of(char path[PATH_MAX], const char *identity)
{
    const char *folder = mr_grown_folder();
    return folder != NULL && snprintf(path, PATH_MAX, "%s/%.2s/%s-hot.so", folder, identity, identity) < PATH_MAX;
}

bool mr_grown_is_pointless(const char *identity)
{
    char path[PATH_MAX];
    const char *folder = mr_grown_folder();
    if (folder == NULL || mr_code_path(folder, identity, path, sizeof path))
        return true;
    for (unsigned i = 0; (folder = mr_code_folder(i)) != NULL; i++)
        if (mr_code_path(folder, identity, path, sizeof path))
            return true;
    return false;
}

struct mr_open_library *mr_grown_find(const char *identity, struct mr_grown_stamp *seen, const char *guest_path)
{
    char path[PATH_MAX];
    struct stat status;
    if (!name_of(path, identity) || stat(path, &status) != 0)
        return NULL;
    struct mr_grown_stamp now = {status.st_dev, status.st_ino, status.st_mtim.tv_sec, status.st_mtim.tv_nsec};
    if (now.device == seen->device && now.inode == seen->inode && now.seconds == seen->seconds &&
        now.fraction == seen->fraction)
        return NULL;
    *seen = now;
    if (mr_store_has(identity, status.st_dev, status.st_ino)) /* it was bound when the file was mapped */
        return NULL;
    struct mr_open_library *library = mr_store_open_library(path, identity, guest_path);
    if (library != NULL)
        library->grown = true;
    return library;
}
