/* Whether a file's times tell of every change to its contents. */
#ifndef MR_LIFTED_WRITERS_H
#define MR_LIFTED_WRITERS_H

#include <stdbool.h>
#include <sys/stat.h>

/* Whether contents that are read from now on are the file's for as long as its status stays as it is. The first is for
 * libraries of the cache: who may write there replaces them, and never maps them to store to them. */
bool mr_times_tell(const char *path, const struct stat *status);
bool mr_times_tell_of(int fd, const struct stat *status); /* of any open file */

#endif
